package mathexpr

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
)

// Bounds on what is worked out exactly.
const (
	maxPower    = 32       // a whole exponent
	maxBaseBits = 256      // each half of the fraction it belongs to
	maxBits     = 16 << 10 // each half of any fraction
	maxKey      = 64 << 10 // an expression written out
)

// Expr is an expression in its canonical form. Two expressions are the same
// when their keys are: sums and products are flat, their numbers added up exactly,
// and their parts sorted. Nothing is multiplied out or collected.
type Expr struct {
	kind  exprKind
	value *big.Rat // of a number
	parts []Expr   // of a sum, a product or a power: base and exponent
	key   string
}

// exprKind is the first word of a key.
type exprKind string

const (
	isNumber  exprKind = "num"
	isSymbol  exprKind = "sym"
	isSum     exprKind = "add"
	isProduct exprKind = "mul"
	isPower   exprKind = "pow"
)

var (
	errLarge  = errors.New("the expression has numbers too large to work out exactly")
	errDivide = errors.New("the expression divides by zero")
	errSymbol = errors.New("the expression has names in it and no number for them")
)

func numeral(v *big.Rat) Expr {
	return Expr{kind: isNumber, value: v, key: string(isNumber) + ":" + v.RatString()}
}

func symbol(name string) Expr { return Expr{kind: isSymbol, key: string(isSymbol) + ":" + name} }

// compound is a sum, product or power of its parts.
func compound(kind exprKind, parts ...Expr) (Expr, error) {
	size := 0
	keys := make([]string, len(parts))
	for i, p := range parts {
		keys[i] = p.key
		size += len(p.key) + 1
	}
	if size > maxKey {
		return Expr{}, errLarge
	}
	return Expr{kind: kind, parts: parts, key: string(kind) + "(" + strings.Join(keys, ",") + ")"}, nil
}

func add(terms []Expr) (Expr, error) {
	total, rest, err := gather(isSum, terms, new(big.Rat), (*big.Rat).Add)
	if err != nil {
		return Expr{}, err
	}
	if total.Sign() != 0 || len(rest) == 0 {
		rest = append(rest, numeral(total))
	}
	return sorted(isSum, rest)
}

func multiply(factors []Expr) (Expr, error) {
	total, rest, err := gather(isProduct, factors, big.NewRat(1, 1), (*big.Rat).Mul)
	if err != nil {
		return Expr{}, err
	}
	if total.Sign() == 0 {
		return numeral(total), nil
	}
	if !isOne(total) || len(rest) == 0 {
		rest = append(rest, numeral(total))
	}
	return sorted(isProduct, rest)
}

// gather folds the numbers among parts, and among the parts of those that are
// of the same kind, into one; rest is everything else.
func gather(kind exprKind, parts []Expr, total *big.Rat, fold func(z, x, y *big.Rat) *big.Rat) (*big.Rat, []Expr, error) {
	var rest []Expr
	for _, part := range parts {
		flat := []Expr{part}
		if part.kind == kind {
			flat = part.parts
		}
		for _, t := range flat {
			if t.kind != isNumber {
				rest = append(rest, t)
				continue
			}
			if fold(total, total, t.value); !within(total, maxBits) {
				return nil, nil, errLarge
			}
		}
	}
	return total, rest, nil
}

func sorted(kind exprKind, parts []Expr) (Expr, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	slices.SortStableFunc(parts, func(a, b Expr) int { return strings.Compare(a.key, b.key) })
	return compound(kind, parts...)
}

func negated(t Expr) (Expr, error) { return multiply([]Expr{numeral(big.NewRat(-1, 1)), t}) }

// inverse is 1/t.
func inverse(t Expr) (Expr, error) {
	if t.kind != isNumber {
		return power(t, numeral(big.NewRat(-1, 1)))
	}
	if t.value.Sign() == 0 {
		return Expr{}, errDivide
	}
	return numeral(new(big.Rat).Inv(t.value)), nil
}

func power(base, exponent Expr) (Expr, error) {
	if exponent.kind != isNumber {
		return compound(isPower, base, exponent)
	}
	e := exponent.value
	switch {
	case e.Sign() == 0:
		return numeral(big.NewRat(1, 1)), nil
	case isOne(e):
		return base, nil
	case base.kind != isNumber:
		return compound(isPower, base, exponent)
	case base.value.Sign() == 0 && e.Sign() < 0:
		return Expr{}, errDivide
	case e.IsInt() && e.Num().IsInt64() && max(e.Num().Int64(), -e.Num().Int64()) <= maxPower && within(base.value, maxBaseBits):
		return numeral(raised(base.value, e.Num().Int64())), nil
	}
	return compound(isPower, base, exponent)
}

// raised is v to the power of n; v is not 0 when n is negative.
func raised(v *big.Rat, n int64) *big.Rat {
	if n < 0 {
		v, n = new(big.Rat).Inv(v), -n
	}
	exponent := big.NewInt(n)
	return new(big.Rat).SetFrac(new(big.Int).Exp(v.Num(), exponent, nil), new(big.Int).Exp(v.Denom(), exponent, nil))
}

func isOne(v *big.Rat) bool { return v.IsInt() && v.Num().IsInt64() && v.Num().Int64() == 1 }

func within(v *big.Rat, bits int) bool { return v.Num().BitLen() <= bits && v.Denom().BitLen() <= bits }

// Key is the canonical form written out: num:1/2, sym:x, add(…), mul(…) and
// pow(base,exponent), the parts sorted.
func (t Expr) Key() string { return t.key }

// Number is what an expression comes to, worked out with float64. It may be
// infinite or NaN; what has names in it is an error.
func (t Expr) Number() (float64, error) {
	switch t.kind {
	case isNumber:
		f, _ := t.value.Float64()
		return f, nil
	case isSymbol:
		return 0, errSymbol
	}
	values := make([]float64, len(t.parts))
	for i, part := range t.parts {
		v, err := part.Number()
		if err != nil {
			return 0, err
		}
		values[i] = v
	}
	result := values[0]
	for _, v := range values[1:] {
		switch t.kind {
		case isSum:
			result += v
		case isProduct:
			result *= v
		default:
			result = math.Pow(result, v)
		}
	}
	return result, nil
}
