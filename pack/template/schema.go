package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Bounds of a `parameters` schema. The library knows a value by its path and
// compares each with each, so that its time grows with the length of the paths
// and the square of the values.
const (
	maxSchemaValues = 1000
	maxSchemaPath   = 1000
	maxSchemaText   = 256 << 10
	maxSchemaFaults = 5
	maxSchemaFault  = 300
)

// schemaName stands for the schema where the library wants an address. Nothing
// can be loaded from where it seems to be, so a relative $ref leads nowhere.
const schemaName = "pack:///parameters.json"

// compileSchema follows santhosh-tekuri/jsonschema: draft 2020-12 unless
// $schema names another draft, nothing loaded from anywhere, formats not
// asserted. Its reading of the standard is the format's; schema_test.go lists
// where others read it otherwise.
func compileSchema(value map[string]any) (*jsonschema.Schema, error) {
	switch m := measured(value); {
	case m.values > maxSchemaValues:
		return nil, fmt.Errorf("has %d values; at most %d are read", m.values, maxSchemaValues)
	case m.text > maxSchemaText:
		return nil, fmt.Errorf("has more than %d KiB of text", maxSchemaText>>10)
	case m.path > maxSchemaPath:
		return nil, fmt.Errorf("has a value whose path is longer than %d bytes", maxSchemaPath)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(compact(value)))
	if err != nil {
		return nil, fmt.Errorf("cannot be written as JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(parsePattern)
	for _, name := range formats(doc, nil) {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	var schema *jsonschema.Schema
	err = guarded(func() error {
		if err := c.AddResource(schemaName, doc); err != nil {
			return err
		}
		schema, err = c.Compile(schemaName)
		return err
	})
	if err != nil {
		return nil, errors.New("is not a valid JSON Schema: " + faults(err))
	}
	return schema, nil
}

// noLoader keeps a schema from reading files and addresses.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("nothing is loaded from outside the schema")
}

// pattern is compiled when it is first used: a few letters of it can ask for
// megabytes, and a check needs to know only that it is one.
type pattern struct {
	text    string
	compile func() *regexp.Regexp
}

func parsePattern(text string) (jsonschema.Regexp, error) {
	if _, err := syntax.Parse(text, syntax.Perl); err != nil {
		return nil, err
	}
	return &pattern{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}, nil
}

func (p *pattern) String() string               { return p.text }
func (p *pattern) MatchString(text string) bool { return p.compile().MatchString(text) }

// guarded runs the library on hostile text: should it ever panic, that is an
// error about the text.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be compiled: %v", r)
		}
	}()
	return f()
}

// formats are the format names a schema uses, so that the older drafts do not
// assert them either.
func formats(v any, names []string) []string {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["format"].(string); ok {
			names = append(names, name)
		}
		for _, item := range v {
			names = formats(item, names)
		}
	case []any:
		for _, item := range v {
			names = formats(item, names)
		}
	}
	return names
}

// faults is what the library found wrong, sorted, since it visits objects in
// random order, and bounded.
func faults(err error) string {
	var bad *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	var anchor *jsonschema.DuplicateAnchorError
	var id *jsonschema.DuplicateIDError
	switch {
	case errors.As(err, &anchor):
		return quotable(fmt.Sprintf("the $anchor %q stands twice", anchor.Anchor))
	case errors.As(err, &id):
		return quotable(fmt.Sprintf("the $id %q stands twice", id.ID))
	}
	if !errors.As(err, &bad) || !errors.As(bad.Err, &invalid) {
		return quotable(err.Error())
	}
	found := leaves(invalid, nil)
	slices.Sort(found)
	found = slices.Compact(found)
	if more := len(found) - maxSchemaFaults; more > 0 {
		found = append(found[:maxSchemaFaults], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(found, "; ")
}

func leaves(e *jsonschema.ValidationError, found []string) []string {
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			found = leaves(c, found)
		}
		return found
	}
	if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		slices.Sort(k.Properties)
	}
	return append(found, quotable(e.Error()))
}

// quotable is an error text that may repeat a stranger's: bounded, on one line
// and with nothing in it that a terminal would obey.
func quotable(text string) string {
	text = strings.ReplaceAll(text, schemaName, "parameters")
	text = strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, text)
	if len(text) > maxSchemaFault {
		text = strings.ToValidUTF8(text[:maxSchemaFault], "") + "..."
	}
	return text
}

// parameters is the read `parameters` of a tool.
type parameters struct {
	raw      json.RawMessage
	schema   *jsonschema.Schema
	declared map[string]bool
}

// parameters reads the schema of a tool's arguments. Problems with it go to
// refuse: for a composed tool they are errors, for a mock they are not.
func (r *reader) parameters(tool fields, refuse func(at *spot, format string, args ...any)) parameters {
	value, at := tool.value("parameters"), tool.at("parameters")
	if !tool.has("parameters") {
		value = map[string]any{"type": "object", "additionalProperties": false}
	} else if value == nil {
		value = map[string]any{}
	}
	p := parameters{raw: json.RawMessage(compact(value)), declared: map[string]bool{}}
	m, ok := value.(map[string]any)
	if !ok {
		refuse(at, "must be a JSON Schema, which is a mapping, not %s", what(value))
		return p
	}
	properties, _ := m["properties"].(map[string]any)
	for name := range properties {
		p.declared[strings.TrimSpace(name)] = true
	}
	var err error
	if p.schema, err = compileSchema(r.relax(m, at).(map[string]any)); err != nil {
		refuse(at, "%v", err)
	}
	return p
}

// The keywords whose value is a schema or a list of them, and those whose value
// is a mapping of them.
var (
	schemaKeywords = []string{
		"additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "else", "if", "items", "not",
		"oneOf", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
	}
	schemaMaps  = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
	schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}
)

// relax returns a schema without the type names that do not exist. The format
// accepts them and the library does not: nothing is of such a type.
func (r *reader) relax(v any, at *spot) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = r.relax(item, at.at(i))
		}
		return out
	case map[string]any:
		return r.relaxTypes(r.relaxBelow(v, at), at)
	}
	return v
}

func (r *reader) relaxBelow(v map[string]any, at *spot) map[string]any {
	out := maps.Clone(v)
	for _, key := range slices.Sorted(maps.Keys(v)) {
		below, isMap := v[key].(map[string]any)
		switch {
		case slices.Contains(schemaKeywords, key):
			out[key] = r.relax(v[key], at.child(key))
		case slices.Contains(schemaMaps, key) && isMap:
			below = maps.Clone(below)
			for _, name := range slices.Sorted(maps.Keys(below)) {
				below[name] = r.relax(below[name], at.child(key).child(name))
			}
			out[key] = below
		}
	}
	return out
}

func (r *reader) relaxTypes(schema map[string]any, at *spot) map[string]any {
	names, ok := typeNames(schema["type"])
	if !ok {
		return schema // the library says what is wrong with it
	}
	var kept []any
	for _, name := range names {
		if slices.Contains(schemaTypes, name) {
			kept = append(kept, name)
			continue
		}
		r.warn(at.child("type"), "there is no type %s: no value is of it%s", quote(name), r.hint(name, schemaTypes))
	}
	switch {
	case len(kept) == len(names):
	case len(kept) > 0:
		schema["type"] = kept
	default:
		delete(schema, "type")
		schema["not"] = map[string]any{} // which no value meets
	}
	return schema
}

// typeNames returns the names in a `type`, if it is made of names.
func typeNames(v any) (names []string, ok bool) {
	if name, ok := v.(string); ok {
		return []string{name}, true
	}
	list, ok := v.([]any)
	for _, item := range list {
		name, isText := item.(string)
		if !isText {
			return nil, false
		}
		names = append(names, name)
	}
	return names, ok && len(names) > 0
}
