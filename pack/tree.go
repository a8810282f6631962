package pack

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

const (
	// maxDepth bounds nesting, far above what any pack needs and far below
	// what would trouble a reader of the manifest.
	maxDepth = 100
	// maxAliasBytes bounds how much text aliases and merge keys may add to a
	// document, so that a few lines cannot stand for gigabytes.
	maxAliasBytes = 4 << 20
)

// position is a place in a file, both from 1.
type position struct{ line, column int }

// node is a YAML value with its aliases followed and its merge keys applied.
// What the source shares through an anchor is shared here.
type node struct {
	kind  yaml.Kind // scalar, mapping or sequence
	tag   string    // short form, such as !!int
	text  string    // of a scalar
	at    position
	pairs []pair  // of a mapping
	items []*node // of a sequence
	size  int     // bytes of text below, everything counted where it is used
	depth int     // levels below
	// dense says that null items are not counted in paths.
	dense bool
	// refused stands for a value that could not be read, which has been said.
	refused bool
}

type pair struct{ key, value *node }

func (n *node) isNull() bool { return n == nil || n.kind == yaml.ScalarNode && n.tag == "!!null" }

func (n *node) isText() bool { return n.kind == yaml.ScalarNode && n.tag == "!!str" }

// what names a value for people.
func (n *node) what() string {
	switch {
	case n.kind == yaml.MappingNode:
		return "a mapping"
	case n.kind == yaml.SequenceNode:
		return "a list"
	case n.isNull():
		return "empty"
	case n.isText():
		return "text " + quote(n.text)
	}
	return quote(n.text)
}

// get returns the pair of a key in a mapping.
func (n *node) get(key string) (pair, bool) {
	if n == nil {
		return pair{}, false
	}
	for _, p := range n.pairs {
		if p.key.text == key {
			return p, true
		}
	}
	return pair{}, false
}

// getFold is get for a key in whatever capitals.
func (n *node) getFold(key string) (pair, bool) {
	for _, p := range n.pairs {
		if strings.EqualFold(p.key.text, key) {
			return p, true
		}
	}
	return pair{}, false
}

// scalar resolves a scalar as YAML does: nil, bool, int64, uint64, float64 or
// string. Whole numbers are integers however they are written, so that a
// value reads the same from a file and from a manifest.
func (n *node) scalar() (any, error) {
	switch n.tag {
	case "!!str", "!!merge":
		return n.text, nil
	case "!!null":
		return nil, nil
	case "!!bool", "!!int", "!!float", "!!timestamp":
	case "!!binary":
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.text), ""))
		if err != nil {
			return nil, errors.New("is not base64")
		}
		return strings.ToValidUTF8(string(b), "\uFFFD"), nil
	default:
		return n.text, nil // a local tag says nothing to us
	}
	var v any
	if err := (&yaml.Node{Kind: yaml.ScalarNode, Tag: n.tag, Value: n.text}).Decode(&v); err != nil {
		return nil, fmt.Errorf("%s is not a valid %s", quote(n.text), strings.TrimPrefix(n.tag, "!!"))
	}
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case float64:
		return wholeNumber(v)
	case time.Time:
		return v.Format(time.RFC3339Nano), nil
	}
	return v, nil
}

func wholeNumber(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("must be a finite number")
	}
	switch {
	case f != math.Trunc(f):
		return f, nil
	case math.Abs(f) < 1<<63:
		return int64(f), nil
	case f > 0 && f < 1<<64:
		return uint64(f), nil
	}
	return f, nil
}

// parseTree reads the first document of src. Whatever is wrong with it is
// reported; the result is nil when nothing could be read or the document is
// empty, which ok tells apart.
func parseTree(src []byte, rep *report) (root *node, ok bool) {
	doc, err := readDocument(src)
	if err != nil {
		rep.undecodable(brokenLine(src, err), bundleField, "is not valid YAML: "+clip(syntaxLine.ReplaceAllString(err.Error(), "")))
		return nil, false
	}
	if at := secondDocument(src); at > 0 {
		rep.add(position{at, 1}, Problem{Field: bundleField, Message: "is where a second document begins, which is not read: a file holds one pack", Warning: true})
	}
	b := builder{rep: rep, anchors: map[*yaml.Node]*node{}, open: map[*yaml.Node]bool{}}
	return b.build(doc, nil), true
}

// documentMark is a line that begins a document.
var documentMark = regexp.MustCompile(`(?m)^---(?:\s|$)`)

// secondDocument is the line at which a second document with something in it
// begins, 0 for none.
func secondDocument(src []byte) int {
	marks := documentMark.FindAllIndex(src, 3)
	for _, m := range marks {
		if before := src[:m[0]]; !onlyComments(before) && !onlyComments(src[m[1]:]) {
			return 1 + bytes.Count(before, []byte("\n"))
		}
	}
	return 0
}

// onlyComments says whether there is nothing but comments, directives and marks.
func onlyComments(src []byte) bool {
	for line := range bytes.Lines(src) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' && !bytes.HasPrefix(line, []byte("---")) && !bytes.Equal(line, []byte("...")) {
			return false
		}
	}
	return true
}

// syntaxLine is how the YAML library begins an error. Its line is that of the
// construct it could not finish, or one before, or not there at all.
var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// maxSearched is how long a document may be for brokenLine to search it.
const maxSearched = 128 << 10

// brokenLine finds the line that breaks a document: the last of the shortest
// run of lines from its start that has the same error.
func brokenLine(src []byte, err error) position {
	said := 1
	if m := syntaxLine.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		said, _ = strconv.Atoi(m[1])
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	said = max(1, min(said, len(lines)))
	if len(src) > maxSearched {
		return position{said, 1}
	}
	end := make([]int, len(lines)+1)
	for i, l := range lines {
		end[i+1] = end[i] + len(l)
	}
	breaks := func(n int) bool {
		_, e := readDocument(src[:end[n]])
		return e != nil && e.Error() == err.Error()
	}
	low, high := said, said
	for step := 1; high < len(lines) && !breaks(high); step *= 2 {
		low, high = high+1, min(high+step, len(lines))
	}
	n := low + sort.Search(high-low, func(i int) bool { return breaks(low + i) })
	line := lines[n-1]
	return position{n, 1 + len(line) - len(bytes.TrimLeft(line, " \t"))}
}

// readDocument parses the first document. The YAML library panics on some
// inputs it has no name for; a stranger's file must not end the process.
func readDocument(src []byte) (doc *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML reader gave up: %v", r)
		}
	}()
	var n yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(src)).Decode(&n); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	if n.Kind == yaml.DocumentNode {
		return n.Content[0], nil
	}
	return &n, nil
}

// builder turns the library's nodes into ours.
type builder struct {
	rep      *report
	anchors  map[*yaml.Node]*node
	open     map[*yaml.Node]bool // anchors being built, to see a loop
	added    int                 // bytes that aliases and merges added
	depth    int
	overflow bool
}

// nothing stands for what was refused.
func nothing(at position) *node {
	return &node{kind: yaml.ScalarNode, tag: "!!null", at: at, refused: true}
}

func (b *builder) build(y *yaml.Node, sp *spot) *node {
	if y == nil {
		return nil
	}
	at := position{y.Line, y.Column}
	if b.depth >= maxDepth {
		b.rep.undecodable(at, sp.path(), fmt.Sprintf("is nested more than %d levels deep", maxDepth))
		return nothing(at)
	}
	if y.Kind == yaml.AliasNode {
		return b.alias(y, sp)
	}
	if y.Anchor != "" {
		b.open[y] = true
		defer delete(b.open, y)
	}
	b.depth++
	defer func() { b.depth-- }()
	n := &node{kind: y.Kind, tag: y.ShortTag(), text: y.Value, at: at, size: len(y.Value) + 1}
	switch y.Kind {
	case yaml.MappingNode:
		b.mapping(y, n, sp)
	case yaml.SequenceNode:
		for i, item := range y.Content {
			n.add(b.build(item, sp.item(i)))
			y.Content[i] = nil // built: a large file need not be in memory twice
		}
	}
	if y.Anchor != "" {
		b.anchors[y] = n
	}
	return n
}

// add appends an item and keeps the books.
func (n *node) add(item *node) {
	n.items = append(n.items, item)
	n.size += item.size
	n.depth = max(n.depth, item.depth+1)
}

// put appends a pair and keeps the books.
func (n *node) put(key, value *node) {
	n.pairs = append(n.pairs, pair{key, value})
	n.size += len(key.text) + value.size
	n.depth = max(n.depth, value.depth+1)
}

func (b *builder) alias(y *yaml.Node, sp *spot) *node {
	at := position{y.Line, y.Column}
	target := b.anchors[y.Alias]
	switch {
	case b.open[y.Alias]:
		b.rep.undecodable(at, sp.path(), fmt.Sprintf("anchor %s contains itself", quote(y.Value)))
		return nothing(at)
	case target == nil:
		return nothing(at) // its anchor was refused, which has been said
	case b.depth+target.depth >= maxDepth:
		b.rep.undecodable(at, sp.path(), fmt.Sprintf("is nested more than %d levels deep", maxDepth))
		return nothing(at)
	case !b.spend(target.size, at, sp):
		return nothing(at)
	}
	return target
}

// spend books what an alias adds and says whether there was room.
func (b *builder) spend(size int, at position, sp *spot) bool {
	if b.added+size <= maxAliasBytes {
		b.added += size
		return true
	}
	field := sp.path()
	b.rep.unknown(field)
	if !b.overflow {
		b.overflow = true
		b.rep.undecodable(at, field, fmt.Sprintf("aliases add more than %d MiB to the document", maxAliasBytes>>20))
	}
	return false
}

func (b *builder) mapping(y *yaml.Node, n *node, sp *spot) {
	seen := make(map[string]position, len(y.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		at := position{y.Content[i].Line, y.Content[i].Column}
		if k.Kind != yaml.ScalarNode {
			b.rep.undecodable(at, sp.path(), "has a key that is not text")
			continue
		}
		key := &node{kind: yaml.ScalarNode, tag: k.ShortTag(), text: k.Value, at: at}
		if first, ok := seen[k.Value]; ok {
			b.rep.undecodable(at, sp.child(key).path(), fmt.Sprintf("is a duplicate key; the first is on line %d", first.line))
			continue
		}
		seen[k.Value] = at
		if key.tag == "!!merge" {
			merges = append(merges, v)
			continue
		}
		n.put(key, b.build(v, sp.child(key)))
		y.Content[i], y.Content[i+1] = nil, nil // as in build
	}
	for _, m := range merges {
		b.merge(m, n, sp)
	}
}

// merge adds the pairs of a `<<` value that the mapping does not have.
func (b *builder) merge(y *yaml.Node, n *node, sp *spot) {
	at := position{y.Line, y.Column}
	source := b.build(y, sp)
	sources := []*node{source}
	if source.kind == yaml.SequenceNode {
		sources = source.items
	}
	have := make(map[string]bool, len(n.pairs))
	for _, p := range n.pairs {
		have[p.key.text] = true
	}
	for _, s := range sources {
		if s.kind != yaml.MappingNode && !s.isNull() {
			b.rep.undecodable(at, sp.path(), "can only merge (<<) a mapping or a list of mappings")
			continue
		}
		for _, p := range s.pairs {
			if have[p.key.text] {
				continue
			}
			have[p.key.text] = true
			n.put(p.key, p.value)
		}
	}
}
