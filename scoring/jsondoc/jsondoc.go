package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bounds on a document.
const (
	maxText     = 2 << 20 // bytes
	maxExponent = 400     // of a number
	maxDigits   = 1000    // of a number
)

// Parse reads one JSON document and nothing else. Numbers keep their text, as
// json.Number; those outside the range of a float64 are refused, since comparing
// them exactly could take for ever.
func Parse(text string) (any, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("%d bytes of JSON; at most %d are read", len(text), maxText)
	}
	v, err := Decode(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return v, checkNumbers(v)
}

// Decode reads one JSON document and nothing else. Numbers keep their text and
// may be of any size; the reader bounds the document.
func Decode(r io.Reader) (any, error) {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	var v any
	switch err := dec.Decode(&v); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("no JSON: the text is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("the JSON ends too early")
	case err != nil:
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return v, nil
}

func checkNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		return checkNumber(v.String())
	case map[string]any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkNumber(s string) error {
	if len(s) <= maxDigits {
		exponent := 0
		if i := strings.IndexAny(s, "eE"); i >= 0 {
			exponent, _ = strconv.Atoi(s[i+1:]) // out of range saturates
		}
		if _, err := strconv.ParseFloat(s, 64); err == nil && exponent > -maxExponent {
			return nil
		}
	}
	return fmt.Errorf("the number %.40s is out of range", s)
}

// PlainNumber writes a JSON number as plain decimal digits: 42.50 is 42.5 and
// 1e6 is 1000000. One that no float64 holds stays as it is written.
func PlainNumber(n json.Number) string {
	s := n.String()
	if strings.ContainsAny(s, "eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return s
		}
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Compact writes a value as JSON without spaces, object keys sorted and
// numbers in plain digits.
func Compact(v any) string { return string(appendValue(nil, v, math.MaxInt)) }

// Brief is the beginning of what Compact writes, at least the first limit
// bytes; whole says that it is all of it. Plain digits can be sixty times as
// long as the number in the document.
func Brief(v any, limit int) (text string, whole bool) {
	b := appendValue(nil, v, limit)
	return string(b), len(b) <= limit
}

// appendValue writes v until there are more than limit bytes.
func appendValue(b []byte, v any, limit int) []byte {
	switch v := v.(type) {
	case json.Number:
		return append(b, PlainNumber(v)...)
	case map[string]any:
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if len(b) > limit {
				return b
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendValue(b, name, limit), ':')
			b = appendValue(b, v[name], limit)
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if len(b) > limit {
				return b
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, item, limit)
		}
		return append(b, ']')
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return b // v came out of a JSON decoder
	}
	return append(b, raw...)
}

// Nesting is how deep lists and objects stand inside one another, and how many
// objects, true and false there are.
func Nesting(v any) (depth, parts int) {
	inner := func(item any) {
		d, n := Nesting(item)
		depth, parts = max(depth, d), parts+n
	}
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			inner(item)
		}
		return depth + 1, parts + 1
	case []any:
		for _, item := range v {
			inner(item)
		}
		return depth + 1, parts
	case bool:
		return 0, 1
	}
	return 0, 0
}
