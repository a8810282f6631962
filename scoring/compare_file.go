package scoring

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/agentclash/agentclash/scoring/jsondoc"
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
		{Name: "match_mode", Type: KeyString, Default: modeContains, Doc: "how the content compares",
			Enum: []string{modeContains, modeExact, modeRegex, modeNotContains, modeJSONEqual}},
		flagKey("ignore_whitespace", "every run of white space counts as one space; not for regex and json_equal"),
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

// excludesContent: what not_contains looks for may stand where nobody looked.
func excludesContent(s settings) bool { return s.text("match_mode") == modeNotContains }

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
	want, err := jsondoc.Parse(expected)
	if err != nil {
		return nil, fmt.Errorf("the expected text is not one JSON document: %w", err)
	}
	return func(actual string) finding {
		got, err := jsondoc.Parse(actual)
		if err != nil {
			return senseless(fmt.Sprintf("the content is not one JSON document: %v", err))
		}
		return judged(jsondoc.EqualByValue(got, want), "the content is another JSON document")
	}, nil
}

func fileExistsConfig() []ConfigKey {
	return []ConfigKey{
		{Name: "must_exist", Type: KeyBoolean, Default: true, Doc: "false: it must not exist"},
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
			none := t.file(v.target)
			return finding{state: Unavailable, cause: none.cause, reason: none.reason}
		}
		return existence(path, exists, must).with(existsEvidence{FileExists, clip(path), exists, must})
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

func fileSchemaConfig() []ConfigKey {
	return []ConfigKey{
		{Name: "schema", Type: KeyAny, Required: true, Doc: "the JSON Schema, written out; true and false are schemas"},
	}
}

// checkFileSchema: a schema in a config is the author's own text, so that one
// that makes no sense is wrong here and not in every trial.
func checkFileSchema(s settings, p *problems, field string) {
	raw := s.raw("schema")
	switch {
	case !s.has("schema"):
	case isNull(raw):
		p.add(field+".schema", "is required")
	case raw[0] != '{' && raw[0] != 't' && raw[0] != 'f':
		p.add(field, "schema must be a JSON Schema: an object, true or false")
	default:
		if _, err := compileSchema(string(raw)); err != nil {
			p.add(field+".schema", "%v", err)
		}
	}
}

// fileSchemaMatch holds a file against the schema in the config, which is
// compiled when it is first used.
func fileSchemaMatch(s settings) matcher {
	compile := sync.OnceValues(func() (*boundedSchema, error) {
		if !s.has("schema") {
			return nil, errors.New("there is no schema to hold the file against: give config.schema")
		}
		return compileSchema(string(s.raw("schema")))
	})
	return func(string) (comparison, error) {
		schema, err := compile()
		if err != nil {
			return nil, err
		}
		return func(actual string) finding { return validate(schema, actual) }, nil
	}
}
