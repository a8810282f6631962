package stats

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Bootstrap says how an interval over cases is drawn: Resamples times as many
// values as there are, with replacement, by the seed. Cases are the units: hand
// in one value per case, such as the difference of its two sides.
type Bootstrap struct {
	Level     float64 // 0 is 0.95
	Resamples int     // 0 is 2,000; fewer where values are many, never below 200
	Seed      uint64
}

// resampled bounds the values that are drawn from; for more of them the
// distribution of a mean is normal to more digits than anybody reads.
const resampled = 100_000

// Percentile is the interval between quantiles of the resampled means: B.
// Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993), chapter
// 13. Values that are all equal have an interval without width, which says that
// nothing was seen to vary and not that nothing can.
func (b Bootstrap) Percentile(values []float64) (Interval, error) {
	return b.interval("bootstrap percentile", values, func(tail float64, _ []float64) float64 { return tail })
}

// BCa is [Bootstrap.Percentile] corrected for bias and skewness: B. Efron,
// "Better bootstrap confidence intervals", JASA 82 (1987) 171-185. It covers
// better where values lie to one side, as scores do.
func (b Bootstrap) BCa(values []float64) (Interval, error) {
	a := acceleration(values)
	estimate := mean(values)
	return b.interval("bootstrap BCa", values, func(tail float64, means []float64) float64 {
		below, equal := 0, 0
		for _, m := range means {
			switch {
			case math.Abs(m-estimate) <= ties*math.Abs(estimate):
				equal++
			case m < estimate:
				below++
			}
		}
		// means that equal the estimate count half, and no share is 0 or 1
		share := (float64(below) + float64(equal)/2 + 0.5) / float64(len(means)+1)
		z0 := distuv.UnitNormal.Quantile(share)
		z := z0 + distuv.UnitNormal.Quantile(tail)
		stretch := 1 - a*z
		if stretch <= 0 { // skewed beyond what the correction is for
			return tail
		}
		return distuv.UnitNormal.CDF(z0 + z/stretch)
	})
}

// interval takes the quantiles of the means that adjust gives for the two tails.
func (b Bootstrap) interval(method string, values []float64, adjust func(tail float64, means []float64) float64) (Interval, error) {
	level := b.Level
	if level == 0 {
		level = 0.95
	}
	if err := errors.Join(finite(values), checkLevel(level)); err != nil {
		return Interval{}, err
	}
	if len(values) == 0 {
		return Interval{}, errors.New("an interval needs at least one value")
	}
	i := Interval{Method: method, Estimate: mean(values), Level: level}
	if slices.Min(values) == slices.Max(values) {
		i.Low, i.High = i.Estimate, i.Estimate
		return i, nil
	}
	if len(values) > resampled {
		half := z(level) * math.Sqrt(variance(values)/float64(len(values)))
		i.Method, i.Low, i.High = "normal (more than 100,000 values)", i.Estimate-half, i.Estimate+half
		return i, nil
	}
	means, tail := b.means(values), (1-level)/2
	i.Low = min(i.Estimate, quantile(means, adjust(tail, means)))
	i.High = max(i.Estimate, quantile(means, adjust(1-tail, means)))
	return i, nil
}

// means draws and sorts the means of the resamples.
func (b Bootstrap) means(values []float64) []float64 {
	times := b.Resamples
	if times <= 0 {
		times = 2000
	}
	times = max(200, min(times, drawn/len(values)))
	random, means := chance(b.Seed), make([]float64, times)
	for i := range means {
		sum := 0.0
		for range values {
			sum += values[random.IntN(len(values))]
		}
		means[i] = sum / float64(len(values))
	}
	slices.Sort(means)
	return means
}

// quantile interpolates between order statistics (type 6 of R. J. Hyndman and
// Y. Fan, 1996: the k-th of n is the quantile k/(n+1)).
func quantile(sorted []float64, q float64) float64 {
	at := unit(q)*float64(len(sorted)+1) - 1
	if at <= 0 {
		return sorted[0]
	}
	if at >= float64(len(sorted)-1) {
		return sorted[len(sorted)-1]
	}
	i := int(at)
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// acceleration is that of a mean: a sixth of the skewness over root n.
func acceleration(values []float64) float64 {
	m := mean(values)
	var squares, cubes float64
	for _, v := range values {
		d := v - m
		squares += d * d
		cubes += d * d * d
	}
	if squares == 0 {
		return 0
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

func variance(values []float64) float64 {
	m, squares := mean(values), 0.0
	for _, v := range values {
		squares += (v - m) * (v - m)
	}
	return squares / float64(len(values)-1)
}
