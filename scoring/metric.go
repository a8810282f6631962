package scoring

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// The collectors that other code asks for by name.
const (
	CollectorCost     = "run_model_cost_usd"
	CollectorPassRate = "validator_pass_rate"
)

// Collector describes where a metric's value comes from, for documents.
type Collector struct {
	Name string `json:"name"`
	Type string `json:"type"` // numeric or boolean
	Unit string `json:"unit,omitempty"`
	Doc  string `json:"doc"`
	// Supported is false for a collector that the format has and this version
	// has not.
	Supported bool `json:"supported"`
}

// collector is a row of the table of collectors; one without read is one that
// only the format has so far.
type collector struct {
	name, kind, unit, doc string
	read                  func(t *trial, s *Scorer, results []result) value
}

// value is what a collector or a signal read: a number or a truth, or why there
// is none.
type value struct {
	state  State
	number float64
	truth  *bool
	reason string
	cause  cause
	at     *Source
	// detail is what the number was worked out from, a small struct.
	detail any
}

func number(v float64) value { return value{state: Available, number: v} }

// numberAt is a number that an event explains.
func numberAt(v float64, at *Source) value { return value{state: Available, number: v, at: at} }

func none(c cause, reason string) value {
	return value{state: Unavailable, cause: c, reason: reason}
}

// collectors is the one table of collectors.
func collectors() []collector {
	return []collector{
		{"run_total_latency_ms", "numeric", "ms", "from the trial's start to its end", (*trial).latency},
		{"run_ttft_ms", "numeric", "ms", "from the trial's start to the first output of a model", (*trial).firstOutput},
		{"run_input_tokens", "numeric", "tokens", "tokens sent to models", tokens("input_tokens", func(ev *Evidence) *int64 { return ev.InputTokens })},
		{"run_output_tokens", "numeric", "tokens", "tokens received from models", tokens("output_tokens", func(ev *Evidence) *int64 { return ev.OutputTokens })},
		{"run_total_tokens", "numeric", "tokens", "both together", tokens("total_tokens", func(ev *Evidence) *int64 { return ev.TotalTokens })},
		{"run_agent_tokens", "numeric", "tokens", "all tokens without those of injected standings", (*trial).agentTokens},
		{"run_race_context_tokens", "numeric", "tokens", "tokens of injected standings", (*trial).raceTokens},
		{"run_tool_call_count", "numeric", "", "tool calls, failed ones included", (*trial).toolCalls},
		{CollectorCost, "numeric", "usd", "what the model calls cost, by pricing.models or else by list prices", (*trial).modelCost},
		{"run_completed_successfully", "boolean", "", "the trial reached a regular end", (*trial).completed},
		{"run_failure_count", "numeric", "", "failed runs, tool calls and sandbox commands", (*trial).failures},
		{CollectorPassRate, "numeric", "", "the mean score of all validators", passRate},
		{"behavioral_recovery_score", "numeric", "", "the signal recovery_behavior", (*trial).recovery},
		{"behavioral_exploration_efficiency_score", "numeric", "", "the signal exploration_efficiency", (*trial).exploration},
		{"behavioral_error_cascade_score", "numeric", "", "the signal error_cascade", (*trial).cascade},
		{"behavioral_scope_adherence_score", "numeric", "", "the signal scope_adherence", (*trial).scope},
	}
}

// refusedCollector is a name that the format keeps and no pack may use.
const refusedCollector = "behavioral_confidence_calibration_score"

// Collectors lists the collectors a metric may name.
func Collectors() []Collector {
	rows := collectors()
	out := make([]Collector, len(rows))
	for i, r := range rows {
		out[i] = Collector{Name: r.name, Type: r.kind, Unit: r.unit, Doc: r.doc, Supported: r.read != nil}
	}
	return out
}

// findCollector is the row of a collector, or why there is none.
func findCollector(rows []collector, name string) (*collector, string) {
	if i := slices.IndexFunc(rows, func(r collector) bool { return r.name == name }); i >= 0 {
		return &rows[i], ""
	}
	switch name {
	case "":
		return nil, "is required"
	case refusedCollector:
		return nil, "the format does not allow the collector " + quoted(name) + ": nothing measures it"
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.name
	}
	return nil, "unknown collector " + quoted(name) + hint(name, names)
}

// measured is a metric's result, with what its JSON does not say.
type measured struct {
	MetricResult
	cause   cause
	numeric *float64
}

func (t *trial) measure(m *metric, s *Scorer, results []result) measured {
	v := m.read(t, s, results)
	out := measured{cause: v.cause, MetricResult: MetricResult{
		Key: m.Key, Collector: m.Collector, State: v.state, Unit: m.Unit, Reason: v.reason, Source: v.at,
	}}
	if v.detail != nil {
		if b, err := json.Marshal(v.detail); err == nil {
			out.Metadata = b
		}
	}
	switch {
	case v.state != Available:
	case v.truth != nil:
		out.Value = *v.truth
	default:
		out.Value, out.numeric = v.number, &v.number
	}
	return out
}

// timing is what a latency was worked out from.
type timing struct {
	StartedAt     time.Time  `json:"started_at"`
	EndedAt       time.Time  `json:"ended_at"`
	FirstOutputAt time.Time  `json:"first_output_at,omitzero"`
	TTFTMS        *int64     `json:"ttft_ms,omitempty"`
	Steps         []StepTime `json:"step_durations,omitempty"`
}

// maxTimed is how many steps a result keeps the times of.
const maxTimed = 100

func (t *trial) latency(*Scorer, []result) value {
	if t.ev.StartedAt.IsZero() || t.ev.EndedAt.IsZero() {
		return none(causeNone, "the trial has no start or no end")
	}
	v := numberAt(float64(milliseconds(t.ev.StartedAt, t.ev.EndedAt)), t.in(AtEnd, "occurred_at"))
	d := timing{StartedAt: t.ev.StartedAt, EndedAt: t.ev.EndedAt, FirstOutputAt: t.ev.FirstOutputAt,
		Steps: t.ev.Steps[:min(len(t.ev.Steps), maxTimed)]}
	if !t.ev.FirstOutputAt.IsZero() {
		d.TTFTMS = new(milliseconds(t.ev.StartedAt, t.ev.FirstOutputAt))
	}
	v.detail = d
	return v
}

func (t *trial) firstOutput(*Scorer, []result) value {
	switch {
	case t.ev.StartedAt.IsZero():
		return none(causeNone, "the trial has no start")
	case t.ev.FirstOutputAt.IsZero() && t.ev.Completed == nil:
		return none(causeNone, "the trial has no end")
	case t.ev.FirstOutputAt.IsZero():
		return none(causeAgent, "there was no output")
	}
	return numberAt(float64(milliseconds(t.ev.StartedAt, t.ev.FirstOutputAt)), t.in(AtFirstOutput, "occurred_at"))
}

// milliseconds between two times, whole and never negative.
func milliseconds(from, to time.Time) int64 { return max(to.Sub(from).Milliseconds(), 0) }

func tokens(name string, field func(*Evidence) *int64) func(*trial, *Scorer, []result) value {
	return func(t *trial, _ *Scorer, _ []result) value {
		if n := field(&t.ev); n != nil {
			return numberAt(float64(*n), t.in(AtUsage, name))
		}
		return none(causeNone, "the token count is unknown")
	}
}

func (t *trial) agentTokens(*Scorer, []result) value {
	if t.ev.TotalTokens == nil {
		return none(causeNone, "the token count is unknown")
	}
	return numberAt(max(float64(*t.ev.TotalTokens)-float64(t.ev.RaceContextTokens), 0), t.in(AtUsage, "total_tokens"))
}

func (t *trial) raceTokens(*Scorer, []result) value {
	return numberAt(float64(t.ev.RaceContextTokens), t.in(AtStandings, "tokens_added"))
}

func (t *trial) toolCalls(*Scorer, []result) value {
	switch n := len(t.ev.ToolCalls); {
	case t.ev.ToolCallCount != nil:
		return numberAt(float64(*t.ev.ToolCallCount), cmp.Or(t.in(AtToolCount, "tool_call_count"), t.atCall(n-1)))
	case n > 0:
		return numberAt(float64(n), t.atCall(n-1))
	}
	return none(causeNone, "the number of tool calls is unknown")
}

func (t *trial) modelCost(s *Scorer, _ []result) value {
	b, unknown := t.cost(s)
	if unknown != "" {
		return none(causeNone, unknown)
	}
	v := numberAt(b.USD, t.in(AtModelCall, "usage"))
	v.detail = b
	return v
}

func (t *trial) completed(*Scorer, []result) value {
	if t.ev.Completed == nil {
		return none(causeNone, "the trial has no end")
	}
	return value{state: Available, truth: t.ev.Completed, at: t.at(AtEnd)}
}

func (t *trial) failures(*Scorer, []result) value {
	return numberAt(float64(t.ev.FailureCount), t.at(AtFailure))
}

// passRate averages the scores of all validators; it needs all of them.
func passRate(_ *trial, _ *Scorer, results []result) value {
	sum := 0.0
	for i := range results {
		r := &results[i]
		if r.State != Available {
			v := none(r.cause, "the validator "+quoted(r.Key)+" has no score")
			v.at = r.Source
			return v
		}
		sum += *r.NormalizedScore
	}
	if len(results) == 0 {
		return none(causeNone, "there is no validator")
	}
	at := weakest(results, func(r result) *float64 { return r.NormalizedScore })
	return numberAt(sum/float64(len(results)), results[at].Source)
}
