// Package textnorm makes texts alike that differ in ways that do not matter:
// case, white space, punctuation, articles, currency, order.
//
// Decided here: which steps there are ([Steps]) and what each does. Lower case
// is full Unicode case folding, so that ß is ss; normalize_unicode is NFKC;
// collapse_whitespace is about ASCII white space and trim about any.
//
// Not decided here: which steps a comparison takes. A step reads the text once;
// sort_words and sort_lines sort it.
package textnorm
