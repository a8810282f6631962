package packtest

import "github.com/agentclash/agentclash/scoring"

// Changed are the changes of a validator by what they do.
func Changed(v scoring.Validator) map[string]scoring.Validator {
	out := map[string]scoring.Validator{}
	for _, c := range changes(v) {
		out[c.how] = c.Validator
	}
	return out
}

// TextFor makes a text for a pattern.
func TextFor(pattern string) (string, bool) { return example(pattern) }
