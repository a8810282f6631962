package scoring

import (
	"encoding/json"
	"math/big"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// valuesCheck stands in for the library's own check of enum and const, which
// takes no account of the gauge and makes two fractions of every two numbers
// that it compares.
type valuesCheck struct {
	gauge  *gauge
	values []any
	wrong  func(got any) jsonschema.ErrorKind
}

// takeOver moves enum and const from a compiled schema into its check.
func (c *valuesCheck) takeOver(s *jsonschema.Schema) {
	var constant *valuesCheck
	if s.Const != nil {
		want := *s.Const
		constant = &valuesCheck{c.gauge, []any{want}, func(got any) jsonschema.ErrorKind { return &kind.Const{Got: got, Want: want} }}
		s.Const = nil
	}
	if s.Enum != nil {
		c.values = s.Enum.Values
		c.wrong = func(got any) jsonschema.ErrorKind { return &kind.Enum{Got: got, Want: c.values} }
		s.Enum = nil
	}
	switch {
	case constant == nil:
	case c.wrong == nil:
		*c = *constant
	default:
		s.Extensions = append(s.Extensions, constant)
	}
}

// Validate implements [jsonschema.SchemaExt].
func (c *valuesCheck) Validate(ctx *jsonschema.ValidatorContext, got any) {
	if c.wrong == nil {
		return
	}
	looked := 0
	for _, want := range c.values {
		if sameValue(got, want, &looked) {
			c.gauge.spend(looked / valuesPerStep)
			return
		}
	}
	c.gauge.spend(looked / valuesPerStep)
	ctx.AddError(c.wrong(got))
}

// sameValue compares two documents the way JSON Schema does: numbers by their
// exact value. looked counts the values compared.
func sameValue(a, b any, looked *int) bool {
	*looked++
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a.String(), b.String())
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, item := range a {
			if other, ok := b[key]; !ok || !sameValue(item, other, looked) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i, item := range a {
			if !sameValue(item, b[i], looked) {
				return false
			}
		}
		return true
	}
	return a == b // nil, bool, string
}

// sameNumber: what rounds to different float64 is different; only what rounds
// to the same one is worked out exactly. The texts are those of bounded JSON
// numbers.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	if x != y {
		return false
	}
	exactA, okA := new(big.Rat).SetString(a)
	exactB, okB := new(big.Rat).SetString(b)
	return okA && okB && exactA.Cmp(exactB) == 0
}
