package scoring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Bounds of json_schema.
const (
	maxSchema     = 256 << 10
	maxViolations = 10
	maxViolation  = 300
)

// schemaName stands for the schema where the library wants an address. Nothing
// can be loaded from where it seems to be, so a relative $ref leads nowhere.
const schemaName = "spec:///schema.json"

// schemaEvidence is the evidence of a json_schema.
type schemaEvidence struct {
	Kind   string   `json:"kind"`
	Errors []string `json:"validation_errors"`
}

// schemaMatch follows santhosh-tekuri/jsonschema: draft 2020-12 unless $schema
// names another draft, nothing loaded from anywhere, formats not asserted. Its
// reading of the standard is the format's; the agreed examples it changed are
// listed in testdata/validators/json_schema.txt.
func schemaMatch(settings) matcher {
	schemas := newMemo(compileSchema)
	return func(expected string) (comparison, error) {
		schema, err := schemas.get(expected)
		if err != nil {
			return nil, err
		}
		return func(actual string) finding { return validate(schema, actual) }, nil
	}
}

func validate(schema *jsonschema.Schema, actual string) finding {
	doc, err := parseJSON(actual)
	if err != nil {
		return senseless(fmt.Sprintf("the text is not one JSON document: %v", err))
	}
	err = guarded(func() error { return schema.Validate(doc) })
	if err == nil {
		return judged(true, "")
	}
	found := violations(err)
	if cyclic(err) {
		return authors(senseless(found[0]))
	}
	return judged(false, found[0]).with(schemaEvidence{JSONSchema, found})
}

// cyclic says that the schema refers to itself without end, which shows only
// when it is used.
func cyclic(err error) bool {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return true // the library gave up on the schema
	}
	if _, ok := invalid.ErrorKind.(*kind.RefCycle); ok {
		return true
	}
	return slices.ContainsFunc(invalid.Causes, func(c *jsonschema.ValidationError) bool { return cyclic(c) })
}

func compileSchema(text string) (*jsonschema.Schema, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("the schema has %d bytes; at most %d are read", len(text), maxSchema)
	}
	doc, err := parseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("the schema is not one JSON document: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
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
		return nil, fmt.Errorf("the schema is not valid: %s", strings.Join(violations(err), "; "))
	}
	return schema, nil
}

// noLoader keeps a schema from reading files and addresses.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("nothing is loaded from outside the schema")
}

// formats are the format names a schema may use, so that the older drafts do
// not assert them either.
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

// guarded runs the library on hostile text: should it ever panic, that is an
// error about the text and not the end of a run.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the schema cannot be evaluated: %v", r)
		}
	}()
	return f()
}

// violations are the places where a document breaks a schema, sorted, since
// the library visits objects in random order, and bounded. There is at least
// one for an error.
func violations(err error) []string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		var bad *jsonschema.SchemaValidationError
		if !errors.As(err, &bad) || !errors.As(bad.Err, &invalid) {
			return []string{clipTo(err.Error(), maxViolation)}
		}
	}
	found := leaves(invalid, nil)
	slices.Sort(found)
	found = slices.Compact(found)
	if more := len(found) - maxViolations; more > 0 {
		found = append(found[:maxViolations], fmt.Sprintf("and %d more", more))
	}
	return found
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
	return append(found, clipTo(e.Error(), maxViolation))
}
