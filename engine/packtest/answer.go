package packtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
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
	free  bool // any text will do, so that there is nothing to be found out
}

// wants are what the validators expect of a case, by target. Patterns and
// schemas are left out: they are no answers.
func (s *subject) wants(c *testCase) map[string][]want {
	list := map[string][]want{}
	for _, v := range s.spec.Validators {
		switch v.Type {
		case scoring.DirectoryStructure:
			for _, path := range s.required(v) {
				list[path] = append(list[path], want{text: nothing, free: true})
			}
			continue
		case scoring.ToolCallAssertion:
			continue // calls are no text
		}
		target, ok := s.target(v.Target)
		if !ok {
			continue
		}
		if w, ok := c.want(v); ok && strings.TrimSpace(w.text) != "" {
			list[target] = append(list[target], w)
		}
	}
	return list
}

// want is what a validator expects of its target; ok is false when that is no
// answer.
func (c *testCase) want(v scoring.Validator) (w want, ok bool) {
	if v.Negate {
		return want{}, false // what must not be
	}
	w.ref = v.ExpectedFrom
	switch v.Type {
	case scoring.FileExists:
		return want{text: nothing, free: true}, configOf(v).MustExist
	case scoring.Postcondition:
		return configOf(v).want()
	case scoring.BLEUScore, scoring.ROUGEScore, scoring.ChrFScore:
		w.text, ok = c.expected(v.ExpectedFrom)
		w.text, w.whole = firstReference(w.text), true
		return w, ok
	}
	if w.whole, ok = comparesText(v); !ok {
		return want{}, false
	}
	w.text, ok = c.expected(v.ExpectedFrom)
	return w, ok
}

// comparesText says whether the expected text of a validator is an answer.
func comparesText(v scoring.Validator) (whole, ok bool) {
	switch v.Type {
	case scoring.ExactMatch, scoring.NumericMatch, scoring.NormalizedMatch, scoring.MathEquivalence, scoring.BooleanAssert,
		scoring.FuzzyMatch, scoring.TokenF1:
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

// firstReference is the first of a JSON list of texts, and any other text as it
// is.
func firstReference(text string) string {
	var list []string
	if json.Unmarshal([]byte(text), &list) == nil && len(list) > 0 {
		return list[0]
	}
	return text
}

// config is what of the configs of several types is read here.
type config struct {
	MustExist   bool            `json:"must_exist"`
	Condition   string          `json:"condition"`
	Value       json.RawMessage `json:"value"`
	Schema      json.RawMessage `json:"schema"`
	Files       []string        `json:"required_files"`
	Directories []string        `json:"required_directories"`
	Forbidden   []string        `json:"forbidden_files"`
}

// configOf reads a config; what is not there has its default.
func configOf(v scoring.Validator) config {
	c := config{MustExist: true}
	_ = json.Unmarshal(v.Config, &c) // no config is the default
	return c
}

// value is the text of a condition, JSON for what is no text.
func (c config) value() string {
	var text string
	if json.Unmarshal(c.Value, &text) == nil {
		return text
	}
	return string(c.Value)
}

// want is what a condition expects of a file.
func (c config) want() (want, bool) {
	w := want{ref: "literal:" + c.value(), text: c.value()}
	switch c.Condition {
	case "exists":
		return want{text: nothing, free: true}, true
	case "contains":
		return w, true
	case "equals":
		w.whole = true
		return w, true
	}
	return want{}, false
}

// required are the paths that a listing must have; of a directory a file in it.
func (s *subject) required(v scoring.Validator) []string {
	var paths []string
	for _, check := range s.spec.PostExecutionChecks {
		if check.Type != scoring.DirectoryListing || v.Negate || v.Target != "file:"+check.Key {
			continue
		}
		c := configOf(v)
		for _, name := range c.Files {
			paths = append(paths, below(check.Path, name))
		}
		for _, name := range c.Directories {
			paths = append(paths, below(check.Path, name+"/.keep"))
		}
	}
	return paths
}

// below is a name as seen from a directory.
func below(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
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

// answer is what an agent hands in: a text, files by path, and calls that it
// makes first.
type answer struct {
	final string
	files map[string]string
	calls []provider.ToolCall
}

// nothing is what an agent without an answer says: a reply that is empty would
// not be looked at.
const nothing = "."

// compose makes one answer of what is wanted: what must stand alone where
// there is such, else all of it.
func compose(wants map[string][]want) answer {
	a := answer{final: nothing, files: map[string]string{}}
	for target, list := range wants {
		text := together(list)
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

// together is one text for all that is wanted of a target.
func together(list []want) string {
	var parts []string
	free := ""
	for _, w := range list {
		switch {
		case w.whole:
			return w.text
		case w.free:
			free = w.text
		default:
			parts = append(parts, w.text)
		}
	}
	return cmp.Or(strings.Join(parts, "\n"), free)
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
