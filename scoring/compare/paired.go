package compare

import (
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/stats"
)

// PassRates tests whether two sides pass alike, case by case, by the same tests as
// a comparison of runs. Each pair is a case that both sides have tried. Which side
// is the baseline changes only the signs.
func PassRates(pairs []stats.Pair, seed uint32) Doubt {
	m := matched{seed: seed}
	for _, p := range pairs {
		m.cases = append(m.cases, matchedCase{
			baseline:  &CaseResult{Passed: p.Baseline.Passed, Valid: p.Baseline.Trials},
			candidate: &CaseResult{Passed: p.Candidate.Passed, Valid: p.Candidate.Trials},
		})
	}
	d := Doubt{Metric: metricPassRate, BetterDirection: scoring.Higher, Conclusion: CannotTell}
	m.passing(&d, stats.TwoSided)
	return d
}

// OverCases is the interval of a mean over cases, nil for fewer than six or where
// nothing was seen to vary.
func OverCases(values []float64, seed uint32) *stats.Interval {
	i := meanInterval(values, seed)
	if i == nil || i.Low == i.High {
		return nil
	}
	return i
}
