package stats

import (
	"fmt"
	"math"
)

// Fixed is an experiment whose size is set in advance: with Trials (on each
// side, where there are two) it is a regression when at most MaxPassed pass.
// MaxPassed is -1 where the cut depends on the other side.
type Fixed struct {
	Method     string  `json:"method"`
	Trials     int     `json:"trials"`
	MaxPassed  int     `json:"max_passed"`
	FalseAlarm float64 `json:"false_alarm"`
	Power      float64 `json:"power"`
}

// FixedDesign is the smallest exact binomial experiment that meets the aim
// against a known rate.
func FixedDesign(rate float64, a Aim) (Fixed, error) {
	if err := a.check(); err != nil {
		return Fixed{}, err
	}
	if !(rate > a.Drop && rate <= 1) {
		return Fixed{}, fmt.Errorf("a drop of %v cannot be looked for from a pass rate of %v", a.Drop, rate)
	}
	for n := 1; n <= planned; n++ {
		if f := cutAt(n, rate, a); f.Power >= a.Power {
			return f, nil
		}
	}
	return Fixed{}, fmt.Errorf("a drop of %v from %v needs more than %d trials: look for a larger one", a.Drop, rate, planned)
}

// planned bounds the sizes that are tried one by one.
const planned = 20_000

// cutAt is the exact experiment of n trials with the highest cut that alpha
// permits.
func cutAt(n int, rate float64, a Aim) Fixed {
	low, high := -1, n // atMost(low) <= alpha < atMost(high)
	for high-low > 1 {
		if mid := (low + high) / 2; atMost(mid, n, rate) <= a.Alpha {
			low = mid
		} else {
			high = mid
		}
	}
	return Fixed{Method: "exact binomial", Trials: n, MaxPassed: low,
		FalseAlarm: atMost(low, n, rate), Power: atMost(low, n, rate-a.Drop)}
}

// enumeratedArm bounds the sizes for which two-arm power is enumerated.
const enumeratedArm = 200

// TwoArmDesign is the smallest experiment with as many trials on both sides
// and Fisher's one-sided exact test that meets the aim, when the baseline
// passes at the rate. Its power is enumerated up to 200 trials a side; larger
// ones come from the formula with continuity correction of J. L. Fleiss, A.
// Tytun and H. K. Ury, Biometrics 36 (1980) 343-346, and the method says so.
func TwoArmDesign(rate float64, tail Tail, a Aim) (Fixed, error) {
	if err := a.check(); err != nil {
		return Fixed{}, err
	}
	if !(rate >= a.Drop && rate <= 1) {
		return Fixed{}, fmt.Errorf("a drop of %v cannot be looked for from a pass rate of %v", a.Drop, rate)
	}
	about := fleiss(rate, tail, a)
	if about > enumeratedArm {
		return Fixed{Method: "Fleiss formula with continuity correction", Trials: about, MaxPassed: -1, FalseAlarm: a.Alpha, Power: a.Power}, nil
	}
	// power dips now and then as sizes grow; the smallest that has it counts
	for n := max(1, about/2); ; n++ {
		if power := (Arms{Baseline: n, Candidate: n, Rate: rate, Tail: tail}).Power(a.Drop, a.Alpha); power >= a.Power {
			return Fixed{Method: "Fisher exact, enumerated", Trials: n, MaxPassed: -1, FalseAlarm: a.Alpha, Power: power}, nil
		}
	}
}

func fleiss(rate float64, tail Tail, a Aim) int {
	alpha := a.Alpha
	if tail == TwoSided {
		alpha /= 2
	}
	za, zb := z(1-2*alpha), z(2*a.Power-1)
	p, q := rate, rate-a.Drop
	m := (p + q) / 2
	n := math.Pow(za*math.Sqrt(2*m*(1-m))+zb*math.Sqrt(p*(1-p)+q*(1-q)), 2) / (a.Drop * a.Drop)
	return int(math.Ceil(n / 4 * math.Pow(1+math.Sqrt(1+4/(n*a.Drop)), 2)))
}

// Arms is an experiment with two sides of given sizes that share no cases, of
// which the baseline passes at the rate.
type Arms struct {
	Baseline, Candidate int // trials
	Rate                float64
	Tail                Tail
}

// Power is the chance, by enumeration, that Fisher's exact test at alpha tells
// the sides apart when the candidate passes less often by the drop.
func (a Arms) Power(drop, alpha float64) float64 {
	power := 0.0
	for passed := 0; passed <= a.Baseline; passed++ {
		weight := exactly(passed, a.Baseline, a.Rate)
		if weight < 1e-12 {
			continue
		}
		for c := 0; c <= a.Candidate; c++ {
			w := weight * exactly(c, a.Candidate, a.Rate-drop)
			if w < 1e-14 {
				continue
			}
			if t, err := Fisher(Tally{passed, a.Baseline}, Tally{c, a.Candidate}, a.Tail); err == nil && t.P <= alpha {
				power += w
			}
		}
	}
	return power
}

// MinimalDrop is the smallest drop that the experiment finds with the power at
// alpha, to 1/1000: what a comparison could have seen. It is not found (false)
// when no drop is, or with more than 500 trials on a side, which are not
// enumerated.
func (a Arms) MinimalDrop(alpha, power float64) (drop float64, found bool) {
	ok := func(d float64) bool { return a.Power(d, alpha) >= power }
	if min(a.Baseline, a.Candidate) < 1 || max(a.Baseline, a.Candidate) > MaxTrials || !(a.Rate > 0 && a.Rate <= 1) || !ok(a.Rate) {
		return 0, false
	}
	return least(a.Rate, 1e-3, ok), true
}

// MinimalDrop is the smallest drop from a known rate that n trials find with
// the power at alpha by the exact binomial test, to 1/10,000; false when none
// is found.
func MinimalDrop(rate float64, n int, alpha, power float64) (drop float64, found bool) {
	ok := func(d float64) bool {
		return cutAt(n, rate, Aim{Drop: d, Alpha: alpha}).Power >= power
	}
	if !(rate > 0 && rate <= 1) || n < 1 || n > planned || !ok(rate) {
		return 0, false
	}
	return least(rate, 1e-4, ok), true
}

// least is, to the step, the smallest drop for which ok holds; it holds for the
// highest.
func least(highest, step float64, ok func(float64) bool) float64 {
	low, high := 0.0, highest
	for high-low > step {
		if mid := (low + high) / 2; ok(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}
