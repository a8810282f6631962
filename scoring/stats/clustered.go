package stats

import (
	"errors"
	"fmt"
	"math"
)

// PairedPassFail asks whether the candidate passes the same cases as often as
// the baseline: exact McNemar when each side tried each case once, otherwise
// [ShuffleTrials]. The seed matters only where draws are needed.
func PairedPassFail(cases []Pair, tail Tail, seed uint64) (Test, error) {
	once := true
	for _, c := range cases {
		once = once && c.Baseline.Trials == 1 && c.Candidate.Trials == 1
	}
	if !once {
		return ShuffleTrials(cases, tail, seed)
	}
	f, err := CountFlips(cases)
	if err != nil {
		return Test{}, err
	}
	return McNemar(f.Worse, f.Better, tail)
}

// CountFlips of cases that each side tried once.
func CountFlips(cases []Pair) (Flips, error) {
	var f Flips
	for _, c := range cases {
		if err := c.check(); err != nil {
			return f, err
		}
		if c.Baseline.Trials != 1 || c.Candidate.Trials != 1 {
			return f, errors.New("flips are counted of cases with one trial on each side")
		}
		switch c.Candidate.Passed - c.Baseline.Passed {
		case -1:
			f.Worse++
		case 1:
			f.Better++
		default:
			f.BothFailed += 1 - c.Candidate.Passed
			f.BothPassed += c.Candidate.Passed
		}
	}
	return f, nil
}

// ShuffleTrials is the permutation test of repeated trials: when nothing
// differs, each case's trials could have been on either side. Cases are strata,
// so it does not matter how hard they are, nor how often each was tried; trials
// of a case must be independent of each other. The statistic is the mean over
// cases of the difference of rates. It is Fisher's randomization within strata
// (P. Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd
// ed., 2005, chapter 3). With one trial on each side it is exact McNemar.
func ShuffleTrials(cases []Pair, tail Tail, seed uint64) (Test, error) {
	return permuteCases("permutation of trials within cases", cases, tail, seed, shuffles)
}

// FlipSides is the permutation test that keeps the trials of a case together:
// when nothing differs, each case's two sides could have been exchanged. It
// holds even when trials of a case depend on each other, needs as many trials
// on both sides of a case, and cannot be significant with fewer than five cases.
func FlipSides(cases []Pair, tail Tail, seed uint64) (Test, error) {
	for _, c := range cases {
		if c.Baseline.Trials != c.Candidate.Trials {
			return Test{}, fmt.Errorf("exchanging sides needs as many trials on both, got %d and %d", c.Baseline.Trials, c.Candidate.Trials)
		}
	}
	return permuteCases("exchange of sides by case", cases, tail, seed, exchanges)
}

// moves is what one case may contribute to the sum of differences, in units of
// 1/scale: p[i] is the probability of low + i*step.
type moves struct {
	low, step float64
	p         []float64
}

// shuffles is the hypergeometric distribution of a case's difference.
func shuffles(c Pair, scale float64) moves {
	perB, perN := scale/float64(c.Baseline.Trials), scale/float64(c.Candidate.Trials)
	passed := c.Baseline.Passed + c.Candidate.Passed
	first, p := hypergeometric(c.Candidate.Trials, passed, c.Baseline.Trials+c.Candidate.Trials)
	return moves{low: perN*float64(first) - perB*float64(passed-first), step: perN + perB, p: p}
}

// exchanges is a case's difference one way or the other.
func exchanges(c Pair, scale float64) moves {
	d := math.Abs(difference(c, scale))
	if d == 0 {
		return moves{p: []float64{1}}
	}
	return moves{low: -d, step: 2 * d, p: []float64{0.5, 0.5}}
}

func difference(c Pair, scale float64) float64 {
	return scale/float64(c.Candidate.Trials)*float64(c.Candidate.Passed) - scale/float64(c.Baseline.Trials)*float64(c.Baseline.Passed)
}

func permuteCases(method string, cases []Pair, tail Tail, seed uint64, of func(Pair, float64) moves) (Test, error) {
	for _, c := range cases {
		if err := c.check(); err != nil {
			return Test{}, err
		}
	}
	scale, whole := denominator(cases)
	known, all, seen := map[Pair]moves{}, make([]moves, len(cases)), 0.0
	for i, c := range cases {
		if _, ok := known[c]; !ok {
			known[c] = of(c, scale)
		}
		all[i] = known[c]
		seen += difference(c, scale)
	}
	t := Test{Method: "exact " + method, Tail: tail, N: len(cases), P: 1}
	if len(cases) == 0 {
		return t, nil
	}
	t.Statistic = seen / scale / float64(len(cases))
	if whole && work(all) <= enumerated {
		below, above := convolve(all, int(seen))
		t.P = tailP(tail, below, above)
		return t, nil
	}
	t.Method = "Monte Carlo " + method
	slack := 0.5
	if !whole {
		slack = 1e-12 * float64(len(cases))
	}
	t.P, t.Least = drawMoves(all, seen, slack, tail, seed), leastDrawn(len(all))
	return t, nil
}

// denominator is the common one of all rates, by which sums are whole numbers.
// When it would be too large it is 1, and they are not.
func denominator(cases []Pair) (scale float64, whole bool) {
	const finest = 1 << 24 // times a million cases is still exact in a float64
	d := 1
	for _, c := range cases {
		for _, n := range []int{c.Baseline.Trials, c.Candidate.Trials} {
			if n > finest {
				return 1, false
			}
			if d = lcm(d, n); d > finest {
				return 1, false
			}
		}
	}
	return float64(d), true
}

func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// work is what convolve would do, at most just over the bound.
func work(all []moves) int {
	total, width := 0, 1
	for _, m := range all {
		width += int(m.step) * (len(m.p) - 1)
		if total += width * len(m.p); total > enumerated {
			break
		}
	}
	return total
}

// convolve gives the chance of a sum of at most and of at least seen, of moves
// that are whole numbers.
func convolve(all []moves, seen int) (below, above float64) {
	low, sum := 0, []float64{1}
	for _, m := range all {
		step := int(m.step)
		next := make([]float64, len(sum)+step*(len(m.p)-1))
		for i, v := range sum {
			for j, p := range m.p {
				next[i+j*step] += v * p
			}
		}
		low, sum = low+int(m.low), next
	}
	for i, v := range sum {
		if low+i <= seen {
			below += v
		}
		if low+i >= seen {
			above += v
		}
	}
	return below, above
}

// drawMoves draws each case's contribution by inverting its distribution.
func drawMoves(all []moves, seen, slack float64, tail Tail, seed uint64) float64 {
	random := chance(seed)
	return monteCarlo(tail, seen, slack, draws(len(all)), func() float64 {
		sum := 0.0
		for _, m := range all {
			i := 0
			if len(m.p) > 1 {
				for u := random.Float64(); i < len(m.p)-1 && u >= m.p[i]; i++ {
					u -= m.p[i]
				}
			}
			sum += m.low + float64(i)*m.step
		}
		return sum
	})
}
