package scoring

import (
	"encoding/json"
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
	maxPatterns     = 200_000   // instructions of all its patterns, which are compiled twice
	bytesOfFindings = 128 << 20 // what may be held to say where a document is wrong
)

var (
	errSteps    = errors.New("it takes too many steps to check against the schema")
	errPatterns = errors.New("the patterns of the schema are too large together")
)

// gauge counts the steps of one check. The library asks every subschema for a
// format, which is where the gauge sits; once it is used up every subschema
// fails there and the check comes to its end.
//
// How many steps a document takes can differ a little from time to time, since
// the library visits objects in random order. Nothing that is meant to be
// checked comes near the bounds.
type gauge struct {
	left         int
	parts        []subschema
	instructions int // of the patterns, while they are compiled
}

// subschema is one while it is compiled, with its check of enum and const.
type subschema struct {
	*jsonschema.Schema
	values *valuesCheck
}

func (g *gauge) spend(steps int) bool {
	g.left = max(g.left-steps, -1)
	return g.left >= 0
}

// install puts the gauge into what a compiler will compile.
func (g *gauge) install(c *jsonschema.Compiler) {
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		if g.instructions > maxPatterns {
			return nil, errPatterns
		}
		re, err := compilePattern(text)
		if err != nil {
			return nil, err
		}
		g.instructions += re.instructions
		return gaugedPattern{re, g}, nil
	})
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: "spec:///vocabulary",
		Compile: func(ctx *jsonschema.CompilerContext, keywords map[string]any) (jsonschema.SchemaExt, error) {
			p := subschema{Schema: ctx.Enqueue(nil)} // the subschema itself
			_, enum := keywords["enum"]
			_, constant := keywords["const"]
			if !enum && !constant {
				g.parts = append(g.parts, p)
				return nil, nil
			}
			p.values = &valuesCheck{gauge: g}
			g.parts = append(g.parts, p)
			return p.values, nil
		},
	})
	c.AssertVocabs()
}

// watch lets the compiled subschemas report their steps. Formats are
// annotations, so that theirs are not missed.
func (g *gauge) watch() {
	leftovers := slices.ContainsFunc(g.parts, func(s subschema) bool {
		return s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil
	})
	for _, s := range g.parts {
		if s.values != nil {
			s.values.takeOver(s.Schema)
		}
		here, each := fanOut(s.Schema)
		if leftovers { // the library lists the items or properties for each subschema
			each += here
		}
		s.Format = &jsonschema.Format{Name: "gauge", Validate: func(v any) error {
			if g.left < 0 || !g.spend(here+each*sizeOf(v)+labour(s.Schema, v)) {
				return errSteps
			}
			return nil
		}}
	}
	g.parts = nil
}

// What the library does without asking another subschema, in steps, each of
// which takes about half a microsecond.
const (
	valuesPerStep  = 8    // of an enum, or inside a const, that are compared
	namesPerStep   = 2    // that are required
	stepsPerUnique = 2    // for a value inside a list that has no duplicates
	pairedItems    = 20   // the longest list whose items are compared pair by pair
	bytesPerStep   = 1024 // of a text whose characters are counted
	bytesPerCopy   = 4096 // of any text
	stepsPerLimit  = 4    // for a number that has limits
	stepsPerFactor = 16   // for one that is divided
)

// labour is what a subschema takes to look at a value itself.
func labour(s *jsonschema.Schema, v any) int {
	switch v := v.(type) {
	case map[string]any:
		names := len(s.Required) + len(s.DependentRequired) + len(s.Dependencies) + len(s.DependentSchemas)
		for name, required := range s.DependentRequired {
			if _, ok := v[name]; ok {
				names += len(required)
			}
		}
		for name, dependency := range s.Dependencies {
			if required, ok := dependency.([]string); ok && v[name] != nil {
				names += len(required)
			}
		}
		return names / namesPerStep
	case []any:
		if s.UniqueItems {
			return uniqueness(v)
		}
	case string:
		if s.MinLength != nil || s.MaxLength != nil {
			return len(v) / bytesPerStep
		}
		return len(v) / bytesPerCopy
	case json.Number:
		switch {
		case s.MultipleOf != nil:
			return stepsPerFactor
		case s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil:
			return stepsPerLimit
		}
	}
	return 0
}

// uniqueness is what it takes to look for duplicates: a short list is compared
// pair by pair, which is slow for numbers.
func uniqueness(list []any) int {
	all, numbers := valuesIn(list)
	if len(list) <= pairedItems {
		return len(list) * (3*numbers + all/valuesPerStep)
	}
	return stepsPerUnique * all
}

// valuesIn is how many values there are in a value, itself included, and how many
// of them are numbers.
func valuesIn(v any) (all, numbers int) {
	inner := func(item any) {
		n, m := valuesIn(item)
		all, numbers = all+n, numbers+m
	}
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			inner(item)
		}
	case []any:
		for _, item := range v {
			inner(item)
		}
	case json.Number:
		numbers = 1
	}
	return all + 1, numbers
}

// fanOut is how many subschemas a schema asks about a value itself, and about
// each item or property of it. They count here because some are done before
// they come to the gauge. Alternatives count twice: the library keeps what is
// wrong with each.
func fanOut(s *jsonschema.Schema) (here, each int) {
	here = 1 + 2*len(s.AnyOf) + 2*len(s.OneOf) + len(s.AllOf) + len(s.DependentSchemas) + countOfParts(s.Not, s.If, s.Then, s.Else, s.Ref)
	each = len(s.PatternProperties) + countOfParts(s.PropertyNames, s.UnevaluatedProperties, s.Items2020, s.Contains, s.UnevaluatedItems)
	for _, part := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		if part, ok := part.(*jsonschema.Schema); ok {
			each += countOfParts(part)
		}
	}
	if len(s.Properties)+len(s.PrefixItems) > 0 {
		each++
	}
	return here, each
}

// countOfParts is how many of these subschemas there are.
func countOfParts(parts ...*jsonschema.Schema) int {
	n := 0
	for _, part := range parts {
		if part != nil {
			n++
		}
	}
	return n
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
