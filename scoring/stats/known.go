package stats

import (
	"fmt"
	"math"
)

// Against makes the test of a candidate against a known pass rate: Wald's
// sequential probability ratio test of the rate against the rate minus the
// drop (A. Wald, Sequential Analysis, 1947, chapters 3 and 5), cut off after
// MaxTrials. Wald's limits are approximate; here they are found by exact
// enumeration, so that neither error rate is exceeded.
//
// Without MaxTrials it is as long as the power asks for, from the size of the
// exact fixed design on. With one that is too short for the power, see
// [Sequential.Operate].
func Against(rate float64, a Aim) (*Sequential, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if !(rate > a.Drop && rate <= 1) {
		return nil, fmt.Errorf("a drop of %v cannot be looked for from a pass rate of %v", a.Drop, rate)
	}
	if a.MaxTrials > 0 {
		return sprt(rate, a, a.MaxTrials), nil
	}
	fixed, err := FixedDesign(rate, a)
	if err != nil {
		return nil, err
	}
	for last := fixed.Trials; last <= MaxTrials; last += 1 + fixed.Trials/10 {
		if s := sprt(rate, a, last); s.Operate(rate-a.Drop).Regressed >= a.Power {
			return s, nil
		}
	}
	return nil, fmt.Errorf("a drop of %v from %v needs more than %d trials: look for a larger one", a.Drop, rate, MaxTrials)
}

// cleared is the share of the permitted misses that may be called no
// regression; the rest is for tests that end undecided.
const cleared = 0.85

// endless is a log likelihood ratio that no results reach.
const endless = 1e9

func sprt(rate float64, a Aim, last int) *Sequential {
	q0, q1 := 1-rate, 1-rate+a.Drop
	// a rate of 1 is refuted by one failure
	up, down := min(endless, math.Log(q1/q0)), math.Log((1-q1)/(1-q0))
	wald := ratio(func(n, failed int) float64 { return float64(failed)*up + float64(n-failed)*down })
	low := highest(-lowest, 0, func(low float64) bool {
		return limits{wald.clear(last, low), noAlarm(last)}.walk(q1, 0, 0).NoRegression <= cleared*(1-a.Power)
	})
	clear := wald.clear(last, low)
	high := -highest(-lowest, 0, func(minus float64) bool {
		return limits{clear, wald.alarm(last, -minus)}.walk(q0, 0, 0).Regressed <= a.Alpha
	})
	l := limits{clear, wald.alarm(last, high)}
	return &Sequential{Method: "truncated SPRT", MaxTrials: last, limits: l,
		FalseAlarm: l.walk(q0, 0, 0).Regressed, FalseClear: l.walk(q1, 0, 0).NoRegression}
}

// lowest bounds the logarithms among which limits are looked for; e^12 to one
// is beyond any error rate that is asked for.
const lowest = 12

// highest finds, to 1/1000 or better, the highest value for which ok holds; it
// must hold at low, where limits are out of reach, and stop holding once.
func highest(low, high float64, ok func(float64) bool) float64 {
	for high-low > 1e-3 {
		if mid := (low + high) / 2; ok(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
