package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// Edit is a change of a pack's file.
type Edit struct {
	InputSet string // key
	// Create makes the input set, which must not be there; else it must be.
	Create bool
	// Replace puts the cases in the place of those there are; else they are added,
	// and a case that is there already with the same content is left out.
	Replace bool
	Cases   []Case
}

// Edited is what came of an edit.
type Edited struct {
	Source                    []byte
	Added, Unchanged, Removed int
}

// ErrNoInputSet is the error for an input set that is not in the file.
var ErrNoInputSet = errors.New("there is no such input set")

// Apply edits a pack's file. What is not edited stays byte by byte, unless the
// file writes the list of cases in brackets or has none: then the file is
// written anew, with its comments and its order.
func (e Edit) Apply(src []byte) (Edited, error) {
	doc, more, err := parse(src)
	if err != nil {
		return Edited{}, err
	}
	list, err := e.find(doc)
	if err != nil {
		return Edited{}, err
	}
	out := Edited{}
	items, err := e.newItems(list, &out)
	if err != nil || len(items) == 0 && !e.Create && !e.Replace {
		out.Source = src
		return out, err
	}
	spliced, fits := splice(src, list, items, e.Replace && !e.Create)
	list.change(items, e.Replace && !e.Create)
	if fits && same(spliced, doc) {
		out.Source = spliced
		return out, nil
	}
	if more {
		return Edited{}, errors.New("the file holds several YAML documents: write the input set's cases as a list with a dash for each")
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(doc), enc.Close()); err != nil {
		return Edited{}, fmt.Errorf("write the pack: %w", err)
	}
	if !same(b.Bytes(), doc) {
		return Edited{}, errors.New("the file cannot be edited without changing something else in it: write the input set's cases as a list with a dash for each")
	}
	out.Source = b.Bytes()
	return out, nil
}

// parse reads the first document of a file, and tells whether there are others.
func parse(src []byte) (doc *yaml.Node, more bool, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	doc = &yaml.Node{}
	if err := dec.Decode(doc); err != nil {
		return nil, false, fmt.Errorf("read the pack: %s", clip(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	more = !errors.Is(dec.Decode(&yaml.Node{}), io.EOF)
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, false, errors.New("read the pack: it is no mapping")
	}
	return doc, more, nil
}

// place is a list of the file: its node, and the mapping and key it lies under.
type place struct {
	parent *yaml.Node
	key    string
	list   *yaml.Node // nil: there is none
}

// listAt is the list under a key of a mapping. Null and nothing are no list yet.
func listAt(parent *yaml.Node, key string) (place, error) {
	p := place{parent: parent, key: key, list: child(parent, key)}
	switch n := p.list; {
	case n == nil, n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		p.list = nil
	case n.Kind == yaml.AliasNode:
		return p, fmt.Errorf("%s of line %d is an alias: write the list out, so that it can be changed", key, n.Line)
	case n.Kind != yaml.SequenceNode:
		return p, fmt.Errorf("%s of line %d is no list", key, n.Line)
	}
	return p, nil
}

func child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// find is the list that is changed: the cases of the input set or, when it is to
// be made, the input sets.
func (e Edit) find(doc *yaml.Node) (place, error) {
	sets, err := listAt(doc.Content[0], "input_sets")
	if err != nil {
		return place{}, err
	}
	var found *yaml.Node
	var keys []string
	if sets.list != nil {
		for _, set := range sets.list.Content {
			if set.Kind != yaml.MappingNode {
				continue
			}
			key := child(set, "key")
			if key == nil {
				continue
			}
			keys = append(keys, fmt.Sprintf("%q", clip(strings.TrimSpace(key.Value))))
			if strings.TrimSpace(key.Value) == e.InputSet && found == nil {
				found = set
			}
		}
	}
	switch {
	case e.Create && found != nil:
		return place{}, fmt.Errorf("the input set %q is there already", e.InputSet)
	case e.Create:
		return sets, nil
	case found == nil:
		return place{}, fmt.Errorf("input set %q: %w: there are %s", clip(e.InputSet), ErrNoInputSet, strings.Join(keys, ", "))
	}
	cases, err := listAt(found, "cases")
	if err != nil {
		return place{}, err
	}
	if items := child(found, "items"); items != nil && cases.list == nil {
		return place{}, fmt.Errorf("the input set %q has items, the old form of cases: write them as cases first", e.InputSet)
	}
	return cases, nil
}

// newItems are the nodes to add. A case that is there is left out, or refused
// when it is there with other content.
func (e Edit) newItems(at place, out *Edited) ([]*yaml.Node, error) {
	there := map[string]*yaml.Node{}
	if at.list != nil && !e.Create {
		for _, c := range at.list.Content {
			if c.Kind == yaml.MappingNode {
				there[caseKey(c)] = c
			}
		}
		if e.Replace {
			out.Removed, there = len(at.list.Content), nil
		}
	}
	var items []*yaml.Node
	var problems Problems
	for _, c := range e.Cases {
		item := caseNode(c)
		if old, taken := there[c.CaseKey]; taken {
			if !sameValue(old, item) {
				problems = append(problems, Problem{Row: c.Row.N, Line: c.Row.Line,
					Message: fmt.Sprintf("the case %q is in the pack already, with other content: --mode replace replaces all cases, or give it another id", clip(c.CaseKey))})
			}
			out.Unchanged++
			continue
		}
		items = append(items, item)
	}
	out.Added = len(items)
	if e.Create {
		items = []*yaml.Node{mapping("key", textNode(e.InputSet), "name", textNode(e.InputSet), "cases", sequence(items))}
	}
	return items, problems.err()
}

func caseKey(c *yaml.Node) string {
	for _, key := range []string{"case_key", "item_key"} {
		if n := child(c, key); n != nil && strings.TrimSpace(n.Value) != "" {
			return strings.TrimSpace(n.Value)
		}
	}
	return ""
}

func sameValue(a, b *yaml.Node) bool {
	var x, y any
	return a.Decode(&x) == nil && b.Decode(&y) == nil && reflect.DeepEqual(x, y)
}

// change makes the change in the tree.
func (at *place) change(items []*yaml.Node, replace bool) {
	if at.list == nil {
		list := sequence(items)
		for i := 0; i+1 < len(at.parent.Content); i += 2 {
			if at.parent.Content[i].Value == at.key {
				at.parent.Content[i+1] = list
				return
			}
		}
		at.parent.Content = append(at.parent.Content, textNode(at.key), list)
		return
	}
	at.list.Style &^= yaml.FlowStyle
	if replace {
		at.list.Content = nil
	}
	at.list.Content = append(at.list.Content, items...)
}

// splice makes the change in the text of a list that has a dash for each item.
// Whether it is the change that was meant is for the caller to see.
func splice(src []byte, at place, items []*yaml.Node, replace bool) ([]byte, bool) {
	if at.list == nil || at.list.Style&yaml.FlowStyle != 0 || len(at.list.Content) == 0 {
		return nil, false
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	first, indent := at.list.Line-1, at.list.Column-1
	if first >= len(lines) {
		return nil, false
	}
	end := endOf(lines, first, indent)
	newline := "\n"
	if bytes.HasSuffix(lines[first], []byte("\r\n")) {
		newline = "\r\n"
	}
	added, err := indented(items, strings.Repeat(" ", indent), newline)
	if err != nil {
		return nil, false
	}
	from := end
	if replace {
		from = first
	}
	var b bytes.Buffer
	for i, line := range lines {
		if i == end {
			b.Write(added)
		}
		if i < from || i >= end {
			b.Write(line)
			if i == end-1 && !bytes.HasSuffix(line, []byte("\n")) {
				b.WriteString(newline)
			}
		}
	}
	if end == len(lines) {
		b.Write(added)
	}
	return b.Bytes(), true
}

// endOf is the line after the last one of a list whose dashes stand at an indent.
// Comments and empty lines before what comes next are not the list's.
func endOf(lines [][]byte, first, indent int) int {
	end := first + 1
	for i := first + 1; i < len(lines); i++ {
		line := bytes.TrimRight(lines[i], "\r\n")
		body := bytes.TrimLeft(line, " ")
		in := len(line) - len(body)
		switch {
		case len(bytes.TrimSpace(body)) == 0, body[0] == '#' && in <= indent:
			continue
		case in > indent, in == indent && (bytes.HasPrefix(body, []byte("- ")) || bytes.Equal(body, []byte("-"))):
			end = i + 1
		default:
			return end
		}
	}
	return end
}

// indented is the text of items.
func indented(items []*yaml.Node, indent, newline string) ([]byte, error) {
	if len(items) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(sequence(items)), enc.Close()); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			out.WriteString(indent)
		}
		out.WriteString(line + newline)
	}
	return out.Bytes(), nil
}

// same tells whether a text holds the document.
func same(src []byte, doc *yaml.Node) bool {
	got, _, err := parse(src)
	return err == nil && sameTree(got, doc)
}

func sameTree(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.Anchor != b.Anchor || a.ShortTag() != b.ShortTag() || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.AliasNode {
		return true // by its name
	}
	for i := range a.Content {
		if !sameTree(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
