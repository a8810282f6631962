package scoring

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
	maxMathDigits   = 1000
	maxMathExponent = 1000
)

// parseMath reads an expression into its canonical form:
//
//	sum     = product { ("+" | "-") product }
//	product = power { ("*" | "/") power }
//	power   = unary [ "^" power ]
//	unary   = ("+" | "-") unary | primary
//	primary = number | name | "sqrt" "(" sum ")" | "(" sum ")"
//
// A sign binds tighter than a power, and nothing is multiplied without a sign.
func parseMath(text string) (term, error) {
	p := mathParser{rest: text}
	t, err := p.sum()
	if err != nil {
		return term{}, err
	}
	if p.space(); p.rest != "" {
		return term{}, fmt.Errorf("something follows the expression at %s", quoted(p.rest))
	}
	return t, nil
}

// mathParser reads an expression from its rest.
type mathParser struct {
	rest  string
	depth int
}

func (p *mathParser) space() { p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace) }

// sign takes one of the signs, if one of them is next.
func (p *mathParser) sign(signs string) (sign byte, ok bool) {
	if p.space(); p.rest == "" || strings.IndexByte(signs, p.rest[0]) < 0 {
		return 0, false
	}
	sign, p.rest = p.rest[0], p.rest[1:]
	return sign, true
}

func (p *mathParser) sum() (term, error) {
	if p.depth++; p.depth > maxDepth {
		return term{}, errDeep
	}
	defer func() { p.depth-- }()
	t, err := p.product()
	terms := []term{t}
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
	return term{}, err
}

func (p *mathParser) product() (term, error) {
	t, err := p.power()
	factors := []term{t}
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
	return term{}, err
}

func (p *mathParser) power() (term, error) {
	if p.depth++; p.depth > maxDepth {
		return term{}, errDeep
	}
	defer func() { p.depth-- }()
	base, err := p.unary()
	if err != nil {
		return term{}, err
	}
	if _, ok := p.sign("^"); !ok {
		return base, nil
	}
	exponent, err := p.power()
	if err != nil {
		return term{}, err
	}
	return power(base, exponent)
}

func (p *mathParser) unary() (term, error) {
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

func (p *mathParser) primary() (term, error) {
	if _, ok := p.sign("("); ok {
		return p.bracket()
	}
	first, _ := utf8.DecodeRuneInString(p.rest)
	switch {
	case p.rest == "":
		return term{}, errors.New("the expression ends where a number, a name or a bracket should be")
	case isDigit(first) || first == '.':
		return p.number()
	case unicode.IsLetter(first) || first == '_':
		return p.name()
	}
	return term{}, fmt.Errorf("expected a number, a name or a bracket at %s", quoted(p.rest))
}

func (p *mathParser) bracket() (term, error) {
	t, err := p.sum()
	if err != nil {
		return term{}, err
	}
	if _, ok := p.sign(")"); !ok {
		return term{}, errors.New("a bracket is never closed")
	}
	return t, nil
}

func (p *mathParser) name() (term, error) {
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
			return term{}, err
		}
		return power(t, numeral(big.NewRat(1, 2)))
	case name == "sqrt":
		return term{}, errors.New("sqrt needs a bracket after it")
	case call:
		return term{}, fmt.Errorf("there is no function %s here, sqrt alone; a product is written with *", quoted(name))
	}
	return symbol(name), nil
}

// number reads digits with one dot, an exponent and a percent sign: an exact
// number.
func (p *mathParser) number() (term, error) {
	whole := digitsAt(p.rest)
	end := whole
	if strings.HasPrefix(p.rest[end:], ".") {
		end++
		end += digitsAt(p.rest[end:])
	}
	if end > maxMathDigits {
		return term{}, fmt.Errorf("a number has more than %d digits", maxMathDigits)
	}
	if end == 1 && whole == 0 {
		return term{}, errors.New("a dot is no number")
	}
	text := p.rest[:end]
	p.rest = p.rest[end:]
	exponent, err := p.exponent()
	if err != nil {
		return term{}, err
	}
	v, ok := new(big.Rat).SetString(text + exponent)
	if !ok {
		return term{}, fmt.Errorf("%s is no number", quoted(text))
	}
	if rest, percent := strings.CutPrefix(p.rest, "%"); percent {
		p.rest = rest
		v.Quo(v, big.NewRat(100, 1))
	}
	return numeral(v), nil
}

// exponent reads the exponent of a number, if there is one.
func (p *mathParser) exponent() (string, error) {
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
	if n, err := strconv.Atoi(p.rest[at:end]); err != nil || n > maxMathExponent {
		return "", fmt.Errorf("the exponent in %s is greater than %d", quoted(p.rest[:end]), maxMathExponent)
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
