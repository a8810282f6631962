package similarity

// ChrF is the F of the sequences of up to Orders characters that a candidate
// and a reference share: precision and recall are means over the orders that
// both texts are long enough for.
type ChrF struct {
	Orders int     // at least 1
	Beta   float64 // how much more recall counts
}

// ChrFResult is a chrF score and what it was worked out from.
type ChrFResult struct {
	Score, Precision, Recall float64
	Orders                   int // that were compared
}

// Fits refuses reference texts that no candidate can be compared with.
func (m ChrF) Fits(refs [][]rune) error { return countable(m.Orders, refs...) }

// Score rates a candidate against the references; the best of them counts.
// Whoever asks leaves white space out. Two empty texts are the same.
func (m ChrF) Score(candidate []rune, refs [][]rune) (ChrFResult, error) {
	if err := countable(min(m.Orders, longest(refs)), candidate); err != nil {
		return ChrFResult{}, err
	}
	return m.score(candidate, refs), nil
}

// score is the best F among the references.
func (m ChrF) score(candidate []rune, refs [][]rune) ChrFResult {
	sums := m.sums(candidate, refs)
	var best ChrFResult
	for i, ref := range refs {
		e := ChrFResult{Orders: min(m.Orders, len(candidate), len(ref))}
		switch {
		case len(candidate) == 0 && len(ref) == 0:
			e.Precision, e.Recall = 1, 1
		case e.Orders > 0:
			e.Precision, e.Recall = sums[i].Precision/float64(e.Orders), sums[i].Recall/float64(e.Orders)
		}
		e.Score = fScore(e.Precision, e.Recall, m.Beta)
		if e.Score > best.Score || i == 0 {
			best = e
		}
	}
	return best
}

// sums adds up precision and recall of every order, for each reference.
func (m ChrF) sums(candidate []rune, refs [][]rune) []ChrFResult {
	sums := make([]ChrFResult, len(refs))
	g := newGrams(candidate, refs)
	for order := 1; order <= min(m.Orders, len(candidate), longest(refs)); order++ {
		if order > 1 {
			g.next()
		}
		counts := g.tally()
		for i := range refs {
			if n := g.size(i + 1); n > 0 {
				common := g.shared(i+1, counts)
				sums[i].Precision += ratio(common, g.size(0))
				sums[i].Recall += ratio(common, n)
			}
		}
	}
	return sums
}
