package session

import (
	"math"
	"slices"

	"github.com/agentclash/agentclash/scoring/stats"
)

const level = 0.95

// Spread is a number over several repetitions, or over several cases.
type Spread struct {
	N      int      `json:"n"`
	Mean   *float64 `json:"mean"` // nil, as the others, without a value
	Median *float64 `json:"median"`
	StdDev *float64 `json:"std_dev"` // of a sample; 0 for a single value
	Min    *float64 `json:"min"`
	Max    *float64 `json:"max"`
	// Interval of the mean; nil where there is none, with the reason where one was
	// looked for.
	Interval       *stats.Interval `json:"interval"`
	IntervalReason string          `json:"interval_reason,omitempty"`
}

// Why there is no interval.
const (
	tooFewRepetitions = "an interval over repetitions needs at least 2"
	tooFewCases       = "an interval over cases needs at least 6"
	nothingVaried     = "nothing was seen to vary, which is not to say that nothing can"
)

// spread describes values, in any order.
func spread(values []float64) Spread {
	s := Spread{N: len(values)}
	if s.N == 0 {
		return s
	}
	values = slices.Sorted(slices.Values(values))
	m := mean(values)
	middle := values[s.N/2]
	if s.N%2 == 0 {
		middle = (values[s.N/2-1] + values[s.N/2]) / 2
	}
	s.Mean, s.Median, s.Min, s.Max = &m, &middle, &values[0], &values[s.N-1]
	s.StdDev = new(deviation(values, m))
	return s
}

// Repeated describes a score that each repetition has: its interval says where the
// mean would lie if the same cases were repeated for ever.
type Repeated struct {
	Spread
	// HighVariance by HighVarianceRule: a spread that deserves a look.
	HighVariance     bool   `json:"high_variance"`
	HighVarianceRule string `json:"high_variance_rule"`
}

const highVarianceRule = "stddev/abs(mean)>0.15_or_range>0.10"

// overRepetitions has an interval of Student's t, cut to 0..1: scores lie there.
func overRepetitions(values []float64) Repeated {
	r := Repeated{Spread: spread(values), HighVarianceRule: highVarianceRule}
	switch {
	case r.N < 2:
		r.IntervalReason = tooFewRepetitions
		return r
	case *r.Min == *r.Max:
		r.IntervalReason = nothingVaried
		return r
	}
	if i, err := stats.StudentInterval(slices.Sorted(slices.Values(values)), level); err == nil {
		i.Method += " over repetitions, cut to 0..1"
		i.Low, i.High = max(i.Low, 0), min(i.High, 1)
		r.Interval = &i
	}
	r.HighVariance = math.Abs(*r.Mean) > 1e-6 && *r.StdDev/math.Abs(*r.Mean) > 0.15 || *r.Max-*r.Min > 0.10
	return r
}

// mean of sorted values, so that it does not depend on their order.
func mean(sorted []float64) float64 {
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	return sum / float64(len(sorted))
}

func deviation(sorted []float64, mean float64) float64 {
	if len(sorted) < 2 || sorted[0] == sorted[len(sorted)-1] {
		return 0
	}
	squares := 0.0
	for _, v := range sorted {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(sorted)-1))
}
