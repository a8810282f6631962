package scoring

import (
	"fmt"
	"regexp"
	"strings"
)

// The modes of file_content_match.
const (
	modeContains    = "contains"
	modeExact       = "exact"
	modeRegex       = "regex"
	modeNotContains = "not_contains"
	modeJSONEqual   = "json_equal"
)

func fileContentConfig() []ConfigKey {
	return []ConfigKey{
		{Name: "match_mode", Type: "string", Default: modeContains, Doc: "how the content compares",
			Enum: []string{modeContains, modeExact, modeRegex, modeNotContains, modeJSONEqual}},
		{Name: "ignore_whitespace", Type: "boolean",
			Doc: "every run of white space counts as one space; not for regex and json_equal"},
	}
}

func fileContentMatch(s settings) matcher {
	mode := s.text("match_mode")
	switch mode {
	case modeRegex:
		return patternMatch(newMemo(compilePattern))
	case modeJSONEqual:
		return jsonEqual
	}
	fold := func(text string) string { return text }
	if s.flag("ignore_whitespace") {
		fold = func(text string) string { return whiteSpace.ReplaceAllLiteralString(text, " ") }
	}
	return func(expected string) (comparison, error) {
		want := fold(expected)
		return func(actual string) finding { return compareContent(mode, fold(actual), want) }, nil
	}
}

var whiteSpace = regexp.MustCompile(`\s+`)

func compareContent(mode, actual, expected string) finding {
	switch mode {
	case modeExact:
		return judged(actual == expected, "the content is not the expected one")
	case modeNotContains:
		return judged(!strings.Contains(actual, expected), "the content contains what it must not")
	}
	return judged(strings.Contains(actual, expected), "the content does not contain the expected text")
}

// jsonEqual compares two JSON documents; all numbers compare by value.
func jsonEqual(expected string) (comparison, error) {
	want, err := parseJSON(expected)
	if err != nil {
		return nil, fmt.Errorf("the expected text is not one JSON document: %w", err)
	}
	return func(actual string) finding {
		got, err := parseJSON(actual)
		if err != nil {
			return senseless(fmt.Sprintf("the content is not one JSON document: %v", err))
		}
		return judged(deepEqual(got, want, sameFloat), "the content is another JSON document")
	}, nil
}

func fileExistsConfig() []ConfigKey {
	return []ConfigKey{
		{Name: "must_exist", Type: "boolean", Default: true, Doc: "false: it must not exist"},
	}
}

// existsEvidence is the evidence of a file_exists.
type existsEvidence struct {
	Kind      string `json:"kind"`
	Path      string `json:"path"`
	Exists    bool   `json:"exists"`
	MustExist bool   `json:"must_exist"`
}

func fileExists(s settings) inspector {
	must := s.flag("must_exist")
	return func(t *trial, v *validator) finding {
		path, exists, captured := t.captured(v.target.key)
		if !captured {
			none := t.file(v.target.key)
			return finding{state: Unavailable, cause: none.cause, reason: none.reason}
		}
		reason := path + " does not exist"
		if exists {
			reason = path + " exists"
		}
		f := judged(exists == must, reason).with(existsEvidence{FileExists, clip(path), exists, must})
		if must && !exists {
			f.lack = fmt.Sprintf("the file %s", quoted(path))
		}
		return f
	}
}

// captured looks up a file or directory capture.
func (t *trial) captured(key string) (path string, exists, ok bool) {
	if f, ok := t.ev.Files[key]; ok {
		return f.Path, f.Exists, true
	}
	d, ok := t.ev.Directories[key]
	return d.Path, d.Exists, ok
}
