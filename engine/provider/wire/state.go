package wire

import "encoding/json"

type state struct {
	Vendor  string          `json:"vendor"`
	Content json.RawMessage `json:"content"`
}

// PackState makes a [provider.Response]'s State of what a vendor must be shown
// again.
func PackState(vendor string, content any) (json.RawMessage, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return json.Marshal(state{vendor, raw})
}

// UnpackState reads what PackState made into content. It is false for what
// another vendor's adapter made, or nobody.
func UnpackState(vendor string, packed json.RawMessage, content any) bool {
	var s state
	return len(packed) > 0 && json.Unmarshal(packed, &s) == nil && s.Vendor == vendor &&
		json.Unmarshal(s.Content, content) == nil
}
