package stats

import "math/rand/v2"

// What one call may cost: steps of exact enumeration, and values drawn.
const (
	enumerated = 1 << 22
	drawn      = 40_000_000
)

// draws says how many samples of n values are drawn: 9,999 where that is
// within the bound, never fewer than 199.
func draws(n int) int { return max(199, min(9999, drawn/max(n, 1))) }

// leastDrawn is the smallest p of a test with one tail that draws samples of n
// values.
func leastDrawn(n int) float64 { return 1 / float64(draws(n)+1) }

// chance is the same sequence for the same seed on every machine.
func chance(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }

// monteCarlo is a p-value of random draws. What was seen counts as one of them:
// B. Phipson and G. K. Smyth, "Permutation p-values should never be zero",
// Statistical Applications in Genetics and Molecular Biology 9 (2010) 39.
func monteCarlo(tail Tail, seen, slack float64, draws int, draw func() float64) float64 {
	below, above := 1, 1
	for range draws {
		v := draw()
		if v <= seen+slack {
			below++
		}
		if v >= seen-slack {
			above++
		}
	}
	return tailP(tail, float64(below)/float64(draws+1), float64(above)/float64(draws+1))
}

// mean sums with Neumaier's correction, so that the order matters little; 0
// for none.
func mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	var sum, lost float64
	for _, x := range v {
		t := sum + x
		if max(sum, -sum) >= max(x, -x) {
			lost += (sum - t) + x
		} else {
			lost += (x - t) + sum
		}
		sum = t
	}
	return (sum + lost) / float64(len(v))
}
