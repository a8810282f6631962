package compare

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"slices"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/stats"
)

// The metrics of agent deltas.
const (
	metricOverall  = "overall_score"
	metricPassRate = "pass_rate"
	metricCost     = "cost_usd_per_trial"
	metricLatency  = "latency_ms"
	metricTokens   = "total_tokens_per_trial"
)

// matchedCase is a compared case on both sides.
type matchedCase struct{ baseline, candidate *CaseResult }

// matched are the compared cases, sorted by key, so that nothing depends on the
// order of a plan or on which side is which.
type matched struct {
	cases []matchedCase
	seed  uint32
}

func matchCases(c CaseComparison, baseline, candidate Snapshot) matched {
	only, theirs := c.compared(), make(map[string]*CaseResult, len(candidate.Cases))
	for i := range candidate.Cases {
		theirs[candidate.Cases[i].CaseKey] = &candidate.Cases[i]
	}
	var m matched
	for i := range baseline.Cases {
		if b := &baseline.Cases[i]; only[b.CaseKey] {
			m.cases = append(m.cases, matchedCase{b, theirs[b.CaseKey]})
		}
	}
	slices.SortFunc(m.cases, func(a, b matchedCase) int { return cmp.Compare(a.baseline.CaseKey, b.baseline.CaseKey) })
	m.seed = m.seedOf()
	return m
}

// seedOf digests the results of each side and combines both, whichever way
// round they are.
func (m matched) seedOf() uint32 {
	b, k := sha256.New(), sha256.New()
	for _, c := range m.cases {
		c.baseline.hash(b)
		c.candidate.hash(k)
	}
	return binary.BigEndian.Uint32(b.Sum(nil)) ^ binary.BigEndian.Uint32(k.Sum(nil))
}

func (r *CaseResult) hash(h hash.Hash) {
	b := append([]byte(r.CaseKey), 0)
	b = append(append(b, r.Digest...), 0)
	for _, v := range []int{r.Passed, r.Valid} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	for _, m := range []Mean{r.OverallScore, r.CostUSD, r.LatencyMS, r.TotalTokens} {
		if m.Value != nil {
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(*m.Value))
		}
	}
	_, _ = h.Write(b) // a hash takes everything
}

// agentValue reads a case's own number, dimensionValue that of a dimension.
func agentValue(metric string) func(*CaseResult) *float64 {
	return func(r *CaseResult) *float64 {
		switch metric {
		case metricOverall:
			return finite(r.OverallScore.Value)
		case metricCost:
			return finite(r.CostUSD.Value)
		case metricLatency:
			return finite(r.LatencyMS.Value)
		case metricTokens:
			return finite(r.TotalTokens.Value)
		}
		return nil
	}
}

func dimensionValue(key string) func(*CaseResult) *float64 {
	return func(r *CaseResult) *float64 {
		for _, d := range r.Dimensions {
			if d.Key == key && d.State == scoring.Available {
				return finite(d.Score)
			}
		}
		return nil
	}
}

// differences are candidate minus baseline of the cases that have the value on
// both sides.
func (m matched) differences(value func(*CaseResult) *float64) []float64 {
	var list []float64
	for _, c := range m.cases {
		if d := difference(value(c.baseline), value(c.candidate)); finite(d) != nil {
			list = append(list, *d)
		}
	}
	return list
}

// scores tests the mean of a number over cases.
func (m matched) scores(r *Doubt, value func(*CaseResult) *float64, tail stats.Tail) {
	values := m.differences(value)
	if r.N = len(values); r.N == 0 {
		r.Reason = "no case has it on both sides"
		return
	}
	r.paired(values, m.seed, tail)
}

// paired tests differences of cases by the sign-flip permutation. What is drawn
// is drawn for differences that are mostly positive and turned round, so that
// sides that change places mirror each other to the last digit.
func (r *Doubt) paired(values []float64, seed uint32, tail stats.Tail) {
	turned := tail == stats.TwoSided && downward(values)
	if turned {
		values = negated(values)
	}
	test, err := signFlip(values, tail, seed)
	if err != nil || finite(&test.Statistic) == nil {
		r.Reason = "the numbers are too large to be compared"
		return
	}
	interval := meanInterval(values, seed)
	if turned {
		test.Statistic = 0 - test.Statistic
		interval = turn(interval)
	}
	r.Test, r.Interval, r.MeanDifference = &test, interval, new(test.Statistic)
}

func signFlip(values []float64, tail stats.Tail, seed uint32) (stats.Test, error) {
	if len(values) > largePermuted && stats.Even(values) {
		return stats.PairedMean(values, tail)
	}
	return stats.SignFlip(values, tail, uint64(seed))
}

// meanInterval is nil for fewer cases than can be resampled.
func meanInterval(values []float64, seed uint32) *stats.Interval {
	const level, resamples, drawn = 1 - alpha, 1000, 4_000_000
	if len(values) < smallSample {
		return nil
	}
	if len(values) > largeSampled && stats.Even(centred(values)) {
		return usable(stats.MeanInterval(values, level))
	}
	b := stats.Bootstrap{Level: level, Resamples: min(resamples, drawn/len(values)), Seed: uint64(seed)}
	return usable(b.BCa(values))
}

// passing tests the pass rate.
func (m matched) passing(r *Doubt, tail stats.Tail) {
	pairs, rates := m.pairs()
	r.N = len(pairs)
	if r.N == 0 {
		r.Reason = "no case has a valid trial on both sides"
		return
	}
	turned := tail == stats.TwoSided && downward(rates)
	if turned {
		for i, p := range pairs {
			pairs[i] = stats.Pair{Baseline: p.Candidate, Candidate: p.Baseline}
		}
		rates = negated(rates)
	}
	test, interval, err := passRate(pairs, rates, tail, m.seed)
	if err != nil {
		r.Reason = err.Error()
		return
	}
	mean := 0.0
	for _, d := range rates {
		mean += d
	}
	mean = round(mean / float64(len(rates)))
	if turned {
		mean, interval, test.Statistic = 0-mean, turn(interval), 0-test.Statistic
	}
	r.Test, r.Interval, r.MeanDifference = &test, interval, &mean
}

// passRate picks the test and the interval that fit: cases that were tried once
// are counted, repeated ones permuted within cases while they are few.
func passRate(pairs []stats.Pair, rates []float64, tail stats.Tail, seed uint32) (stats.Test, *stats.Interval, error) {
	const level = 1 - alpha
	if flips, err := stats.CountFlips(pairs); err == nil {
		test, err := stats.McNemar(flips.Worse, flips.Better, tail)
		test.Statistic = 0
		for _, d := range rates {
			test.Statistic += d / float64(len(rates))
		}
		return test, usable(stats.NewcombePaired(flips, level)), err
	}
	var test stats.Test
	var err error
	if len(pairs) > largePermuted && stats.Even(rates) {
		test, err = stats.PairedMean(rates, tail)
	} else {
		test, err = stats.PairedPassFail(pairs, tail, uint64(seed))
	}
	if len(rates) >= smallSample && slices.Min(rates) < slices.Max(rates) {
		return test, meanInterval(rates, seed), err
	}
	if b, k, ok := pooled(pairs); ok {
		return test, usable(stats.Newcombe(b, k, level)), err
	}
	return test, nil, err
}

// pooled adds the trials of cases up, where each case has as many on a side as
// the others have there: then the pooled rate is the mean of the cases'.
func pooled(pairs []stats.Pair) (b, k stats.Tally, ok bool) {
	for _, p := range pairs {
		if p.Baseline.Trials != pairs[0].Baseline.Trials || p.Candidate.Trials != pairs[0].Candidate.Trials {
			return b, k, false
		}
		b.Passed, b.Trials = b.Passed+p.Baseline.Passed, b.Trials+p.Baseline.Trials
		k.Passed, k.Trials = k.Passed+p.Candidate.Passed, k.Trials+p.Candidate.Trials
	}
	return b, k, true
}

// pairs are the cases' counts and the differences of their rates.
func (m matched) pairs() (pairs []stats.Pair, rates []float64) {
	for _, c := range m.cases {
		p := stats.Pair{Baseline: c.baseline.tally(), Candidate: c.candidate.tally()}
		pairs, rates = append(pairs, p), append(rates, p.Difference())
	}
	return pairs, rates
}

func (r *CaseResult) tally() stats.Tally { return stats.Tally{Passed: r.Passed, Trials: r.Valid} }

// downward says whether differences are negative on the whole; where they
// cancel out the first that is not 0 decides.
func downward(values []float64) bool {
	sum, first := 0.0, 0.0
	for _, v := range values {
		if first == 0 {
			first = v
		}
		sum += v
	}
	if sum != 0 {
		return sum < 0
	}
	return first < 0
}

func negated(values []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = 0 - v
	}
	return list
}

// centred are the values less their mean.
func centred(values []float64) []float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = v - sum/float64(len(values))
	}
	return list
}

func turn(i *stats.Interval) *stats.Interval {
	if i == nil {
		return nil
	}
	t := *i
	t.Estimate, t.Low, t.High = 0-i.Estimate, 0-i.High, 0-i.Low
	return &t
}
