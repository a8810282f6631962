package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
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
	needle := b[1 : len(b)-1]
	for _, n := range r.needles {
		if bytes.Equal(n, needle) {
			return
		}
	}
	r.needles = append(r.needles, needle)
}

// apply returns the JSON text without the secrets.
func (r *redactor) apply(raw []byte) []byte {
	for _, n := range r.needles {
		raw = bytes.ReplaceAll(raw, n, []byte(redacted))
	}
	return raw
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
