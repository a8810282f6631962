package stats

import (
	"errors"
	"math"
)

// Stored is the family of sequential tests of a candidate against a baseline
// of which only a number of trials is stored, one test for each count of
// passes that the baseline may have.
//
// Each looks at the likelihood ratio of "the rate has fallen by the drop" to
// "the rate is the same", with the baseline's unknown rate integrated out by
// Jeffreys' prior after its trials: a mixture likelihood ratio (A. Wald,
// Sequential Analysis, 1947, section 4.1.2; H. Robbins, "Statistical methods
// related to the law of the iterated logarithm", Annals of Mathematical
// Statistics 41 (1970) 1397-1409). The prior shapes the limits and promises
// nothing. What is promised comes from exact enumeration over the baseline's
// results and every path of the candidate: whatever the common rate, at most
// Alpha of all pairs of a baseline and a candidate that pass equally often are
// called regressed, at any stopping time up to MaxTrials, as E. Barnard's
// unconditional test does for one look (Biometrika 34 (1947) 123-138). The same
// holds for calling a fall by the drop no regression.
//
// The trials must be of the same mix of cases as the baseline's at every look:
// see [Rounds]. Where the mix cannot be kept, use [Matched].
type Stored struct {
	FalseAlarm float64 // highest chance over all rates
	FalseClear float64
	aim        Aim
	trials     int // of the baseline, as the limits count them
	high, low  float64
	ratios     []*mixture // by failures of the baseline
}

// ChosenTrials is the horizon of a test against a stored baseline when the aim
// has none: twice the trials of the fixed design with two arms for 90 % and a
// drop of 0.2.
const ChosenTrials = 112

// clearedStored is the share of the permitted misses that may be called no
// regression. It is lower than with a known rate: a stored baseline leaves more
// tests undecided.
const clearedStored = 0.6

// NewStored makes the tests for baselines of so many trials. Of a baseline of
// more than 500 the limits use the precision of 500. It takes some tenths of a
// second for a baseline of 200, seconds for the largest sizes.
func NewStored(baselineTrials int, a Aim) (*Stored, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if baselineTrials < 1 {
		return nil, errors.New("a stored baseline needs at least one valid trial")
	}
	if a.MaxTrials == 0 {
		a.MaxTrials = ChosenTrials
	}
	s := &Stored{aim: a, trials: min(baselineTrials, MaxTrials)}
	nodes := newNodes(s.trials+a.MaxTrials, a.MaxTrials, a.Drop)
	for failed := range s.trials + 1 {
		s.ratios = append(s.ratios, nodes.after(failed, s.trials))
	}
	s.set()
	return s, nil
}

// set finds the two limits of the ratio, first the lower one as if there were
// no alarm, which can only make it stricter, then the upper one beside it.
func (s *Stored) set() {
	last, same, fallen := s.aim.MaxTrials, newCommonRates(s.trials, s.aim.MaxTrials, 0), newCommonRates(s.trials, s.aim.MaxTrials, s.aim.Drop)
	all, never := make([]limits, len(s.ratios)), noAlarm(last)
	clears := func(low float64) {
		for failed, m := range s.ratios {
			all[failed].clear = ratio(m.log).clear(last, low)
		}
	}
	alarms := func(high float64) {
		for failed, m := range s.ratios {
			all[failed].alarm = ratio(m.log).alarm(last, high)
		}
	}
	for failed := range all {
		all[failed].alarm = never
	}
	s.low = highest(-lowest, 0, func(low float64) bool {
		clears(low)
		_, worst := fallen.worst(all)
		return worst <= clearedStored*(1-s.aim.Power)
	})
	clears(s.low)
	s.high = -highest(-lowest, 0, func(minus float64) bool {
		alarms(-minus)
		worst, _ := same.worst(all)
		return worst <= s.aim.Alpha
	})
	alarms(s.high)
	s.FalseAlarm, _ = same.worst(all)
	_, s.FalseClear = fallen.worst(all)
}

// Sequential is the test for a baseline with these results; it must have the
// number of trials that the family was made for.
func (s *Stored) Sequential(baseline Tally) (*Sequential, error) {
	if err := baseline.check(); err != nil {
		return nil, err
	}
	if min(baseline.Trials, MaxTrials) != s.trials {
		return nil, errors.New("the baseline has another number of trials than the test was made for")
	}
	failed := baseline.failed()
	if baseline.Trials > s.trials {
		failed = int(math.Round(float64(failed) * float64(s.trials) / float64(baseline.Trials)))
	}
	return &Sequential{Method: "sequential mixture likelihood ratio", MaxTrials: s.aim.MaxTrials,
		FalseAlarm: s.FalseAlarm, FalseClear: s.FalseClear,
		limits: limits{ratio(s.ratios[failed].log).clear(s.aim.MaxTrials, s.low), ratio(s.ratios[failed].log).alarm(s.aim.MaxTrials, s.high)}}, nil
}

// nodes are the points at which the unknown failure rate is integrated,
// sin^2(t) for even steps of t, by which Jeffreys' prior is flat and the
// midpoint rule all but exact. powers holds each node's rate and its
// complement, same and fallen, to every power.
type nodes struct {
	rate                   []float64
	same, pass, down, rest [][]float64
	drop                   float64
}

func newNodes(total, last int, drop float64) *nodes {
	n := &nodes{drop: drop}
	count := 16 + int(6*math.Sqrt(float64(total)))
	for i := range count {
		q := math.Pow(math.Sin((float64(i)+0.5)/float64(count)*math.Pi/2), 2)
		fallen := min(1, q+drop)
		n.rate = append(n.rate, q)
		n.same, n.pass = append(n.same, powers(q, last)), append(n.pass, powers(1-q, last))
		n.down, n.rest = append(n.down, powers(fallen, last)), append(n.rest, powers(1-fallen, last))
	}
	return n
}

func powers(v float64, last int) []float64 {
	p := make([]float64, last+1)
	p[0] = 1
	for i := 1; i <= last; i++ {
		p[i] = p[i-1] * v
	}
	return p
}

// mixture is the likelihood ratio after one result of the baseline: the weights
// of the nodes from first on, which are all that matter.
type mixture struct {
	*nodes
	first  int
	weight []float64
	failed float64 // rate of the baseline
}

func (n *nodes) after(failed, trials int) *mixture {
	m := &mixture{nodes: n, failed: float64(failed) / float64(trials)}
	logs, peak := make([]float64, len(n.rate)), math.Inf(-1)
	for i, q := range n.rate {
		logs[i] = float64(failed)*math.Log(q) + float64(trials-failed)*math.Log1p(-q)
		peak = math.Max(peak, logs[i])
	}
	for i, l := range logs {
		switch w := math.Exp(l - peak); {
		case w > 1e-14:
			m.weight = append(m.weight, w)
		case len(m.weight) == 0:
			m.first = i + 1
		}
	}
	return m
}

// log is the logarithm of the ratio after n trials of which so many failed.
func (m *mixture) log(n, failed int) float64 {
	var fallen, same float64
	for i, w := range m.weight {
		i += m.first
		fallen += w * m.down[i][failed] * m.rest[i][n-failed]
		same += w * m.same[i][failed] * m.pass[i][n-failed]
	}
	v := math.Log(fallen) - math.Log(same)
	switch {
	case same == 0 && float64(failed) > m.failed*float64(n), v > endless:
		return endless
	case same == 0, v < -endless:
		return -endless
	}
	return v
}
