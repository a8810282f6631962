package packtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// finalOutput stands for the final answer among the targets of wants; the
// others are the paths of captured files.
const finalOutput = ""

// want is a text that a validator compares what it looks at with.
type want struct {
	ref   string
	text  string
	whole bool // the target must be this and nothing else
}

// wants are what the validators expect of a case, by target. Patterns and
// schemas are left out: they are no answers.
func (s *subject) wants(c *testCase) map[string][]want {
	list := map[string][]want{}
	for _, v := range s.spec.Validators {
		whole, ok := comparesText(v)
		if !ok {
			continue
		}
		target, ok := s.target(v.Target)
		if !ok {
			continue
		}
		if text, ok := c.expected(v.ExpectedFrom); ok && strings.TrimSpace(text) != "" {
			list[target] = append(list[target], want{v.ExpectedFrom, text, whole})
		}
	}
	return list
}

// comparesText says whether the expected text of a validator is an answer.
func comparesText(v scoring.Validator) (whole, ok bool) {
	switch v.Type {
	case scoring.ExactMatch, scoring.NumericMatch:
		return true, true
	case scoring.Contains:
		return false, true
	case scoring.FileContentMatch:
		switch matchMode(v) {
		case "exact", "json_equal":
			return true, true
		case "contains":
			return false, true
		}
	}
	return false, false
}

func matchMode(v scoring.Validator) string {
	var config struct {
		Mode string `json:"match_mode"`
	}
	_ = json.Unmarshal(v.Config, &config) // no config is the default
	return cmp.Or(config.Mode, "contains")
}

// target is what a validator looks at, where an agent can write it.
func (s *subject) target(ref string) (string, bool) {
	if ref == "final_output" || ref == "run.final_output" {
		return finalOutput, true
	}
	key, ok := strings.CutPrefix(ref, "file:")
	if !ok {
		return "", false
	}
	for _, c := range s.spec.PostExecutionChecks {
		if c.Key == strings.TrimSpace(key) && c.Type == scoring.FileCapture {
			return c.Path, true
		}
	}
	return "", false
}

// answer is what an agent hands in: a text, and files by path.
type answer struct {
	final string
	files map[string]string
}

// nothing is what an agent without an answer says: a reply that is empty would
// not be looked at.
const nothing = "."

// compose makes one answer of what is wanted: what must stand alone where
// there is such, else all of it.
func compose(wants map[string][]want) answer {
	a := answer{final: nothing, files: map[string]string{}}
	for target, list := range wants {
		var parts []string
		for _, w := range list {
			if w.whole {
				parts = []string{w.text}
				break
			}
			parts = append(parts, w.text)
		}
		text := strings.Join(parts, "\n")
		switch {
		case text == "":
		case target == finalOutput:
			a.final = text
		default:
			a.files[target] = text
		}
	}
	return a
}

// everywhere answers with a text and writes it into every file that is
// captured.
func (s *subject) everywhere(text string) answer {
	a := answer{final: text, files: map[string]string{}}
	for _, c := range s.spec.PostExecutionChecks {
		if c.Type == scoring.FileCapture {
			a.files[c.Path] = text
		}
	}
	return a
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
