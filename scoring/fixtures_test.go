package scoring_test

import (
	"encoding/json"
	"strings"
	"testing"
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
		{Key: "behavioral"},
	}}
	spec.Behavioral = &scoring.Behavioral{Signals: []scoring.Signal{
		{Key: "recovery_behavior", Weight: 1}, {Key: "exploration_efficiency", Weight: 2, Gate: true, PassThreshold: new(0.25)},
		{Key: "error_cascade", Weight: 1}, {Key: "scope_adherence", Weight: 1},
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

// calls reads a trace the way the vectors write it: calls with a semicolon
// between them, each a tool, its arguments as JSON, and "failed" with who or
// what refused it.
func calls(t *testing.T, trace string) []scoring.ToolCall {
	t.Helper()
	if trace == "(none)" {
		return nil
	}
	var out []scoring.ToolCall
	for i, text := range strings.Split(trace, ";") {
		c := scoring.ToolCall{Sequence: int64(10 + i), EventType: "tool.call.completed", Arguments: "{}"}
		text, why, failed := strings.Cut(strings.TrimSpace(text), " failed")
		if failed {
			c.Failed, c.EventType = true, "tool.call.failed"
			if origin, ok := strings.CutPrefix(why, " by "); ok {
				c.FailureOrigin = origin
			}
			c.Error = strings.TrimPrefix(why, ": ")
		}
		name, arguments, _ := strings.Cut(text, " ")
		c.Name = name
		if arguments != "" {
			var v any
			if err := json.Unmarshal([]byte(arguments), &v); err != nil {
				t.Fatalf("the trace %q: %v", trace, err)
			}
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			c.Arguments = string(raw)
		}
		out = append(out, c)
	}
	return out
}

// provideListing captures a directory: entries with a comma between them, a
// slash at the end of those that are directories.
func provideListing(ev *scoring.Evidence, list string, truncated bool) {
	d := scoring.CapturedDirectory{Key: "d", Path: "/workspace/project/", Exists: list != "(none)", Truncated: truncated}
	switch list {
	case "(never captured)":
		return
	case "(a file)":
		ev.Files["d"] = scoring.CapturedFile{Key: "d", Path: d.Path, Exists: true}
		return
	case "(empty)", "(none)":
	default:
		for _, path := range strings.Split(list, ",") {
			path, dir := strings.CutSuffix(strings.TrimSpace(path), "/")
			d.Entries = append(d.Entries, scoring.DirectoryEntry{Path: path, IsDir: dir})
		}
	}
	ev.Directories["d"] = d
}
