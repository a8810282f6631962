package stats

import (
	"cmp"
	"slices"
)

// Holm adjusts p-values so that rejecting those at most alpha holds the chance
// of any false one at alpha, whatever their dependence: S. Holm, "A simple
// sequentially rejective multiple test procedure", Scandinavian Journal of
// Statistics 6 (1979) 65-70. The order of the result is that of p.
func Holm(p []float64) []float64 {
	order, adjusted := ascending(p), make([]float64, len(p))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, unit(p[i]*float64(len(p)-rank)))
		adjusted[i] = highest
	}
	return adjusted
}

// BenjaminiHochberg adjusts p-values so that among those at most alpha the
// expected share of false ones is at most alpha, when the tests are independent
// or positively dependent: Y. Benjamini and Y. Hochberg, "Controlling the false
// discovery rate", JRSS B 57 (1995) 289-300.
func BenjaminiHochberg(p []float64) []float64 {
	order, adjusted := ascending(p), make([]float64, len(p))
	lowest := 1.0
	for rank := len(order) - 1; rank >= 0; rank-- {
		i := order[rank]
		lowest = min(lowest, unit(p[i]*(float64(len(p))/float64(rank+1))))
		adjusted[i] = lowest
	}
	return adjusted
}

func ascending(p []float64) []int {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	return order
}
