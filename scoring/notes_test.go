package scoring_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
)

// Row 331, and that no metric has to be declared for it.
func TestCostPerCorrect(t *testing.T) {
	t.Parallel()
	usage := func(input int64, known bool) []scoring.ModelUsage {
		return []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "m", InputTokens: input, Known: known}}
	}
	for _, c := range []struct {
		name, scores string
		models       []scoring.ModelUsage
		want         scoring.SideMetric
	}{
		{"row 331: two of three", "1, 1, 0", usage(30000, true),
			scoring.SideMetric{State: scoring.Available, Value: new(0.015), Numerator: new(0.03), Denominator: new(2)}},
		{"none is met", "0.9, 0", usage(30000, true),
			scoring.SideMetric{State: scoring.Unavailable, Numerator: new(0.03), Denominator: new(0), Reason: "no validator is met"}},
		{"none has a score", "none, error", usage(30000, true),
			scoring.SideMetric{State: scoring.Unavailable, Numerator: new(0.03), Denominator: new(0), Reason: "no validator has a score"}},
		{"one has none", "1, none", usage(30000, true),
			scoring.SideMetric{State: scoring.Available, Value: new(0.03), Numerator: new(0.03), Denominator: new(1)}},
		{"a cost of nothing", "1", usage(0, true),
			scoring.SideMetric{State: scoring.Available, Value: new(0.0), Numerator: new(0.0), Denominator: new(1)}},
		{"an unknown cost", "1", usage(5, false),
			scoring.SideMetric{State: scoring.Unavailable, Reason: `the provider did not report the usage of "p/m"`}},
		{"no call", "1", nil, scoring.SideMetric{State: scoring.Unavailable, Reason: "no model call was seen"}},
	} {
		spec, ev := overallTrial(t, block{"strategy": "weighted", "dimensions": c.scores})
		spec.Pricing.Models = []scoring.Price{{ProviderKey: "p", ProviderModelID: "m", InputCostPerMillionTokens: 1}}
		ev.Models = c.models
		c.want.Unit = "usd"
		if diff := cmp.Diff(c.want, scoring.Score(spec, ev).SideMetrics.CostPerCorrectUSD); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// What a reader should know beside the scores: captures that were cut, and
// dimensions without a score with the reason.
func TestWarnings(t *testing.T) {
	t.Parallel()
	spec, ev := allSources(), answered()
	spec.Pricing.Models = nil
	ev.Models = []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "m", Known: true}}
	ev.Files["f"] = scoring.CapturedFile{Key: "f", Path: "/workspace/f", Exists: true, Content: "abc", Size: 9, Truncated: true}
	ev.Files["whole"] = scoring.CapturedFile{Key: "whole", Exists: true}
	ev.Directories["d"] = scoring.CapturedDirectory{Key: "d", Exists: true, Truncated: true}
	want := []string{
		`capture "d": the listing is cut`,
		`capture "f": only 3 of the 9 bytes of "/workspace/f" were captured`,
		`dimension "cost": no price is known for "p/m": add a row to evaluation_spec.pricing.models`,
		`dimension "tokens": metric "m_run_total_tokens": the token count is unknown`,
	}
	if diff := cmp.Diff(want, scoring.Score(spec, ev).Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	ev.FinalOutput, ev.Completed = nil, nil
	ev.Turns = []scoring.Turn{{Mismatched: true}}
	got := strings.Join(scoring.Score(spec, ev).Warnings, "\n")
	for _, part := range []string{"there is no final output", "the trial has no end",
		`dimension "behavioral": signal "recovery_behavior": a turn is a mismatch, and the validator "v" has no score`} {
		if !strings.Contains(got, part) {
			t.Errorf("no warning says %q:\n%s", part, got)
		}
	}
}

// The event that a validator's result points at is the best there is for what
// it read, and none for what comes with the case.
func TestResultsPointAtEvents(t *testing.T) {
	t.Parallel()
	ev := answered()
	ev.Files["f"] = scoring.CapturedFile{Key: "f", Exists: true, Content: "4"}
	ev.CodeRuns["v"] = scoring.CodeRun{ValidatorKey: "v", ExitCode: new(0)}
	ev.Case.Expectations = map[string]scoring.CaseInput{"x": {Value: []byte(`"4"`)}}
	ev.Sources = map[string]scoring.Source{
		scoring.AtFinalOutput:  {Kind: scoring.KindFinalOutput, Sequence: 8, EventType: "system.output.finalized", FieldPath: "final_output"},
		scoring.AtFile("f"):    {Kind: scoring.KindToolCall, Sequence: 9, EventType: "grader.verification.file_captured", FieldPath: "file:f"},
		scoring.AtCode("v"):    {Kind: scoring.KindToolCall, Sequence: 10, EventType: "grader.verification.code_executed", FieldPath: "file:f"},
		scoring.AtFile("gone"): {Kind: scoring.KindToolCall, EventType: "an event without a number"},
	}
	for _, c := range []struct {
		typ, target string
		sequence    int64
	}{
		{scoring.Contains, "final_output", 8}, {scoring.Contains, "run.final_output", 8}, {scoring.Contains, "file:f", 9},
		{scoring.CodeExecution, "file:f", 10}, {scoring.Contains, "case.expectations.x", 0}, {scoring.Contains, "literal:4", 0}, {scoring.FileExists, "file:gone", 0},
	} {
		spec := oneValidator()
		spec.PostExecutionChecks = append(spec.PostExecutionChecks, scoring.PostExecutionCheck{Key: "gone", Type: scoring.FileCapture, Path: "/workspace/g"})
		spec.Validators[0].Type, spec.Validators[0].Target = c.typ, c.target
		if c.typ == scoring.CodeExecution {
			tests(&spec, `{"test_command":"make test"}`)
		}
		card := scoring.Score(spec, ev)
		if len(card.Validators) == 0 {
			t.Fatalf("%s: the spec is refused: %s", c.target, card.PackError)
		}
		got := int64(0)
		if s := card.Validators[0].Source; s != nil {
			got = s.Sequence
		}
		if got != c.sequence {
			t.Errorf("%s of %s: points at event %d, want %d", c.typ, c.target, got, c.sequence)
		}
		if d := card.Dimensions[0].Event; (d != nil) != (c.sequence > 0) || d != nil && d.Sequence != c.sequence {
			t.Errorf("%s of %s: its dimension points at %+v", c.typ, c.target, d)
		}
	}
}

// Of several validators the dimension points at the event of the worst.
func TestADimensionPointsAtTheWorst(t *testing.T) {
	t.Parallel()
	spec, ev := overallTrial(t, block{"strategy": "weighted", "dimensions": "1, 0.4, 0.7, 0.4"})
	spec.Scorecard.Dimensions = []scoring.Dimension{{Key: "correctness"}}
	for i, v := range spec.Validators {
		ev.Sources[scoring.AtCode(v.Key)] = scoring.Source{Kind: scoring.KindToolCall, Sequence: int64(20 + i), EventType: "grader.verification.code_executed"}
	}
	if got := scoring.Score(spec, ev).Dimensions[0].Event; got == nil || got.Sequence != 21 {
		t.Errorf("got %+v, want the first of those with the lowest score, event 21", got)
	}
}
