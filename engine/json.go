package engine

import (
	"bytes"
	"encoding/json"
)

// marshal writes JSON as events hold it: without HTML's escapes, which would
// only make tool arguments and outputs harder to read and larger.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
