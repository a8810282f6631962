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

// Mark stands in the place of a value.
const Mark = "[redacted]"

// Redactor removes values. The zero Redactor removes none. It does not change
// once it is made.
type Redactor struct {
	plain   [][]byte // as they stand in bytes
	escaped [][]byte // as they stand in a JSON string
	broken  map[encodings.Breaks][][]byte
}

// New makes a redactor of values.
func New(secrets []string) *Redactor {
	r := &Redactor{broken: map[encodings.Breaks][][]byte{}}
	for _, s := range secrets {
		if len(s) < MinBytes {
			continue
		}
		for _, form := range encodings.Of(s) {
			r.plain = append(r.plain, []byte(form.Text))
			if form.Breaks != encodings.Unbroken {
				r.broken[form.Breaks] = append(r.broken[form.Breaks], []byte(form.Text))
			}
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
func (r *Redactor) Bytes(raw []byte) []byte { return r.joined(without(r.plain, raw)) }

// String is Bytes of a text.
func (r *Redactor) String(s string) string { return string(r.Bytes([]byte(s))) }

func without(needles [][]byte, text []byte) []byte {
	for _, n := range needles {
		if bytes.Contains(text, n) {
			text = bytes.ReplaceAll(text, n, []byte(Mark))
		}
	}
	return text
}

// joined takes out what only stands in a text when its breaks are overlooked.
func (r *Redactor) joined(text []byte) []byte {
	for _, kind := range []encodings.Breaks{encodings.Lines, encodings.Bytes} {
		needles := r.broken[kind]
		if len(needles) == 0 {
			continue
		}
		joined := encodings.Join(text, kind)
		if len(joined) == len(text) {
			continue // nothing is broken
		}
		for {
			n, at := found(needles, joined)
			if n == nil {
				break
			}
			text = cut(text, joined, n, at, kind)
			joined = encodings.Join(text, kind)
		}
	}
	return text
}

// found is a needle that stands in a text, and where first; nil for none.
func found(needles [][]byte, text []byte) (needle []byte, at int) {
	for _, n := range needles {
		if at := bytes.Index(text, n); at >= 0 {
			return n, at
		}
	}
	return nil, -1
}

// cut takes a needle out of a text wherever it stands in the joined one; at is
// the first place.
func cut(text, joined, needle []byte, at int, kind encodings.Breaks) []byte {
	var out []byte
	cursor, last := encodings.Cursor[[]byte]{Text: text, Kind: kind}, 0
	for {
		start, end := cursor.Span(at, len(needle))
		out = append(append(out, text[last:start]...), Mark...)
		last, at = end, at+len(needle)
		next := bytes.Index(joined[at:], needle)
		if next < 0 {
			return append(out, text[last:]...)
		}
		at += next
	}
}

// holds says that a text may hold a value.
func (r *Redactor) holds(raw []byte) bool {
	if n, _ := found(r.escaped, raw); n != nil {
		return true
	}
	for kind, needles := range r.broken {
		if n, _ := found(needles, encodings.Join(raw, kind)); n != nil {
			return true
		}
	}
	return false
}

// Finds says that a value stands in a text, whether that is plain, JSON or bytes.
func (r *Redactor) Finds(raw []byte) bool {
	if n, _ := found(r.plain, raw); n != nil {
		return true
	}
	return r.holds(raw)
}

// JSON returns a JSON text without the values. Only what stands in strings is
// looked at: digits of a number are no secret, and the text stays JSON.
func (r *Redactor) JSON(raw []byte) []byte {
	if !r.holds(raw) {
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
		out.Write(r.inside(raw[start+1 : end]))
		if end < len(raw) {
			out.WriteByte('"')
			end++
		}
		raw = raw[end:]
	}
	return out.Bytes()
}

// inside redacts what stands in a JSON string. Where that would cut an escape in
// two, nothing of it is left.
func (r *Redactor) inside(text []byte) []byte {
	clean := r.joined(without(r.escaped, text))
	if len(clean) != len(text) && !json.Valid(slices.Concat([]byte(`"`), clean, []byte(`"`))) {
		return []byte(Mark)
	}
	return clean
}

// Text redacts plain text, such as an error for the run's record.
func (r *Redactor) Text(s string) string {
	if len(r.escaped) == 0 {
		return s
	}
	var out string
	if json.Unmarshal(r.JSON([]byte(`"`+inJSON(s, false)+`"`)), &out) != nil {
		return Mark // a needle cut an escape in two: say nothing rather than too much
	}
	return out
}
