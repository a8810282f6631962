package scoring

import (
	"encoding/json"
	"fmt"

	"github.com/agentclash/agentclash/scoring/jsondoc"
)

// conditionEvidence is the evidence of a postcondition.
type conditionEvidence struct {
	Kind      string  `json:"kind"`
	Condition string  `json:"condition"`
	Path      string  `json:"path"`
	Exists    bool    `json:"exists"`
	JSONPath  string  `json:"json_path,omitempty"`
	Expected  *string `json:"expected,omitempty"`
}

// postcondition judges a capture by what the config says of it.
func postcondition(s settings) inspector {
	condition, test := s.text("condition"), conditionTest(s)
	detail := conditionEvidence{Kind: Postcondition, Condition: condition, JSONPath: clip(s.text("json_path"))}
	if s.has("value") {
		detail.Expected = new(clip(string(s.raw("value"))))
	}
	return func(t *trial, v *validator) finding {
		path, exists, captured := t.captured(v.target.key)
		if !captured {
			return gone(t.file(v.target))
		}
		detail := detail
		detail.Path, detail.Exists = clip(path), exists
		if condition == condExists || condition == condNotExists {
			return existence(path, exists, condition == condExists).with(detail)
		}
		content := t.file(v.target)
		if content.state != Available {
			return gone(content)
		}
		f := test(content.text).with(detail)
		f.actual = new(clip(content.text))
		return f
	}
}

func excludesCondition(s settings) bool { return s.text("condition") == condNotContains }

// existence judges whether a capture is there. One that must be and is not was
// never produced.
func existence(path string, exists, must bool) finding {
	reason := clipTo(path, maxViolation) + " does not exist"
	if exists {
		reason = clipTo(path, maxViolation) + " exists"
	}
	f := judged(exists == must, reason)
	f.settled = true
	if !exists {
		f.absent = "the file " + quoted(path)
	}
	return f
}

// conditionTest is the comparison of a condition that reads the content. The
// config has been checked: the values are there and make sense.
func conditionTest(s settings) comparison {
	switch s.text("condition") {
	case condContains, condNotContains:
		want, condition := s.string("value"), s.text("condition")
		return func(actual string) finding { return compareContent(condition, actual, want) }
	case condRegex:
		return prepared(patternMatch(newMemo(compilePattern)), s.string("value"))
	case condPath:
		return pathTest(s)
	case condEquals:
		return equalTest(s.raw("value"))
	}
	return nil
}

// prepared is the comparison with an expected text, and says of every text what
// is wrong with the expected one.
func prepared(m matcher, expected string) comparison {
	compare, err := m(expected)
	if err != nil {
		return func(string) finding { return authors(senseless(err.Error())) }
	}
	return compare
}

// pathTest compares the value at a path the way json_path_match does.
func pathTest(s settings) comparison {
	path, err := jsondoc.ParsePath(s.text("json_path"))
	var value any
	if err == nil {
		value, err = jsondoc.Parse(string(s.raw("value")))
	}
	if err != nil {
		return func(string) finding { return authors(senseless(err.Error())) }
	}
	want := pathExpectation{path: path, comparator: "equals", value: value}
	return want.judge
}

// equalTest: a text is compared byte for byte, any other value as JSON.
func equalTest(raw json.RawMessage) comparison {
	value, err := jsondoc.Parse(string(raw))
	if err != nil {
		return func(string) finding { return authors(senseless(err.Error())) }
	}
	if want, ok := value.(string); ok {
		return func(actual string) finding { return judged(actual == want, "the content is not the expected text") }
	}
	return func(actual string) finding {
		got, err := jsondoc.Parse(actual)
		if err != nil {
			return senseless(fmt.Sprintf("the content is not one JSON document: %v", err))
		}
		return judged(jsondoc.Equal(got, value), "the content is another JSON document")
	}
}
