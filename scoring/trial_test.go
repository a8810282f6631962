package scoring_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	ev := answered()
	ev.InputTokens, ev.OutputTokens, ev.TotalTokens = new(int64(1000)), new(int64(500)), new(int64(2000))
	ev.RaceContextTokens, ev.ToolCallCount, ev.FailureCount = 255, new(3), 1
	ev.Models = []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "m-2026-01-01", InputTokens: 1000, OutputTokens: 500, Known: true}}
	want := map[string]any{ // rows 314, 316, 320 and 330
		"run_total_latency_ms": 2000.0, "run_ttft_ms": 250.0, "run_input_tokens": 1000.0, "run_output_tokens": 500.0,
		"run_total_tokens": 2000.0, "run_agent_tokens": 1745.0, "run_race_context_tokens": 255.0, "run_tool_call_count": 3.0,
		"run_model_cost_usd": 0.0025, "run_completed_successfully": true, "run_failure_count": 1.0, "validator_pass_rate": 1.0,
		"behavioral_recovery_score": 1.0, "behavioral_exploration_efficiency_score": 1.0, "behavioral_error_cascade_score": 1.0, "behavioral_scope_adherence_score": 1.0,
	}
	if diff := cmp.Diff(want, values(scoring.Score(everyMetric(), ev))); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestMetricsOfNothing(t *testing.T) {
	t.Parallel()
	want := map[string]any{
		"run_total_latency_ms": "unavailable", "run_ttft_ms": "unavailable", "run_input_tokens": "unavailable",
		"run_output_tokens": "unavailable", "run_total_tokens": "unavailable", "run_agent_tokens": "unavailable",
		"run_race_context_tokens": 0.0, "run_tool_call_count": "unavailable", "run_model_cost_usd": "unavailable",
		"run_completed_successfully": "unavailable", "run_failure_count": 0.0, "validator_pass_rate": "unavailable",
		"behavioral_recovery_score": 1.0, "behavioral_exploration_efficiency_score": 1.0, "behavioral_error_cascade_score": 1.0, "behavioral_scope_adherence_score": 1.0,
	}
	if diff := cmp.Diff(want, values(scoring.Score(everyMetric(), scoring.Evidence{}))); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestMetricEdges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, collector string
		change          func(*scoring.Evidence)
		want            any
	}{
		{"row 321: standings cost more than the run", "run_agent_tokens", func(ev *scoring.Evidence) {
			ev.TotalTokens, ev.RaceContextTokens = new(int64(100)), 150
		}, 0.0},
		{"tool calls counted from the trace", "run_tool_call_count", func(ev *scoring.Evidence) {
			ev.ToolCalls = make([]scoring.ToolCall, 2)
		}, 2.0},
		{"a clock that runs backwards", "run_total_latency_ms", func(ev *scoring.Evidence) {
			ev.EndedAt = ev.StartedAt.Add(-time.Second)
		}, 0.0},
		{"one model without usage is taken at the run's totals", "run_model_cost_usd", func(ev *scoring.Evidence) {
			ev.Models = []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "m"}}
			ev.InputTokens, ev.OutputTokens = new(int64(1e6)), new(int64(0))
		}, 1.0},
		{"two models, one without usage", "run_model_cost_usd", func(ev *scoring.Evidence) {
			ev.Models = []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "m", Known: true}, {ProviderKey: "p", ProviderModelID: "n"}}
			ev.InputTokens, ev.OutputTokens = new(int64(1)), new(int64(1))
		}, "unavailable"},
		{"a model without a price", "run_model_cost_usd", func(ev *scoring.Evidence) {
			ev.Models = []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "other", Known: true}}
		}, "unavailable"},
		{"a price that overflows", "run_model_cost_usd", func(ev *scoring.Evidence) {
			ev.Models = []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "dear", InputTokens: 1 << 62, Known: true}}
		}, "unavailable"},
	} {
		spec, ev := everyMetric(), answered()
		spec.Pricing.Models = append(spec.Pricing.Models, scoring.Price{ProviderKey: "p", ProviderModelID: "dear", InputCostPerMillionTokens: 1e308})
		c.change(&ev)
		if got := values(scoring.Score(spec, ev))[c.collector]; got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func dimensions(c scoring.Scorecard) map[string]string {
	out := map[string]string{}
	for _, d := range c.Dimensions {
		out[d.Key] = show(d.Score)
		if d.State != scoring.Available {
			out[d.Key] = string(d.State)
		}
		if d.AgentFault {
			out[d.Key] += ", the agent's fault"
		}
	}
	return out
}

func TestDimensions(t *testing.T) {
	t.Parallel()
	ev := answered()
	ev.TotalTokens = new(int64(550))
	ev.Models = []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "m", InputTokens: 1000, OutputTokens: 500, Known: true}}
	spec := allSources()
	spec.Metrics = spec.Metrics[:0:0] // reliability, latency and cost need no metric
	for _, m := range everyMetric().Metrics {
		switch m.Collector {
		case "run_total_tokens", "run_ttft_ms", "validator_pass_rate":
			spec.Metrics = append(spec.Metrics, m)
		}
	}
	card := scoring.Score(spec, ev)
	want := map[string]string{ // rows 315, 317 and 318
		"correctness": "1", "tokens": "0.5", "ttft": "1", "rate": "1",
		"reliability": "1", "latency": "0.6666666666666667", "cost": "0.9984984984984985", "behavioral": "1",
	}
	if diff := cmp.Diff(want, dimensions(card)); diff != "" {
		t.Errorf("dimensions (-want +got):\n%s", diff)
	}
	if card.Status != scoring.StatusComplete || card.Validity != scoring.ValidityValid || len(card.Warnings) != 0 {
		t.Errorf("got status %s, validity %s, warnings %v", card.Status, card.Validity, card.Warnings)
	}
}

// An agent that produced nothing is at fault for what reads its output, and
// for nothing else.
func TestDimensionsWithoutOutput(t *testing.T) {
	t.Parallel()
	ev := evidence()
	ev.FirstOutputAt = time.Time{}
	card := scoring.Score(allSources(), ev)
	want := map[string]string{
		"correctness": "unavailable, the agent's fault", "ttft": "unavailable, the agent's fault", "rate": "unavailable, the agent's fault",
		"tokens": "unavailable", "reliability": "1", "latency": "0.6666666666666667", "cost": "unavailable", "behavioral": "1",
	}
	if diff := cmp.Diff(want, dimensions(card)); diff != "" {
		t.Errorf("dimensions (-want +got):\n%s", diff)
	}
	if card.NoOutput == "" || card.Decide().Outcome != scoring.OutcomeFailed {
		t.Errorf("got no_output %q and outcome %s: a trial without output is failed", card.NoOutput, card.Decide().Outcome)
	}
	if card.Status != scoring.StatusPartial || card.Validity != scoring.ValidityDegraded {
		t.Errorf("got status %s, validity %s", card.Status, card.Validity)
	}
}

func TestReliability(t *testing.T) {
	t.Parallel()
	spec := oneValidator()
	spec.Scorecard.Dimensions = []scoring.Dimension{{Key: "reliability"}}
	for _, c := range []struct {
		name      string
		completed *bool
		failures  int
		want      string
	}{
		{"row 329: completed, no failure, no metric declared", new(true), 0, "1"},
		{"row 328: a failed tool call", new(true), 1, "0"},
		{"a failed run", new(false), 1, "0"},
		{"no end", nil, 0, "unavailable"},
	} {
		ev := answered()
		ev.Completed, ev.FailureCount = c.completed, c.failures
		if got := dimensions(scoring.Score(spec, ev))["reliability"]; got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// Rows 325 to 327: the mean of the scores, and what the first validator
// without one makes of the dimension.
func TestCorrectness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, scores, want, validity string }{
		{"row 325", "1, 0.8, 0", "0.6", "valid"},
		{"row 326", "1, none", "unavailable", "degraded"},
		{"row 327", "1, error", "error, the agent's fault", "invalid"},
		{"the first one decides", "none, error", "unavailable, the agent's fault", "invalid"},
	} {
		spec, ev := overallTrial(t, block{"strategy": "weighted", "dimensions": c.scores})
		spec.Scorecard.Dimensions = []scoring.Dimension{{Key: "correctness"}}
		spec.Metrics = []scoring.Metric{{Key: "rate", Type: "numeric", Collector: scoring.CollectorPassRate}}
		card := scoring.Score(spec, ev)
		if got := dimensions(card)["correctness"]; got != c.want || card.Validity != c.validity {
			t.Errorf("%s: got %s and %s, want %s and %s", c.name, got, card.Validity, c.want, c.validity)
		}
		if rate := values(card)[scoring.CollectorPassRate]; c.want == "0.6" && rate != 0.6 {
			t.Errorf("%s: got pass rate %v", c.name, rate)
		}
	}
}

// Only what a dimension uses degrades a scorecard.
func TestUnusedEvidenceDegradesNothing(t *testing.T) {
	t.Parallel()
	spec := everyMetric() // tokens and cost are unknown
	spec.Validators = append(spec.Validators, scoring.Validator{Key: "idle", Type: scoring.Contains, Target: "case.inputs.gone", ExpectedFrom: "literal:"})
	spec.Scorecard.Dimensions = []scoring.Dimension{{Key: "correctness", Validators: []string{"v"}}}
	card := scoring.Score(spec, answered())
	if card.Validity != scoring.ValidityValid || card.Status != scoring.StatusComplete || card.PackError != "" {
		t.Errorf("got %s, %s, pack error %q: nothing that is used is missing", card.Validity, card.Status, card.PackError)
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	expecting := func(spec *scoring.Spec) { spec.Validators[0].ExpectedFrom = "case.expectations.answer" }
	for _, c := range []struct {
		name   string
		change func(*scoring.Spec, *scoring.Evidence)
		want   scoring.Decision
		reason string
	}{
		{name: "passed", change: func(*scoring.Spec, *scoring.Evidence) {}, want: scoring.Decision{Outcome: scoring.OutcomePassed}},
		{name: "failed by the verdict", change: func(_ *scoring.Spec, ev *scoring.Evidence) { ev.FinalOutput = new("5") },
			want: scoring.Decision{Outcome: scoring.OutcomeFailed}, reason: "below the threshold of 1.0000"},
		{name: "no output, though the scorecard passes", change: func(spec *scoring.Spec, ev *scoring.Evidence) {
			spec.Scorecard.Dimensions, spec.Scorecard.PassThreshold = []scoring.Dimension{{Key: "reliability"}}, nil
			ev.FinalOutput = nil
		}, want: scoring.Decision{Outcome: scoring.OutcomeFailed, Code: "no_output"}, reason: "there is no final output"},
		{name: "no verdict is no pass", change: func(spec *scoring.Spec, ev *scoring.Evidence) {
			spec.Scorecard.Dimensions = []scoring.Dimension{{Key: "latency", Normalization: &scoring.Normalization{Target: new(1.0), Max: new(2.0)}}}
			ev.EndedAt = time.Time{}
		}, want: scoring.Decision{Outcome: scoring.OutcomeFailed, Code: "no_verdict"}, reason: "no dimension has a score"},
		{name: "the case lacks what is expected", change: func(spec *scoring.Spec, _ *scoring.Evidence) { expecting(spec) },
			want: scoring.Decision{Outcome: scoring.OutcomeInvalid, Code: "pack_error", Phase: "scoring"}, reason: `no expectation "answer"`},
		{name: "no output comes before a broken pack", change: func(spec *scoring.Spec, ev *scoring.Evidence) {
			spec.Validators[0].Type, spec.Validators[0].ExpectedFrom = scoring.RegexMatch, "literal:["
			spec.Validators = append(spec.Validators, scoring.Validator{Key: "w", Type: scoring.JSONPathMatch, Target: "final_output", ExpectedFrom: "literal:$"})
			ev.FinalOutput = new("no json")
		}, want: scoring.Decision{Outcome: scoring.OutcomeFailed, Code: "no_output"}, reason: `validator "w"`},
	} {
		spec, ev := oneValidator(), answered()
		c.change(&spec, &ev)
		got := scoring.Score(spec, ev).Decide()
		if !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: got reason %q, want it to contain %q", c.name, got.Reason, c.reason)
		}
		got.Reason = ""
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A case without an expectation leaves the verdict to the other dimensions
// where there are any, and is the author's only when nothing else decides.
func TestMissingExpectation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, strategy string
		gate           bool
		want           scoring.Outcome
	}{
		{"weighted", scoring.Weighted, false, scoring.OutcomePassed},
		{"weighted, a gate", scoring.Weighted, true, scoring.OutcomeInvalid},
		{"binary", scoring.Binary, false, scoring.OutcomeInvalid},
		{"hybrid, a gate", scoring.Hybrid, true, scoring.OutcomeInvalid},
	} {
		spec, ev := oneValidator(), answered()
		spec.Validators[0].ExpectedFrom = "case.expectations.gone"
		spec.Scorecard = scoring.ScorecardSpec{Strategy: c.strategy, Dimensions: []scoring.Dimension{
			{Key: "correctness", Gate: c.gate, PassThreshold: new(1.0)}, {Key: "reliability", PassThreshold: new(1.0)},
		}}
		card := scoring.Score(spec, ev)
		if got := card.Decide().Outcome; got != c.want {
			t.Errorf("%s: got %s (%s), want %s", c.name, got, card.OverallReason, c.want)
		}
		ev.Completed = new(false) // now reliability, a gate under binary, fails on its own
		if got := scoring.Score(spec, ev).Decide().Outcome; c.strategy == scoring.Binary && got != scoring.OutcomeFailed {
			t.Errorf("%s: got %s for an agent that failed another gate, want failed", c.name, got)
		}
	}
}

// A trial that ended before its captures were taken, by the agent's own
// failure, is judged as if the agent had not produced them.
func TestNeverCapturedAfterAFailure(t *testing.T) {
	t.Parallel()
	spec, ev := oneValidator(), answered()
	spec.Validators[0] = scoring.Validator{Key: "v", Type: scoring.FileExists, Target: "file:f"}
	ev.Completed = new(false)
	card := scoring.Score(spec, ev)
	if !card.Dimensions[0].AgentFault || card.InfraError != "" {
		t.Errorf("got %+v, infra error %q", card.Dimensions[0], card.InfraError)
	}
}

// Without a declared capture nothing could have been captured.
func TestNeverDeclared(t *testing.T) {
	t.Parallel()
	spec := oneValidator()
	spec.PostExecutionChecks = nil
	spec.Validators[0] = scoring.Validator{Key: "v", Type: scoring.FileExists, Target: "file:f"}
	if d := scoring.Score(spec, answered()).Decide(); d.Code != scoring.CodePackError {
		t.Errorf("got %+v, want the author to be told", d)
	}
}

func TestScorerDecide(t *testing.T) {
	t.Parallel()
	s, problems := scoring.Compile(oneValidator())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	trial := scoring.Trial{Reason: "50 steps are used up"}
	s.Decide(&trial, s.Score(answered()), "step_limit")
	if trial.Outcome != scoring.OutcomeFailed || trial.Code != "step_limit" || trial.Reason != "50 steps are used up" {
		t.Errorf("got %s %s %q: the agent's own failure decides", trial.Outcome, trial.Code, trial.Reason)
	}
	trial = scoring.Trial{}
	s.Decide(&trial, s.Score(evidence()), "")
	if trial.Outcome != scoring.OutcomeFailed || trial.Code != scoring.CodeNoOutput || trial.Reason == "" || trial.Scorecard == nil {
		t.Errorf("got %+v", trial)
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	s, problems := scoring.Compile(everyMetric())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	ev := answered()
	ev.InputTokens, ev.OutputTokens, ev.TotalTokens = new(int64(1000)), new(int64(500)), new(int64(1500))
	ev.Models = []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "m", InputTokens: 1000, OutputTokens: 500, Known: true}}
	var got scoring.Trial
	s.Measure(&got, ev)
	want := scoring.Trial{FinalOutput: new("4"), CostUSD: new(0.0025), PriceSource: scoring.PricePack, LatencyMS: new(int64(2000)),
		Usage: scoring.Usage{InputTokens: 1000, OutputTokens: 500, TotalTokens: 1500}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trial (-want +got):\n%s", diff)
	}
	ev.Models[0].Known, ev.InputTokens = false, nil
	if s.Measure(&got, ev); got.CostUSD != nil {
		t.Errorf("got cost %v of unknown usage", *got.CostUSD)
	}
	if s.Measure(&got, scoring.Evidence{}); got.CostUSD == nil || *got.CostUSD != 0 || got.LatencyMS != nil {
		t.Errorf("got cost %v and latency %v of a trial that never began", got.CostUSD, got.LatencyMS)
	}
}

func TestScoreOfARefusedSpec(t *testing.T) {
	t.Parallel()
	card := scoring.Score(scoring.Spec{}, answered())
	if d := card.Decide(); d.Outcome != scoring.OutcomeInvalid || d.Code != "pack_error" || !strings.Contains(d.Reason, "evaluation_spec.name") {
		t.Errorf("got %+v", d)
	}
	b, err := json.Marshal(card)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), `"dimensions":null`) {
		t.Errorf("got %s, want empty lists", b)
	}
}

// A boolean is no number: such a dimension never has a score.
func TestBooleanMetricDimension(t *testing.T) {
	t.Parallel()
	spec := everyMetric()
	spec.Scorecard.Dimensions = []scoring.Dimension{{Key: "done", Source: "metric", Metric: "m_run_completed_successfully",
		BetterDirection: "higher", Normalization: &scoring.Normalization{Target: new(1.0), Max: new(0.0)}}}
	card := scoring.Score(spec, answered())
	if d := card.Dimensions[0]; d.State != scoring.Unavailable || card.Decide().Code != scoring.CodePackError {
		t.Errorf("got %+v and %+v", d, card.Decide())
	}
}
