package scoring

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds on texts. What is longer is refused where it would be parsed, and cut
// where it would be stored.
const (
	maxJSON    = 2 << 20 // a JSON document that is parsed
	maxPattern = 64 << 10
	maxStored  = 4 << 10 // a value kept in a result
	maxReason  = 1 << 10
)

// clip cuts a value that is kept in a result.
func clip(s string) string { return clipTo(s, maxStored) }

// clipTo keeps the first limit bytes of s at most, whole runes, and says how
// much is gone.
func clipTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… [%d bytes more]", s[:cut], len(s)-cut)
}

// parseJSON reads one JSON document and nothing else. Numbers keep their text;
// those outside the range of a float64 are refused, since comparing them
// exactly could take for ever.
func parseJSON(text string) (any, error) {
	if len(text) > maxJSON {
		return nil, fmt.Errorf("%d bytes of JSON; at most %d are read", len(text), maxJSON)
	}
	v, err := decodeJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return v, checkNumbers(v)
}

func decodeJSON(r io.Reader) (any, error) {
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

// Bounds on a JSON number.
const (
	maxExponent = 400
	maxDigits   = 1000
)

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
	return fmt.Errorf("the number %s is out of range", clipTo(s, 40))
}

// plainNumber writes a JSON number as plain decimal digits: 42.50 is 42.5 and
// 1e6 is 1000000. One that no float64 holds stays as it is written.
func plainNumber(n json.Number) string {
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

// loose finds the text inside a value that wraps one: a string is itself, an
// object gives its value, content, text or answer, a list of one its element.
func loose(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case map[string]any:
		for _, key := range [...]string{"value", "content", "text", "answer"} {
			if s, ok := loose(v[key]); ok {
				return s, true
			}
		}
	case []any:
		if len(v) == 1 {
			return loose(v[0])
		}
	}
	return "", false
}

// LooseText is the text inside a JSON value that wraps one: a string, a list of
// one such value, or the value, content, text or answer of an object. The value
// must be valid JSON.
func LooseText(raw json.RawMessage) (text string, ok bool) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return "", false
	case raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw): // the common case: as it stands
		return string(raw[1 : len(raw)-1]), true
	case raw[0] == '"':
		err := json.Unmarshal(raw, &text)
		return text, err == nil
	case raw[0] != '{' && raw[0] != '[':
		return "", false
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	return loose(v)
}

// stringify is the text a JSON value stands for when a validator reads it.
func stringify(v any) string {
	if s, ok := loose(v); ok {
		return s
	}
	if n, ok := v.(json.Number); ok {
		return plainNumber(n)
	}
	return compact(v)
}

// compact writes a value as JSON without spaces, object keys sorted and
// numbers in plain digits.
func compact(v any) string {
	b, err := json.Marshal(plain(v))
	if err != nil {
		return "" // v came out of a JSON decoder
	}
	return string(b)
}

func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(plainNumber(v))
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = plain(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	}
	return v
}

// isNull says that a raw JSON value is absent or null.
func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
