package convert

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// PromptfooOptions are what a promptfoo config does not say.
type PromptfooOptions struct {
	Slug, Name string
	// JudgeModel is asked where the config names no model for its rubrics; "" for
	// none, so that these are not translated.
	JudgeModel string
	// ReadFile reads a file that the config refers to, by its path from there.
	ReadFile func(name string) ([]byte, error)
}

// Finding is a part of a config that was not translated.
type Finding struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"` // such as tests[2].assert[0]
	Message string `json:"message"`
}

// Promptfoo is what came of a config: the source of a pack, and what it leaves
// out.
type Promptfoo struct {
	Source   []byte
	Findings []Finding
	// Models are what the config's providers are here: provider/model.
	Models     []string
	Prompts    int
	Cases      int
	Assertions int // of the config
	Translated int // of these
}

// The bounds of a config.
const (
	maxConfigBytes = 4 << 20
	maxTests       = 20_000
	maxCombos      = 20_000 // cases that lists of vars stand for
)

// reader reads one config.
type reader struct {
	o          PromptfooOptions
	findings   []Finding
	models     []string
	judge      string
	assertions int
	translated int
	asserted   map[*yaml.Node]bool // whether the whole assertion was translated
}

// ReadPromptfoo makes a prompt_eval pack of a promptfoo config. A part whose
// meaning has no counterpart is left out and listed; a test that would be judged
// by nothing is left out, too. The error is for a config of which nothing is left.
func ReadPromptfoo(src []byte, o PromptfooOptions) (Promptfoo, error) {
	if len(src) > maxConfigBytes {
		return Promptfoo{}, fmt.Errorf("it is longer than %d MiB", maxConfigBytes>>20)
	}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(src)).Decode(&doc); err != nil {
		return Promptfoo{}, fmt.Errorf("it is no YAML: %s", clip(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	root := resolved(doc.Content[0], 0)
	if root.Kind != yaml.MappingNode {
		return Promptfoo{}, errors.New("it is no mapping")
	}
	r := &reader{o: o, judge: o.JudgeModel}
	for _, f := range fieldsOf(root) {
		r.topLevel(f)
	}
	prompts := r.prompts(lookup(root, "prompts"))
	if len(prompts) == 0 {
		return Promptfoo{Findings: r.sorted()}, errors.New("it has no prompt that can be translated")
	}
	r.providers(cmp.Or(lookup(root, "providers"), lookup(root, "targets")))
	tests := r.fitting(r.tests(lookup(root, "tests"), lookup(root, "defaultTest")), prompts)
	if len(tests) == 0 {
		return Promptfoo{Findings: r.sorted()}, errors.New("it has no test that can be translated")
	}
	w := writer{o: o, prompts: prompts, tests: tests, models: r.models, description: textAt(root, "description")}
	w.arrange(r)
	source, err := w.source()
	if err != nil {
		return Promptfoo{}, err
	}
	return Promptfoo{Source: source, Findings: r.sorted(), Models: r.models, Prompts: len(prompts), Cases: len(tests) * len(prompts),
		Assertions: r.assertions, Translated: r.translated}, nil
}

func (r *reader) sorted() []Finding {
	slices.SortStableFunc(r.findings, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	return slices.Compact(r.findings)
}

// lost lists a part that is not translated.
func (r *reader) lost(n *yaml.Node, path, format string, args ...any) {
	r.findings = append(r.findings, Finding{Line: n.Line, Column: n.Column, Path: path, Message: fmt.Sprintf(format, args...)})
}

// topLevel lists what of a config's own keys has no counterpart.
func (r *reader) topLevel(f field) {
	switch f.key.Value {
	case "prompts", "providers", "targets", "tests", "defaultTest", "description", "$schema", "outputPath", "tags", "sharing",
		"writeLatestResults", "commandLineOptions", "metadata":
	case "evaluateOptions":
		r.lost(f.key, f.key.Value, "how a run is paced and repeated is said by eval start: --concurrency, --repetitions, --cache")
	case "scenarios":
		r.lost(f.key, f.key.Value, "scenarios are not read: write their tests out under tests")
	default:
		r.lost(f.key, clip(f.key.Value), "it has no counterpart")
	}
}

// field is a key of a mapping and its value.
type field struct{ key, value *yaml.Node }

// resolved follows an alias.
func resolved(n *yaml.Node, depth int) *yaml.Node {
	for n.Kind == yaml.AliasNode && depth < maxDepth {
		n, depth = n.Alias, depth+1
	}
	return n
}

// fieldsOf are the keys of a mapping, aliases followed and merges made.
func fieldsOf(n *yaml.Node) []field { return mergedFields(n, 0) }

func mergedFields(n *yaml.Node, depth int) []field {
	var list, merged []field
	if n == nil || n.Kind != yaml.MappingNode || depth > 10 {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolved(n.Content[i], 0), resolved(n.Content[i+1], 0)
		if key.Tag != "!!merge" {
			list = append(list, field{key, value})
			continue
		}
		sources := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			sources = value.Content
		}
		for _, s := range sources {
			merged = append(merged, mergedFields(resolved(s, 0), depth+1)...)
		}
	}
	for _, m := range merged {
		if !slices.ContainsFunc(list, func(f field) bool { return f.key.Value == m.key.Value }) {
			list = append(list, m)
		}
	}
	return list
}

// lookup is the value under a key, nil for none and for null.
func lookup(n *yaml.Node, key string) *yaml.Node {
	for _, f := range fieldsOf(n) {
		if f.key.Value == key && f.value.Tag != "!!null" {
			return f.value
		}
	}
	return nil
}

func textAt(n *yaml.Node, key string) string {
	if v := lookup(n, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// itemsOf are the items of a list, or a single value as a list of one.
func itemsOf(n *yaml.Node) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind != yaml.SequenceNode:
		return []*yaml.Node{n}
	}
	list := make([]*yaml.Node, len(n.Content))
	for i, item := range n.Content {
		list[i] = resolved(item, 0)
	}
	return list
}
