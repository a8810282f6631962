package similarity

import "math"

// maxShown is how many orders a result shows.
const maxShown = 16

// BLEU is the geometric mean of the precisions of word sequences of up to
// Orders words, times a penalty for a candidate that is shorter than the
// reference nearest to it in length.
type BLEU struct {
	Orders int // at least 1
	// Smooth gives an order without a match, but for the first, 1/(n+1) where n
	// is the number of its sequences; otherwise it makes the score 0.
	Smooth bool
}

// BLEUResult is a BLEU score and what it was worked out from.
type BLEUResult struct {
	Score      float64
	Precisions []float64 // of the first orders
	Brevity    float64   // the penalty; 1 is none
	Reference  int       // words of the reference nearest in length
	Orders     int       // that were compared: not more than the candidate has words
}

// Fits refuses reference texts that no candidate can be compared with.
func (m BLEU) Fits(refs [][]string) error { return countable(m.Orders, refs...) }

// Score rates a candidate against at least one reference.
func (m BLEU) Score(candidate []string, refs [][]string) (BLEUResult, error) {
	if err := countable(min(m.Orders, longest(refs)), candidate); err != nil {
		return BLEUResult{}, err
	}
	return m.score(candidate, refs), nil
}

// score leaves an order out that the candidate is too short for.
func (m BLEU) score(candidate []string, refs [][]string) BLEUResult {
	e := BLEUResult{Precisions: []float64{}}
	if len(candidate) == 0 {
		if len(refs) == 1 && len(refs[0]) == 0 {
			e.Score, e.Brevity = 1, 1
		}
		return e
	}
	e.Orders, e.Reference, e.Brevity = min(m.Orders, len(candidate)), nearestLength(len(candidate), refs), 1
	if len(candidate) < e.Reference {
		e.Brevity = math.Exp(1 - float64(e.Reference)/float64(len(candidate)))
	}
	g, limit := newGrams(candidate, refs), longest(refs)
	logs, none := 0.0, false
	for order := 1; order <= e.Orders; order++ {
		matches := 0
		if order <= limit { // longer sequences are in no reference
			matches = g.covered()
		}
		p := m.precision(order, matches, len(candidate)-order+1)
		if order <= maxShown {
			e.Precisions = append(e.Precisions, p)
		}
		none = none || p == 0
		logs += math.Log(p)
		if order < min(e.Orders, limit) {
			g.next()
		}
	}
	if !none {
		e.Score = min(e.Brevity*math.Exp(logs/float64(e.Orders)), 1)
	}
	return e
}

func (m BLEU) precision(order, matches, all int) float64 {
	if matches == 0 && m.Smooth && order > 1 {
		return 1 / float64(all+1)
	}
	return ratio(matches, all)
}

// nearestLength is the length of the reference that is nearest to n; of two
// the shorter one.
func nearestLength(n int, refs [][]string) int {
	best := len(refs[0])
	for _, ref := range refs[1:] {
		d, least := distanceOf(len(ref), n), distanceOf(best, n)
		if d < least || d == least && len(ref) < best {
			best = len(ref)
		}
	}
	return best
}

func distanceOf(a, b int) int { return max(a-b, b-a) }
