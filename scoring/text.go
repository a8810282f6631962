package scoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/agentclash/agentclash/scoring/jsondoc"
)

// Bounds on texts. What is longer is refused where it would be parsed, and cut
// where it would be stored.
const (
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
		return jsondoc.PlainNumber(n)
	}
	return jsondoc.Compact(v)
}

// isNull says that a raw JSON value is absent or null.
func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
