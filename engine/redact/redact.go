package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/agentclash/agentclash/scoring/encodings"
)

// MinBytes is the length of the shortest value that is looked for: shorter ones
// would blacken innocent text, and `secret set` refuses them.
const MinBytes = encodings.MinBytes

const redacted = "[redacted]"

// Redactor removes values. The zero Redactor removes none. It does not change
// once it is made.
type Redactor struct {
	plain   [][]byte // as they stand in bytes
	escaped [][]byte // as they stand in a JSON string
}

// New makes a redactor of values.
func New(secrets []string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		if len(s) < MinBytes {
			continue
		}
		for _, form := range encodings.Of(s) {
			r.plain = append(r.plain, []byte(form.Text))
			for _, html := range []bool{false, true} {
				once := inJSON(form.Text, html)
				r.plain = append(r.plain, []byte(once))
				r.escaped = append(r.escaped, []byte(once), []byte(inJSON(once, html))) // a tool's result is JSON inside JSON
			}
		}
	}
	for _, list := range []*[][]byte{&r.plain, &r.escaped} {
		// the longest first: one secret may be the start of another
		slices.SortFunc(*list, func(a, b []byte) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b))
		})
		*list = slices.CompactFunc(*list, bytes.Equal)
	}
	return r
}

// inJSON is a text as it stands inside a JSON string, with or without escapes for
// HTML.
func inJSON(s string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return s // a string always encodes
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return string(text[1 : len(text)-1])
}

// Bytes returns what was received without the values.
func (r *Redactor) Bytes(raw []byte) []byte { return without(r.plain, raw) }

// String is Bytes of a text.
func (r *Redactor) String(s string) string { return string(r.Bytes([]byte(s))) }

func without(needles [][]byte, text []byte) []byte {
	for _, n := range needles {
		if bytes.Contains(text, n) {
			text = bytes.ReplaceAll(text, n, []byte(redacted))
		}
	}
	return text
}

// JSON returns a JSON text without the values. Only what stands in strings is
// looked at: digits of a number are no secret, and the text stays JSON.
func (r *Redactor) JSON(raw []byte) []byte {
	if !slices.ContainsFunc(r.escaped, func(n []byte) bool { return bytes.Contains(raw, n) }) {
		return raw
	}
	var out bytes.Buffer
	for len(raw) > 0 {
		start := bytes.IndexByte(raw, '"')
		if start < 0 {
			out.Write(raw)
			break
		}
		end := start + 1
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(raw))
		out.Write(raw[:start])
		out.WriteByte('"')
		out.Write(without(r.escaped, raw[start+1:end]))
		if end < len(raw) {
			out.WriteByte('"')
			end++
		}
		raw = raw[end:]
	}
	return out.Bytes()
}

// Text redacts plain text, such as an error for the run's record.
func (r *Redactor) Text(s string) string {
	if len(r.escaped) == 0 {
		return s
	}
	var out string
	if json.Unmarshal(r.JSON([]byte(`"`+inJSON(s, false)+`"`)), &out) != nil {
		return redacted // a needle cut an escape in two: say nothing rather than too much
	}
	return out
}
