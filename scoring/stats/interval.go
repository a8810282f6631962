package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// z gives the normal quantile of a two-sided interval of the level.
func z(level float64) float64 { return distuv.UnitNormal.Quantile(0.5 + level/2) }

func checkLevel(level float64) error {
	if !(level > 0 && level < 1) {
		return fmt.Errorf("a confidence level is between 0 and 1, such as 0.95, not %v", level)
	}
	return nil
}

func checkTally(t Tally, level float64) error {
	if err := t.check(); err != nil {
		return err
	}
	if t.Trials == 0 {
		return fmt.Errorf("an interval needs at least one trial")
	}
	return checkLevel(level)
}

// Wilson is the score interval of a rate: E. B. Wilson, "Probable inference,
// the law of succession, and statistical inference", JASA 22 (1927) 209-212,
// without continuity correction. It is the usual choice: short, and about
// right on average from a few trials on.
func Wilson(t Tally, level float64) (Interval, error) {
	if err := checkTally(t, level); err != nil {
		return Interval{}, err
	}
	low, high := wilson(t, level)
	return Interval{Method: "Wilson score", Estimate: t.Rate(), Low: low, High: high, Level: level}, nil
}

func wilson(t Tally, level float64) (low, high float64) {
	n, p, z := float64(t.Trials), t.Rate(), z(level)
	centre := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	low, high = unit((centre-half)/(1+z*z/n)), unit((centre+half)/(1+z*z/n))
	if t.Passed == 0 {
		low = 0
	}
	if t.failed() == 0 {
		high = 1
	}
	return low, high
}

// ClopperPearson is the exact interval of a rate: C. J. Clopper and E. S.
// Pearson, "The use of confidence or fiducial limits illustrated in the case of
// the binomial", Biometrika 26 (1934) 404-413. It covers at least at its level
// for every rate, and is wider for it.
func ClopperPearson(t Tally, level float64) (Interval, error) {
	if err := checkTally(t, level); err != nil {
		return Interval{}, err
	}
	x, n, tail := float64(t.Passed), float64(t.Trials), (1-level)/2
	i := Interval{Method: "Clopper-Pearson exact", Estimate: t.Rate(), Low: 0, High: 1, Level: level}
	if t.Passed > 0 {
		i.Low = distuv.Beta{Alpha: x, Beta: n - x + 1}.Quantile(tail)
	}
	if t.failed() > 0 {
		i.High = distuv.Beta{Alpha: x + 1, Beta: n - x}.Quantile(1 - tail)
	}
	return i, nil
}

// Newcombe is the interval of candidate rate minus baseline rate when the two
// sides share no cases: R. G. Newcombe, "Interval estimation for the difference
// between independent proportions", Statistics in Medicine 17 (1998) 873-890,
// method 10, made of two Wilson intervals.
func Newcombe(baseline, candidate Tally, level float64) (Interval, error) {
	for _, t := range []Tally{baseline, candidate} {
		if err := checkTally(t, level); err != nil {
			return Interval{}, err
		}
	}
	lowB, highB := wilson(baseline, level)
	lowC, highC := wilson(candidate, level)
	b, c := baseline.Rate(), candidate.Rate()
	return Interval{Method: "Newcombe score", Estimate: c - b, Level: level,
		Low:  c - b - math.Hypot(c-lowC, highB-b),
		High: c - b + math.Hypot(highC-c, b-lowB)}, nil
}

// Flips counts the cases of a paired comparison with one trial on each side.
type Flips struct {
	BothPassed int `json:"both_passed"`
	Worse      int `json:"worse"`  // the baseline passed, the candidate failed
	Better     int `json:"better"` // the baseline failed, the candidate passed
	BothFailed int `json:"both_failed"`
}

// NewcombePaired is the interval of candidate rate minus baseline rate over
// cases that both sides tried once: R. G. Newcombe, "Improved confidence
// intervals for the difference between binomial proportions based on paired
// data", Statistics in Medicine 17 (1998) 2635-2650, method 10.
func NewcombePaired(f Flips, level float64) (Interval, error) {
	n := f.BothPassed + f.Worse + f.Better + f.BothFailed
	baseline, candidate := Tally{f.BothPassed + f.Worse, n}, Tally{f.BothPassed + f.Better, n}
	if min(f.BothPassed, f.Worse, f.Better, f.BothFailed) < 0 {
		return Interval{}, fmt.Errorf("counts of cases cannot be below 0: %+v", f)
	}
	if err := checkTally(baseline, level); err != nil {
		return Interval{}, err
	}
	lowB, highB := wilson(baseline, level)
	lowC, highC := wilson(candidate, level)
	b, c, phi := baseline.Rate(), candidate.Rate(), f.phi()
	half := func(down, up float64) float64 { return math.Sqrt(math.Max(0, down*down-2*phi*down*up+up*up)) }
	return Interval{Method: "Newcombe paired score", Estimate: c - b, Level: level,
		Low: c - b - half(c-lowC, highB-b), High: c - b + half(highC-c, b-lowB)}, nil
}

// phi is the correlation of the two sides, pulled towards 0 by n/2 when it is
// positive, and 0 when a margin is empty, as method 10 has it.
func (f Flips) phi() float64 {
	e, w, b, h := float64(f.BothPassed), float64(f.Worse), float64(f.Better), float64(f.BothFailed)
	margins := (e + w) * (b + h) * (e + b) * (w + h)
	if margins == 0 {
		return 0
	}
	over := e*h - w*b
	if over > 0 {
		over = math.Max(over-(e+w+b+h)/2, 0)
	}
	return over / math.Sqrt(margins)
}
