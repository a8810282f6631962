package scripted

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/engine/provider"
)

// maxScript bounds a script's size in bytes.
const maxScript = 16 << 20

// Load reads a script. name stands in for the file in errors, which are
// [*Problems] and hold everything that is wrong.
func Load(name string, src []byte) (*Script, error) {
	d := &decoder{}
	s := &Script{name: name}
	if root := d.parse(src); root != nil {
		d.script(root, s)
	}
	if len(d.problems) == 0 {
		return s, nil
	}
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return nil, &Problems{Name: name, List: d.problems}
}

// decoder walks a YAML document and gathers what is wrong with it.
type decoder struct {
	problems []Problem
	endError bool // the top's end
	draws    int  // entries that draw so far
}

func (d *decoder) problem(n *yaml.Node, format string, args ...any) {
	d.problems = append(d.problems, Problem{Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) whole(format string, args ...any) *yaml.Node {
	d.problem(&yaml.Node{}, format, args...)
	return nil
}

// parse returns the document's root, or nil and a problem.
func (d *decoder) parse(src []byte) *yaml.Node {
	if len(src) > maxScript {
		return d.whole("the script has %d bytes; at most %d are read", len(src), maxScript)
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return d.whole("the script is empty; it needs default or cases")
	case err != nil:
		d.syntax(err)
		return nil
	case len(doc.Content) == 0:
		return d.whole("the script is empty; it needs default or cases")
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		if err != nil {
			d.syntax(err)
			return nil
		}
		d.problem(&more, "a second document begins here; a script is one")
		return nil
	}
	return doc.Content[0]
}

// syntaxLine finds the place in the YAML library's words.
var syntaxLine = regexp.MustCompile(`^line (\d+): `)

func (d *decoder) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	place := &yaml.Node{}
	if m := syntaxLine.FindStringSubmatch(text); m != nil {
		place.Line, _ = strconv.Atoi(m[1]) // 0 when it is absurd
		place.Column = 1
		text = text[len(m[0]):]
	}
	d.problem(place, "not YAML: %s", text)
}

func (d *decoder) script(n *yaml.Node, s *Script) {
	f, ok := d.mapping(n, "a script", "default", "draw", "cases", "end", "judges", "simulators")
	if !ok {
		return
	}
	d.endError = d.end(f["end"])
	if n := f["default"]; n != nil {
		s.agent.fallback = d.list(n, "default")
	}
	if n := f["draw"]; n != nil {
		if s.agent.fallback = d.draw(n); f["default"] != nil {
			d.problem(n, "draw stands in the place of default: leave one out")
		}
	}
	if n := f["cases"]; n != nil {
		d.cases(n, &s.agent)
	}
	d.ownList(f["judges"], "judges", &s.judges)
	d.ownList(f["simulators"], "simulators", &s.simulators)
	if len(f) > 0 && f["default"] == nil && f["draw"] == nil && f["cases"] == nil && f["judges"] == nil && f["simulators"] == nil {
		d.problem(n, "the script has no replies; it needs default or cases")
	}
}

// cases reads both forms: a mapping of case keys, and a list of entries.
func (d *decoder) cases(n *yaml.Node, b *book) {
	switch n.Kind {
	case yaml.MappingNode:
		d.pairs(n, func(key, value *yaml.Node) {
			if e := d.list(value, "case "+strconv.Quote(key.Value)); e != nil {
				e.caseKey = key.Value
				b.add(e)
			}
		})
	case yaml.SequenceNode:
		d.entries(n, b)
	default:
		d.wrongKind(n, "cases", "a mapping of case keys, or a list of entries")
	}
}

// ownList reads a role's list: replies, or entries like those of cases.
func (d *decoder) ownList(n *yaml.Node, what string, b *book) {
	switch {
	case n == nil:
	case n.Kind == yaml.SequenceNode && slices.ContainsFunc(n.Content, isEntry):
		d.entries(n, b)
	default:
		b.fallback = d.list(n, what)
	}
}

func isEntry(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch n.Content[i].Value {
		case "replies", "draw", "case", "when":
			return true
		}
	}
	return false
}

func (d *decoder) entries(n *yaml.Node, b *book) {
	if len(n.Content) == 0 {
		d.problem(n, "the list is empty")
	}
	for _, item := range n.Content {
		f, ok := d.mapping(item, "an entry", "case", "when", "replies", "draw", "end")
		if !ok {
			continue
		}
		if (f["case"] == nil) == (f["when"] == nil) {
			d.problem(item, "an entry has either case or when")
		}
		e := d.repliesOf(item, f, "an entry")
		if e == nil {
			continue
		}
		if n := f["case"]; n != nil {
			e.caseKey = d.text(n, "case")
			if _, taken := b.byCase[e.caseKey]; taken {
				d.problem(n, "case %q has an entry above, which is always used first", provider.Excerpt(e.caseKey, maxQuoted))
			}
		}
		if n := f["when"]; n != nil {
			e.when = d.when(n)
		}
		b.add(e)
	}
}

func (d *decoder) when(n *yaml.Node) *when {
	w := &when{}
	f, ok := d.mapping(n, "when", "system", "user", "tool")
	if !ok {
		return w
	}
	if len(f) == 0 {
		d.problem(n, "when asks for nothing; give system, user or tool")
	}
	for key, to := range map[string]*string{"system": &w.system, "user": &w.user, "tool": &w.tool} {
		if f[key] == nil {
			continue
		}
		if *to = d.text(f[key], key); *to == "" {
			d.problem(f[key], "%s is empty and would match nothing in particular", key)
		}
	}
	return w
}

// list reads a list of replies, bare or as {replies, end}.
func (d *decoder) list(n *yaml.Node, what string) *entry {
	if n.Kind != yaml.MappingNode {
		return d.listOf(n, nil, what)
	}
	f, ok := d.mapping(n, what, "replies", "draw", "end")
	if !ok {
		return nil
	}
	return d.repliesOf(n, f, what)
}

// repliesOf reads the replies of a mapping, or what it draws them from.
func (d *decoder) repliesOf(n *yaml.Node, f map[string]*yaml.Node, what string) *entry {
	switch {
	case f["replies"] != nil && f["draw"] != nil:
		d.problem(f["draw"], "%s has either replies or draw", what)
		return nil
	case f["draw"] != nil:
		if f["end"] != nil {
			d.problem(f["end"], "end stands in a branch of draw, beside its replies")
		}
		return d.draw(f["draw"])
	case f["replies"] == nil:
		d.problem(n, "%s needs a list of replies, or draw", what)
		return nil
	}
	return d.listOf(f["replies"], f["end"], what)
}

// draw reads [{p, replies, end}]: each trial has one of the lists, with its chance.
func (d *decoder) draw(n *yaml.Node) *entry {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		d.wrongKind(n, "draw", "a list of {p, replies}")
		return nil
	}
	d.draws++
	e := &entry{place: d.draws}
	total, whole := 0.0, true
	for _, item := range n.Content {
		f, ok := d.mapping(item, "a branch of draw", "p", "replies", "end")
		if !ok || f["p"] == nil || f["replies"] == nil {
			if ok {
				d.problem(item, "a branch of draw needs p and replies")
			}
			whole = false
			continue
		}
		p, err := strconv.ParseFloat(f["p"].Value, 64)
		if err != nil || !(p > 0 && p <= 1) {
			d.problem(f["p"], "p is a chance above 0 and up to 1, not %q", provider.Excerpt(f["p"].Value, maxQuoted))
			whole = false
		}
		total += p
		list := d.listOf(f["replies"], f["end"], "replies")
		if list == nil {
			whole = false
			continue
		}
		e.branches = append(e.branches, branch{upTo: total, list: list})
	}
	if whole && math.Abs(total-1) > 1e-9 {
		d.problem(n, "the chances p of draw come to %g, and have to come to 1", total)
	}
	if !whole {
		return nil
	}
	return e
}

func (d *decoder) listOf(n, end *yaml.Node, what string) *entry {
	if n.Kind != yaml.SequenceNode {
		d.wrongKind(n, what, "a list of replies")
		return nil
	}
	e := &entry{endError: d.endError}
	if end != nil {
		e.endError = d.end(end)
	}
	for i, item := range n.Content {
		value := endOf(item)
		if value != nil {
			e.endError = d.end(value)
		}
		if value != nil && i != len(n.Content)-1 {
			d.problem(item, "end stands with the last reply, or after it")
		}
		if value == nil || len(item.Content) > 2 {
			e.replies = append(e.replies, d.reply(item))
		}
	}
	if len(e.replies) == 0 {
		d.problem(n, "%s has no replies", what)
		return nil
	}
	return e
}

// endOf returns the value of an item's end key, or nil.
func endOf(n *yaml.Node) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "end" {
			return n.Content[i+1]
		}
	}
	return nil
}

func (d *decoder) end(n *yaml.Node) bool {
	if n == nil {
		return false
	}
	word := d.text(n, "end")
	if word != "error" && word != "repeat" {
		d.problem(n, "end is %q; it is error, or repeat (the last reply)", word)
	}
	return word == "error"
}

// nearest suggests the known word a mistyped one may have meant.
func nearest(word string, known []string) string {
	const longest = 32
	if len(word) > longest {
		return ""
	}
	best, least := "", max(2, len(word)/3)+1
	for _, k := range known {
		if dist := levenshtein.ComputeDistance(strings.ToLower(word), k); dist < least {
			best, least = k, dist
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// codeNames are the error codes a script may use: a cancelled call is the
// caller's doing.
func codeNames() []string {
	var names []string
	for _, code := range provider.Codes() {
		if code != provider.Cancelled {
			names = append(names, string(code))
		}
	}
	return names
}
