package scoring

import (
	"fmt"
	"unicode/utf8"

	"github.com/agentclash/agentclash/scoring/similarity"
)

// maxRunes is how much fuzzy_match compares on each side.
const maxRunes = 100_000

// fuzzyEvidence is the evidence of a fuzzy_match.
type fuzzyEvidence struct {
	Kind       string  `json:"kind"`
	Similarity float64 `json:"similarity"`
	Threshold  float64 `json:"threshold"`
	Distance   int     `json:"distance"`
	Sum        int     `json:"sum_length"`
	AnyCase    bool    `json:"case_insensitive"`
	Normalize  bool    `json:"normalize"`
}

func fuzzyMatch(s settings) matcher {
	prepare := preparation(s)
	usual := fuzzyEvidence{Kind: FuzzyMatch, Threshold: threshold(s), AnyCase: s.flag("case_insensitive"), Normalize: s.flag("normalize")}
	return func(expected string) (comparison, error) {
		want, err := runesOf(prepare(expected))
		if err != nil {
			return nil, err
		}
		return func(actual string) finding {
			got, err := runesOf(prepare(actual))
			if err != nil {
				return senseless(err.Error())
			}
			e := usual
			e.Sum, e.Similarity = len(got)+len(want), 1
			if e.Sum > 0 {
				e.Distance = similarity.Edits(got, want)
				e.Similarity = float64(e.Sum-e.Distance) / float64(e.Sum)
			}
			return rated(e.Similarity, e.Threshold).with(e)
		}, nil
	}
}

func runesOf(text string) ([]rune, error) {
	if n := utf8.RuneCountInString(text); n > maxRunes {
		return nil, fmt.Errorf("the text has %d characters; at most %d are compared", n, maxRunes)
	}
	return []rune(text), nil
}

// threshold is the score from which on a validator passes.
func threshold(s settings) float64 {
	v, _ := s.number("threshold")
	return min(max(v, 0), 1)
}

// rated is the finding of a validator whose score is how much two texts have
// in common. The score counts even when it is too low to pass.
func rated(score, threshold float64) finding {
	if score >= threshold {
		return finding{state: Available, pass: true, score: score}
	}
	return finding{state: Available, score: score, reason: fmt.Sprintf("the score %s is below the threshold %s", digits(score), digits(threshold))}
}
