package encodings

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MinBytes is the length of the shortest form that is looked for by more than
// chance.
const MinBytes = 8

// Form is one way of writing a text.
type Form struct {
	Name string // of the encoding; "" for the text as it is
	Text string
	// Breaks may stand between its characters: it is looked for in a text that
	// Join has made, too.
	Breaks Breaks
}

// Of are the ways of writing a text, those of at least MinBytes, each text once:
// the text as it is comes first.
func Of(text string) []Form {
	lower := hex.EncodeToString([]byte(text))
	all := []Form{
		{"", text, Unbroken},
		{"json", escaped(text), Unbroken}, {"json", strings.ReplaceAll(text, "/", `\/`), Unbroken}, {"json", ascii(text), Unbroken},
		{"json", each(text, `\u%04x`), Unbroken}, {"json", each(text, `\u%04X`), Unbroken},
		{"html", html.EscapeString(text), Unbroken}, {"html", each(text, "&#%d;"), Unbroken},
		{"html", each(text, "&#x%x;"), Unbroken}, {"html", each(text, "&#x%X;"), Unbroken},
		{"url", url.QueryEscape(text), Unbroken}, {"url", url.PathEscape(text), Unbroken},
		{"url", each(text, "%%%02x"), Unbroken}, {"url", each(text, "%%%02X"), Unbroken},
		{"reversed", reversed(text), Unbroken},
		{"hex", lower, Bytes}, {"hex", strings.ToUpper(lower), Bytes}, {"hex", each(text, `\x%02x`), Unbroken}, {"hex", each(text, `\x%02X`), Unbroken},
		{"octal", each(text, `\%03o`), Unbroken}, {"octal", each(text, "%03o"), Bytes},
		{"base32", strings.TrimRight(base32.StdEncoding.EncodeToString([]byte(text)), "="), Lines},
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			all = append(all, Form{"base64", within(enc, text, offset), Lines})
		}
		all = append(all, Form{"base64", enc.EncodeToString([]byte(text)), Lines})
	}
	kept := all[:0]
	for _, form := range all {
		known := slices.ContainsFunc(kept, func(f Form) bool { return f.Text == form.Text })
		if len(form.Text) >= MinBytes && !known {
			kept = append(kept, form)
		}
	}
	return kept
}

// escaped is a text as it stands inside a JSON string.
func escaped(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return s // a string always encodes
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return string(text[1 : len(text)-1])
}

// ascii is a text in a JSON string of those who write ASCII alone.
func ascii(s string) string {
	quoted := strconv.QuoteToASCII(s)
	return quoted[1 : len(quoted)-1]
}

// each writes every byte by a format.
func each(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// within is the part of a base64 text that is the same for every text in which
// the given one begins offset bytes after a multiple of three.
func within(enc *base64.Encoding, s string, offset int) string {
	text := enc.EncodeToString(append(make([]byte, offset), s...))
	first := 0
	if offset > 0 {
		first = offset + 1 // characters that hold bits of what is before it
	}
	last := (offset + len(s)) * 8 / 6 // and those that hold bits of what follows
	return text[first:last]
}
