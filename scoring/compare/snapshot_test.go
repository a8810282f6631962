package compare_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

func TestNewSnapshotLastFinishedAttemptDecides(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	attempt := func(n int, tr scoring.Trial) scoring.Trial {
		tr.Attempt = n
		return tr
	}
	interrupted := attempt(3, trial(s, "a", 1, scoring.OutcomeFailed, scores{0}))
	interrupted.Outcome = "" // not finished
	got := compare.NewSnapshot(identity("r"), compare.Record{Spec: s, Cases: planned("a"), Trials: []scoring.Trial{
		interrupted,
		attempt(2, trial(s, "a", 1, scoring.OutcomePassed, scores{1})),
		attempt(1, trial(s, "a", 1, scoring.OutcomeInvalid, nil)),
		attempt(1, trial(s, "a", 2, scoring.OutcomeInvalid, nil)),
		attempt(2, trial(s, "a", 2, scoring.OutcomeFailed, scores{0})),
	}})
	if len(got.Cases) != 1 {
		t.Fatalf("got %d cases, want 1", len(got.Cases))
	}
	c := got.Cases[0]
	if c.Passed != 1 || c.Failed != 1 || c.Invalid != 0 || c.Valid != 2 {
		t.Errorf("got passed %d failed %d invalid %d valid %d, want 1 1 0 2", c.Passed, c.Failed, c.Invalid, c.Valid)
	}
	if len(got.InvalidCauses) != 0 {
		t.Errorf("attempts that did not decide are counted as causes: %v", got.InvalidCauses)
	}
}

func TestNewSnapshotCountsInvalidCauses(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	lost := func(rep int, code, phase string) scoring.Trial {
		tr := trial(s, "a", rep, scoring.OutcomeInvalid, nil)
		tr.Code, tr.Phase = code, phase
		return tr
	}
	got := compare.NewSnapshot(identity("r"), compare.Record{Spec: s, Cases: planned("a"), Trials: []scoring.Trial{
		lost(1, "unavailable", "scoring"), lost(2, "unavailable", "model"), lost(3, "rate_limit", "model"), lost(4, "unavailable", "model"),
	}})
	want := []compare.InvalidCause{
		{Code: "rate_limit", Phase: "model", Trials: 1},
		{Code: "unavailable", Phase: "model", Trials: 2},
		{Code: "unavailable", Phase: "scoring", Trials: 1},
	}
	if diff := cmp.Diff(want, got.InvalidCauses); diff != "" {
		t.Errorf("invalid causes (-want +got):\n%s", diff)
	}
	if got.Cases[0].Invalid != 4 {
		t.Errorf("got %d invalid trials, want 4", got.Cases[0].Invalid)
	}
}

// A trial that ended before anything was scored counts 0, as in the run
// agent's scorecard, and an error is told apart from a missing value.
func TestNewSnapshotIncompleteScorecards(t *testing.T) {
	t.Parallel()
	s := spec("correctness", "style")
	unscored := trial(s, "unscored", 1, scoring.OutcomeFailed, scores{1, 1})
	unscored.Scorecard = nil
	broken := trial(s, "broken", 1, scoring.OutcomeFailed, scores{-1, -1})
	broken.Scorecard.Dimensions[0].State = scoring.Errored
	got := compare.NewSnapshot(identity("r"), compare.Record{Spec: s, Cases: planned("unscored", "broken"),
		Trials: []scoring.Trial{unscored, broken}}).Cases
	want := []compare.CaseResult{
		{CaseKey: "unscored", Digest: "digest of unscored", Valid: 1, Failed: 1,
			OverallScore: compare.Mean{Value: new(0.0), N: 1},
			Dimensions: []scoring.AggregateDimension{
				{Key: "correctness", Score: new(0.0), State: scoring.Available, N: 1},
				{Key: "style", Score: new(0.0), State: scoring.Available, N: 1},
			}},
		{CaseKey: "broken", Digest: "digest of broken", Valid: 1, Failed: 1,
			Dimensions: []scoring.AggregateDimension{
				{Key: "correctness", State: scoring.Errored}, {Key: "style", State: scoring.Unavailable},
			}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
}

func TestNewSnapshotMeansFollowTheScorecardRules(t *testing.T) {
	t.Parallel()
	s := spec("correctness", "cost")
	full := trial(s, "a", 1, scoring.OutcomePassed, scores{1, 0.5})
	full.CostUSD, full.LatencyMS, full.Usage.TotalTokens = new(0.02), new(int64(300)), 100
	unpriced := trial(s, "a", 2, scoring.OutcomePassed, scores{0.5, -1})
	unpriced.LatencyMS = new(int64(100))
	silent := trial(s, "a", 3, scoring.OutcomeFailed, scores{-1, -1})
	silent.Scorecard.Dimensions[0].AgentFault = true
	invalid := trial(s, "a", 4, scoring.OutcomeInvalid, nil)

	got := compare.NewSnapshot(identity("r"), compare.Record{Spec: s, Cases: planned("a"),
		Trials: []scoring.Trial{full, unpriced, silent, invalid}}).Cases

	want := []compare.CaseResult{{
		CaseKey: "a", Digest: "digest of a", Valid: 3, Passed: 2, Failed: 1, Invalid: 1,
		OverallScore: compare.Mean{Value: new(0.5), N: 3},
		Dimensions: []scoring.AggregateDimension{
			{Key: "correctness", Score: new(0.5), State: scoring.Available, N: 3}, // the silent trial counts 0
			{Key: "cost", Score: new(0.5), State: scoring.Available, N: 1},        // unpriced ones do not count
		},
		CostUSD:     compare.Mean{Value: new(0.02), N: 1},
		LatencyMS:   compare.Mean{Value: new(200.0), N: 2},
		TotalTokens: compare.Mean{Value: new(100.0), N: 1},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("case results (-want +got):\n%s", diff)
	}
}

func TestNewSnapshotKeepsPlannedOrder(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	got := compare.NewSnapshot(identity("r"), compare.Record{Spec: s, Cases: planned("z", "not run", "b"),
		Trials: []scoring.Trial{
			trial(s, "unplanned", 1, scoring.OutcomePassed, scores{1}),
			trial(s, "b", 1, scoring.OutcomePassed, scores{1}),
			trial(s, "z", 1, scoring.OutcomePassed, scores{1}),
		}})
	var keys []string
	for _, c := range got.Cases {
		keys = append(keys, c.CaseKey)
	}
	if diff := cmp.Diff([]string{"z", "not run", "b", "unplanned"}, keys); diff != "" {
		t.Errorf("case order (-want +got):\n%s", diff)
	}
	if c := got.Cases[1]; c.Valid != 0 || c.OverallScore.Value != nil || c.Dimensions[0].State != scoring.Unavailable {
		t.Errorf("a case that was not run has results: %+v", c)
	}
}

func TestSnapshotHoldsNoTextOfTheTrials(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	tr := trial(s, "a", 1, scoring.OutcomeFailed, scores{0})
	tr.FinalOutput = new("CANARY output")
	tr.Reason = "CANARY reason"
	tr.Scorecard.OverallReason = "CANARY overall reason"
	tr.Scorecard.Warnings = []string{"CANARY warning"}
	tr.Scorecard.Dimensions[0].Reason = "CANARY dimension"
	tr.Scorecard.Validators = []scoring.ValidatorResult{{Actual: new("CANARY actual"), Expected: new("CANARY expected")}}
	doc, err := json.Marshal(snapshot("r", s, planned("a"), tr))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(doc), "CANARY") {
		t.Errorf("the snapshot holds text of the trial: %s", doc)
	}
}

func TestSnapshotReadsBackAsItWas(t *testing.T) {
	t.Parallel()
	s := standard()
	want := snapshot("r", s, planned("a", "b"),
		trial(s, "a", 1, scoring.OutcomePassed, scores{1, 1, 0.8, -1}),
		trial(s, "b", 1, scoring.OutcomeInvalid, nil))
	golden(t, "snapshot.json", want)
	doc, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got compare.Snapshot
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
