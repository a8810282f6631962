package stats

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"
)

// flipped bounds the pairs whose signs are all tried: 2^20 ways.
const flipped = 20

// SignFlip is the permutation test of paired scores: when nothing differs, each
// difference (candidate minus baseline, one per case) could have had the other
// sign. R. A. Fisher, The Design of Experiments (1935), section 21. Every
// sign is tried for at most 20 differences that are not 0; beyond that, draws
// by the seed.
func SignFlip(differences []float64, tail Tail, seed uint64) (Test, error) {
	if err := finite(differences); err != nil {
		return Test{}, err
	}
	t := Test{Method: "exact sign-flip permutation", Tail: tail, N: len(differences), Statistic: mean(differences), P: 1}
	var sizes []float64
	seen, slack := 0.0, 0.0
	for _, d := range differences {
		if d != 0 {
			sizes = append(sizes, math.Abs(d))
			seen += d
			slack += ties * math.Abs(d)
		}
	}
	switch {
	case len(sizes) == 0:
	case len(sizes) <= flipped:
		t.P = allSigns(sizes, seen, slack, tail)
	default:
		t.Method = "Monte Carlo sign-flip permutation"
		t.P, t.Least = drawSigns(sizes, seen, slack, tail, seed), leastDrawn(len(sizes))
	}
	return t, nil
}

func allSigns(sizes []float64, seen, slack float64, tail Tail) float64 {
	below, above := 0, 0
	var walk func(i int, sum float64)
	walk = func(i int, sum float64) {
		if i < len(sizes) {
			walk(i+1, sum-sizes[i])
			walk(i+1, sum+sizes[i])
			return
		}
		if sum <= seen+slack {
			below++
		}
		if sum >= seen-slack {
			above++
		}
	}
	walk(0, 0)
	ways := float64(int(1) << len(sizes))
	return tailP(tail, float64(below)/ways, float64(above)/ways)
}

func drawSigns(sizes []float64, seen, slack float64, tail Tail, seed uint64) float64 {
	random := chance(seed)
	return monteCarlo(tail, seen, slack, draws(len(sizes)), func() float64 {
		sum := 0.0
		for i := 0; i < len(sizes); i += 64 {
			bits := random.Uint64()
			for _, s := range sizes[i:min(i+64, len(sizes))] {
				if bits&1 == 0 {
					s = -s
				}
				sum += s
				bits >>= 1
			}
		}
		return sum
	})
}

// WelchPermutation asks whether the means of two sides that share no cases
// differ, by the permutation distribution of Welch's t, which holds at large
// sizes even when only the spreads differ: A. Janssen, "Studentized permutation
// tests for non-i.i.d. hypotheses and the generalized Behrens-Fisher problem",
// Statistics and Probability Letters 36 (1997) 9-21. Each side needs two values.
func WelchPermutation(baseline, candidate []float64, tail Tail, seed uint64) (Test, error) {
	if err := errors.Join(finite(baseline), finite(candidate)); err != nil {
		return Test{}, err
	}
	if len(baseline) < 2 || len(candidate) < 2 {
		return Test{}, errors.New("a comparison of means needs two values on each side")
	}
	pooled := append(append([]float64{}, candidate...), baseline...)
	n, k := len(pooled), len(candidate)
	t := Test{Method: "exact Welch permutation", Tail: tail, N: n, Statistic: mean(candidate) - mean(baseline)}
	seen, slack := welch(pooled, k), 0.0
	if !math.IsInf(seen, 0) {
		slack = ties * math.Max(1, math.Abs(seen))
	}
	if combin.LogGeneralizedBinomial(float64(n), float64(k))+math.Log(float64(n)) <= math.Log(enumerated) {
		t.P = allSplits(pooled, k, seen, slack, tail)
		return t, nil
	}
	t.Method = "Monte Carlo Welch permutation"
	random := chance(seed)
	t.Least = leastDrawn(n)
	t.P = monteCarlo(tail, seen, slack, draws(n), func() float64 {
		for i := range k {
			j := i + random.IntN(n-i)
			pooled[i], pooled[j] = pooled[j], pooled[i]
		}
		return welch(pooled, k)
	})
	return t, nil
}

// allSplits tries every choice of k values for the candidate's side.
func allSplits(pooled []float64, k int, seen, slack float64, tail Tail) float64 {
	below, above, ways := 0, 0, 0
	side, split := make([]bool, len(pooled)), make([]float64, 0, len(pooled))
	for g := combin.NewCombinationGenerator(len(pooled), k); g.Next(); ways++ {
		split = split[:0]
		clear(side)
		for _, i := range g.Combination(nil) {
			side[i], split = true, append(split, pooled[i])
		}
		for i, v := range pooled {
			if !side[i] {
				split = append(split, v)
			}
		}
		v := welch(split, k)
		if v <= seen+slack {
			below++
		}
		if v >= seen-slack {
			above++
		}
	}
	return tailP(tail, float64(below)/float64(ways), float64(above)/float64(ways))
}

// welch is the t of the first k values against the others. Without any spread
// it is 0 for equal means and endless otherwise.
func welch(v []float64, k int) float64 {
	a, va := stat.MeanVariance(v[:k], nil)
	b, vb := stat.MeanVariance(v[k:], nil)
	if a == b {
		return 0
	}
	return (a - b) / math.Sqrt(va/float64(k)+vb/float64(len(v)-k))
}

func finite(values []float64) error {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("a value to be compared is not a number")
		}
	}
	return nil
}
