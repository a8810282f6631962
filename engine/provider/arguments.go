package provider

import (
	"bytes"
	"encoding/json"
	"strings"
)

// RawArguments makes a [ToolCall]'s Arguments of the text a model sent. Blank
// text is the empty object. Anything that is not valid JSON, and a bare JSON
// string, becomes a JSON string of the text, so that the result can always be
// stored and [ArgumentText] always gives the text back.
func RawArguments(text string) json.RawMessage {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
	if text == "" {
		return json.RawMessage("{}")
	}
	if text[0] != '"' && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always encodes
	return bytes.TrimSpace(b.Bytes())
}

// ArgumentText is the text a model sent as arguments. broken says that it was
// not valid JSON, or no more than a bare string.
func ArgumentText(arguments json.RawMessage) (text string, broken bool) {
	raw := bytes.TrimSpace(arguments)
	if len(raw) == 0 {
		return "{}", false
	}
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text, true
	}
	return string(raw), !json.Valid(raw)
}
