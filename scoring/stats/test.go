package stats

import "math"

// Test is the result of a test. P is the probability, when nothing differs, of
// a result at least as extreme as the one seen; it is 0 only when too
// small for a float64. N is what was counted: trials, cases or discordant
// pairs, as the method says.
type Test struct {
	Method    string  `json:"method"` // as people read it: "exact McNemar"
	Tail      Tail    `json:"tail"`
	Statistic float64 `json:"statistic"`
	P         float64 `json:"p"`
	N         int     `json:"n"`
	// Least is the smallest P of one tail that the draws could have given, 0 where none are
	// made: at a level below it nothing is ever told.
	Least float64 `json:"-"`
}

// Tail says which differences count as extreme. Less asks whether the candidate
// is below the baseline: the question of a gate.
type Tail string

// The values of [Tail].
const (
	TwoSided Tail = "two-sided"
	Less     Tail = "less"
	Greater  Tail = "greater"
)

// Interval is an estimate's confidence interval, with what it is of.
type Interval struct {
	Method   string  `json:"method"`
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Level    float64 `json:"level"` // 0.95 for 95 %
}

// ties is how far apart, relatively, two probabilities or statistics that
// should be equal may come out of floating point.
const ties = 1e-9

// tailP chooses from the probabilities of at most and of at least what was
// seen. The two-sided p is twice the smaller one, at most 1.
func tailP(t Tail, atMost, atLeast float64) float64 {
	switch t {
	case Less:
		return unit(atMost)
	case Greater:
		return unit(atLeast)
	default:
		return unit(2 * min(atMost, atLeast))
	}
}

// unit keeps rounding from leaving 0..1.
func unit(v float64) float64 { return math.Max(0, math.Min(1, v)) }
