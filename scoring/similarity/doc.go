// Package similarity measures how much two texts have in common: the edits
// between them, the words they share, BLEU, ROUGE and chrF. Every score is
// within 0 and 1, and the same bits on every machine but for the last one of an
// exponential.
//
// Decided here: the formulas, and how much work one comparison may be. Texts
// come as runes or as words, cut and prepared by whoever asks; white space,
// letter case, thresholds and several references in one text are not this
// room's.
//
// Where the formulas come from:
//
//   - [Edits]: Levenshtein 1966, worked out by the bit vectors of Myers 1999 in
//     the blocks of Hyyrö 2003.
//   - [Tokens]: the F1 of shared words that SQuAD (Rajpurkar et al. 2016) uses.
//   - [BLEU]: Papineni et al. 2002, of one sentence; method1 is like the first
//     smoothing of Chen and Cherry 2014 and adds one to the count.
//   - [ROUGE]: Lin 2004: ROUGE-N, and ROUGE-L by the longest common subsequence
//     (bit vectors of Hyyrö 2004).
//   - [ChrF]: Popović 2015, with the mean of precision and of recall over the
//     orders.
//
// The sequences that are counted and the steps of a longest common subsequence
// are bounded: beyond the bound there is an error. [Edits] has no bound of its
// own.
package similarity
