package scoring

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/agentclash/agentclash/scoring/jsondoc"
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
	Draft  string   `json:"schema_draft"`
	Errors []string `json:"validation_errors,omitempty"` // none: there are too many to look at
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

// boundedSchema is a compiled schema that cannot be asked for too much.
type boundedSchema struct {
	mu    sync.Mutex // the gauge counts for one check at a time
	gauge gauge
	whole *jsonschema.Schema
	// denied is {"not": whole}. The library answers it without saying where a
	// document is wrong, which takes memory for every place.
	denied *jsonschema.Schema
}

// denies says whether the schema refuses a document, within so many steps.
func (s *boundedSchema) denies(doc any, steps int) (bool, error) {
	s.gauge.left = steps
	err := guarded(func() error { return s.denied.Validate(doc) })
	if s.gauge.left < 0 {
		return false, errSteps
	}
	return err == nil, nil
}

// places says where a document that is refused is wrong.
func (s *boundedSchema) places(doc any, steps int) error {
	s.gauge.left = steps
	err := guarded(func() error { return s.whole.Validate(doc) })
	if s.gauge.left < 0 {
		return errSteps
	}
	return err
}

func validate(schema *boundedSchema, actual string) finding {
	doc, err := jsondoc.Parse(actual)
	if err != nil {
		return senseless(fmt.Sprintf("the text is not one JSON document: %v", err))
	}
	depth, _ := jsondoc.Nesting(doc)
	if depth > maxNested {
		return senseless(fmt.Sprintf("the JSON has more than %d lists and objects inside one another", maxNested))
	}
	schema.mu.Lock()
	defer schema.mu.Unlock()
	denied, err := schema.denies(doc, maxSteps+stepsPerByte*len(actual))
	if err != nil {
		return senseless(err.Error())
	}
	if !denied {
		return judged(true, "")
	}
	e := schemaEvidence{Kind: JSONSchema, Draft: draftName(schema.whole.DraftVersion)}
	switch err = schema.places(doc, bytesOfFindings/(256+16*depth)); {
	case err == nil:
		return judged(true, "")
	case errors.Is(err, errSteps):
		return judged(false, "the document breaks the schema, in too many places to look at").with(e)
	}
	e.Errors = violations(err)
	if cyclic(err) {
		return authors(senseless(e.Errors[0]))
	}
	return judged(false, e.Errors[0]).with(e)
}

// draftName is the name of a draft of the standard.
func draftName(version int) string {
	switch version {
	case 2020:
		return "2020-12"
	case 2019:
		return "2019-09"
	}
	return fmt.Sprintf("draft-%02d", version)
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

func compileSchema(text string) (*boundedSchema, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("the schema has %d bytes; at most %d are read", len(text), maxSchema)
	}
	doc, err := jsondoc.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the schema is not one JSON document: %w", err)
	}
	if depth, parts := jsondoc.Nesting(doc); depth > maxNested || parts > maxSchemaParts {
		return nil, fmt.Errorf("the schema is too large: it has %d parts, nested %d deep; at most %d and %d are read", parts, depth, maxSchemaParts, maxNested)
	}
	s := &boundedSchema{}
	if err := guarded(func() error { return s.compile(doc) }); err != nil {
		return nil, fmt.Errorf("the schema is not valid: %s", strings.Join(violations(err), "; "))
	}
	if err := s.usable(); err != nil {
		return nil, err
	}
	return s, nil
}

// deniedName is where the schema stands that denies the other.
const deniedName = "spec:///denied.json"

func (s *boundedSchema) compile(doc any) error {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	s.gauge.install(c)
	err := c.AddResource(schemaName, doc)
	if err == nil {
		s.whole, err = c.Compile(schemaName)
	}
	if err == nil {
		err = c.AddResource(deniedName, map[string]any{"not": map[string]any{"$ref": schemaName}})
	}
	if err == nil {
		s.denied, err = c.Compile(deniedName)
	}
	s.gauge.watch()
	return err
}

// usable refuses a schema that takes too many steps even for the smallest
// documents: no agent could pass it.
func (s *boundedSchema) usable() error {
	for _, doc := range []any{nil, map[string]any{}, []any{}, "", json.Number("0")} {
		if _, err := s.denies(doc, fewSteps); err != nil {
			return fmt.Errorf("no document can be checked against the schema: %w", err)
		}
	}
	return nil
}

// noLoader keeps a schema from reading files and addresses.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("nothing is loaded from outside the schema")
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
