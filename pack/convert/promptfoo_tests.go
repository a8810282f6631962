package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// oneTest is one test of a config with one value for each variable.
type oneTest struct {
	node        *yaml.Node
	path        string
	description string
	vars        map[string]any
	checks      []check
	threshold   *float64
}

// tests reads the tests, each with what all share.
func (r *reader) tests(n, shared *yaml.Node) []oneTest {
	items := itemsOf(n)
	if n == nil { // the prompts alone
		items = []*yaml.Node{{Kind: yaml.MappingNode, Line: 1, Column: 1}}
	}
	if shared != nil && shared.Kind != yaml.MappingNode {
		r.lost(shared, "defaultTest", "it is a file: write it out")
		shared = nil
	}
	if provider := judgeProvider(lookup(shared, "options")); provider != "" {
		r.judge = provider
	}
	if why := aside(shared); why != "" { // as it is in every test
		r.lost(shared, "defaultTest", "all tests are left out: %s", why)
		return nil
	}
	base := r.test(shared, "defaultTest")
	var list []oneTest
	for i, item := range items {
		at := fmt.Sprintf("tests[%d]", i)
		switch {
		case item.Kind != yaml.MappingNode:
			r.lost(item, at, "tests in a file are not read: write them out, or take its examples over with dataset import")
			continue
		case len(list) >= maxTests:
			r.lost(item, at, "there are more than %d tests", maxTests)
			return list
		}
		if why := aside(item); why != "" {
			r.lost(item, at, "the test is left out: %s", why)
			continue
		}
		list = append(list, r.expand(item, at, base, r.test(item, at))...)
	}
	return list
}

// partial is what one block says of a test.
type partial struct {
	vars      []field
	asserts   []field // key is nil
	threshold *float64
	at        string
}

func (r *reader) test(n *yaml.Node, at string) partial {
	p := partial{vars: fieldsOf(lookup(n, "vars")), at: at}
	for _, a := range itemsOf(lookup(n, "assert")) {
		p.asserts = append(p.asserts, field{value: a})
	}
	if t := lookup(n, "threshold"); t != nil {
		p.threshold = numberOf(t)
		if p.threshold == nil {
			r.lost(t, at+".threshold", "it is no number")
		}
	}
	for _, f := range fieldsOf(n) {
		switch f.key.Value {
		case "vars", "assert", "threshold", "description", "metadata", "options", "tags":
		default:
			r.lost(f.key, at+"."+clip(f.key.Value), "it has no counterpart")
		}
	}
	for _, f := range fieldsOf(lookup(n, "options")) {
		if k := f.key.Value; k != "provider" && k != "disableDefaultAsserts" {
			r.lost(f.key, at+".options."+clip(k), "it has no counterpart")
		}
	}
	return p
}

func changesOutput(option string) bool {
	return slices.Contains([]string{"transform", "postprocess", "transformVars", "prefix", "suffix", "disableVarExpansion", "rubricPrompt"}, option)
}

// aside says why a test cannot be translated without being another.
func aside(n *yaml.Node) string {
	if v := lookup(n, "vars"); v != nil && v.Kind != yaml.MappingNode && v.Tag != "!!null" {
		return "variables in a file are not read: write them out"
	}
	for _, f := range fieldsOf(lookup(n, "options")) {
		if changesOutput(f.key.Value) {
			return "options." + f.key.Value + " has no counterpart"
		}
	}
	if lookup(n, "assertScoringFunction") != nil {
		return "assertScoringFunction has no counterpart"
	}
	return ""
}

// judgeProvider is the model that options name for rubrics.
func judgeProvider(options *yaml.Node) string {
	p := lookup(options, "provider")
	if p != nil && p.Kind == yaml.MappingNode {
		if text := lookup(p, "text"); text != nil {
			p = text
		}
	}
	switch {
	case p == nil:
		return ""
	case p.Kind == yaml.MappingNode:
		return modelOf(textAt(p, "id"))
	}
	return modelOf(p.Value)
}

// expand makes a test for each combination of the values of its variables.
func (r *reader) expand(n *yaml.Node, at string, base, own partial) []oneTest {
	options := lookup(n, "options")
	if textAt(options, "disableDefaultAsserts") == "true" {
		base.asserts = nil
	}
	judge := r.judge
	if provider := judgeProvider(options); provider != "" {
		judge = provider
	}
	combos := []map[string]any{{}}
	for _, f := range mergeVars(base.vars, own.vars) {
		values, why := varValues(f.value)
		if why == "" && len(combos)*len(values) > maxCombos {
			why = fmt.Sprintf("lists of values make more than %d tests", maxCombos)
		}
		if why != "" {
			r.lost(f.value, at+".vars."+clip(f.key.Value), "the test is left out: %s", why)
			return nil
		}
		combos = times(combos, f.key.Value, values)
	}
	var list []oneTest
	for _, vars := range combos {
		t := oneTest{node: n, path: at, description: textAt(n, "description"), vars: vars, threshold: own.threshold}
		if t.threshold == nil {
			t.threshold = base.threshold
		}
		for _, from := range []partial{base, own} {
			for i, a := range from.asserts {
				t.checks = append(t.checks, r.check(a.value, fmt.Sprintf("%s.assert[%d]", from.at, i), vars, judge)...)
			}
		}
		if len(t.checks) == 0 {
			r.lost(n, at, "the test is left out: none of its assertions was translated")
			return nil
		}
		list = append(list, t)
	}
	return list
}

// fitting are the tests that fill every prompt on both sides alike.
func (r *reader) fitting(tests []oneTest, prompts []prompt) []oneTest {
	return slices.DeleteFunc(tests, func(t oneTest) bool {
		for _, p := range prompts {
			for _, m := range placeholder.FindAllStringSubmatch(p.text, -1) {
				why := fillable(m[0], t.vars)
				if why == "" && strings.Contains(m[0], ".") && inVars(m[0], t.vars) == "" {
					why = clip(m[0]) + " has no value"
				}
				if why != "" {
					r.lost(t.node, t.path, "the test is left out: %s", why)
					return true
				}
			}
		}
		return false
	})
}

func mergeVars(base, own []field) []field {
	list := slices.Clone(own)
	for _, f := range base {
		if !slices.ContainsFunc(own, func(o field) bool { return o.key.Value == f.key.Value }) {
			list = append(list, f)
		}
	}
	return list
}

func times(combos []map[string]any, key string, values []any) []map[string]any {
	var list []map[string]any
	for _, c := range combos {
		for _, v := range values {
			next := map[string]any{key: v}
			for k, old := range c {
				next[k] = old
			}
			list = append(list, next)
		}
	}
	return list
}

// varValues are the values of a variable: a list stands for several.
func varValues(n *yaml.Node) (values []any, why string) {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = itemsOf(n)
	}
	for _, item := range list {
		v, err := plainValue(item)
		switch s, isText := v.(string); {
		case err != nil:
			return nil, err.Error()
		case isText && strings.HasPrefix(s, "file://"):
			return nil, "a variable's file is not read"
		case isText && braces.MatchString(s):
			return nil, "a variable that is a template has no counterpart"
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return nil, "a variable has no value"
	}
	return values, ""
}

// plainValue is a value as both sides fill it into a prompt: numbers as
// JavaScript writes them, nothing for null. Objects keep their keys, which a
// prompt may name; filled in whole they look different on either side.
func plainValue(n *yaml.Node) (any, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, fmt.Errorf("it cannot be read: %s", clip(err.Error()))
	}
	switch v := v.(type) {
	case nil:
		return "", nil
	case string, bool, int:
		return v, nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) || math.Abs(v) >= 1e21 || v != 0 && math.Abs(v) < 1e-6 {
			return nil, fmt.Errorf("the number is written differently")
		}
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case map[string]any:
		raw, err := json.Marshal(v)
		if err != nil || len(raw) > MaxValueBytes {
			return nil, fmt.Errorf("the object cannot be kept")
		}
		return number(parsed(string(raw))), nil
	}
	return nil, fmt.Errorf("a value of this kind has no counterpart")
}

func numberOf(n *yaml.Node) *float64 {
	var v float64
	if n == nil || n.Kind != yaml.ScalarNode || n.Decode(&v) != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
