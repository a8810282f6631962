package page

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// clip cuts the strings of a JSON document that are longer than limit bytes, as
// they are written there, and says how many it cut. Each says itself what is
// missing of it. The document must be valid.
func clip(doc []byte, limit int) (out []byte, cut int) {
	var b bytes.Buffer
	for len(doc) > 0 {
		open := bytes.IndexByte(doc, '"')
		if open < 0 {
			break
		}
		end := open + 1
		for end < len(doc) && doc[end] != '"' {
			end += unit(doc[end:])
		}
		b.Write(doc[:open+1])
		text := doc[open+1 : min(end, len(doc))]
		if short := shorter(text, limit); len(short) < len(text) {
			cut++
			b.Write(short)
			b.WriteString(` … [` + strconv.Itoa(len(text)-len(short)) + ` more bytes]`)
		} else {
			b.Write(text)
		}
		if end >= len(doc) {
			return b.Bytes(), cut
		}
		b.WriteByte('"')
		doc = doc[end+1:]
	}
	b.Write(doc)
	return b.Bytes(), cut
}

// shorter is the beginning of what stands between quotes, without a part of a
// character or of an escape at its end.
func shorter(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	at := 0
	for at < len(text) {
		n := unit(text[at:])
		if at+n > limit {
			break
		}
		at += n
	}
	return text[:min(at, len(text))]
}

// unit is how many bytes the first character of what stands between quotes takes.
func unit(text []byte) int {
	switch {
	case text[0] != '\\':
		_, n := utf8.DecodeRune(text)
		return n
	case len(text) < 2 || text[1] != 'u':
		return 2
	case len(text) >= 12 && text[6] == '\\' && text[7] == 'u' && (text[2] == 'd' || text[2] == 'D') && text[3] >= '8':
		return 12 // both halves of one character
	}
	return 6
}
