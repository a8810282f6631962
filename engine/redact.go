package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// redactor removes secret values, and the usual encodings of them, from JSON
// before it becomes a fact. Values under 8 characters are not looked for: they
// would blacken innocent text, and `secret set` refuses them.
type redactor struct{ needles [][]byte }

func newRedactor(secrets []string) *redactor {
	r := &redactor{}
	for _, s := range secrets {
		if len(s) < 8 {
			continue
		}
		for _, form := range []string{
			s, url.QueryEscape(s), url.PathEscape(s), hex.EncodeToString([]byte(s)),
			strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s)), "="),
			strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(s)), "="),
		} {
			r.add(form)
		}
	}
	return r
}

// add looks for a form as it stands inside a JSON string.
func (r *redactor) add(form string) {
	b, err := marshal(form)
	if err != nil {
		return // a string always marshals
	}
	r.needle(b[1 : len(b)-1])
	// a tool's result is JSON inside JSON
	if twice, err := marshal(string(b[1 : len(b)-1])); err == nil {
		r.needle(twice[1 : len(twice)-1])
	}
}

func (r *redactor) needle(form []byte) {
	if !slices.ContainsFunc(r.needles, func(n []byte) bool { return bytes.Equal(n, form) }) {
		r.needles = append(r.needles, form)
	}
}

// apply returns the JSON text without the secrets. Only what stands in strings
// is looked at: digits of a number are no secret, and the text stays JSON.
func (r *redactor) apply(raw []byte) []byte {
	if !slices.ContainsFunc(r.needles, func(n []byte) bool { return bytes.Contains(raw, n) }) {
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
		text := raw[start:end]
		for _, n := range r.needles {
			text = bytes.ReplaceAll(text, n, []byte(redacted))
		}
		out.Write(text)
		if end < len(raw) {
			out.WriteByte('"')
			end++
		}
		raw = raw[end:]
	}
	return out.Bytes()
}

// text redacts plain text, such as an error for the run's record.
func (r *redactor) text(s string) string {
	if len(r.needles) == 0 {
		return s
	}
	b, err := marshal(s)
	if err != nil {
		return s
	}
	var out string
	if json.Unmarshal(r.apply(b), &out) != nil {
		return redacted // a needle cut an escape in two: say nothing rather than too much
	}
	return out
}

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
