package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/agentclash/agentclash/scoring/stats"
)

func chance() *rand.Rand { return rand.New(rand.NewPCG(7, 7)) }

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestIntervalsHold tries every tally up to 40 trials: limits lie in 0..1 and
// on both sides of the estimate, grow with it, mirror each other, are wider at a
// higher level, and exact ones cover at least at their level at every rate.
func TestIntervalsHold(t *testing.T) {
	t.Parallel()
	type method func(stats.Tally, float64) (stats.Interval, error)
	for name, of := range map[string]method{"Wilson": stats.Wilson, "Clopper-Pearson": stats.ClopperPearson} {
		for n := 1; n <= 40; n++ {
			before := stats.Interval{Low: -1, High: -1}
			for x := 0; x <= n; x++ {
				i := must[stats.Interval](t)(of(stats.Tally{Passed: x, Trials: n}, 0.95))
				mirror := must[stats.Interval](t)(of(stats.Tally{Passed: n - x, Trials: n}, 0.95))
				wide := must[stats.Interval](t)(of(stats.Tally{Passed: x, Trials: n}, 0.99))
				switch {
				case i.Low < 0 || i.High > 1 || i.Low > i.Estimate || i.High < i.Estimate:
					t.Errorf("%s of %d/%d does not hold its estimate: %+v", name, x, n, i)
				case i.Low <= before.Low && x > 1, i.High <= before.High && x < n:
					t.Errorf("%s of %d/%d does not grow: %+v after %+v", name, x, n, i, before)
				case math.Abs(i.Low+mirror.High-1) > 1e-9:
					t.Errorf("%s of %d/%d has no mirror: %+v, %+v", name, x, n, i, mirror)
				case wide.Low > i.Low || wide.High < i.High:
					t.Errorf("%s of %d/%d is not wider at 99 %%: %+v, %+v", name, x, n, i, wide)
				}
				before = i
			}
		}
	}
}

func TestClopperPearsonCovers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5, 20, 60} {
		var limits []stats.Interval
		for x := 0; x <= n; x++ {
			limits = append(limits, must[stats.Interval](t)(stats.ClopperPearson(stats.Tally{Passed: x, Trials: n}, 0.95)))
		}
		for rate := 0.005; rate < 1; rate += 0.005 {
			covered := 0.0
			for x, l := range limits {
				if l.Low <= rate && rate <= l.High {
					covered += binomial(x, n, rate)
				}
			}
			if covered < 0.95-1e-9 {
				t.Errorf("%d trials at %.3f are covered with %.4f", n, rate, covered)
			}
		}
	}
}

// binomial is an independent way to the probability of x of n.
func binomial(x, n int, p float64) float64 {
	v := 1.0
	for i := range x {
		v *= float64(n-i) / float64(x-i) * p
	}
	return v * math.Pow(1-p, float64(n-x))
}

// TestDifferencesMirror exchanges the sides.
func TestDifferencesMirror(t *testing.T) {
	t.Parallel()
	random := chance()
	for range 300 {
		b, c := some(random), some(random)
		i, j := must[stats.Interval](t)(stats.Newcombe(b, c, 0.95)), must[stats.Interval](t)(stats.Newcombe(c, b, 0.95))
		if i.Low > i.Estimate || i.High < i.Estimate || i.Low < -1 || i.High > 1 || math.Abs(i.Low+j.High) > 1e-9 {
			t.Errorf("Newcombe of %v and %v: %+v, exchanged %+v", b, c, i, j)
		}
		f := stats.Flips{BothPassed: random.IntN(20), Worse: random.IntN(20), Better: random.IntN(20), BothFailed: 1 + random.IntN(20)}
		i = must[stats.Interval](t)(stats.NewcombePaired(f, 0.95))
		f.Worse, f.Better = f.Better, f.Worse
		j = must[stats.Interval](t)(stats.NewcombePaired(f, 0.95))
		if i.Low > i.Estimate || i.High < i.Estimate || i.Low < -1 || i.High > 1 || math.Abs(i.Low+j.High) > 1e-9 {
			t.Errorf("Newcombe paired of %+v: %+v, exchanged %+v", f, i, j)
		}
		less, more := must[stats.Test](t)(stats.Fisher(b, c, stats.Less)), must[stats.Test](t)(stats.Fisher(c, b, stats.Greater))
		both := must[stats.Test](t)(stats.Fisher(b, c, stats.TwoSided))
		if math.Abs(less.P-more.P) > 1e-9 || less.P < 0 || less.P > 1 || both.P < 0 || both.P > 1 {
			t.Errorf("Fisher of %v and %v: %v, exchanged %v, two-sided %v", b, c, less.P, more.P, both.P)
		}
	}
}

func some(random *rand.Rand) stats.Tally {
	n := 1 + random.IntN(30)
	return stats.Tally{Passed: random.IntN(n + 1), Trials: n}
}

// TestPaired exchanges the sides and the cases of random comparisons.
func TestPaired(t *testing.T) {
	t.Parallel()
	random := chance()
	for range 200 {
		cases := make([]stats.Pair, 1+random.IntN(8))
		turned := make([]stats.Pair, len(cases))
		for i, at := range random.Perm(len(cases)) {
			n := 1 + random.IntN(4)
			cases[i] = stats.Pair{Baseline: stats.Tally{Passed: random.IntN(n + 1), Trials: n}, Candidate: stats.Tally{Passed: random.IntN(n + 1), Trials: n}}
			turned[at] = stats.Pair{Baseline: cases[i].Candidate, Candidate: cases[i].Baseline}
		}
		for name, of := range map[string]func([]stats.Pair, stats.Tail, uint64) (stats.Test, error){
			"ShuffleTrials": stats.ShuffleTrials, "FlipSides": stats.FlipSides, "PairedPassFail": stats.PairedPassFail} {
			less, more := must[stats.Test](t)(of(cases, stats.Less, 1)), must[stats.Test](t)(of(turned, stats.Greater, 1))
			both := must[stats.Test](t)(of(cases, stats.TwoSided, 1))
			if math.Abs(less.P-more.P) > 1e-9 || less.P <= 0 || both.P <= 0 || both.P > 1+1e-9 {
				t.Errorf("%s of %v: %v, exchanged %v, two-sided %v", name, cases, less.P, more.P, both.P)
			}
		}
	}
}

// TestOneTrialEach: with one trial on each side the permutation tests are
// McNemar's, and the sign-flip test of the differences as well.
func TestOneTrialEach(t *testing.T) {
	t.Parallel()
	random := chance()
	for range 50 {
		var cases []stats.Pair
		var differences []float64
		for range 1 + random.IntN(15) {
			p := stats.Pair{Baseline: stats.Tally{Passed: random.IntN(2), Trials: 1}, Candidate: stats.Tally{Passed: random.IntN(2), Trials: 1}}
			cases, differences = append(cases, p), append(differences, p.Difference())
		}
		want := must[stats.Test](t)(stats.PairedPassFail(cases, stats.Less, 1)).P
		for name, got := range map[string]stats.Test{
			"ShuffleTrials": must[stats.Test](t)(stats.ShuffleTrials(cases, stats.Less, 1)),
			"FlipSides":     must[stats.Test](t)(stats.FlipSides(cases, stats.Less, 1)),
			"SignFlip":      must[stats.Test](t)(stats.SignFlip(differences, stats.Less, 1)),
		} {
			if math.Abs(got.P-want) > 1e-9 {
				t.Errorf("%s of %v: got %v, exact McNemar %v", name, cases, got.P, want)
			}
		}
	}
}

// TestDrawsAgree holds the Monte Carlo side of each test against the exact one:
// many cases of which only a few can move, and many that can.
func TestDrawsAgree(t *testing.T) {
	t.Parallel()
	var exact, drawn []float64
	for i := range 20 {
		d := float64(i%7) - 2
		exact = append(exact, d)
		drawn = append(drawn, d)
	}
	drawn = append(drawn, 1e-9, 1e-9, 1e-9, 1e-9) // too many to be enumerated
	a, b := must[stats.Test](t)(stats.SignFlip(exact, stats.TwoSided, 1)), must[stats.Test](t)(stats.SignFlip(drawn, stats.TwoSided, 1))
	if a.Method == b.Method || math.Abs(a.P-b.P) > 0.02 {
		t.Errorf("sign flips: %+v and %+v", a, b)
	}
	if again := must[stats.Test](t)(stats.SignFlip(drawn, stats.TwoSided, 1)); again != b {
		t.Errorf("the same seed gave %+v and %+v", b, again)
	}
	// a case of odd trials makes the grid too fine to be enumerated
	cases := []stats.Pair{{Baseline: stats.Tally{Passed: 1009, Trials: 1009}, Candidate: stats.Tally{Passed: 1013, Trials: 1013}},
		{Baseline: stats.Tally{Passed: 9973, Trials: 9973}, Candidate: stats.Tally{Passed: 1, Trials: 1}}}
	for range 6 {
		cases = append(cases, stats.Pair{Baseline: stats.Tally{Passed: 4, Trials: 5}, Candidate: stats.Tally{Passed: 3, Trials: 5}})
	}
	a, b = must[stats.Test](t)(stats.ShuffleTrials(cases[2:], stats.Less, 1)), must[stats.Test](t)(stats.ShuffleTrials(cases, stats.Less, 1))
	if a.Method == b.Method || math.Abs(a.P-b.P) > 0.02 {
		t.Errorf("shuffled trials: %+v and %+v", a, b)
	}
	// repetitions of which some were invalid: no common denominator
	var uneven []stats.Pair
	for n := 83; n <= 100; n++ {
		uneven = append(uneven, stats.Pair{Baseline: stats.Tally{Passed: n - 10, Trials: n}, Candidate: stats.Tally{Passed: n - 11, Trials: n + 1}})
	}
	worse := must[stats.Test](t)(stats.ShuffleTrials(uneven, stats.Less, 1))
	if worse.Method == a.Method || worse.P > 0.1 || worse.P <= 0 || math.Abs(worse.Statistic+0.0205) > 0.001 {
		t.Errorf("uneven trials: %+v", worse)
	}
	few, many := []float64{1, 2, 3, 5, 8, 9}, []float64{2, 4, 4, 7, 9, 10, 11}
	a = must[stats.Test](t)(stats.WelchPermutation(few, many, stats.TwoSided, 1))
	for range 12 {
		few, many = append(few, 5), append(many, 6)
	}
	b = must[stats.Test](t)(stats.WelchPermutation(few, many, stats.TwoSided, 1))
	if a.Method == b.Method || b.P <= 0 || b.P > 1 {
		t.Errorf("Welch: %+v and %+v", a, b)
	}
}

// TestBootstrap: intervals hold the mean, move with the values, do not depend
// on the machine's chance, and are wider at a higher level.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	values := []float64{0, 0, 0.1, 0.2, 0.2, 0.3, 0.4, 0.9, 1, 1}
	b := stats.Bootstrap{Seed: 3}
	for name, of := range map[string]func(stats.Bootstrap, []float64) (stats.Interval, error){
		"percentile": stats.Bootstrap.Percentile, "BCa": stats.Bootstrap.BCa} {
		i := must[stats.Interval](t)(of(b, values))
		if i.Low >= i.Estimate || i.High <= i.Estimate || i.Low < 0 || i.High > 1 || i.Level != 0.95 {
			t.Errorf("%s: %+v", name, i)
		}
		if again := must[stats.Interval](t)(of(b, values)); again != i {
			t.Errorf("%s: the same seed gave %+v and %+v", name, i, again)
		}
		moved := make([]float64, len(values))
		for j, v := range values {
			moved[j] = v + 2
		}
		if m := must[stats.Interval](t)(of(b, moved)); math.Abs(m.Low-i.Low-2) > 1e-6 || math.Abs(m.High-i.High-2) > 1e-6 {
			t.Errorf("%s: values moved by 2 gave %+v after %+v", name, m, i)
		}
		if w := must[stats.Interval](t)(of(stats.Bootstrap{Seed: 3, Level: 0.99}, values)); w.Low > i.Low || w.High < i.High {
			t.Errorf("%s: %+v at 99 %% is not wider than %+v", name, w, i)
		}
		if one := must[stats.Interval](t)(of(b, []float64{0.5, 0.5})); one.Low != 0.5 || one.High != 0.5 {
			t.Errorf("%s of equal values: %+v", name, one)
		}
	}
}

// TestManyValues: work is bounded however many values there are. A million of
// them take the same draws as here.
func TestManyValues(t *testing.T) {
	t.Parallel()
	random := chance()
	values, cases := make([]float64, 110_000), make([]stats.Pair, 110_000)
	for i := range values {
		values[i] = random.Float64() - 0.5
		cases[i] = stats.Pair{Baseline: stats.Tally{Passed: random.IntN(4), Trials: 3}, Candidate: stats.Tally{Passed: random.IntN(4), Trials: 3}}
	}
	tests := []stats.Test{
		must[stats.Test](t)(stats.SignFlip(values, stats.TwoSided, 1)),
		must[stats.Test](t)(stats.ShuffleTrials(cases, stats.TwoSided, 1)),
		must[stats.Test](t)(stats.FlipSides(cases, stats.TwoSided, 1)),
		must[stats.Test](t)(stats.WelchPermutation(values[:50_000], values[50_000:], stats.TwoSided, 1)),
		must[stats.Test](t)(stats.Fisher(stats.Tally{Passed: 400_000, Trials: 500_000}, stats.Tally{Passed: 400_100, Trials: 500_000}, stats.TwoSided)),
		must[stats.Test](t)(stats.McNemar(300_000, 300_500, stats.TwoSided)),
	}
	for _, test := range tests {
		if !(test.P > 0 && test.P <= 1) {
			t.Errorf("%+v", test)
		}
	}
	if i := must[stats.Interval](t)(stats.Bootstrap{}.BCa(values)); i.Low >= i.High || i.High-i.Low > 0.02 {
		t.Errorf("%+v", i)
	}
	if adjusted := stats.Holm(values); len(adjusted) != len(values) {
		t.Errorf("%d adjusted", len(adjusted))
	}
}

// TestAdjusted: adjusted p-values are never below the raw ones, keep their
// order, and false discovery is never stricter than the family-wise rate.
func TestAdjusted(t *testing.T) {
	t.Parallel()
	random := chance()
	for range 100 {
		p := make([]float64, 1+random.IntN(30))
		for i := range p {
			p[i] = math.Pow(random.Float64(), 3)
		}
		holm, bh := stats.Holm(p), stats.BenjaminiHochberg(p)
		for i := range p {
			if holm[i] < p[i] || bh[i] < p[i] || holm[i] > 1 || bh[i] > holm[i]+1e-12 {
				t.Errorf("%v: Holm %v, Benjamini-Hochberg %v", p[i], holm[i], bh[i])
			}
			for j := range p {
				if p[i] < p[j] && (holm[i] > holm[j] || bh[i] > bh[j]) {
					t.Errorf("%v and %v changed their order", p[i], p[j])
				}
			}
		}
	}
}

// TestPassKIsUnbiased averages each estimate over every result of n trials:
// what comes out is the probability itself.
func TestPassKIsUnbiased(t *testing.T) {
	t.Parallel()
	const n = 12
	for _, rate := range []float64{0.1, 0.5, 0.9} {
		for k := 1; k <= n; k++ {
			var at, pow float64
			for c := 0; c <= n; c++ {
				a, _ := stats.PassAtK(stats.Tally{Passed: c, Trials: n}, k)
				p, _ := stats.PassPowK(stats.Tally{Passed: c, Trials: n}, k)
				at, pow = at+a*binomial(c, n, rate), pow+p*binomial(c, n, rate)
			}
			if math.Abs(at-1+math.Pow(1-rate, float64(k))) > 1e-9 || math.Abs(pow-math.Pow(rate, float64(k))) > 1e-9 {
				t.Errorf("k = %d at %v: pass@k %v, pass^k %v", k, rate, at, pow)
			}
		}
	}
	over := stats.MeanPassAtK([]stats.Tally{{Passed: 1, Trials: 2}, {Passed: 0, Trials: 1}, {Passed: 0, Trials: 2}}, 2)
	if over.Cases != 2 || over.Mean != 0.5 || len(over.Each) != 2 {
		t.Errorf("over cases: %+v", over)
	}
	if pow := stats.MeanPassPowK([]stats.Tally{{Passed: 2, Trials: 2}, {Passed: 1, Trials: 2}}, 3); pow.Cases != 0 {
		t.Errorf("k over n: %+v", pow)
	}
}

func TestStability(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		of     stats.Tally
		passes string
		flip   float64
	}{{stats.Tally{Passed: 3, Trials: 3}, stats.Always, 0}, {stats.Tally{Passed: 0, Trials: 3}, stats.Never, 0},
		{stats.Tally{Passed: 1, Trials: 2}, stats.Sometimes, 1}, {stats.Tally{Passed: 2, Trials: 4}, stats.Sometimes, 2.0 / 3},
		{stats.Tally{Passed: 1, Trials: 1}, stats.Always, -1}, {stats.Tally{}, stats.Untried, -1}} {
		got := stats.StabilityOf(row.of)
		if got.Passes != row.passes || (got.FlipRate == nil) != (row.flip < 0) || got.FlipRate != nil && math.Abs(*got.FlipRate-row.flip) > 1e-12 {
			t.Errorf("%v: got %+v, want %+v", row.of, got, row)
		}
	}
}
