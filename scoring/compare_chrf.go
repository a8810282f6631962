package scoring

import (
	"math"
	"unicode"
)

// chrfEvidence is the evidence of a chrf_score: its best reference's.
type chrfEvidence struct {
	Kind      string  `json:"kind"`
	Score     float64 `json:"score"`
	Threshold float64 `json:"threshold"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	Orders    int     `json:"computed_orders"`
}

// chrf is a chrf_score's config.
type chrf struct {
	prepare   func(string) string
	threshold float64
	orders    int
	beta      float64
}

func chrfScore(s settings) matcher {
	orders, _ := s.integer("char_order")
	beta, _ := s.number("beta")
	rule := chrf{preparation(s), threshold(s), int(min(orders, math.MaxInt32)), beta}
	return func(expected string) (comparison, error) {
		refs, err := references(expected, rule.characters)
		if err == nil {
			err = countable(rule.orders, refs...)
		}
		if err != nil {
			return nil, err
		}
		return func(actual string) finding {
			candidate := rule.characters(actual)
			if err := countable(min(rule.orders, longest(refs)), candidate); err != nil {
				return senseless(err.Error())
			}
			e := rule.score(candidate, refs)
			e.Kind, e.Threshold = ChrFScore, rule.threshold
			return rated(e.Score, e.Threshold).with(e)
		}, nil
	}
}

// characters are those of a text, without white space.
func (r chrf) characters(text string) []rune {
	var out []rune
	for _, c := range r.prepare(text) {
		if !unicode.IsSpace(c) {
			out = append(out, c)
		}
	}
	return out
}

// score is the best F among the references.
func (r chrf) score(candidate []rune, refs [][]rune) chrfEvidence {
	sums := r.sums(candidate, refs)
	var best chrfEvidence
	for i, ref := range refs {
		e := chrfEvidence{Orders: min(r.orders, len(candidate), len(ref))}
		switch {
		case len(candidate) == 0 && len(ref) == 0:
			e.Precision, e.Recall = 1, 1
		case e.Orders > 0:
			e.Precision, e.Recall = sums[i].Precision/float64(e.Orders), sums[i].Recall/float64(e.Orders)
		}
		e.Score = fScore(e.Precision, e.Recall, r.beta)
		if e.Score > best.Score || i == 0 {
			best = e
		}
	}
	return best
}

// sums adds up precision and recall of every order, for each reference.
func (r chrf) sums(candidate []rune, refs [][]rune) []chrfEvidence {
	sums := make([]chrfEvidence, len(refs))
	g := newGrams(candidate, refs)
	for order := 1; order <= min(r.orders, len(candidate), longest(refs)); order++ {
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
