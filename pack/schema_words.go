package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/scoring"
)

// object is a JSON object that keeps the order of its keys: a schema is read by
// people, too.
type object []member

type member struct {
	key   string
	value any
}

func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

func (o object) has(key string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.key == key })
}

func (o *object) set(key string, value any) {
	for i := range *o {
		if (*o)[i].key == key {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{key, value})
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, v := range []any{m.key, m.value} {
			text, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			b.Write(text)
			b.WriteByte(':')
		}
		b.Truncate(b.Len() - 1)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// readSchemaRows reads the rows of all files, by type. Fragments are there for
// anchors only.
func readSchemaRows(files fs.FS) (object, error) {
	var rows object
	for _, name := range []string{"pack", "blocks", "evaluation_spec"} {
		text, err := fs.ReadFile(files, "schema/"+name+".yaml")
		if err != nil {
			return nil, err
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(text, &doc); err != nil {
			return nil, fmt.Errorf("read %s.yaml: %w", name, err)
		}
		v, err := ordered(&doc)
		if err != nil {
			return nil, fmt.Errorf("read %s.yaml: %w", name, err)
		}
		part, ok := v.(object)
		if !ok {
			return nil, fmt.Errorf("read %s.yaml: it is not a mapping of rows", name)
		}
		for _, m := range part {
			if m.key != "fragments" {
				rows = append(rows, m)
			}
		}
	}
	return rows, nil
}

// ordered is a YAML value with its mappings in their order.
func ordered(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return ordered(n.Content[0])
	case yaml.AliasNode:
		return ordered(n.Alias)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			v, err := ordered(item)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case yaml.MappingNode:
		return orderedMapping(n)
	}
	var v any
	err := n.Decode(&v)
	return v, err
}

func orderedMapping(n *yaml.Node) (object, error) {
	o := object{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		v, err := ordered(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		key := n.Content[i]
		if merged, ok := v.(object); ok && key.Tag == "!!merge" {
			o = append(o, merged...)
			continue
		}
		o.set(key.Value, v)
	}
	return o, nil
}

// choice is one of the few values of a field.
type choice struct{ value, doc string }

// tables are the lists of values that other code owns.
func tables() map[string][]choice {
	t := map[string][]choice{}
	for _, kind := range template.Kinds() {
		t["tool kinds"] = append(t["tool kinds"], choice{value: kind})
	}
	docs := map[string]string{}
	for _, p := range template.Primitives() {
		docs[p.Name] = p.Description
	}
	for _, name := range template.Names() {
		t["tools"] = append(t["tools"], choice{name, docs[name]})
	}
	for _, c := range scoring.Collectors() {
		t["collectors"] = append(t["collectors"], choice{c.Name, sentence(c.Doc)})
	}
	for _, v := range scoring.ValidatorTypes() {
		t["validator types"] = append(t["validator types"], choice{v.Name, sentence(v.Doc)})
	}
	for _, s := range scoring.DimensionSources() {
		t["dimension sources"] = append(t["dimension sources"], choice{value: s})
	}
	for _, m := range scoring.JudgeModes() {
		t["judge modes"] = append(t["judge modes"], choice{value: m.Name})
	}
	for _, s := range scoring.SignalTypes() {
		t["signals"] = append(t["signals"], choice{value: s.Name})
	}
	return t
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// choices are the values that a row lists or names a table of.
func choices(v any) []choice {
	if name, ok := v.(string); ok {
		return tables()[name]
	}
	var out []choice
	list, _ := v.([]any)
	for _, item := range list {
		text, _ := item.(string)
		out = append(out, choice{value: text})
	}
	return out
}

// offered is the alternatives an editor completes: an enum, or one by one where
// each has a text of its own.
func offered(list []choice) []any {
	var plain, described []any
	for _, c := range list {
		if c.doc == "" {
			plain = append(plain, c.value)
			continue
		}
		described = append(described, object{{"const", c.value}, {"description", c.doc}})
	}
	if plain != nil {
		described = append(described, object{{"enum", plain}})
	}
	return described
}

// choose describes a field that has few values. Blank is left out, so that it
// will do where nothing is required.
func choose(base, note object, s site) object {
	for _, m := range note {
		list := choices(m.value)
		alternatives := offered(list)
		switch m.key {
		case "words", "folded":
			other := object{{"type", "string"}, {"pattern", among(list, m.key == "folded", !s.required)}}
			if !s.required {
				other.set("type", nullable("string"))
			}
			return object{{"anyOf", append(alternatives, other)}}
		case "enum":
			if !s.required {
				alternatives = append(alternatives, object{{"type", nullable("string")}, {"maxLength", 0}})
			}
			if only, ok := alternatives[0].(object); ok && len(alternatives) == 1 {
				return only
			}
			return object{{"anyOf", alternatives}}
		case "suggest":
			return object{{"anyOf", append(alternatives, append(object{}, base...))}}
		}
	}
	return base
}

// among matches one of some words with or without space around it.
func among(list []choice, folded, blank bool) string {
	words := make([]string, len(list))
	for i, c := range list {
		words[i] = regexp.QuoteMeta(c.value)
		if folded {
			words[i] = anyCase(c.value)
		}
	}
	optional := ""
	if blank {
		optional = "?"
	}
	return `^\s*(?:` + strings.Join(words, "|") + ")" + optional + `\s*$`
}

// anyCase matches a word however its letters are written: patterns of a schema
// have no flags.
func anyCase(word string) string {
	var b strings.Builder
	for _, r := range word {
		if unicode.IsLetter(r) {
			fmt.Fprintf(&b, "[%c%c]", unicode.ToUpper(r), r)
			continue
		}
		b.WriteString(regexp.QuoteMeta(string(r)))
	}
	return b.String()
}

// expand turns the words of a row inside a value into JSON Schema.
func expand(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = expand(item)
		}
		return out
	case object:
		return expandObject(v)
	}
	return v
}

func expandObject(o object) object {
	out := object{}
	for _, m := range o {
		_, named := m.value.(string)
		switch {
		case m.key == "is" || m.key == "is_folded":
			out = append(out, member{"type", "string"}, member{"pattern", among(choices(m.value), m.key == "is_folded", false)})
		case m.key == "words" || m.key == "folded" || m.key == "enum" && named:
			out = append(out, choose(nil, object{m}, site{required: true})...)
		default:
			out.set(m.key, expand(m.value))
		}
	}
	return out
}
