package event

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Marshal writes JSON as events hold it: without HTML's escapes, which would
// only make tool arguments and outputs harder to read and larger.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Clip cuts a text to n bytes on a rune boundary, and says so by three dots.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// ValidText is a text of a sandbox or a model with each run of bytes that is no
// UTF-8 replaced by U+FFFD.
func ValidText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
