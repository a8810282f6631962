package scoring

import (
	"math"
	"strings"
)

// smoothSome gives an order without a match a little, but for the first.
const smoothSome = "method1"

// maxShown is how many orders the evidence of a score shows.
const maxShown = 16

// bleuEvidence is the evidence of a bleu_score.
type bleuEvidence struct {
	Kind       string    `json:"kind"`
	Score      float64   `json:"score"`
	Threshold  float64   `json:"threshold"`
	Precisions []float64 `json:"precisions"` // of the first orders
	Brevity    float64   `json:"brevity_penalty"`
	Candidate  int       `json:"candidate_length"`
	Reference  int       `json:"reference_length,omitempty"`
	Orders     int       `json:"computed_orders,omitempty"`
}

// bleu is a bleu_score's config.
type bleu struct {
	prepare   func(string) string
	threshold float64
	orders    int
	smooth    bool
}

func bleuScore(s settings) matcher {
	orders, _ := s.integer("max_ngram")
	rule := bleu{preparation(s), threshold(s), int(min(orders, math.MaxInt32)), s.text("smoothing") == smoothSome}
	return func(expected string) (comparison, error) {
		refs, err := references(expected, rule.words)
		if err == nil {
			err = countable(rule.orders, refs...)
		}
		if err != nil {
			return nil, err
		}
		return func(actual string) finding {
			candidate := rule.words(actual)
			if err := countable(min(rule.orders, longest(refs)), candidate); err != nil {
				return senseless(err.Error())
			}
			e := rule.score(candidate, refs)
			e.Kind, e.Threshold, e.Candidate = BLEUScore, rule.threshold, len(candidate)
			return rated(e.Score, e.Threshold).with(e)
		}, nil
	}
}

func (r bleu) words(text string) []string { return strings.Fields(r.prepare(text)) }

// score is the geometric mean of the precisions, less for a candidate that is
// shorter than the reference nearest to it in length. An order that the
// candidate is too short for is left out.
func (r bleu) score(candidate []string, refs [][]string) bleuEvidence {
	e := bleuEvidence{Precisions: []float64{}}
	if len(candidate) == 0 {
		if len(refs) == 1 && len(refs[0]) == 0 {
			e.Score, e.Brevity = 1, 1
		}
		return e
	}
	e.Orders, e.Reference, e.Brevity = min(r.orders, len(candidate)), nearestLength(len(candidate), refs), 1
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
		p := r.precision(order, matches, len(candidate)-order+1)
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

func (r bleu) precision(order, matches, all int) float64 {
	if matches == 0 && r.smooth && order > 1 {
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
