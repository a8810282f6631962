package pack

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// bundleField is the field of a problem with the file as a whole.
const bundleField = "bundle"

// toolsField is the block of the pack's own tools.
const toolsField = "tools"

// spot is where a value stands: a chain of keys and indexes up to the root,
// which is nil. The path is spelled out only when something is wrong.
type spot struct {
	up     *spot
	key    *node // nil for a list item
	index  int
	strict bool // inside evaluation_spec, where JSON's rules hold
}

func (s *spot) child(key *node) *spot {
	return &spot{up: s, key: key, strict: s != nil && s.strict}
}

func (s *spot) item(i int) *spot {
	return &spot{up: s, index: i, strict: s != nil && s.strict}
}

func (s *spot) path() string {
	if s == nil {
		return bundleField
	}
	parent := ""
	if s.up != nil {
		parent = s.up.path()
	}
	if s.key == nil {
		return parent + "[" + strconv.Itoa(s.index) + "]"
	}
	return join(parent, s.key.text)
}

// top is the spot at the top level of the file that this one lies in.
func (s *spot) top() *spot {
	for s.up != nil {
		s = s.up
	}
	return s
}

// place is where a problem with value n at this spot is shown: at the value
// itself when it is a scalar that is written out, else at its key.
func (s *spot) place(n *node) position {
	if s == nil || s.key == nil {
		return n.start()
	}
	return placeOf(s.key, n)
}

func placeOf(key, n *node) position {
	if key == nil || n != nil && n.kind == yaml.ScalarNode && n.text != "" {
		return n.start()
	}
	return key.at
}

func (n *node) start() position {
	if n == nil {
		return position{1, 1}
	}
	return n.at
}

// plainName is a key that needs no quotes in a path.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// join adds a key to a path. Keys are a stranger's text, so that one with
// anything unusual in it is quoted and bounded.
func join(parent, key string) string {
	switch {
	case !plainName.MatchString(key) || len(key) > maxQuoted:
		return parent + "[" + quote(key) + "]"
	case parent == "":
		return key
	}
	return parent + "." + key
}

// maxQuoted bounds how much of a stranger's text a message repeats, in bytes.
const maxQuoted = 80

// clip bounds text for a message, on a character boundary.
func clip(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// quote repeats a stranger's text in a message: bounded, on one line, and with
// nothing in it that a terminal would obey.
func quote(text string) string { return strconv.Quote(clip(text)) }

// locate finds the place of a field, or of its nearest ancestor that exists.
func (n *node) locate(field string) position {
	if i := strings.Index(field, " ("); i >= 0 {
		field = field[:i] // the case a template was filled for
	}
	if field == bundleField {
		return n.start()
	}
	var key *node
	for field != "" && n != nil {
		var segment string
		segment, field = nextSegment(field)
		k, child := n.step(segment)
		if child == nil {
			break
		}
		key, n = k, child
	}
	return placeOf(key, n)
}

// step goes one segment down; the result is nil where there is nothing.
func (n *node) step(segment string) (key, value *node) {
	if n.kind == yaml.SequenceNode {
		i, err := strconv.Atoi(segment)
		if err != nil || i < 0 {
			return nil, nil
		}
		for _, item := range n.items {
			if n.dense && item.isNull() && !item.refused {
				continue
			}
			if i == 0 {
				return nil, item
			}
			i--
		}
		return nil, nil
	}
	p, ok := n.get(segment)
	if !ok {
		p, ok = n.getFold(segment) // where JSON's rules hold, capitals do not count
	}
	if items, legacy := n.get("items"); segment == "cases" && legacy && (!ok || len(p.value.items) == 0) {
		return items.key, items.value // what normalization turns into cases
	}
	if !ok {
		return nil, nil
	}
	return p.key, p.value
}

// nextSegment cuts the first key or index off a path.
func nextSegment(field string) (segment, rest string) {
	field = strings.TrimPrefix(field, ".")
	if !strings.HasPrefix(field, "[") {
		if i := strings.IndexAny(field, ".["); i >= 0 {
			return field[:i], field[i:]
		}
		return field, ""
	}
	if quoted, err := strconv.QuotedPrefix(field[1:]); err == nil {
		text, _ := strconv.Unquote(quoted)
		return text, strings.TrimPrefix(field[1+len(quoted):], "]")
	}
	if i := strings.IndexByte(field, ']'); i >= 0 {
		return field[1:i], field[i+1:]
	}
	return field[1:], ""
}
