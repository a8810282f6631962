package redact

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// forms are the ways of writing a secret that are looked for, without
// duplicates.
func forms(secret string) []string {
	all := []string{
		secret, reversed(secret), html.EscapeString(secret), strings.ReplaceAll(secret, "/", `\/`), ascii(secret),
		url.QueryEscape(secret), url.PathEscape(secret),
		each(secret, "%%%02x"), each(secret, "%%%02X"), each(secret, `\u%04x`), each(secret, `\u%04X`), each(secret, `\x%02x`), each(secret, "&#%d;"),
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
		strings.TrimRight(base32.StdEncoding.EncodeToString([]byte(secret)), "="),
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			all = append(all, within(enc, secret, offset))
		}
		all = append(all, enc.EncodeToString([]byte(secret)))
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(form string) bool { return len(form) < MinBytes })
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
// the secret begins offset bytes after a multiple of three.
func within(enc *base64.Encoding, secret string, offset int) string {
	text := enc.EncodeToString(append(make([]byte, offset), secret...))
	first := 0
	if offset > 0 {
		first = offset + 1 // characters that hold bits of what is before it
	}
	last := (offset + len(secret)) * 8 / 6 // and those that hold bits of what follows
	return text[first:last]
}
