package scoring

import (
	"fmt"
	"slices"
	"strings"
)

// The variants of rouge_score.
const (
	rougeWords    = "rouge-1"
	rougePairs    = "rouge-2"
	rougeSequence = "rouge-l"
)

// rougeEvidence is the evidence of a rouge_score: its best reference's.
type rougeEvidence struct {
	Kind      string  `json:"kind"`
	Score     float64 `json:"score"`
	Threshold float64 `json:"threshold"`
	Variant   string  `json:"variant"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
}

// rouge is a rouge_score's config.
type rouge struct {
	prepare   func(string) string
	threshold float64
	variant   string
	beta      float64
}

func rougeScore(s settings) matcher {
	beta, _ := s.number("beta")
	rule := rouge{preparation(s), threshold(s), s.text("variant"), beta}
	return func(expected string) (comparison, error) {
		refs, err := references(expected, rule.words)
		if err == nil {
			err = countable(2, refs...)
		}
		if err != nil {
			return nil, err
		}
		return func(actual string) finding {
			candidate := rule.words(actual)
			if err := rule.bounded(candidate, refs); err != nil {
				return senseless(err.Error())
			}
			e := rule.score(candidate, refs)
			e.Kind, e.Threshold, e.Variant = ROUGEScore, rule.threshold, rule.variant
			return rated(e.Score, e.Threshold).with(e)
		}, nil
	}
}

func (r rouge) words(text string) []string { return strings.Fields(r.prepare(text)) }

// bounded refuses texts that would take too long to compare.
func (r rouge) bounded(candidate []string, refs [][]string) error {
	if err := countable(2, candidate); err != nil || r.variant != rougeSequence {
		return err
	}
	cells := 0
	for _, ref := range refs {
		rows, columns := min(len(ref), len(candidate)), max(len(ref), len(candidate))
		if cells += (rows/wordBits + 1) * columns; cells > maxCells {
			return fmt.Errorf("%d words are too many for a longest common subsequence with the reference texts", len(candidate))
		}
	}
	return nil
}

// score is the best F among the references.
func (r rouge) score(candidate []string, refs [][]string) rougeEvidence {
	g := newGrams(candidate, refs)
	if r.variant == rougePairs {
		g.next()
	}
	common := r.common(g)
	var best rougeEvidence
	for i := range refs {
		n := common(i + 1)
		p, q := ratio(n, g.size(0)), ratio(n, g.size(i+1))
		if f := fScore(p, q, r.beta); f > best.Score || i == 0 {
			best.Score, best.Precision, best.Recall = f, p, q
		}
	}
	return best
}

// common counts what the candidate and one reference have in common.
func (r rouge) common(g *grams) func(text int) int {
	if r.variant != rougeSequence {
		counts := g.tally()
		return func(text int) int { return g.shared(text, counts) }
	}
	equal := make([]uint64, g.distinct)
	return func(text int) int {
		known := slices.DeleteFunc(slices.Clone(g.texts[text]), func(word int32) bool { return word == unknown })
		return commonLength(g.texts[0], known, equal)
	}
}
