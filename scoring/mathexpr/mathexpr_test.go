package mathexpr_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring/mathexpr"
)

// expression writes a random expression, and the same one with its sums and
// products turned round, brackets added and its fractions in LaTeX.
func expression(r *rand.Rand, depth int) (plain, turned string) {
	if depth == 0 {
		atoms := [][2]string{{"x", "x"}, {"y_1", "(y_1)"}, {"2", "4/2"}, {"0.5", `\frac{1}{2}`}, {"75%", "3/4"}, {"1000", "1,000"}, {"3", "3e0"}, {"7", `\boxed{7}`}}
		a := atoms[r.IntN(len(atoms))]
		return a[0], a[1]
	}
	a, a2 := expression(r, depth-1)
	b, b2 := expression(r, depth-1)
	switch r.IntN(5) {
	case 0:
		return fmt.Sprintf("(%s + %s)", a, b), fmt.Sprintf(`\left(%s+%s\right)`, b2, a2)
	case 1:
		return fmt.Sprintf("(%s * %s)", a, b), fmt.Sprintf(`((%s) \cdot (%s))`, b2, a2)
	case 2:
		return fmt.Sprintf("(%s - %s)", a, b), fmt.Sprintf("(-1*(%s) + %s)", b2, a2)
	case 3:
		return fmt.Sprintf("(%s)^2", a), fmt.Sprintf("(%s)^{1+1}", a2)
	}
	return fmt.Sprintf("sqrt(%s)", a), fmt.Sprintf(`√(%s)`, a2)
}

func key(t *testing.T, text string) string {
	t.Helper()
	e, err := mathexpr.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e.Key()
}

func TestTurnedExpressionsHaveOneKey(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	for range 1000 {
		plain, turned := expression(r, r.IntN(5))
		if key(t, turned) != key(t, plain) {
			t.Errorf("%s is %s, and %s is %s", plain, key(t, plain), turned, key(t, turned))
		}
		if key(t, turned+"+z") == key(t, plain) {
			t.Errorf("%s and %s + z have one key", plain, turned)
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want float64
	}{
		{"1/4", 0.25}, {"-2^2", 4}, {"2^3^2", 512}, {`\frac{1}{2}+50%`, 1}, {"sqrt(2)*√2", 2.0000000000000004}, {"1e3", 1000},
	} {
		e, err := mathexpr.Parse(c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		if got, err := e.Number(); err != nil || got != c.want {
			t.Errorf("%s: got %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	e, err := mathexpr.Parse("x+1")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := e.Number(); err == nil {
		t.Errorf("x+1 is %v", v)
	}
}

// Expressions made to take for ever, or all the memory there is.
func TestHostileExpressions(t *testing.T) {
	t.Parallel()
	power := "(9^32)^32"
	for _, text := range []string{
		strings.Repeat("(", 4000), strings.Repeat("(1+", 1300) + "1" + strings.Repeat(")", 1300),
		strings.Repeat("-", 4000) + "1", strings.Repeat("1^", 2000) + "1", strings.Repeat("x^", 2000) + "x",
		strings.Repeat(power+"*", 400) + "1", strings.Repeat(power+"+1/"+power+"+", 200) + "1",
		strings.Repeat("1e1000+1e-1000+", 270) + "1", strings.Repeat("("+power+"*x)^x+", 250) + "1",
		strings.Repeat("(", 60) + strings.Repeat(power+"^x*", 300) + "1" + strings.Repeat(")^y+z", 60),
		strings.Repeat(`\frac{`, 680), strings.Repeat(`\sqrt[`, 680), strings.Repeat("√", 1300) + "2", strings.Repeat("√2*", 1000) + "1",
		strings.Repeat("9", 999) + "^32", strings.Repeat("$", 4001), strings.Repeat("1%*", 1300) + "1", "\xff\xfe", "\x00", strings.Repeat("x+", 2000) + "x",
		strings.Repeat("$", 1<<20), strings.Repeat(`\frac{1}{2}+`, 100_000) + "1",
	} {
		e, err := mathexpr.Parse(text)
		checkBounds(t, text, e, err)
	}
}

// checkBounds holds what is promised whatever the text.
func checkBounds(t *testing.T, text string, e mathexpr.Expr, err error) {
	t.Helper()
	switch {
	case err != nil && (err.Error() == "" || len(err.Error()) > 1000):
		t.Errorf("%.40q: the error has %d bytes", text, len(err.Error()))
	case err == nil && (e.Key() == "" || len(e.Key()) > 128<<10):
		t.Errorf("%.40q: the key has %d bytes", text, len(e.Key()))
	case err == nil:
		_, _ = e.Number() // ends
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1/0", "2^-2", `\frac{1}{\sqrt[3]{2}}`, "√√x%", "$$1,000$$", "1e999999999", "((x_1^y)^z)", `a \cdot b \times 5e-1`, "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := mathexpr.Parse(text)
		checkBounds(t, text, e, err)
		if err != nil {
			return
		}
		if again, err := mathexpr.Parse("(" + text + ")"); err == nil && again.Key() != e.Key() {
			t.Errorf("%q is %s, and in brackets %s", text, e.Key(), again.Key())
		}
	})
}
