package convert

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// The classes of JavaScript that RE2 has smaller ones for.
const (
	jsSpace   = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	jsNewline = `\n\r\x{2028}\x{2029}`
)

// fromJavaScript writes a regular expression of JavaScript's, without flags, as
// one of RE2's that matches the same texts, or says why there is none.
func fromJavaScript(js string) (re, why string) {
	const cannot = "the pattern has no equal among RE2's: "
	var b strings.Builder
	class := false
	for i := 0; i < len(js); i++ {
		switch c := js[i]; {
		case c == '\\' && i+1 < len(js):
			text, n, ok := jsEscape(js[i:], class)
			if !ok {
				return "", cannot + clip(js[i:min(len(js), i+3)])
			}
			b.WriteString(text)
			i += n - 1
		case class && c == ']':
			class = false
			b.WriteByte(c)
		case class && c == '[':
			b.WriteString(`\[`)
		case class:
			b.WriteByte(c)
		case c == '[':
			class = true
			b.WriteByte(c)
			if strings.HasPrefix(js[i:], "[^") {
				b.WriteByte('^')
				i++
			}
			if strings.HasPrefix(js[i+1:], "]") {
				return "", cannot + "an empty class"
			}
		case c == '.':
			b.WriteString("[^" + jsNewline + "]")
		case c == '(' && strings.HasPrefix(js[i:], "(?") && !strings.HasPrefix(js[i:], "(?:") && !namedGroup.MatchString(js[i:]):
			return "", cannot + clip(js[i:min(len(js), i+4)])
		default:
			b.WriteByte(c)
		}
	}
	if _, err := syntax.Parse(b.String(), syntax.Perl); err != nil {
		return "", cannot + clip(err.Error())
	}
	return b.String(), ""
}

var namedGroup = regexp.MustCompile(`^\(\?<[A-Za-z_]\w*>`)

var unicodeEscape = regexp.MustCompile(`^\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))`)

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// jsEscape is an escape at the beginning of a text, and how long it is.
func jsEscape(js string, class bool) (text string, n int, ok bool) {
	if m := unicodeEscape.FindStringSubmatch(js); m != nil {
		if code := strings.ToLower(m[1]); len(code) == 4 && code[0] == 'd' && code[1] >= '8' {
			return "", 0, false // half of a character
		}
		return `\x{` + m[1] + m[2] + `}`, len(m[0]), true
	}
	switch c := js[1]; {
	case c == 's' && class:
		return jsSpace, 2, true
	case c == 's':
		return "[" + jsSpace + "]", 2, true
	case c == 'S' && !class:
		return "[^" + jsSpace + "]", 2, true
	case strings.IndexByte("dDwWtnrfv", c) >= 0, strings.IndexByte("bB", c) >= 0 && !class:
		return js[:2], 2, true
	case c == 'b':
		return `\x08`, 2, true
	case c < 0x80 && !wordByte(c):
		if c == ' ' || c < ' ' {
			return string(c), 2, true
		}
		return js[:2], 2, true
	}
	return "", 0, false
}
