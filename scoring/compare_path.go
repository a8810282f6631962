package scoring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring/jsondoc"
)

// pathComparators are the comparators of json_path_match.
func pathComparators() []string {
	return []string{"equals", "contains", "greater_than", "less_than", "exists"}
}

// pathExpectation is what json_path_match expects: a path that exists, or a
// value at a path that compares.
type pathExpectation struct {
	path       jsondoc.Path
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
		path, err := jsondoc.ParsePath(text)
		return pathExpectation{path: path, comparator: "exists"}, err
	}
	doc, err := jsondoc.Parse(text)
	if err != nil {
		return pathExpectation{}, fmt.Errorf("the expectation is neither a path that begins with $ nor a JSON object: %w", err)
	}
	object, ok := doc.(map[string]any)
	if !ok {
		return pathExpectation{}, errors.New("the expectation is neither a path that begins with $ nor an object {path, comparator, value}")
	}
	path, _ := object["path"].(string)
	want := pathExpectation{value: object["value"]}
	if want.path, err = jsondoc.ParsePath(path); err != nil {
		return want, err
	}
	if want.comparator, err = comparatorOf(object); err != nil {
		return want, err
	}
	_, numeric := jsondoc.Number(want.value)
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
	doc, err := jsondoc.Parse(actual)
	if err != nil {
		return senseless(fmt.Sprintf("the text is not one JSON document: %v", err))
	}
	got, exists := want.path.Find(doc)
	detail := pathEvidence{Kind: JSONPathMatch, Path: clip(want.path.String()), Comparator: want.comparator, Exists: exists}
	if want.comparator != "exists" {
		detail.Expected = new(briefJSON(want.value))
	}
	if !exists {
		return judged(false, "there is nothing at "+want.path.String()).with(detail)
	}
	detail.Actual = new(briefJSON(got))
	return want.compare(got).with(detail)
}

// briefJSON is a value as it is kept in a result.
func briefJSON(v any) string {
	text, whole := jsondoc.Brief(v, maxStored)
	if !whole {
		return strings.ToValidUTF8(text[:maxStored], "") + "… [cut]"
	}
	return text
}

func (want pathExpectation) compare(got any) finding {
	at := "the value at " + clipTo(want.path.String(), 200)
	switch want.comparator {
	case "equals":
		return judged(jsondoc.Equal(got, want.value), at+" is not the expected one")
	case "contains":
		ok, err := jsondoc.Contains(got, want.value)
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
	limit, _ := jsondoc.Number(want.value)
	v, ok := jsondoc.Number(got)
	if !ok {
		return senseless(at + " is no number")
	}
	if want.comparator == "greater_than" {
		return judged(v > limit, at+" is not greater")
	}
	return judged(v < limit, at+" is not less")
}
