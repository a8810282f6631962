package scoring_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
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

func TestTurnedExpressionsAreEquivalent(t *testing.T) {
	t.Parallel()
	j, r := judgeOf(t, scoring.MathEquivalence, `{"numeric_fallback":false}`), rand.New(rand.NewPCG(11, 12))
	for range 1000 {
		plain, turned := expression(r, r.IntN(5))
		got := j.of(turned, plain)
		if got.State != scoring.Available || got.Verdict != scoring.VerdictPass {
			t.Errorf("%s and %s: %s %s", plain, turned, got.Verdict, got.Reason)
		}
		if other := j.of(plain, turned); other.Verdict != got.Verdict {
			t.Errorf("%s and %s: %s, the other way round %s", plain, turned, got.Verdict, other.Verdict)
		}
		if differs := j.of(turned+"+z", plain); differs.Verdict != scoring.VerdictFail {
			t.Errorf("%s and %s + z: %s", plain, turned, differs.Verdict)
		}
	}
}

// Expressions made to take for ever, or all the memory there is.
func TestHostileExpressions(t *testing.T) {
	t.Parallel()
	power := "(9^32)^32"
	j := judgeOf(t, scoring.MathEquivalence, "")
	for _, text := range []string{
		strings.Repeat("(", 4000), strings.Repeat("(1+", 1300) + "1" + strings.Repeat(")", 1300),
		strings.Repeat("-", 4000) + "1", strings.Repeat("1^", 2000) + "1", strings.Repeat("x^", 2000) + "x",
		strings.Repeat(power+"*", 400) + "1", strings.Repeat(power+"+1/"+power+"+", 200) + "1",
		strings.Repeat("1e1000+1e-1000+", 270) + "1", strings.Repeat("("+power+"*x)^x+", 250) + "1",
		strings.Repeat("(", 60) + strings.Repeat(power+"^x*", 300) + "1" + strings.Repeat(")^y+z", 60),
		strings.Repeat(`\frac{`, 680), strings.Repeat(`\sqrt[`, 680), strings.Repeat("√", 1300) + "2", strings.Repeat("√2*", 1000) + "1",
		strings.Repeat("9", 999) + "^32", strings.Repeat("$", 4001), strings.Repeat("1%*", 1300) + "1", "\xff\xfe", "\x00", strings.Repeat("x+", 2000) + "x",
	} {
		got := j.of(text, "1")
		if got.State == scoring.Available && got.NormalizedScore == nil || len(got.Evidence) > 32<<10 {
			t.Errorf("%.40q: %+v", text, got)
		}
	}
}
