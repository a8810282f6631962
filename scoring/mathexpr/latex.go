package mathexpr

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Bounds on an expression.
const (
	maxText  = 4 << 10
	maxDepth = 200 // brackets, fractions and powers inside one another
)

var signs = strings.NewReplacer("\r\n", " ", "\n", " ", `\,`, "", ",", "",
	"−", "-", "–", "-", "×", "*", "·", "*", "÷", "/",
	`\left`, "", `\right`, "", `\cdot`, "*", `\times`, "*", `\!`, "", `\;`, "", `\:`, "")

// plain writes an expression without LaTeX: \frac{1}{2} is ((1)/(2)).
func plain(text string) (string, error) {
	text = undollared(strings.TrimSpace(text))
	if len(text) > maxText {
		return "", fmt.Errorf("the expression has %d bytes; at most %d are read", len(text), maxText)
	}
	text, err := commands(strings.TrimSpace(signs.Replace(text)), 0)
	if err == nil {
		text, err = roots(text, 0)
	}
	if err != nil {
		return "", err
	}
	text = strings.NewReplacer("{", "(", "}", ")").Replace(text)
	if text = strings.TrimSpace(text); text == "" {
		return "", errors.New("there is no expression: the text is empty")
	}
	return text, nil
}

// undollared takes the dollar signs off that a whole text stands between.
func undollared(text string) string {
	for {
		inner := text
		for _, sign := range []string{"$$", "$"} {
			if len(text) >= 2*len(sign) && strings.HasPrefix(text, sign) && strings.HasSuffix(text, sign) {
				inner = strings.TrimSpace(text[len(sign) : len(text)-len(sign)])
				break
			}
		}
		if len(inner) == len(text) {
			return text
		}
		text = inner
	}
}

var errDeep = errors.New("the expression has too many brackets inside one another")

// commands replaces \boxed, \frac and \sqrt and what they take.
func commands(text string, depth int) (string, error) {
	if depth > maxDepth {
		return "", errDeep
	}
	var b strings.Builder
	for {
		name, at := nextCommand(text)
		if name == "" {
			b.WriteString(text)
			return b.String(), nil
		}
		b.WriteString(text[:at])
		plain, rest, err := command(name, text[at+len(name):], depth)
		if err != nil {
			return "", err
		}
		b.WriteString(plain)
		text = rest
	}
}

// nextCommand is the first command of a text and its place.
func nextCommand(text string) (name string, at int) {
	for at = 0; ; at++ {
		i := strings.IndexByte(text[at:], '\\')
		if i < 0 {
			return "", 0
		}
		at += i
		for _, name := range []string{`\boxed`, `\frac`, `\sqrt`} {
			if strings.HasPrefix(text[at:], name) {
				return name, at
			}
		}
	}
}

// command reads what a command takes; rest is what follows.
func command(name, text string, depth int) (plain, rest string, err error) {
	degree := ""
	if name == `\sqrt` && strings.HasPrefix(strings.TrimLeft(text, " "), "[") {
		if degree, text, err = group(name, text, depth, '[', ']'); err != nil {
			return "", "", err
		}
	}
	x, rest, err := group(name, text, depth, '{', '}')
	if err != nil {
		return "", "", err
	}
	switch {
	case name == `\boxed`:
		return "(" + x + ")", rest, nil
	case name == `\frac`:
		y, rest, err := group(name, rest, depth, '{', '}')
		return "((" + x + ")/(" + y + "))", rest, err
	case degree != "":
		return "(((" + x + ")^(1/(" + degree + "))))", rest, nil
	}
	return "sqrt(" + x + ")", rest, nil
}

// group reads {…} or […] that a command takes, and the commands in it.
func group(name, text string, depth int, open, shut byte) (inner, rest string, err error) {
	text = strings.TrimLeft(text, " ")
	if text == "" || text[0] != open {
		return "", "", fmt.Errorf("%s needs %c…%c after it", name, open, shut)
	}
	end := closing(text, open, shut)
	if end < 0 {
		return "", "", fmt.Errorf("the %c after %s is never closed", open, name)
	}
	inner, err = commands(text[1:end], depth+1)
	if err == nil && strings.TrimSpace(inner) == "" {
		err = fmt.Errorf("there is nothing in the %c%c after %s", open, shut, name)
	}
	return inner, text[end+1:], err
}

// closing is the place of the bracket that closes the one a text begins with,
// or -1.
func closing(text string, open, shut byte) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

const rootSign = "√"

// roots replaces each √ and what stands under it.
func roots(text string, depth int) (string, error) {
	if depth > maxDepth {
		return "", errDeep
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, rootSign)
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		plain, rest, err := root(after, depth)
		if err != nil {
			return "", err
		}
		b.WriteString(plain)
		text = rest
	}
}

// root reads what stands under a √: another root, a bracket, or all up to the
// next white space, operator or bracket.
func root(text string, depth int) (plain, rest string, err error) {
	if depth > maxDepth {
		return "", "", errDeep
	}
	if under, ok := strings.CutPrefix(text, rootSign); ok {
		inner, rest, err := root(under, depth+1)
		return "sqrt(" + inner + ")", rest, err
	}
	end := strings.IndexFunc(text, endsRoot)
	if end < 0 {
		end = len(text)
	}
	inner, rest := text[:end], text[end:]
	if shut := closingAny(rest); end == 0 && shut > 0 {
		inner, rest = rest[1:shut], rest[shut+1:]
	}
	if strings.TrimSpace(inner) == "" {
		return "", "", errors.New("there is nothing under a √")
	}
	inner, err = roots(inner, depth+1)
	return "sqrt(" + inner + ")", rest, err
}

func endsRoot(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("+-*/^(){}", r)
}

// closingAny is the place of the bracket that closes the one a text begins
// with, round or curly, or -1.
func closingAny(text string) int {
	switch {
	case strings.HasPrefix(text, "("):
		return closing(text, '(', ')')
	case strings.HasPrefix(text, "{"):
		return closing(text, '{', '}')
	}
	return -1
}
