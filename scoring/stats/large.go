package stats

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// evenly bounds the share that single values have in what varies, as the third
// moment over the second: 0.2 is that of 25 values of one size.
const evenly = 0.2

// Even says whether a sum of these values, each with its sign by chance, is
// close to normal: many, none of which outweighs the rest.
func Even(values []float64) bool {
	top := largest(values)
	if top == 0 {
		return false
	}
	var squares, cubes float64
	for _, v := range values {
		v = math.Abs(v / top)
		squares += v * v
		cubes += v * v * v
	}
	return cubes <= evenly*math.Pow(squares, 1.5)
}

// PairedMean is [SignFlip] for many cases: the sum of differences over the
// root of the sum of their squares, which is their spread when every sign is
// chance, against the normal distribution (E. L. Lehmann and J. P. Romano,
// Testing Statistical Hypotheses, 3rd ed., 2005, section 15.2.2). It holds where
// the differences are [Even].
func PairedMean(differences []float64, tail Tail) (Test, error) {
	if err := finite(differences); err != nil {
		return Test{}, err
	}
	t := Test{Method: "normal sign-flip approximation", Tail: tail, N: len(differences), Statistic: mean(differences), P: 1}
	top := largest(differences)
	if top == 0 {
		return t, nil
	}
	var sum, squares float64
	for _, d := range differences {
		sum += d / top
		squares += d / top * (d / top)
	}
	z := sum / math.Sqrt(squares)
	t.P = tailP(tail, distuv.UnitNormal.CDF(z), distuv.UnitNormal.CDF(-z))
	return t, nil
}

// MeanInterval is the interval of a mean over many cases by their spread and
// the normal distribution. It holds where the values less their mean are [Even].
func MeanInterval(values []float64, level float64) (Interval, error) {
	if err := errors.Join(finite(values), checkLevel(level)); err != nil {
		return Interval{}, err
	}
	if len(values) < 2 {
		return Interval{}, errors.New("an interval by the spread needs at least two values")
	}
	m := mean(values)
	half := z(level) * math.Sqrt(variance(values)/float64(len(values)))
	return Interval{Method: "normal, by the spread over cases", Estimate: m, Low: m - half, High: m + half, Level: level}, nil
}

func largest(values []float64) float64 {
	top := 0.0
	for _, v := range values {
		top = math.Max(top, math.Abs(v))
	}
	return top
}
