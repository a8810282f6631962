package scoring

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pathComparators are the comparators of json_path_match.
func pathComparators() []string {
	return []string{"equals", "contains", "greater_than", "less_than", "exists"}
}

// pathExpectation is what json_path_match expects: a path that exists, or a
// value at a path that compares.
type pathExpectation struct {
	path       jsonPath
	comparator string
	value      any
}

// pathEvidence is the evidence of a json_path_match.
type pathEvidence struct {
	Kind       string  `json:"kind"`
	Path       string  `json:"path"`
	Comparator string  `json:"comparator"`
	Expected   *string `json:"expected,omitempty"` // JSON
	Actual     *string `json:"actual,omitempty"`   // JSON
	Exists     bool    `json:"exists"`
}

func pathMatch(settings) matcher {
	return func(expected string) (comparison, error) {
		want, err := parseExpectation(expected)
		if err != nil {
			return nil, err
		}
		return want.judge, nil
	}
}

func parseExpectation(text string) (pathExpectation, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "$") {
		path, err := parsePath(text)
		return pathExpectation{path: path, comparator: "exists"}, err
	}
	doc, err := parseJSON(text)
	if err != nil {
		return pathExpectation{}, fmt.Errorf("the expectation is neither a path that begins with $ nor a JSON object: %w", err)
	}
	object, ok := doc.(map[string]any)
	if !ok {
		return pathExpectation{}, errors.New("the expectation is neither a path that begins with $ nor an object {path, comparator, value}")
	}
	path, _ := object["path"].(string)
	want := pathExpectation{value: object["value"]}
	if want.path, err = parsePath(path); err != nil {
		return want, err
	}
	if want.comparator, err = comparatorOf(object); err != nil {
		return want, err
	}
	_, numeric := numberOf(want.value)
	if !numeric && (want.comparator == "greater_than" || want.comparator == "less_than") {
		return want, fmt.Errorf("%s needs a number as its value", want.comparator)
	}
	return want, nil
}

func comparatorOf(object map[string]any) (string, error) {
	switch c := object["comparator"].(type) {
	case nil:
		if object["value"] == nil {
			return "exists", nil
		}
		return "equals", nil
	case string:
		if slices.Contains(pathComparators(), c) {
			return c, nil
		}
		return "", fmt.Errorf("unknown comparator %s%s", quoted(c), hint(c, pathComparators()))
	}
	return "", errors.New("the comparator is not a text")
}

func (want pathExpectation) judge(actual string) finding {
	doc, err := parseJSON(actual)
	if err != nil {
		return senseless(fmt.Sprintf("the text is not one JSON document: %v", err))
	}
	got, exists := want.path.find(doc)
	detail := pathEvidence{Kind: JSONPathMatch, Path: clip(want.path.text), Comparator: want.comparator, Exists: exists}
	if want.comparator != "exists" {
		detail.Expected = new(clip(compact(want.value)))
	}
	if !exists {
		return judged(false, "there is nothing at "+want.path.text).with(detail)
	}
	detail.Actual = new(clip(compact(got)))
	return want.compare(got).with(detail)
}

func (want pathExpectation) compare(got any) finding {
	at := "the value at " + clipTo(want.path.text, 200)
	switch want.comparator {
	case "equals":
		return judged(equalJSON(got, want.value), at+" is not the expected one")
	case "contains":
		ok, err := containsJSON(got, want.value)
		if err != nil {
			return senseless(at + " " + err.Error())
		}
		return judged(ok, at+" does not contain the expected one")
	case "greater_than", "less_than":
		return want.order(got, at)
	}
	return judged(true, "")
}

// order compares two numbers.
func (want pathExpectation) order(got any, at string) finding {
	limit, _ := numberOf(want.value)
	v, ok := numberOf(got)
	if !ok {
		return senseless(at + " is no number")
	}
	if want.comparator == "greater_than" {
		return judged(v > limit, at+" is not greater")
	}
	return judged(v < limit, at+" is not less")
}

func numberOf(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// containsJSON: a string contains a string, a list an element, and the JSON
// text of anything else the JSON text of what is expected.
func containsJSON(got, want any) (bool, error) {
	switch got := got.(type) {
	case string:
		s, ok := want.(string)
		if !ok {
			return false, errors.New("is a text and what it should contain is none")
		}
		return strings.Contains(got, s), nil
	case []any:
		return slices.ContainsFunc(got, func(item any) bool { return equalJSON(item, want) }), nil
	}
	return bytes.Contains([]byte(compact(got)), []byte(compact(want))), nil
}

// equalJSON: two numbers are equal by value, 10 and 10.0 alike; inside objects
// and lists a whole number and a fraction are different kinds.
func equalJSON(a, b any) bool {
	x, xok := numberOf(a)
	y, yok := numberOf(b)
	if xok && yok {
		return x == y
	}
	return deepEqual(a, b, nestedNumber)
}

// deepEqual compares two decoded JSON values; number compares two numbers.
func deepEqual(a, b any, number func(a, b json.Number) bool) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && number(a, b)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, item := range a {
			other, ok := b[k]
			if !ok || !deepEqual(item, other, number) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i, item := range a {
			if !deepEqual(item, b[i], number) {
				return false
			}
		}
		return true
	}
	return a == b // nil, bool, string
}

func nestedNumber(a, b json.Number) bool {
	i, aerr := strconv.ParseInt(a.String(), 10, 64)
	j, berr := strconv.ParseInt(b.String(), 10, 64)
	if (aerr == nil) != (berr == nil) {
		return false
	}
	return aerr == nil && i == j || aerr != nil && sameFloat(a, b)
}

func sameFloat(a, b json.Number) bool {
	x, xerr := a.Float64()
	y, yerr := b.Float64()
	return xerr == nil && yerr == nil && x == y
}

// jsonPath is a parsed path: $ for the document, then steps. The dialect is
// small on purpose: .name, [0], ["any name"], ['any name'] and [bare name]; no
// wildcards, slices, filters or recursion.
type jsonPath struct {
	text  string
	steps []pathStep
}

// pathStep is a property's name or, when index is true, a position in a list.
type pathStep struct {
	name  string
	at    int
	index bool
}

var (
	dotName     = regexp.MustCompile(`^\.([A-Za-z0-9_-]+)`)
	listIndex   = regexp.MustCompile(`^\[(-?[0-9]+)\]`)
	doubleQuote = regexp.MustCompile(`^\["((?:[^"\\]|\\.)*)"\]`)
	singleQuote = regexp.MustCompile(`^\['((?:[^'\\]|\\.)*)'\]`)
	bareName    = regexp.MustCompile(`^\[([^\]"'][^\]]*)\]`)
)

func parsePath(text string) (jsonPath, error) {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return jsonPath{}, fmt.Errorf("the path %s does not begin with $", quoted(text))
	}
	if len(text) > maxPattern {
		return jsonPath{}, fmt.Errorf("the path has %d bytes; at most %d are read", len(text), maxPattern)
	}
	p := jsonPath{text: text}
	for rest != "" {
		step, n, err := parseStep(rest)
		if err != nil {
			return p, fmt.Errorf("the path %s: at %s: %w", quoted(text), quoted(rest), err)
		}
		p.steps = append(p.steps, step)
		rest = rest[n:]
	}
	return p, nil
}

// parseStep reads the step that rest begins with and its length.
func parseStep(rest string) (pathStep, int, error) {
	if m := dotName.FindStringSubmatch(rest); m != nil {
		return pathStep{name: m[1]}, len(m[0]), nil
	}
	if m := listIndex.FindStringSubmatch(rest); m != nil {
		i, err := strconv.Atoi(m[1])
		if err != nil {
			i = -1 // past any list: never found
		}
		return pathStep{at: i, index: true}, len(m[0]), nil
	}
	if m := doubleQuote.FindStringSubmatch(rest); m != nil {
		name, err := unquote(m[1])
		return pathStep{name: name}, len(m[0]), err
	}
	if m := singleQuote.FindStringSubmatch(rest); m != nil {
		inner := strings.ReplaceAll(m[1], `\'`, `'`)
		name, err := unquote(escapeQuotes(inner))
		return pathStep{name: name}, len(m[0]), err
	}
	if m := bareName.FindStringSubmatch(rest); m != nil {
		return pathStep{name: m[1]}, len(m[0]), nil
	}
	return pathStep{}, 0, errors.New(`expected .name, [0] or ["name"]`)
}

// unquote reads the inside of a JSON string.
func unquote(inner string) (string, error) {
	var s string
	if err := json.Unmarshal([]byte(`"`+inner+`"`), &s); err != nil {
		return "", errors.New("the quoted name has a bad escape")
	}
	return s, nil
}

// escapeQuotes puts a backslash before each double quote that has none, so
// that the inside of a single-quoted name reads as a JSON string.
func escapeQuotes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
		if s[i] == '\\' && i+1 < len(s) {
			i++
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// find follows the path; false means that there is nothing there. A null is
// something.
func (p jsonPath) find(v any) (any, bool) {
	for _, step := range p.steps {
		if step.index {
			list, ok := v.([]any)
			if !ok || step.at < 0 || step.at >= len(list) {
				return nil, false
			}
			v = list[step.at]
			continue
		}
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[step.name]; !ok {
			return nil, false
		}
	}
	return v, true
}
