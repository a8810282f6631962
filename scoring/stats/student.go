package stats

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// StudentInterval is the interval of the mean of a few values that are spread like
// a normal distribution, as means of many are: Student, "The probable error of a
// mean", Biometrika 6 (1908) 1-25. It is wider than one by the normal distribution,
// which covers too little where values are few.
func StudentInterval(values []float64, level float64) (Interval, error) {
	if err := errors.Join(finite(values), checkLevel(level)); err != nil {
		return Interval{}, err
	}
	if len(values) < 2 {
		return Interval{}, errors.New("an interval by the spread needs at least two values")
	}
	m, n := mean(values), float64(len(values))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.5 + level/2)
	half := t * math.Sqrt(variance(values)/n)
	return Interval{Method: "Student t", Estimate: m, Low: m - half, High: m + half, Level: level}, nil
}
