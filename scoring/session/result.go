package session

import (
	"slices"
	"strconv"

	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/scoring/stats"
)

// SchemaVersion is that of [Result].
const SchemaVersion = 1

// Result is what a session came to.
type Result struct {
	SchemaVersion    int `json:"schema_version"`
	ChildRunCount    int `json:"child_run_count"`
	ScoredChildCount int `json:"scored_child_count"` // runs with a valid trial
	// Source says whose the numbers below are: those of the sole participant or of
	// the clear winner. Without either they are nil.
	Source        string              `json:"source"`
	Overall       *Repeated           `json:"overall"`
	Dimensions    map[string]Repeated `json:"dimensions"`
	TaskSuccess   *TaskSuccess        `json:"task_success"`
	PassAtK       *ByK                `json:"pass_at_k"`
	PassPowK      *ByK                `json:"pass_pow_k"`
	MetricRouting Routing             `json:"metric_routing"`
	Participants  []Participant       `json:"participants"`
	Comparison    Comparison          `json:"comparison"`
	SeriesReport  SeriesReport        `json:"series_report"`
	// Cases are in the order of the plans.
	Cases []CaseStability `json:"cases"`
}

// The values of [Result.Source].
const (
	SoleParticipant = "sole_participant"
	ClearWinnerOnly = "repeated_clear_winner"
)

// Participant is one agent over all its runs.
type Participant struct {
	LaneIndex           int                 `json:"lane_index"`
	Label               string              `json:"label"`
	Model               string              `json:"model"`
	ObservedRuns        int                 `json:"observed_runs"`
	ObservedRepetitions int                 `json:"observed_repetitions"` // with a valid trial
	PlannedTrials       int                 `json:"planned_trials"`
	PassedTrials        int                 `json:"passed_trials"`
	FailedTrials        int                 `json:"failed_trials"`
	InvalidTrials       int                 `json:"invalid_trials"`
	Overall             Repeated            `json:"overall"`
	Dimensions          map[string]Repeated `json:"dimensions"`
	TaskSuccess         TaskSuccess         `json:"task_success"`
	PassAtK             ByK                 `json:"pass_at_k"`
	PassPowK            ByK                 `json:"pass_pow_k"`
	MetricRouting       Routing             `json:"metric_routing"`
	// CostUSD is of repetitions whose every valid trial has a price, LatencyMS the
	// mean of a trial.
	CostUSD   Cost   `json:"cost_usd"`
	LatencyMS Spread `json:"latency_ms"`
}

// Cost is what repetitions cost.
type Cost struct {
	N     int      `json:"n"`
	Total *float64 `json:"total"`
	Mean  *float64 `json:"mean"`
	Min   *float64 `json:"min"`
	Max   *float64 `json:"max"`
}

// TaskSuccess counts trials that passed, over all cases.
type TaskSuccess struct {
	Source    string   `json:"source"` // trial_outcome: what scoring decided of each
	Successes int      `json:"successes"`
	Trials    int      `json:"trials"` // valid ones
	Cases     int      `json:"cases"`  // with a valid trial
	Rate      *float64 `json:"rate"`
	// Interval is over cases where six or more differ, else Wilson's over trials.
	Interval *stats.Interval `json:"interval"`
	// How alike the trials of a case end: cases whose trials always, sometimes and
	// never passed, and the mean chance that two trials of a case end differently.
	compare.SideStability
	FlipRate *float64 `json:"flip_rate"`
}

// ByK is pass@k or pass^k for each k that was observed: the means over cases of
// the unbiased estimates without replacement.
type ByK struct {
	// EffectiveK is the most trials that every tried case has; 0 without any.
	EffectiveK int               `json:"effective_k"`
	Method     string            `json:"method"`
	ByK        map[string]Spread `json:"by_k"`
}

// At is the value for k.
func (b ByK) At(k int) (Spread, bool) {
	s, ok := b.ByK[strconv.Itoa(k)]
	return s, ok
}

// CaseStability is one case with how each participant did.
type CaseStability struct {
	CaseKey string        `json:"case_key"`
	Digest  string        `json:"digest"`
	Agents  []CaseOutcome `json:"agents"` // those that tried it
}

// CaseOutcome is how one participant's trials of a case ended.
type CaseOutcome struct {
	Label   string `json:"label"`
	Passed  int    `json:"passed_trials"`
	Valid   int    `json:"valid_trials"`
	Invalid int    `json:"invalid_trials"`
	stats.Stability
}

// SeriesReport ranks the participants.
type SeriesReport struct {
	RankMetric string      `json:"rank_metric"`
	Rows       []SeriesRow `json:"rows"`
}

// SeriesRow is one participant's place.
type SeriesRow struct {
	Rank         int      `json:"rank"`
	Label        string   `json:"label"`
	ObservedRuns int      `json:"observed_runs"`
	Overall      *float64 `json:"overall"`
	Correctness  *float64 `json:"correctness"`
	SuccessRate  *float64 `json:"success_rate"`
	Composite    *float64 `json:"composite"`
	MeanCostUSD  *float64 `json:"mean_cost_usd"`
	TotalCostUSD *float64 `json:"total_cost_usd"`
}

// Options say how a session is read.
type Options struct {
	// ReliabilityWeight is how much passing always counts against passing at least
	// once, 0 to 1; nil is 0.
	ReliabilityWeight *float64
	Runs              int // of the session
	Scored            int // of these
}

// Result works everything out. It may be asked for at any time.
func (b *Builder) Result(o Options) Result {
	r := Result{SchemaVersion: SchemaVersion, ChildRunCount: o.Runs, ScoredChildCount: o.Scored,
		Participants: []Participant{}, Cases: b.stability()}
	k, seed := b.effectiveK(), b.seed()
	r.MetricRouting = route(o.ReliabilityWeight, k)
	for _, p := range b.participants {
		r.Participants = append(r.Participants, b.participant(p, r.MetricRouting, seed))
	}
	r.Comparison = b.Compare(o)
	shown := -1
	if len(r.Participants) == 1 {
		r.Source, shown = SoleParticipant, 0
	} else if r.Comparison.Status == ClearWinner {
		r.Source = ClearWinnerOnly
		shown = slices.IndexFunc(r.Participants, func(p Participant) bool { return p.Label == r.Comparison.WinnerLabel })
	}
	if shown >= 0 {
		p := r.Participants[shown]
		r.Overall, r.Dimensions, r.TaskSuccess, r.PassAtK, r.PassPowK = &p.Overall, p.Dimensions, &p.TaskSuccess, &p.PassAtK, &p.PassPowK
		r.MetricRouting = p.MetricRouting
	}
	r.SeriesReport = series(r.Participants)
	return r
}

func (b *Builder) participant(p *participant, routing Routing, seed uint32) Participant {
	out := Participant{LaneIndex: p.index, Label: p.label, Model: p.model, ObservedRuns: p.runs, ObservedRepetitions: len(p.passes),
		PlannedTrials: p.planned, Dimensions: map[string]Repeated{}, MetricRouting: routing}
	for _, c := range p.counts {
		out.PassedTrials, out.FailedTrials, out.InvalidTrials = out.PassedTrials+c.passed, out.FailedTrials+c.failed, out.InvalidTrials+c.invalid
	}
	out.Overall = overRepetitions(p.means(func(s *pass) sum { return s.overall }))
	for i, d := range b.dimensions {
		out.Dimensions[d.Key] = overRepetitions(p.means(func(s *pass) sum { return s.dimensions[i] }))
	}
	tallies := b.tallies(p)
	out.TaskSuccess = success(tallies, seed)
	out.PassAtK, out.PassPowK = byK(tallies, routing.EffectiveK, seed)
	out.MetricRouting.composite(out.PassAtK, out.PassPowK)
	out.CostUSD = p.cost()
	out.LatencyMS = spread(p.means(func(s *pass) sum { return s.latency }))
	return out
}

// means are the repetitions' means of what has one.
func (p *participant) means(of func(*pass) sum) []float64 {
	var values []float64
	for _, s := range p.passes {
		if v := of(s); v.n > 0 {
			values = append(values, v.mean())
		}
	}
	return values
}

func (p *participant) cost() Cost {
	var values []float64
	for _, s := range p.passes {
		if !s.unpriced {
			values = append(values, s.cost.total)
		}
	}
	s := spread(values)
	c := Cost{N: s.N, Mean: s.Mean, Min: s.Min, Max: s.Max}
	if s.N > 0 {
		c.Total = new(*s.Mean * float64(s.N))
	}
	return c
}

// tallies are the participant's valid trials by case, of the cases that it tried,
// in one order.
func (b *Builder) tallies(p *participant) []stats.Tally {
	var list []stats.Tally
	for at := range b.cases {
		if t := p.counts[at].tally(); t.Trials > 0 {
			list = append(list, t)
		}
	}
	return list
}

func (b *Builder) stability() []CaseStability {
	list := make([]CaseStability, len(b.cases))
	for at, k := range b.cases {
		list[at] = CaseStability{CaseKey: k.Key, Digest: k.Digest, Agents: []CaseOutcome{}}
		for _, p := range b.participants {
			if c := p.counts[at]; c != nil {
				t := c.tally()
				list[at].Agents = append(list[at].Agents, CaseOutcome{Label: p.label, Passed: t.Passed, Valid: t.Trials, Invalid: c.invalid,
					Stability: stats.StabilityOf(t)})
			}
		}
	}
	return list
}
