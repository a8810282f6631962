package view

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sanitize makes untrusted text safe to show on a terminal: it removes escape
// sequences, control characters of both sets, and the invisible characters
// that reorder or hide text. Newlines and tabs stay; a carriage return becomes
// a newline; a byte that is no UTF-8 becomes U+FFFD.
func Sanitize(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == esc || r == csi || isStringStart(r):
			i += sequence(s[i:])
			continue
		case r == '\r':
			if !strings.HasPrefix(s[i+1:], "\n") {
				b.WriteByte('\n')
			}
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == '\u2028' || r == '\u2029' || r == '\u0085':
			b.WriteByte('\n')
		case unicode.IsControl(r) || hidden(r):
		default:
			b.WriteRune(r) // an invalid byte decodes to U+FFFD
		}
		i += size
	}
	return b.String()
}

// SanitizeLine is Sanitize for a field that must stay on one line: tabs and
// newlines become spaces.
func SanitizeLine(s string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Sanitize(s)), " ")
}

// clean is the common case: nothing to remove.
func clean(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

// The characters that begin an escape sequence: ESC, and the single-character
// forms of the ones that carry text.
const (
	esc = '\x1b'
	csi = '\u009b'
	bel = '\a'
)

// isStringStart reports whether r begins a device, system, privacy or
// application string.
func isStringStart(r rune) bool {
	switch r {
	case '\u0090', '\u0098', '\u009d', '\u009e', '\u009f':
		return true
	}
	return false
}

// maxSequence bounds how far the end of an escape sequence is looked for, so
// that one stray introducer cannot hide the rest of a text.
const maxSequence = 2048

// sequence returns the length of the escape sequence at the start of s. One
// that never ends is only as long as its introducer.
func sequence(s string) int {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == csi:
		return size + controlLen(s[size:])
	case r != esc:
		return size + stringLen(s[size:])
	case len(s) == size:
		return size
	}
	switch s[size] {
	case '[':
		return size + 1 + controlLen(s[size+1:])
	case ']', 'P', 'X', '^', '_':
		return size + 1 + stringLen(s[size+1:])
	}
	return size + shortLen(s[size:])
}

// controlLen is the length of a control sequence after its introducer.
func controlLen(s string) int {
	i := 0
	for i < len(s) && i < maxSequence && s[i] >= 0x20 && s[i] <= 0x3f {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
		return i + 1
	}
	return 0
}

// shortLen is the length of a two-character sequence after its ESC, with any
// intermediate characters.
func shortLen(s string) int {
	i := 0
	for i < len(s) && i < maxSequence && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
		return i + 1
	}
	return 0
}

// stringLen is the length of a string command after its introducer, with its
// terminator; 0 when there is none near.
func stringLen(s string) int {
	for i, r := range s {
		switch {
		case i > maxSequence || r == '\n':
			return 0
		case r == bel:
			return i + 1
		case r == '\u009c':
			return i + len("\u009c")
		case r == esc && strings.HasPrefix(s[i+1:], `\`):
			return i + 2
		}
	}
	return 0
}

// hidden reports characters that show nothing themselves and change what is
// seen: direction marks and overrides, zero-width spaces, invisible operators,
// annotations, tags. The joiners that scripts and emoji need stay.
func hidden(r rune) bool {
	switch {
	case r == '\u061c', r == '\u180e', r == '\u200b', r == '\u200e', r == '\u200f', r == '\ufeff':
		return true
	case r >= '\u202a' && r <= '\u202e', r >= '\u2060' && r <= '\u206f':
		return true
	case r >= '\ufff9' && r <= '\ufffb', r >= '\U000e0000' && r <= '\U000e007f':
		return true
	}
	return false
}

// Clip cuts text to at most n bytes, between characters. It is for text that
// will be shortened to a line anyway, and keeps the cost of doing so bounded.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
