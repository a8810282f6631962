package scoring

import (
	"fmt"

	"github.com/agentclash/agentclash/scoring/textnorm"
)

// preparation is what fuzzy_match and the scores against references do to a text
// first, as their config says.
func preparation(s settings) func(string) string {
	var names []string
	if s.flag("normalize") {
		names = append(names, textnorm.Trim, textnorm.Collapse)
	}
	if s.flag("case_insensitive") {
		names = append(names, textnorm.Lowercase)
	}
	return textnorm.Pipeline(names)
}

// normalizedEvidence is the evidence of a normalized_match.
type normalizedEvidence struct {
	Kind     string   `json:"kind"`
	Actual   string   `json:"normalized_actual"`
	Expected string   `json:"normalized_expected"`
	Pipeline []string `json:"pipeline"`
}

// maxNormalized is how many bytes all steps of a pipeline may read together.
const maxNormalized = 16 << 20

func normalizable(text string, steps int) error {
	if len(text)*steps > maxNormalized {
		return fmt.Errorf("%d bytes are too many for %d steps", len(text), steps)
	}
	return nil
}

func normalizedMatch(s settings) matcher {
	names := s.list("pipeline")
	if other := s.list("normalizations"); len(other) > 0 {
		names = other
	}
	if len(names) == 0 {
		names = textnorm.Usual()
	}
	apply := textnorm.Pipeline(names)
	return func(expected string) (comparison, error) {
		if err := normalizable(expected, len(names)); err != nil {
			return nil, err
		}
		want := apply(expected)
		return func(actual string) finding {
			if err := normalizable(actual, len(names)); err != nil {
				return senseless(err.Error())
			}
			got := apply(actual)
			return judged(got == want, "after the same steps the text is not the expected one").
				with(normalizedEvidence{NormalizedMatch, clip(got), clip(want), names})
		}, nil
	}
}
