package pack_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// verdict is one entry of a file in testdata/verdicts: a document and what must
// be said about it. The README there has the format.
type verdict struct {
	file, about string
	line        int
	src         string
	want        []string // the fields of all errors, in order
	warn        []string // fields that there must be a warning at
	quiet       bool     // there must be no warning
	message     string   // a part of the first message about the first field
}

// verdictFiles are the files of testdata/verdicts, without the bases.
func verdictFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/verdicts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no verdicts (%v)", err)
	}
	return files
}

// statement is a keyword, what stands beside it and the indented lines below.
type statement struct {
	line       int
	word, rest string
	more       []string
}

// readVerdicts reads a file; it fails when anything in it is not understood.
func readVerdicts(t testing.TB, file string) []verdict {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	e := entry{t: t, v: verdict{file: file}}
	var list []verdict
	for i, line := range strings.Split(string(raw), "\n") {
		about, starts := strings.CutPrefix(line, "== ")
		switch {
		case starts:
			list = e.finish(list)
			e.v = verdict{file: file, line: i + 1, about: about}
		case strings.HasPrefix(line, " "), line == "" && len(e.said) > 0:
			if len(e.said) == 0 {
				t.Fatalf("%s:%d: nothing that this could continue", file, i+1)
			}
			last := &e.said[len(e.said)-1]
			last.more = append(last.more, line)
		case line == "", strings.HasPrefix(line, "#"):
		default:
			word, rest, _ := strings.Cut(line, " ")
			e.said = append(e.said, statement{line: i + 1, word: word, rest: rest})
		}
	}
	return e.finish(list)
}

// entry gathers what one entry says. What stands before the first entry holds
// for all of them.
type entry struct {
	t        testing.TB
	v        verdict
	base, in string // of the file
	said     []statement
}

func (e *entry) finish(list []verdict) []verdict {
	said := e.said
	e.said = nil
	if e.v.line == 0 {
		for _, s := range said {
			e.general(s, &e.base, &e.in)
		}
		return list
	}
	b := document{base: e.base}
	in, wanted := e.in, false
	for _, s := range said {
		for len(s.more) > 0 && s.more[len(s.more)-1] == "" {
			s.more = s.more[:len(s.more)-1]
		}
		switch s.word {
		case "set", "delete":
			b.edits = append(b.edits, e.edit(s, in))
		case "document:":
			b.whole = new(e.document(s))
		case "want:":
			wanted = true
			if e.v.want = fields(s, in); len(e.v.want) == 1 && e.v.want[0] == "valid" {
				e.v.want = nil
			}
		case "warn:":
			if e.v.warn = fields(s, in); len(e.v.warn) == 1 && e.v.warn[0] == "none" {
				e.v.warn, e.v.quiet = nil, true
			}
		case "message:":
			e.v.message = s.rest
		default:
			e.general(s, &b.base, &in)
		}
	}
	if !wanted {
		e.t.Fatalf("%s:%d: has no want", e.v.file, e.v.line)
	}
	src, err := b.source()
	if err != nil {
		e.t.Fatalf("%s:%d: %v", e.v.file, e.v.line, err)
	}
	e.v.src = src
	return append(list, e.v)
}

func (e *entry) general(s statement, base, in *string) {
	switch s.word {
	case "base:":
		*base = s.rest
	case "in:":
		*in = s.rest
	default:
		e.t.Fatalf("%s:%d: %q is no keyword", e.v.file, s.line, s.word)
	}
}

func (e *entry) edit(s statement, in string) edit {
	at, value, ok := strings.Cut(s.rest, ":")
	if s.word == "set" != ok {
		e.t.Fatalf("%s:%d: write \"set <path>: <value>\" or \"delete <path>\"", e.v.file, s.line)
	}
	return edit{path: within(in, at), text: strings.Join(append([]string{value}, s.more...), "\n"), deletes: s.word == "delete"}
}

func (e *entry) document(s statement) string {
	if s.rest == "" {
		return strings.ReplaceAll("\n"+strings.Join(s.more, "\n"), "\n  ", "\n")[1:] + "\n"
	}
	text, err := strconv.Unquote(s.rest)
	if err != nil {
		e.t.Fatalf("%s:%d: %s: %v", e.v.file, s.line, s.rest, err)
	}
	return text
}

// fields are the paths beside and below a keyword.
func fields(s statement, in string) []string {
	var list []string
	for _, line := range append([]string{s.rest}, s.more...) {
		for field := range strings.SplitSeq(strings.TrimSpace(line), ", ") {
			if field != "" {
				list = append(list, within(in, field))
			}
		}
	}
	return list
}

// within completes a path that begins with a dot, or is one.
func within(in, path string) string {
	if path == "." || strings.HasPrefix(path, ". (") {
		return in + path[1:]
	}
	if strings.HasPrefix(path, ".") {
		return in + path
	}
	return path
}

// document is a base with edits, or written out.
type document struct {
	base  string
	whole *string
	edits []edit
}

type edit struct {
	path    string
	text    string // put in place as it stands
	deletes bool
}

// source writes the document out. What an edit sets is not read: it stands in
// the document as it stands in the entry, so that it may be anything.
func (d document) source() (string, error) {
	if d.whole != nil {
		return *d.whole, nil
	}
	raw, err := os.ReadFile("testdata/verdicts/bases/" + d.base + ".yaml")
	if err != nil {
		return "", fmt.Errorf("read base: %w", err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(raw, &root); err != nil {
		return "", fmt.Errorf("read base: %w", err)
	}
	for i, e := range d.edits {
		if err := e.apply(root.Content[0], marker(i)); err != nil {
			return "", fmt.Errorf("%s: %w", e.path, err)
		}
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&root); err != nil {
		return "", err
	}
	src := out.String()
	for i, e := range d.edits {
		if !e.deletes {
			src = e.splice(src, marker(i))
		}
	}
	return src, nil
}

func marker(i int) string { return fmt.Sprintf("EDIT-%d-HERE", i) }

// splice puts the text in the marker's place; its further lines are moved to
// the right, below the key or item that the marker belongs to.
func (e edit) splice(src, mark string) string {
	before, after, _ := strings.Cut(src, " "+mark+"\n")
	line := before[strings.LastIndex(before, "\n")+1:]
	indent := len(line) - len(strings.TrimLeft(line, " -"))
	if strings.HasSuffix(line, "-") {
		indent = len(line) - 1
	}
	return before + strings.ReplaceAll(e.text, "\n", "\n"+strings.Repeat(" ", indent)) + "\n" + after
}

var pathStep = regexp.MustCompile(`[^.\[\]]+`)

// apply walks to the path, makes what is not there yet and leaves a mark.
func (e edit) apply(n *yaml.Node, mark string) error {
	steps := pathStep.FindAllString(e.path, -1)
	for i, step := range steps {
		last := i == len(steps)-1
		at, err := find(n, step)
		switch {
		case err != nil:
			return err
		case last && e.deletes:
			return remove(n, at)
		case at == len(n.Content):
			extend(n, step)
			at = len(n.Content) - 1
		}
		if last {
			*n.Content[at] = yaml.Node{Kind: yaml.ScalarNode, Value: mark}
		}
		if n = n.Content[at]; n.Kind == 0 {
			n.Kind = kindFor(steps[i+1])
		}
	}
	return nil
}

// kindFor is the kind of a value that a step leads into.
func kindFor(step string) yaml.Kind {
	if _, err := strconv.Atoi(step); err == nil {
		return yaml.SequenceNode
	}
	return yaml.MappingNode
}

// find is the index of a step's value in a node's content, its length for one
// that would be next.
func find(n *yaml.Node, step string) (int, error) {
	switch n.Kind {
	case yaml.SequenceNode:
		i, err := strconv.Atoi(step)
		if err != nil || i > len(n.Content) {
			return 0, fmt.Errorf("there is no item %s", step)
		}
		return i, nil
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return i + 1, nil
			}
		}
		return len(n.Content), nil
	}
	return 0, fmt.Errorf("%s is below a value", step)
}

func extend(n *yaml.Node, step string) {
	if n.Kind == yaml.MappingNode {
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: step})
	}
	n.Content = append(n.Content, &yaml.Node{})
}

func remove(n *yaml.Node, at int) error {
	if at == len(n.Content) {
		return fmt.Errorf("there is nothing to delete")
	}
	from := at
	if n.Kind == yaml.MappingNode {
		from--
	}
	n.Content = append(n.Content[:from:from], n.Content[at+1:]...)
	return nil
}
