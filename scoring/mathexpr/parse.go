package mathexpr

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on a number in an expression.
const (
	maxDigits   = 1000
	maxExponent = 1000
)

// Parse reads an expression, plain or in LaTeX, into its canonical form. The
// error says what in the text is wrong, or beyond which bound it is.
func Parse(text string) (Expr, error) {
	text, err := plain(text)
	if err != nil {
		return Expr{}, err
	}
	return parse(text)
}

// parse reads an expression without LaTeX into its canonical form:
//
//	sum     = product { ("+" | "-") product }
//	product = power { ("*" | "/") power }
//	power   = unary [ "^" power ]
//	unary   = ("+" | "-") unary | primary
//	primary = number | name | "sqrt" "(" sum ")" | "(" sum ")"
//
// A sign binds tighter than a power, and nothing is multiplied without a sign.
func parse(text string) (Expr, error) {
	p := parser{rest: text}
	t, err := p.sum()
	if err != nil {
		return Expr{}, err
	}
	if p.space(); p.rest != "" {
		return Expr{}, fmt.Errorf("something follows the expression at %.100q", p.rest)
	}
	return t, nil
}

// parser reads an expression from its rest.
type parser struct {
	rest  string
	depth int
}

func (p *parser) space() { p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace) }

// sign takes one of the signs, if one of them is next.
func (p *parser) sign(signs string) (sign byte, ok bool) {
	if p.space(); p.rest == "" || strings.IndexByte(signs, p.rest[0]) < 0 {
		return 0, false
	}
	sign, p.rest = p.rest[0], p.rest[1:]
	return sign, true
}

func (p *parser) sum() (Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return Expr{}, errDeep
	}
	defer func() { p.depth-- }()
	t, err := p.product()
	terms := []Expr{t}
	for err == nil {
		sign, ok := p.sign("+-")
		if !ok {
			return add(terms)
		}
		if t, err = p.product(); err == nil && sign == '-' {
			t, err = negated(t)
		}
		terms = append(terms, t)
	}
	return Expr{}, err
}

func (p *parser) product() (Expr, error) {
	t, err := p.power()
	factors := []Expr{t}
	for err == nil {
		sign, ok := p.sign("*/")
		if !ok {
			return multiply(factors)
		}
		if t, err = p.power(); err == nil && sign == '/' {
			t, err = inverse(t)
		}
		factors = append(factors, t)
	}
	return Expr{}, err
}

func (p *parser) power() (Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return Expr{}, errDeep
	}
	defer func() { p.depth-- }()
	base, err := p.unary()
	if err != nil {
		return Expr{}, err
	}
	if _, ok := p.sign("^"); !ok {
		return base, nil
	}
	exponent, err := p.power()
	if err != nil {
		return Expr{}, err
	}
	return power(base, exponent)
}

func (p *parser) unary() (Expr, error) {
	minus := false
	for {
		sign, ok := p.sign("+-")
		if !ok {
			break
		}
		minus = minus != (sign == '-')
	}
	t, err := p.primary()
	if err == nil && minus {
		return negated(t)
	}
	return t, err
}

func (p *parser) primary() (Expr, error) {
	if _, ok := p.sign("("); ok {
		return p.bracket()
	}
	first, _ := utf8.DecodeRuneInString(p.rest)
	switch {
	case p.rest == "":
		return Expr{}, errors.New("the expression ends where a number, a name or a bracket should be")
	case isDigit(first) || first == '.':
		return p.number()
	case unicode.IsLetter(first) || first == '_':
		return p.name()
	}
	return Expr{}, fmt.Errorf("expected a number, a name or a bracket at %.100q", p.rest)
}

func (p *parser) bracket() (Expr, error) {
	t, err := p.sum()
	if err != nil {
		return Expr{}, err
	}
	if _, ok := p.sign(")"); !ok {
		return Expr{}, errors.New("a bracket is never closed")
	}
	return t, nil
}

func (p *parser) name() (Expr, error) {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		end = len(p.rest)
	}
	name := p.rest[:end]
	p.rest = p.rest[end:]
	_, call := p.sign("(")
	switch {
	case name == "sqrt" && call:
		t, err := p.bracket()
		if err != nil {
			return Expr{}, err
		}
		return power(t, numeral(big.NewRat(1, 2)))
	case name == "sqrt":
		return Expr{}, errors.New("sqrt needs a bracket after it")
	case call:
		return Expr{}, fmt.Errorf("there is no function %.100q here, sqrt alone; a product is written with *", name)
	}
	return symbol(name), nil
}

// number reads digits with one dot, an exponent and a percent sign: an exact
// number.
func (p *parser) number() (Expr, error) {
	whole := digitsAt(p.rest)
	end := whole
	if strings.HasPrefix(p.rest[end:], ".") {
		end++
		end += digitsAt(p.rest[end:])
	}
	if end > maxDigits {
		return Expr{}, fmt.Errorf("a number has more than %d digits", maxDigits)
	}
	if end == 1 && whole == 0 {
		return Expr{}, errors.New("a dot is no number")
	}
	text := p.rest[:end]
	p.rest = p.rest[end:]
	exponent, err := p.exponent()
	if err != nil {
		return Expr{}, err
	}
	v, ok := new(big.Rat).SetString(text + exponent)
	if !ok {
		return Expr{}, fmt.Errorf("%.100q is no number", text)
	}
	if rest, percent := strings.CutPrefix(p.rest, "%"); percent {
		p.rest = rest
		v.Quo(v, big.NewRat(100, 1))
	}
	return numeral(v), nil
}

// exponent reads the exponent of a number, if there is one.
func (p *parser) exponent() (string, error) {
	if p.rest == "" || p.rest[0] != 'e' && p.rest[0] != 'E' {
		return "", nil
	}
	at := 1
	if at < len(p.rest) && (p.rest[at] == '+' || p.rest[at] == '-') {
		at++
	}
	end := at + digitsAt(p.rest[at:])
	if end == at {
		return "", nil // a name follows the number, which is refused there
	}
	if n, err := strconv.Atoi(p.rest[at:end]); err != nil || n > maxExponent {
		return "", fmt.Errorf("the exponent in %.100q is greater than %d", p.rest[:end], maxExponent)
	}
	exponent := p.rest[:end]
	p.rest = p.rest[end:]
	return exponent, nil
}

// digitsAt is how many digits a text begins with.
func digitsAt(text string) int {
	n := 0
	for n < len(text) && isDigit(rune(text[n])) {
		n++
	}
	return n
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }
