package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/agentclash/agentclash/scoring"
)

// Delta is one number on both sides. The values keep full precision; Delta is
// candidate minus baseline at 12 decimals, so that the noise of binary
// subtraction is neither a change nor decides on which side of a threshold a
// change lies.
type Delta struct {
	Metric          string   `json:"metric"`
	BaselineValue   *float64 `json:"baseline_value"`
	CandidateValue  *float64 `json:"candidate_value"`
	Delta           *float64 `json:"delta"`            // nil unless State is available
	BetterDirection string   `json:"better_direction"` // scoring.Higher or scoring.Lower
	Outcome         string   `json:"outcome"`          // better, worse, same or unknown
	State           string   `json:"state"`
}

// The values of [Delta.Outcome]. OutcomeSame is a delta of exactly 0.
const (
	OutcomeBetter  = "better"
	OutcomeWorse   = "worse"
	OutcomeSame    = "same"
	OutcomeUnknown = "unknown"
)

// The values of [Delta.State]. A side's dimension is missing when its
// evaluation spec does not declare it.
const (
	DeltaAvailable        = "available"
	DeltaUnavailable      = "unavailable"
	DeltaError            = "error"
	DeltaMissingBaseline  = "missing_baseline"
	DeltaMissingCandidate = "missing_candidate"
)

// round gives the float64 nearest to v at 12 decimals, the precision of deltas
// and thresholds. In binary .50-.45 is 0.04999999999999999 and .90-.85 is
// 0.050000000000000044; rounded both are 0.05, and a threshold of 0.05 treats
// them alike. No score means anything at the thirteenth decimal. Above about
// 9000 v stays as it is; it never becomes a negative zero.
func round(v float64) float64 {
	const unit = 1e12
	if math.Abs(v*unit) >= 1<<53 {
		return v
	}
	if r := math.Round(v*unit) / unit; r != 0 {
		return r
	}
	return 0
}

// difference is candidate minus baseline, nil when a side has no value.
func difference(baseline, candidate *float64) *float64 {
	if baseline == nil || candidate == nil {
		return nil
	}
	return new(round(*candidate - *baseline))
}

// finite drops what is not a number, which no threshold could be held against.
func finite(v *float64) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return v
}

// newDelta makes an available row, or one of the given state when a side has
// no value.
func newDelta(metric, direction, otherwise string, baseline, candidate *float64) Delta {
	d := Delta{Metric: metric, BetterDirection: direction, Outcome: OutcomeUnknown, State: otherwise,
		BaselineValue: finite(baseline), CandidateValue: finite(candidate)}
	d.Delta = difference(d.BaselineValue, d.CandidateValue)
	if d.Delta == nil {
		return d
	}
	d.State = DeltaAvailable
	better := *d.Delta
	if direction == scoring.Lower {
		better = -better
	}
	switch {
	case better > 0:
		d.Outcome = OutcomeBetter
	case better < 0:
		d.Outcome = OutcomeWorse
	default:
		d.Outcome = OutcomeSame
	}
	return d
}

// side holds the numbers of one snapshot over the compared cases.
type side struct {
	snapshot          Snapshot
	valid             int // trials
	overall, passRate *float64
	dimensions        map[string]scoring.AggregateDimension
	cost, latency     *float64 // means per valid trial; nil unless all report one
	tokens            *float64
}

// measure works out a side over the given cases; nil means all of them, and
// then scores are the scorecard's own.
func measure(s Snapshot, only map[string]bool) side {
	m := side{snapshot: s, dimensions: map[string]scoring.AggregateDimension{}}
	var overall, cost, latency, tokens sum
	sums := map[string]*sum{}
	passed := 0
	for _, r := range s.Cases {
		if only != nil && !only[r.CaseKey] {
			continue
		}
		m.valid += r.Valid
		passed += r.Passed
		overall.addMean(r.OverallScore)
		cost.addMean(r.CostUSD)
		latency.addMean(r.LatencyMS)
		tokens.addMean(r.TotalTokens)
		for _, d := range r.Dimensions {
			if sums[d.Key] == nil {
				sums[d.Key] = &sum{}
			}
			sums[d.Key].addMean(Mean{Value: d.Score, N: d.N})
		}
	}
	m.cost, m.latency, m.tokens = complete(cost, m.valid), complete(latency, m.valid), complete(tokens, m.valid)
	for _, d := range s.Scorecard.Dimensions {
		m.dimensions[d.Key] = d
	}
	if only == nil {
		m.overall, m.passRate = s.Scorecard.OverallScore, s.Scorecard.PassRate
		return m
	}
	m.overall = overall.mean().Value
	if m.valid > 0 {
		m.passRate = new(float64(passed) / float64(m.valid))
	}
	for key, d := range m.dimensions {
		m.dimensions[key] = narrow(d, sums[key])
	}
	return m
}

// complete is the mean of s when every one of n trials is in it. A mean over
// some of them would compare what happened to be reported.
func complete(s sum, n int) *float64 {
	if s.n != n {
		return nil
	}
	return s.mean().Value
}

// narrow replaces a dimension's mean by the one over the compared cases.
func narrow(d scoring.AggregateDimension, s *sum) scoring.AggregateDimension {
	var m Mean
	if s != nil {
		m = s.mean()
	}
	switch {
	case m.N > 0:
		d.State = scoring.Available
	case d.State == scoring.Available:
		d.State = scoring.Unavailable
	}
	d.Score, d.N = m.Value, m.N
	return d
}

// dimensionDeltas subtracts every dimension either side declares. The largest
// changes come first, equal ones in declared order, and last what is not
// available.
func dimensionDeltas(baseline, candidate side) []Delta {
	deltas := []Delta{}
	for _, key := range declaredKeys(baseline.snapshot, candidate.snapshot) {
		deltas = append(deltas, dimensionDelta(key, baseline, candidate))
	}
	slices.SortStableFunc(deltas, func(a, b Delta) int {
		return cmp.Compare(size(b), size(a))
	})
	return deltas
}

// size orders deltas; those without a value are smaller than any.
func size(d Delta) float64 {
	if d.Delta == nil {
		return -1
	}
	return math.Abs(*d.Delta)
}

func dimensionDelta(key string, baseline, candidate side) Delta {
	otherwise := DeltaUnavailable
	switch {
	case baseline.dimensions[key].State == scoring.Errored || candidate.dimensions[key].State == scoring.Errored:
		otherwise = DeltaError
	case !baseline.snapshot.declares(key):
		otherwise = DeltaMissingBaseline
	case !candidate.snapshot.declares(key):
		otherwise = DeltaMissingCandidate
	}
	return newDelta(key, scoring.Higher, otherwise, baseline.score(key), candidate.score(key))
}

// score is the value of a dimension that the side declares and has.
func (m side) score(key string) *float64 {
	d := m.dimensions[key]
	if !m.snapshot.declares(key) || d.State != scoring.Available {
		return nil
	}
	return d.Score
}

// declaredKeys are the baseline's dimensions and then what only the candidate
// declares.
func declaredKeys(baseline, candidate Snapshot) []string {
	var keys []string
	for _, d := range slices.Concat(baseline.Dimensions, candidate.Dimensions) {
		if !slices.Contains(keys, d.Key) {
			keys = append(keys, d.Key)
		}
	}
	return keys
}

// agentDeltas are the run agents' own numbers, in a fixed order.
func agentDeltas(b, c side) []Delta {
	return []Delta{
		newDelta(metricOverall, scoring.Higher, DeltaUnavailable, b.overall, c.overall),
		newDelta(metricPassRate, scoring.Higher, DeltaUnavailable, b.passRate, c.passRate),
		newDelta(metricCost, scoring.Lower, DeltaUnavailable, b.cost, c.cost),
		newDelta(metricLatency, scoring.Lower, DeltaUnavailable, b.latency, c.latency),
		newDelta(metricTokens, scoring.Lower, DeltaUnavailable, b.tokens, c.tokens),
	}
}
