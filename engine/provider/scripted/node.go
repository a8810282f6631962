package scripted

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/engine/provider"
)

const (
	maxQuoted = 60  // bytes of a script's own text in a problem
	maxDepth  = 100 // of arguments
)

// mapping returns the fields of a mapping whose keys are all known. It reports
// the others, and says false when n is no mapping at all.
func (d *decoder) mapping(n *yaml.Node, what string, known ...string) (map[string]*yaml.Node, bool) {
	if n.Kind != yaml.MappingNode {
		d.wrongKind(n, what, "a mapping")
		return nil, false
	}
	fields := make(map[string]*yaml.Node, len(known))
	d.pairs(n, func(key, value *yaml.Node) {
		if !slices.Contains(known, key.Value) {
			d.problem(key, "unknown key %q in %s%s", provider.Excerpt(key.Value, maxQuoted), what, nearest(key.Value, known))
			return
		}
		fields[key.Value] = value
	})
	return fields, true
}

// pairs visits a mapping's pairs in order and reports keys that are no text or
// that came before.
func (d *decoder) pairs(n *yaml.Node, visit func(key, value *yaml.Node)) {
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			d.wrongKind(key, "a key", "a text")
		case seen[key.Value]:
			d.problem(key, "key %q stands here twice", provider.Excerpt(key.Value, maxQuoted))
		default:
			seen[key.Value] = true
			visit(key, n.Content[i+1])
		}
	}
}

func (d *decoder) wrongKind(n *yaml.Node, what, want string) {
	got := strconv.Quote(provider.Excerpt(n.Value, maxQuoted))
	switch n.Kind {
	case yaml.MappingNode:
		got = "a mapping"
	case yaml.SequenceNode:
		got = "a list"
		if len(n.Content) == 0 {
			got = "an empty list"
		}
	case yaml.AliasNode:
		d.problem(n, "aliases (*%s) are not supported in scripts", provider.Excerpt(n.Value, maxQuoted))
		return
	case yaml.ScalarNode:
		if n.ShortTag() == "!!null" {
			got = "nothing"
		}
	}
	d.problem(n, "%s is %s; it must be %s", what, got, want)
}

// text reads any scalar but null as it is written, so that an unquoted 4 is the
// text 4.
func (d *decoder) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.wrongKind(n, what, "a text")
		return ""
	}
	return n.Value
}

func (d *decoder) boolean(n *yaml.Node, what string) bool {
	var v bool
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&v) != nil {
		d.wrongKind(n, what, "true or false")
	}
	return v
}

// integer reads a whole number from 0 to most.
func (d *decoder) integer(n *yaml.Node, what string, most int64) int64 {
	var v int64
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&v) != nil {
		d.wrongKind(n, what, "a whole number")
		return 0
	}
	if v < 0 || v > most {
		d.problem(n, "%s is %d; it must be within 0 and %d", what, v, most)
		return 0
	}
	return v
}

// json writes a node as JSON, keys in the order they stand in.
func (d *decoder) json(n *yaml.Node) json.RawMessage {
	var b bytes.Buffer
	if !d.writeJSON(&b, n, 0) {
		return nil
	}
	return b.Bytes()
}

func (d *decoder) writeJSON(b *bytes.Buffer, n *yaml.Node, depth int) bool {
	if depth > maxDepth {
		d.problem(n, "arguments are nested more than %d deep", maxDepth)
		return false
	}
	ok := true
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		first := true
		d.pairs(n, func(key, value *yaml.Node) {
			if !first {
				b.WriteByte(',')
			}
			first = false
			writeValue(b, key.Value)
			b.WriteByte(':')
			ok = d.writeJSON(b, value, depth+1) && ok
		})
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			ok = d.writeJSON(b, item, depth+1) && ok
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		return d.writeScalar(b, n)
	default:
		d.wrongKind(n, "an argument", "a value")
		return false
	}
	return ok
}

// writeScalar keeps what YAML sees as a date, or as binary, the text it is:
// JSON has neither.
func (d *decoder) writeScalar(b *bytes.Buffer, n *yaml.Node) bool {
	var v any = n.Value
	switch n.ShortTag() {
	case "!!null", "!!bool", "!!int", "!!float":
		if err := n.Decode(&v); err != nil {
			d.problem(n, "value %q does not fit its type", provider.Excerpt(n.Value, maxQuoted))
			return false
		}
	}
	if f, isFloat := v.(float64); isFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
		d.problem(n, "%s cannot be sent: JSON has no such number", provider.Excerpt(n.Value, maxQuoted))
		return false
	}
	writeValue(b, v)
	return true
}

func writeValue(b *bytes.Buffer, v any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)       // a text, a number, a boolean or nil always encodes
	b.Truncate(b.Len() - 1) // its newline
}
