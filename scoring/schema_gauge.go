package scoring

import (
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on checking a document against a schema. A schema of ten lines can
// ask for more steps than there is time, and a document can make it: every
// alternative that refers to the whole doubles them with each level.
const (
	maxSteps        = 500_000   // whatever the document's size
	stepsPerByte    = 3         // and for each of its bytes
	fewSteps        = 100_000   // for the smallest documents
	maxNested       = 200       // lists and objects inside one another
	maxSchemaParts  = 5_000     // objects, true and false in a schema
	bytesOfFindings = 128 << 20 // what may be held to say where a document is wrong
)

var errSteps = errors.New("it takes too many steps to check against the schema")

// gauge counts the steps of one check. The library asks every subschema for a
// format, which is where the gauge sits; once it is used up every subschema
// fails there and the check comes to its end.
//
// How many steps a document takes can differ a little from time to time, since
// the library visits objects in random order. Nothing that is meant to be
// checked comes near the bounds.
type gauge struct {
	left  int
	parts []*jsonschema.Schema
}

func (g *gauge) spend(steps int) bool {
	g.left = max(g.left-steps, -1)
	return g.left >= 0
}

// install puts the gauge into what a compiler will compile.
func (g *gauge) install(c *jsonschema.Compiler) {
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		re, err := compilePattern(text)
		return gaugedPattern{re, g}, err
	})
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: "spec:///vocabulary",
		Compile: func(ctx *jsonschema.CompilerContext, _ map[string]any) (jsonschema.SchemaExt, error) {
			g.parts = append(g.parts, ctx.Enqueue(nil)) // the subschema itself
			return nil, nil
		},
	})
	c.AssertVocabs()
}

// watch lets the compiled subschemas report their steps. Formats are
// annotations, so that theirs are not missed.
func (g *gauge) watch() {
	leftovers := slices.ContainsFunc(g.parts, func(s *jsonschema.Schema) bool {
		return s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil
	})
	for _, s := range g.parts {
		here, each := fanOut(s)
		if leftovers { // the library lists the items or properties for each subschema
			each += here
		}
		s.Format = &jsonschema.Format{Name: "gauge", Validate: func(v any) error {
			if !g.spend(here + each*sizeOf(v)) {
				return errSteps
			}
			return nil
		}}
	}
	g.parts = nil
}

// fanOut is how many subschemas a schema asks about a value itself, and about
// each item or property of it. They count here because some are done before
// they come to the gauge. Alternatives count twice: the library keeps what is
// wrong with each.
func fanOut(s *jsonschema.Schema) (here, each int) {
	here = 1 + 2*weights(s.AnyOf) + 2*weights(s.OneOf) + weights(s.AllOf) +
		weights([]*jsonschema.Schema{s.Not, s.If, s.Then, s.Else, s.Ref})
	for _, part := range s.DependentSchemas {
		here += weight(part)
	}
	for _, part := range s.PatternProperties {
		each += weight(part)
	}
	for _, part := range []any{s.AdditionalProperties, s.PropertyNames, s.UnevaluatedProperties,
		s.Items, s.Items2020, s.AdditionalItems, s.Contains, s.UnevaluatedItems} {
		if part, ok := part.(*jsonschema.Schema); ok {
			each += weight(part)
		}
	}
	if len(s.Properties) > 0 {
		each++
	}
	return here, each
}

func weights(parts []*jsonschema.Schema) int {
	sum := 0
	for _, part := range parts {
		sum += weight(part)
	}
	return sum
}

// weight is what it takes to ask a schema that is done at once: its list of
// values is compared one by one.
func weight(s *jsonschema.Schema) int {
	switch {
	case s == nil:
		return 0
	case s.Enum == nil:
		return 1
	}
	return 1 + len(s.Enum.Values)/8
}

func sizeOf(v any) int {
	switch v := v.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}

// gaugedPattern is a pattern whose steps, which are shorter, count too.
type gaugedPattern struct {
	*pattern
	gauge *gauge
}

func (p gaugedPattern) MatchString(s string) bool {
	return p.gauge.spend(1+p.steps(s)/16) && p.pattern.MatchString(s)
}
