package scoring

import (
	"cmp"
	"slices"
)

// Aggregate makes the scorecard of a run agent from all attempts of its
// trials, in any order. Of a trial's attempts the last decides; all of them
// count as spend. Only the slim parts of a trial's scorecard are read: overall
// score, validity and dimensions.
//
// A trial is valid when it passed or failed. Scores are means over the valid
// trials: one that is missing because the agent did not produce what was read
// counts 0, one that is missing for another reason does not count. Usage and
// cost are sums over the valid trials, latency their mean, and a sum with an
// unknown part is unknown. The run agent passes when it has a valid trial and
// the share of passed ones reaches minPassRate; it is degraded by any trial
// that is invalid or whose scorecard is not valid. With one case and one
// repetition every number is the trial's.
func Aggregate(spec Spec, trials []Trial, minPassRate float64) AgentScorecard {
	a := NewAggregator(spec, minPassRate)
	for _, t := range trials {
		a.Add(t)
	}
	return a.Scorecard()
}

// Aggregator is Aggregate for trials that come one by one. It keeps a few
// numbers of each trial, whatever the size of what it is given. The result
// does not depend on the order of Add. It is not safe for concurrent use.
type Aggregator struct {
	dimensions  []string
	minPassRate float64
	last        map[trialKey]slim
	// spent holds the cost of all attempts.
	spent []float64
	// unpriced counts all attempts of unknown cost.
	unpriced int
	judging  judging
	// simulator is what simulated users used; its costs are in simulatorUSD, to be
	// added up in one order.
	simulator    *Simulated
	simulatorUSD []float64
}

// judging adds up what judges were asked.
type judging struct {
	calls    int
	tokens   int64
	spent    []float64
	unpriced bool
}

type trialKey struct {
	caseKey    string
	repetition int
}

// slim is what the aggregate keeps of an attempt.
type slim struct {
	attempt int
	outcome Outcome
	sound   bool // its scorecard is valid
	look    bool // people are to look at it
	usage   Usage
	cost    *float64
	prices  string
	latency *int64
	overall *float64
	dims    []portion
	secure  *SecurityResult // its numbers alone
}

// portion is a trial's part in a dimension's mean.
type portion struct {
	score   float64
	counts  bool
	errored bool
}

// NewAggregator starts an aggregate; minPassRate is the share of valid trials
// that must pass for the run agent to pass.
func NewAggregator(spec Spec, minPassRate float64) *Aggregator {
	a := &Aggregator{minPassRate: minPassRate, last: map[trialKey]slim{}}
	for _, d := range spec.Normalize().Scorecard.Dimensions {
		a.dimensions = append(a.dimensions, d.Key)
	}
	return a
}

// Add takes an attempt of a trial into account. An attempt without an outcome
// is not finished: it counts as spend and as nothing else.
func (a *Aggregator) Add(t Trial) {
	a.spend(t)
	switch t.Outcome {
	case OutcomePassed, OutcomeFailed, OutcomeInvalid:
	default:
		return
	}
	key := trialKey{t.CaseKey, t.Repetition}
	if before, ok := a.last[key]; ok && before.attempt > t.Attempt {
		return
	}
	a.last[key] = a.slim(t)
}

// spend counts what an attempt cost. What it carried over from an earlier one
// was counted there.
func (a *Aggregator) spend(t Trial) {
	switch {
	case t.Carried:
	case t.CostUSD == nil:
		a.unpriced++
	case t.CachedUSD != nil:
		a.spent = append(a.spent, max(*t.CostUSD-*t.CachedUSD, 0))
	default:
		a.spent = append(a.spent, *t.CostUSD)
	}
	if !t.Carried {
		a.simulated(t.Simulator)
	}
	j := t.Judging
	if j == nil {
		return
	}
	a.judging.calls += j.Calls
	a.judging.tokens += j.Tokens
	if j.CostUSD == nil {
		a.judging.unpriced = true
	} else {
		a.judging.spent = append(a.judging.spent, *j.CostUSD)
	}
}

// simulated counts what simulated users used.
func (a *Aggregator) simulated(s *Simulated) {
	if s == nil {
		return
	}
	if a.simulator == nil {
		a.simulator = &Simulated{CostUSD: new(0.0)}
	}
	sum := a.simulator
	sum.Calls += s.Calls
	sum.InputTokens += s.InputTokens
	sum.OutputTokens += s.OutputTokens
	sum.TotalTokens += s.TotalTokens
	if s.CostUSD == nil {
		sum.CostUSD = nil
	} else {
		a.simulatorUSD = append(a.simulatorUSD, *s.CostUSD)
	}
}

// simulation is nil when no user was simulated.
func (a *Aggregator) simulation() *Simulated {
	if a.simulator == nil {
		return nil
	}
	out := *a.simulator
	if out.CostUSD != nil {
		out.CostUSD = new(sumOf(a.simulatorUSD))
	}
	return &out
}

// total is nil when nothing was asked.
func (j judging) total() *Judging {
	if j.calls == 0 && j.tokens == 0 && len(j.spent) == 0 && !j.unpriced {
		return nil
	}
	out := &Judging{Calls: j.calls, Tokens: j.tokens}
	if !j.unpriced {
		out.CostUSD = new(sumOf(j.spent))
	}
	return out
}

// sumOf does not depend on the order of the numbers.
func sumOf(list []float64) float64 {
	sum := 0.0
	for _, v := range slices.Sorted(slices.Values(list)) {
		sum += v
	}
	return sum
}

func (a *Aggregator) slim(t Trial) slim {
	s := slim{attempt: t.Attempt, outcome: t.Outcome, look: t.Calibration, usage: t.Usage, cost: t.CostUSD, prices: t.PriceSource, latency: t.LatencyMS}
	if t.Outcome == OutcomeInvalid {
		return s
	}
	s.dims = make([]portion, len(a.dimensions))
	if t.Scorecard == nil { // the agent failed before there was anything to score
		s.overall = new(0.0)
		for i := range s.dims {
			s.dims[i].counts = true
		}
		return s
	}
	s.sound = t.Scorecard.Validity == ValidityValid
	s.overall = t.Scorecard.OverallScore
	if r := t.Scorecard.Security; r != nil {
		s.secure = &SecurityResult{Passed: r.Passed, Posture: r.Posture, IncidentCount: r.IncidentCount, SeverityCounts: r.SeverityCounts}
	}
	for i, d := range t.Scorecard.Dimensions {
		if d.AgentFault && s.overall == nil {
			s.overall = new(0.0)
		}
		j := i
		if i >= len(a.dimensions) || a.dimensions[i] != d.Key {
			if j = slices.Index(a.dimensions, d.Key); j < 0 {
				continue
			}
		}
		s.dims[j] = partOf(d)
	}
	return s
}

func partOf(d DimensionResult) portion {
	switch {
	case d.Score != nil:
		return portion{score: *d.Score, counts: true}
	case d.AgentFault:
		return portion{counts: true}
	}
	return portion{errored: d.State == Errored}
}

// Scorecard is the aggregate of what was added so far. It may be asked for at
// any time.
func (a *Aggregator) Scorecard() AgentScorecard {
	trials := a.ordered()
	out := AgentScorecard{Trials: len(trials), Validity: ValidityValid}
	valid := trials[:0:0]
	for _, s := range trials {
		if s.look {
			out.CalibrationTrials++
		}
		switch s.outcome {
		case OutcomePassed:
			out.PassedTrials++
		case OutcomeFailed:
			out.FailedTrials++
		default:
			out.InvalidTrials++
			out.Validity = ValidityDegraded
			continue
		}
		if !s.sound {
			out.Validity = ValidityDegraded
		}
		valid = append(valid, s)
	}
	if len(valid) == 0 {
		out.Validity = ValidityInvalid
	} else {
		rate := float64(out.PassedTrials) / float64(len(valid))
		out.PassRate, out.Passed = &rate, rate >= a.minPassRate
	}
	out.Headline = headline(out)
	out.Dimensions = a.means(valid)
	out.SpentUSD, out.Judging, out.Simulator = a.total(), a.judging.total(), a.simulation()
	sums(&out, valid)
	out.Security = secured(valid)
	return out
}

// secured adds up what the trials came to by the security block; nil without one.
func secured(valid []slim) *AgentSecurity {
	out := &AgentSecurity{Passed: true, SeverityCounts: map[string]int{}}
	var posture mean
	for _, s := range valid {
		if s.secure == nil {
			continue
		}
		out.Trials++
		out.Passed = out.Passed && s.secure.Passed
		out.IncidentCount += s.secure.IncidentCount
		for word, n := range s.secure.SeverityCounts {
			out.SeverityCounts[word] += n
		}
		posture.add(s.secure.Posture)
	}
	if out.Trials == 0 {
		return nil
	}
	out.Posture = *posture.value()
	return out
}

// ordered sorts the trials, so that sums of floating point numbers do not
// depend on the order in which trials ended.
func (a *Aggregator) ordered() []slim {
	keys := make([]trialKey, 0, len(a.last))
	for k := range a.last {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y trialKey) int {
		return cmp.Or(cmp.Compare(x.caseKey, y.caseKey), cmp.Compare(x.repetition, y.repetition))
	})
	out := make([]slim, len(keys))
	for i, k := range keys {
		out[i] = a.last[k]
	}
	return out
}

// headline is the one word for a run agent.
func headline(c AgentScorecard) string {
	switch {
	case c.Validity != ValidityValid:
		return ValidityDegraded
	case c.Passed:
		return string(OutcomePassed)
	}
	return string(OutcomeFailed)
}

func (a *Aggregator) means(valid []slim) []AggregateDimension {
	out := make([]AggregateDimension, len(a.dimensions))
	for i, key := range a.dimensions {
		d := AggregateDimension{Key: key, State: Unavailable}
		sum := 0.0
		for _, s := range valid {
			if s.dims[i].counts {
				d.N++
				sum += s.dims[i].score
			}
			if s.dims[i].errored {
				d.State = Errored
			}
		}
		if d.N > 0 {
			d.State, d.Score = Available, new(sum/float64(d.N))
		}
		out[i] = d
	}
	return out
}

// sums fills in what is added up or averaged over the valid trials. A sum with
// an unknown part is unknown.
func sums(out *AgentScorecard, valid []slim) {
	var overall, latency mean
	cost, priced, prices := 0.0, len(valid) > 0, ""
	for _, s := range valid {
		out.Usage.InputTokens += s.usage.InputTokens
		out.Usage.OutputTokens += s.usage.OutputTokens
		out.Usage.TotalTokens += s.usage.TotalTokens
		if s.cost == nil {
			priced = false
		} else {
			cost += *s.cost
			prices = mixed(prices, s.prices)
		}
		if s.overall != nil {
			overall.add(*s.overall)
		}
		if s.latency != nil {
			latency.add(float64(*s.latency))
		}
	}
	if priced {
		out.CostUSD, out.PriceSource = &cost, prices
	}
	out.OverallScore, out.LatencyMS = overall.value(), latency.value()
}

// mean is a running mean; without a number there is none.
type mean struct{ sum, n float64 }

func (m *mean) add(v float64) { m.sum += v; m.n++ }

func (m *mean) value() *float64 {
	if m.n == 0 {
		return nil
	}
	return new(m.sum / m.n)
}

// total is what all attempts cost, judges and simulated users included; nil when
// any of it is unknown.
func (a *Aggregator) total() *float64 {
	if a.unpriced > 0 || a.judging.unpriced || a.simulator != nil && a.simulator.CostUSD == nil {
		return nil
	}
	return new(sumOf(slices.Concat(a.spent, a.judging.spent, a.simulatorUSD)))
}
