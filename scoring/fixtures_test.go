package scoring_test

import (
	"time"

	"github.com/agentclash/agentclash/scoring"
)

// oneValidator is a valid spec: one validator, one dimension that must be 1.
func oneValidator() scoring.Spec {
	return scoring.Spec{
		Name: "spec", VersionNumber: 1, JudgeMode: scoring.Deterministic,
		Validators: []scoring.Validator{
			{Key: "v", Type: scoring.ExactMatch, Target: "final_output", ExpectedFrom: "literal:4"},
		},
		PostExecutionChecks: []scoring.PostExecutionCheck{
			{Key: "f", Type: scoring.FileCapture, Path: "/workspace/f"},
			{Key: "d", Type: scoring.DirectoryListing, Path: "/workspace"},
		},
		Scorecard: scoring.ScorecardSpec{
			Dimensions:    []scoring.Dimension{{Key: "correctness"}},
			PassThreshold: new(1.0),
		},
	}
}

var epoch = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

// evidence is of a trial that ended well after two seconds.
func evidence() scoring.Evidence {
	return scoring.Evidence{
		Completed: new(true), StartedAt: epoch, FirstOutputAt: epoch.Add(250 * time.Millisecond), EndedAt: epoch.Add(2 * time.Second),
		Files: map[string]scoring.CapturedFile{}, Directories: map[string]scoring.CapturedDirectory{},
		CodeRuns: map[string]scoring.CodeRun{}, Sources: map[string]scoring.Source{},
	}
}

// answered is evidence whose final output passes oneValidator.
func answered() scoring.Evidence {
	ev := evidence()
	ev.FinalOutput = new("4")
	return ev
}

// everyMetric is a spec with a metric for each collector that this version has.
func everyMetric() scoring.Spec {
	spec := oneValidator()
	for _, c := range scoring.Collectors() {
		if !c.Supported {
			continue
		}
		spec.Metrics = append(spec.Metrics, scoring.Metric{Key: "m_" + c.Name, Type: c.Type, Collector: c.Name, Unit: c.Unit})
	}
	spec.Pricing.Models = []scoring.Price{{ProviderKey: "p", ProviderModelID: "m", InputCostPerMillionTokens: 1, OutputCostPerMillionTokens: 3}}
	return spec
}

// allSources is a spec with a dimension of each source.
func allSources() scoring.Spec {
	spec := everyMetric()
	limits := &scoring.Normalization{Target: new(500.0), Max: new(5000.0)}
	spec.Scorecard = scoring.ScorecardSpec{Dimensions: []scoring.Dimension{
		{Key: "correctness"},
		{Key: "tokens", Source: "metric", Metric: "m_run_total_tokens", BetterDirection: "lower", Normalization: &scoring.Normalization{Target: new(100.0), Max: new(1000.0)}},
		{Key: "ttft", Source: "metric", Metric: "m_run_ttft_ms", BetterDirection: "lower", Normalization: limits},
		{Key: "rate", Source: "metric", Metric: "m_validator_pass_rate", BetterDirection: "higher", Normalization: &scoring.Normalization{Target: new(1.0), Max: new(0.0)}},
		{Key: "reliability"},
		{Key: "latency", Normalization: limits},
		{Key: "cost", Normalization: &scoring.Normalization{Target: new(0.001), Max: new(1.0)}},
	}}
	return spec
}

// values are the metrics of a scorecard by collector: the value, or the state.
func values(c scoring.Scorecard) map[string]any {
	out := map[string]any{}
	for _, m := range c.Metrics {
		out[m.Collector] = m.Value
		if m.State != scoring.Available {
			out[m.Collector] = string(m.State)
		}
	}
	return out
}
