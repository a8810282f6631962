package session

import (
	"strconv"

	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/scoring/stats"
)

// largestK is the largest k that is shown besides the most trials that every case
// has, of the participant and of all.
const largestK = 10

// byK estimates pass@k and pass^k for every k that all these cases support, so that
// each k is a mean over the same cases. Shared is the k by which participants are
// ordered, and is always among them.
func byK(tallies []stats.Tally, shared int, seed uint32) (at, pow ByK) {
	const method = "unbiased, without replacement; mean over cases"
	k := fewest(tallies)
	at = ByK{EffectiveK: k, Method: method, ByK: map[string]Spread{}}
	pow = ByK{EffectiveK: k, Method: method, ByK: map[string]Spread{}}
	for n := 1; n <= k; n++ {
		if n > largestK && n < k && n != shared {
			continue
		}
		at.ByK[strconv.Itoa(n)] = overCases(stats.MeanPassAtK(tallies, n).Each, seed)
		pow.ByK[strconv.Itoa(n)] = overCases(stats.MeanPassPowK(tallies, n).Each, seed)
	}
	return at, pow
}

// fewest is the number of trials of the case that has fewest; 0 without cases.
func fewest(tallies []stats.Tally) int {
	if len(tallies) == 0 {
		return 0
	}
	n := tallies[0].Trials
	for _, t := range tallies {
		n = min(n, t.Trials)
	}
	return n
}

// overCases has an interval over cases, which are what was drawn: trials of one
// case are more alike than those of two.
func overCases(values []float64, seed uint32) Spread {
	s := spread(values)
	switch {
	case s.N == 0:
		return s
	case *s.Min == *s.Max:
		s.IntervalReason = nothingVaried
		return s
	}
	if s.Interval = compare.OverCases(values, seed); s.Interval == nil {
		s.IntervalReason = tooFewCases
		return s
	}
	s.Interval.Low, s.Interval.High = max(s.Interval.Low, 0), min(s.Interval.High, 1)
	return s
}

func success(tallies []stats.Tally, seed uint32) TaskSuccess {
	s := TaskSuccess{Source: "trial_outcome", Cases: len(tallies)}
	var rates, flips []float64
	for _, t := range tallies {
		s.Successes, s.Trials = s.Successes+t.Passed, s.Trials+t.Trials
		rates = append(rates, t.Rate())
		s.Add(t)
		if rate := stats.StabilityOf(t).FlipRate; rate != nil {
			flips = append(flips, *rate)
		}
	}
	if s.Trials == 0 {
		return s
	}
	all := stats.Tally{Passed: s.Successes, Trials: s.Trials}
	s.Rate, s.FlipRate = new(all.Rate()), spread(flips).Mean
	if s.Interval = overCases(rates, seed).Interval; s.Interval != nil && s.evenly(tallies) {
		return s
	}
	s.Interval = nil
	if i, err := stats.Wilson(all, level); err == nil {
		i.Method += " over trials"
		s.Interval = &i
	}
	return s
}

// evenly says whether the rate of trials is the mean of the rates of cases.
func (s TaskSuccess) evenly(tallies []stats.Tally) bool {
	return fewest(tallies)*len(tallies) == s.Trials
}

// effectiveK is the most trials that every case has that some participant tried.
func (b *Builder) effectiveK() int {
	k := 0
	for _, p := range b.participants {
		if n := fewest(b.tallies(p)); n > 0 && (k == 0 || n < k) {
			k = n
		}
	}
	return k
}

// Routing says which of pass@k and pass^k decides the order of participants.
type Routing struct {
	Source            string  `json:"source"` // default or manual_override
	ReliabilityWeight float64 `json:"reliability_weight"`
	PrimaryMetric     string  `json:"primary_metric"` // pass_at_k, or pass_pow_k from a weight of 0.5
	// EffectiveK is the largest k that every case of every participant supports.
	EffectiveK int `json:"effective_k"`
	// CompositeAgentScore is (1 - weight) x pass@k + weight x pass^k at EffectiveK;
	// nil for a session of several participants, where each has its own.
	CompositeAgentScore *float64 `json:"composite_agent_score"`
}

func route(weight *float64, k int) Routing {
	r := Routing{Source: "default", PrimaryMetric: "pass_at_k", EffectiveK: k}
	if weight != nil {
		r.Source, r.ReliabilityWeight = "manual_override", max(0, min(1, *weight))
	}
	if r.ReliabilityWeight >= 0.5 {
		r.PrimaryMetric = "pass_pow_k"
	}
	return r
}

func (r *Routing) composite(at, pow ByK) {
	a, ok := at.At(r.EffectiveK)
	p, too := pow.At(r.EffectiveK)
	if ok && too {
		r.CompositeAgentScore = new((1-r.ReliabilityWeight)*(*a.Mean) + r.ReliabilityWeight*(*p.Mean))
	}
}
