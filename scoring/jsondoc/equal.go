package jsondoc

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Number is the value of a decoded number; false for anything else.
func Number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// maxSearched is how much JSON text Contains looks through.
const maxSearched = 16 << 20

// Contains says that one value is in another: a text in a text, an element in a
// list, and the JSON text of what is wanted in the JSON text of anything else. A
// text that should contain something else is an error.
func Contains(got, want any) (bool, error) {
	switch got := got.(type) {
	case string:
		s, ok := want.(string)
		if !ok {
			return false, errors.New("is a text and what it should contain is none")
		}
		return strings.Contains(got, s), nil
	case []any:
		return slices.ContainsFunc(got, func(item any) bool { return Equal(item, want) }), nil
	}
	text, whole := Brief(got, maxSearched)
	if !whole {
		return false, errors.New("is too large to look for something in its text")
	}
	sought, whole := Brief(want, maxSearched)
	return whole && strings.Contains(text, sought), nil
}

// Equal compares two values. Two numbers are equal by value, 10 and 10.0 alike;
// inside objects and lists a whole number and one with a fraction or an exponent
// are different kinds.
func Equal(a, b any) bool {
	x, xok := Number(a)
	y, yok := Number(b)
	if xok && yok {
		return x == y
	}
	return deepEqual(a, b, nestedNumber)
}

// EqualByValue compares two values; all numbers are equal by value, however deep.
func EqualByValue(a, b any) bool { return deepEqual(a, b, sameFloat) }

// deepEqual compares two decoded JSON values; number compares two numbers.
func deepEqual(a, b any, number func(a, b json.Number) bool) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && number(a, b)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, item := range a {
			other, ok := b[k]
			if !ok || !deepEqual(item, other, number) {
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
			if !deepEqual(item, b[i], number) {
				return false
			}
		}
		return true
	}
	return a == b // nil, bool, string
}

func nestedNumber(a, b json.Number) bool {
	i, aerr := strconv.ParseInt(a.String(), 10, 64)
	j, berr := strconv.ParseInt(b.String(), 10, 64)
	if (aerr == nil) != (berr == nil) {
		return false
	}
	return aerr == nil && i == j || aerr != nil && sameFloat(a, b)
}

func sameFloat(a, b json.Number) bool {
	x, xerr := a.Float64()
	y, yerr := b.Float64()
	return xerr == nil && yerr == nil && x == y
}

// Includes says that a JSON value contains another: an object has its members,
// a list an element of its own for each of its elements, whatever the order,
// and anything else is equal. It takes a step of left for every two values that
// it compares; when there are none left, left is negative and the answer means
// nothing.
func Includes(got, want any, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for key, item := range want {
			if other, ok := got[key]; !ok || !Includes(other, item, left) {
				return false
			}
		}
		return true
	case []any:
		got, ok := got.([]any)
		return ok && includesAll(got, want, left)
	}
	return Equal(got, want)
}

func includesAll(got, want []any, left *int) bool {
	taken := make([]bool, len(got))
	for _, item := range want {
		at := -1
		for i, other := range got {
			if !taken[i] && Includes(other, item, left) {
				at = i
				break
			}
		}
		if at < 0 {
			return false
		}
		taken[at] = true
	}
	return true
}
