package pack

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// SchemaURL is where the newest schema of the format is published.
const SchemaURL = "https://raw.githubusercontent.com/agentclash/agentclash/main/docs/challenge-pack.schema.json"

//go:embed schema
var schemaRows embed.FS

// Schema returns the JSON Schema (2020-12) of the format, for editors: what
// there is to write, what it means, and what is wrong as far as a schema can
// tell. A pack without errors meets it, but for a few spellings that its rows
// name; a pack that meets it may still have errors.
//
// It is made of the Go types and of the rows in the directory schema. The error
// is for a row without its field or a field without its row.
func Schema() ([]byte, error) { return schemaFrom(schemaRows) }

func schemaFrom(files fs.FS) ([]byte, error) {
	rows, err := readSchemaRows(files)
	if err != nil {
		return nil, err
	}
	w := schemaWriter{rows: rows, met: map[string]reflect.Type{}}
	w.define("Pack", reflect.TypeFor[Pack](), false)
	w.free()
	if len(w.drift) > 0 {
		return nil, fmt.Errorf("make the schema: %w", errors.Join(w.drift...))
	}
	doc := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", SchemaURL},
		{"title", "AgentClash challenge pack"},
	}
	for _, def := range w.defs {
		if def.key == "Pack" {
			doc = append(doc, def.value.(object)...)
		}
	}
	defs := slices.DeleteFunc(w.defs, func(m member) bool { return m.key == "Pack" })
	out, err := json.MarshalIndent(append(doc, member{"$defs", defs}), "", "  ")
	return append(out, '\n'), err
}

// schemaWriter describes the Go types as the decoder reads them. Strict stands
// for the ways of JSON, which hold inside evaluation_spec.
type schemaWriter struct {
	rows  object // by type
	defs  object
	met   map[string]reflect.Type
	drift []error
}

func (w *schemaWriter) drifted(format string, args ...any) {
	w.drift = append(w.drift, fmt.Errorf(format, args...))
}

// define writes the definition of a struct, once.
func (w *schemaWriter) define(name string, t reflect.Type, strict bool) {
	if known, ok := w.met[name]; ok {
		if known != t {
			w.drifted("two types are called %s", name)
		}
		return
	}
	w.met[name] = t
	r := w.row(name)
	at := len(w.defs)
	w.defs = append(w.defs, member{key: name}) // before what it refers to
	var properties object
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		s := site{strict: strict, required: r.requires(key), owner: name + f.Name}
		properties.set(key, w.property(r, key, w.value(f.Type, s), s))
	}
	w.defs[at].value = w.definition(r, properties, strict)
}

// free writes the definitions of the mappings that the format leaves open, for
// which there is no Go type.
func (w *schemaWriter) free() {
	for _, m := range w.rows {
		if w.met[m.key] != nil {
			continue
		}
		r := w.row(m.key)
		if r.get("free") != true {
			w.drifted("a row describes %s, which is not there", m.key)
			continue
		}
		var properties object
		for _, note := range r.notes {
			properties.set(note.key, w.property(r, note.key, nil, site{required: r.requires(note.key)}))
		}
		w.defs = append(w.defs, member{m.key, w.definition(r, properties, false)})
	}
}

// schemaRow is what the files in the directory schema say of a type.
type schemaRow struct {
	object
	name     string
	notes    object // by key
	required []any
}

func (r schemaRow) requires(key string) bool { return slices.Contains(r.required, any(key)) }

func (w *schemaWriter) row(name string) schemaRow {
	r := schemaRow{name: name}
	var ok bool
	if r.object, ok = w.rows.get(name).(object); !ok {
		w.drifted("there is no row for %s", name)
		return r
	}
	if text, _ := r.get("description").(string); text == "" {
		w.drifted("no row describes %s", name)
	}
	r.notes, _ = r.get("properties").(object)
	r.required, _ = r.get("required").([]any)
	return r
}

// property lays what a row says of a key over what the Go type says.
func (w *schemaWriter) property(r schemaRow, key string, base object, s site) object {
	note, _ := r.notes.get(key).(object)
	text, _ := note.get("description").(string)
	if text == "" {
		w.drifted("no row describes %s.%s", r.name, key)
	}
	out := append(object{{"description", text}}, choose(base, note, s)...)
	for _, m := range note {
		switch m.key {
		case "description", "words", "folded", "enum", "suggest":
		default:
			out.set(m.key, expand(m.value))
		}
	}
	return out
}

// definition puts a type together and finds what its row names and the type
// does not have.
func (w *schemaWriter) definition(r schemaRow, properties object, strict bool) object {
	for _, m := range r.notes {
		if !properties.has(m.key) {
			w.drifted("a row describes %s.%s, which is not there", r.name, m.key)
		}
	}
	for _, key := range r.required {
		if name, _ := key.(string); !properties.has(name) {
			w.drifted("a row requires %s.%v, which is not there", r.name, key)
		}
	}
	def := object{{"description", r.get("description")}, {"type", nullable("object")}}
	if strict {
		def.set("additionalProperties", false)
	}
	if r.required != nil {
		def.set("required", r.required)
	}
	if properties != nil {
		def.set("properties", properties)
	}
	for _, m := range r.object {
		switch m.key {
		case "description", "required", "properties", "free":
		default:
			def.set(m.key, expand(m.value))
		}
	}
	if r.name == "Validator" {
		rules, _ := def.get("allOf").([]any)
		def.set("allOf", append(validatorRules(scoring.ValidatorTypes()), rules...))
	}
	return def
}

// site is where a value stands.
type site struct {
	strict   bool
	required bool   // null and blank are not enough
	owner    string // names a struct that has no name of its own
}

func nullable(types ...string) []any {
	list := make([]any, 0, len(types)+1)
	for _, t := range types {
		list = append(list, t)
	}
	return append(list, "null")
}

// typed is a value of one of some types; null stands for a value left out.
func (s site) typed(types ...string) object {
	list := nullable(types...)
	if s.required {
		list = list[:len(types)]
	}
	if len(list) == 1 {
		return object{{"type", list[0]}}
	}
	return object{{"type", list}}
}

// value describes a Go type as the decoder reads it.
func (w *schemaWriter) value(t reflect.Type, s site) object {
	switch t.Kind() {
	case reflect.Pointer:
		return w.value(t.Elem(), s)
	case reflect.Struct:
		return w.reference(t, s)
	case reflect.Map:
		m := s.typed("object")
		if t.Elem().Kind() != reflect.Interface {
			m.set("additionalProperties", w.value(t.Elem(), site{strict: s.strict}))
		}
		return m
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() {
			return nil
		}
		list := s.typed("array")
		// Outside the spec null items fall out of lists.
		list.set("items", w.value(t.Elem(), site{strict: s.strict, required: s.strict}))
		return list
	case reflect.Interface:
		return nil
	}
	return scalar(t, s)
}

func (w *schemaWriter) reference(t reflect.Type, s site) object {
	name := t.Name()
	if name == "" {
		name = s.owner
	}
	w.define(name, t, s.strict || t == reflect.TypeFor[scoring.Spec]())
	ref := object{{"$ref", "#/$defs/" + name}}
	if s.required {
		ref.set("type", "object")
	}
	return ref
}

// scalar describes text, truth and numbers. Outside the spec any scalar is
// text, YAML 1.1 has more words for truth, and numbers are cut to whole ones.
func scalar(t reflect.Type, s site) object {
	var out object
	switch t.Kind() {
	case reflect.String:
		out = s.typed("string")
		if !s.strict {
			out = s.typed("string", "number", "boolean")
		}
		if s.required {
			out.set("pattern", `\S`)
		}
		return out
	case reflect.Bool:
		if s.strict {
			return s.typed("boolean")
		}
		out = s.typed("boolean", "string")
		out.set("pattern", "^(?:[yYnN]|yes|Yes|YES|on|On|ON|no|No|NO|off|Off|OFF)$")
		return out
	case reflect.Float64:
		return s.typed("number")
	}
	out = s.typed("number")
	if s.strict {
		out = s.typed("integer")
	}
	if t.Kind() == reflect.Int32 {
		out.set("minimum", math.MinInt32)
		out.set("maximum", math.MaxInt32)
	}
	return out
}
