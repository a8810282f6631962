package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
)

// inHTML is untrusted text for the content of an element or a quoted attribute: on
// one line, without what a terminal or a reader would obey, and nothing but text.
func inHTML(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(view.SanitizeLine(text))
}

// errUnsafe is a fault of ours: such JSON could end the element that it is in.
var errUnsafe = errors.New("the JSON for the page has characters that could end its element")

// inScript is a value as JSON for the content of a script element that is data.
// What could end that element, or begin a comment in it, is written as an escape.
func inScript(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if bytes.ContainsAny(raw, "<>&\u2028\u2029\x00") {
		return nil, errUnsafe
	}
	return raw, nil
}
