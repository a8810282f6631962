package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// atMost is P(X <= k) of n trials that each pass with probability p.
func atMost(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n || p <= 0:
		return 1
	case p >= 1:
		return 0
	}
	return distuv.Binomial{N: float64(n), P: p}.CDF(float64(k))
}

// atLeast is P(X >= k).
func atLeast(k, n int, p float64) float64 { return atMost(n-k, n, 1-p) }

// exactly is P(X = k).
func exactly(k, n int, p float64) float64 {
	switch {
	case p <= 0 && k == 0, p >= 1 && k == n:
		return 1
	case p <= 0, p >= 1, k < 0, k > n:
		return 0
	}
	return distuv.Binomial{N: float64(n), P: p}.Prob(float64(k))
}

// hypergeometric is the distribution of how many are marked among n drawn from
// total things of which marked are marked: p[i] is the chance of first+i. It
// goes both ways from the likeliest count, so that only what is negligible can
// underflow.
func hypergeometric(n, marked, total int) (first int, p []float64) {
	first = max(0, n+marked-total)
	p = make([]float64, min(n, marked)-first+1)
	// the mode, computed in floating point since the product may be large
	mode := int(float64(n+1) * (float64(marked+1) / float64(total+2)))
	mode = max(first, min(mode, first+len(p)-1))
	p[mode-first] = math.Exp(logChoose(marked, mode) + logChoose(total-marked, n-mode) - logChoose(total, n))
	up := func(k int) float64 { // p of k+1 over p of k
		return float64(marked-k) / float64(k+1) * (float64(n-k) / float64(total-marked-n+k+1))
	}
	for k := mode; k+1-first < len(p); k++ {
		p[k+1-first] = p[k-first] * up(k)
	}
	for k := mode - 1; k >= first; k-- {
		p[k-first] = p[k+1-first] / up(k)
	}
	return first, p
}

func logChoose(n, k int) float64 {
	return combin.LogGeneralizedBinomial(float64(n), float64(k))
}

// SignTest asks of pairs whether one direction is commoner than the other. The
// tail is the candidate's: Less when worse is commoner. Ties are not counted:
// J. Arbuthnot 1710; W. J. Dixon and A. M. Mood, "The statistical sign test",
// JASA 41 (1946) 557-566.
func SignTest(worse, better int, tail Tail) (Test, error) {
	return discordant("exact sign test", worse, better, tail)
}

// McNemar is the exact test of cases that both sides tried once, on those that
// flipped: Q. McNemar, Psychometrika 12 (1947) 153-157, by the binomial
// distribution instead of chi-squared (A. Agresti, Categorical Data Analysis,
// 2nd ed., 2002, section 10.1.4).
func McNemar(worse, better int, tail Tail) (Test, error) {
	return discordant("exact McNemar", worse, better, tail)
}

// McNemarMidP is [McNemar] with half the probability of what was seen left
// out: more powerful, its error rate usually and not always below the level
// (M. W. Fagerland, S. Lydersen and P. Laake, BMC Medical Research Methodology
// 13 (2013) 91).
func McNemarMidP(worse, better int, tail Tail) (Test, error) {
	t, err := discordant("mid-p McNemar", worse, better, tail)
	if err != nil || t.N == 0 {
		return t, err
	}
	half := exactly(worse, t.N, 0.5) / 2
	t.P = tailP(tail, atLeast(worse, t.N, 0.5)-half, atMost(worse, t.N, 0.5)-half)
	return t, nil
}

func discordant(method string, worse, better int, tail Tail) (Test, error) {
	if worse < 0 || better < 0 {
		return Test{}, fmt.Errorf("counts of pairs cannot be below 0: %d and %d", worse, better)
	}
	n := worse + better
	return Test{Method: method, Tail: tail, Statistic: float64(worse), N: n,
		P: tailP(tail, atLeast(worse, n, 0.5), atMost(worse, n, 0.5))}, nil
}

// Fisher is the exact test of two sides that share no cases: R. A. Fisher, The
// Design of Experiments (1935), chapter 2. Its two-sided p is that of all
// tables no likelier than the one seen.
func Fisher(baseline, candidate Tally, tail Tail) (Test, error) {
	for _, t := range []Tally{baseline, candidate} {
		if err := t.check(); err != nil {
			return Test{}, err
		}
	}
	t := Test{Method: "Fisher exact", Tail: tail, N: baseline.Trials + candidate.Trials, Statistic: candidate.Rate() - baseline.Rate()}
	first, p := hypergeometric(candidate.Trials, baseline.Passed+candidate.Passed, t.N)
	at := candidate.Passed - first
	switch tail {
	case Less:
		t.P = total(p[:at+1])
	case Greater:
		t.P = total(p[at:])
	default:
		for _, v := range p {
			if v <= p[at]*(1+ties) {
				t.P += v
			}
		}
	}
	t.P = unit(t.P)
	return t, nil
}

func total(p []float64) float64 {
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	return sum
}
