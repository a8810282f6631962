package compare_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

func TestExitStatus(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[compare.Verdict]int{
		compare.Pass: 0, compare.Fail: 1, compare.Warn: 2, compare.InsufficientEvidence: 3, "": 3, "passed": 3,
	} {
		if got := verdict.ExitStatus(); got != want {
			t.Errorf("%q: got %d, want %d", verdict, got, want)
		}
	}
}

// gate compares and judges by the default policy as edited.
func gate(base, cand compare.Snapshot, edit func(*compare.Policy)) compare.GateResult {
	p := compare.DefaultPolicy()
	if edit != nil {
		edit(&p)
	}
	return compare.Gate(p, compare.Compare(base, cand), base, cand)
}

// The default policy on deltas of single dimensions; all others are 0.
func TestGateThresholds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		base, cand scores // correctness, reliability, latency, cost
		verdict    compare.Verdict
		reason     string
	}{
		{"unchanged", scores{1, 1, 1, 1}, scores{1, 1, 1, 1}, "pass", "within_thresholds"},
		{"correctness -0.01", scores{1, 1, 1, 1}, scores{0.99, 1, 1, 1}, "pass", "within_thresholds"},
		{"correctness -0.03", scores{1, 1, 1, 1}, scores{0.97, 1, 1, 1}, "warn", "threshold_warn_correctness"},
		{"correctness -0.06", scores{1, 1, 1, 1}, scores{0.94, 1, 1, 1}, "fail", "threshold_fail_correctness"},
		{"boundary with noise above", scores{0.90, 1, 1, 1}, scores{0.85, 1, 1, 1}, "fail", "threshold_fail_correctness"},
		{"boundary with noise below", scores{0.50, 1, 1, 1}, scores{0.45, 1, 1, 1}, "fail", "threshold_fail_correctness"},
		{"just inside the boundary", scores{0.50, 1, 1, 1}, scores{0.4500001, 1, 1, 1}, "warn", "threshold_warn_correctness"},
		{"correctness -0.02, inclusive", scores{1, 1, 1, 1}, scores{0.98, 1, 1, 1}, "warn", "threshold_warn_correctness"},
		{"two fail, the first by name", scores{1, 1, 1, 1}, scores{0.94, 0.94, 1, 1}, "fail", "threshold_fail_correctness"},
		{"fail before an earlier warn", scores{1, 1, 1, 1}, scores{0.97, 0.94, 1, 1}, "fail", "threshold_fail_reliability"},
		{"faster is better", scores{1, 1, 0.5, 1}, scores{1, 1, 0.7, 1}, "pass", "within_thresholds"},
		{"slower is worse", scores{1, 1, 0.7, 1}, scores{1, 1, 0.5, 1}, "fail", "threshold_fail_latency"},
		{"cheaper is better", scores{1, 1, 1, 0.2}, scores{1, 1, 1, 1}, "pass", "within_thresholds"},
		{"dearer is worse", scores{1, 1, 1, 1}, scores{1, 1, 1, 0.9}, "warn", "threshold_warn_cost"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := gate(oneTrial("base", standard(), tt.base...), oneTrial("cand", standard(), tt.cand...), nil)
			if got.Verdict != tt.verdict || got.ReasonCode != tt.reason || got.EvidenceStatus != "sufficient" {
				t.Errorf("got %s / %s / %s, want %s / %s / sufficient", got.Verdict, got.ReasonCode, got.EvidenceStatus, tt.verdict, tt.reason)
			}
		})
	}
}

func TestGateEvidenceAndVerdict(t *testing.T) {
	t.Parallel()
	good := scores{1, 1, 1, 1}
	invalid := func(run string, passed, bad, allowed int) compare.Snapshot {
		var trials []scoring.Trial
		for rep := 1; rep <= passed; rep++ {
			trials = append(trials, trial(standard(), "a", rep, scoring.OutcomePassed, good))
		}
		for rep := passed + 1; rep <= passed+bad; rep++ {
			trials = append(trials, trial(standard(), "a", rep, scoring.OutcomeInvalid, nil))
		}
		s := snapshot(run, standard(), planned("a"), trials...)
		s.MaxInvalid = allowed
		return s
	}
	fine := invalid("fine", 1, 0, 0)
	failing := snapshot("failing", standard(), planned("a"), trial(standard(), "a", 1, scoring.OutcomeFailed, good))
	unpriced := oneTrial("unpriced", standard(), 1, 1, 1, -1)
	unpricedNoVerdict := oneTrial("noverdict", standard(), 1, 1, 1, -1)
	unpricedNoVerdict.Scorecard.PassRate = nil
	failingBadly := snapshot("failing", standard(), planned("a"), trial(standard(), "a", 1, scoring.OutcomeFailed, scores{0, 1, 1, 1}))
	brokenDown := invalid("broken", 1, 0, 0)
	brokenDown.RunAgentStatus = "failed"
	noVerdict := invalid("noverdict", 1, 0, 0)
	noVerdict.Scorecard.PassRate = nil
	validityOnly := invalid("word", 1, 0, 0)
	validityOnly.Scorecard.Validity = "degraded"

	lenient := func(p *compare.Policy) { p.RequireEvidenceQuality = false }
	explicit := func(p *compare.Policy) { p.RequiredDimensions = []string{"correctness"} }
	noPassNeeded := func(p *compare.Policy) { p.RequireScorecardPass = false }
	tests := []struct {
		name       string
		base, cand compare.Snapshot
		edit       func(*compare.Policy)
		verdict    compare.Verdict
		reason     string
	}{
		{"candidate over max_invalid", fine, invalid("c", 2, 1, 0), nil, "insufficient_evidence", "candidate_scorecard_degraded"},
		{"baseline over max_invalid", invalid("b", 2, 2, 1), fine, nil, "insufficient_evidence", "baseline_scorecard_degraded"},
		{"both over, the candidate is named", invalid("b", 1, 1, 0), invalid("c", 1, 1, 0), nil, "insufficient_evidence", "candidate_scorecard_degraded"},
		{"within max_invalid", invalid("b", 2, 2, 2), invalid("c", 2, 1, 1), nil, "pass", "within_thresholds"},
		{"the word validity decides nothing", validityOnly, validityOnly, nil, "pass", "within_thresholds"},
		{"candidate all invalid", fine, invalid("c", 0, 2, 0), nil, "insufficient_evidence", "candidate_scorecard_invalid"},
		{"baseline all invalid", invalid("b", 0, 2, 0), fine, nil, "insufficient_evidence", "baseline_scorecard_invalid"},
		{"all invalid is never allowed", invalid("b", 0, 2, 2), fine, lenient, "insufficient_evidence", "baseline_scorecard_invalid"},
		{"required evidence missing", fine, unpriced, nil, "insufficient_evidence", "comparison_evidence_missing"},
		{"missing on both sides", unpriced, unpriced, nil, "insufficient_evidence", "comparison_evidence_missing"},
		{"missing, quality not required", fine, unpriced, lenient, "insufficient_evidence", "required_dimension_unavailable"},
		{"missing, not required", fine, unpriced, explicit, "pass", "within_thresholds"},
		{"verdict unknown", fine, noVerdict, nil, "insufficient_evidence", "scorecard_pass_unknown"},
		{"verdict unknown and a required dimension missing", fine, unpricedNoVerdict, lenient, "insufficient_evidence", "required_dimension_unavailable"},
		{"verdict unknown, not needed", fine, noVerdict, noPassNeeded, "pass", "within_thresholds"},
		{"baseline verdict unknown", noVerdict, fine, nil, "pass", "within_thresholds"},
		{"not passed", fine, failing, nil, "fail", "scorecard_not_passed"},
		{"not passed and over a threshold", fine, failingBadly, nil, "fail", "scorecard_not_passed"},
		{"not passed, as before", failing, failing, nil, "fail", "scorecard_not_passed"},
		{"not passed, not needed", fine, failing, noPassNeeded, "pass", "within_thresholds"},
		{"run agent failed", fine, brokenDown, nil, "fail", "candidate_failed_baseline_succeeded"},
		{"run agent failed, allowed", fine, brokenDown, func(p *compare.Policy) { p.FailOnCandidateFailure = false }, "pass", "within_thresholds"},
		{"baseline's run agent failed", brokenDown, fine, nil, "pass", "within_thresholds"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := gate(tt.base, tt.cand, tt.edit)
			if got.Verdict != tt.verdict || got.ReasonCode != tt.reason {
				t.Errorf("got %s / %s (%s), want %s / %s", got.Verdict, got.ReasonCode, got.Summary, tt.verdict, tt.reason)
			}
			wantEvidence := "sufficient"
			if tt.verdict == compare.InsufficientEvidence {
				wantEvidence = "insufficient"
			}
			if got.EvidenceStatus != wantEvidence {
				t.Errorf("got evidence %q, want %q", got.EvidenceStatus, wantEvidence)
			}
		})
	}
}

func TestGateBothFailedDifferently(t *testing.T) {
	t.Parallel()
	base, cand := oneTrial("base", standard(), 1, 1, 1, 1), oneTrial("cand", standard(), 1, 1, 1, 0.5)
	base.RunAgentStatus, cand.RunAgentStatus = "failed", "failed"
	base.InvalidCauses = []compare.InvalidCause{{Code: "auth", Phase: "model", Trials: 1}}
	cand.InvalidCauses = []compare.InvalidCause{{Code: "rate_limit", Phase: "model", Trials: 1}}
	got := gate(base, cand, nil)
	want := []string{"both_failed_differently", "threshold_fail_cost"}
	if diff := cmp.Diff(want, got.EvaluationDetails.TriggeredConditions); diff != "" || got.ReasonCode != want[0] {
		t.Errorf("got reason %s; triggered (-want +got):\n%s", got.ReasonCode, diff)
	}
	got = gate(base, cand, func(p *compare.Policy) { p.FailOnBothFailedDifferently = false })
	if got.ReasonCode != "threshold_fail_cost" {
		t.Errorf("switched off: got %s, want threshold_fail_cost", got.ReasonCode)
	}
}

func TestRequiredDimensions(t *testing.T) {
	t.Parallel()
	custom := compare.Thresholds{FailDelta: new(0.1)}
	tests := []struct {
		name     string
		declared []string
		edit     func(*compare.Policy)
		want     []string
		verdict  compare.Verdict
	}{
		{"those of the table that are declared", []string{"correctness", "style", "cost"}, nil, []string{"correctness", "cost"}, "pass"},
		{"none is declared", []string{"style"}, nil, []string{}, "pass"},
		{"the policy's own table", []string{"correctness", "style"}, func(p *compare.Policy) {
			p.Dimensions = map[string]compare.Thresholds{"style": custom}
		}, []string{"style"}, "pass"},
		{"named and declared by nobody", []string{"correctness"}, func(p *compare.Policy) {
			p.Dimensions["safety"] = custom
			p.RequiredDimensions = []string{"safety", "correctness"}
		}, []string{"correctness", "safety"}, "insufficient_evidence"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			values := slices.Repeat(scores{1}, len(tt.declared))
			got := gate(oneTrial("base", spec(tt.declared...), values...), oneTrial("cand", spec(tt.declared...), values...), tt.edit)
			if diff := cmp.Diff(tt.want, got.EvaluationDetails.RequiredDimensions); diff != "" || got.Verdict != tt.verdict {
				t.Errorf("got verdict %s, want %s; required (-want +got):\n%s", got.Verdict, tt.verdict, diff)
			}
		})
	}
}

// A mistyped key in a policy is not silently obeyed.
func TestGateWarnsOfThresholdsForNothing(t *testing.T) {
	t.Parallel()
	side := oneTrial("same", spec("correctness"), 1)
	got := gate(side, side, func(p *compare.Policy) {
		p.Dimensions = map[string]compare.Thresholds{"corectness": {FailDelta: new(0.05)}}
	})
	want := []string{
		`the policy has thresholds for dimensions that neither side declares: "corectness"`,
		"neither side declares a dimension of the policy, so no threshold was applied",
	}
	if diff := cmp.Diff(want, got.EvaluationDetails.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if got := gate(side, side, nil).EvaluationDetails.Warnings; len(got) != 0 {
		t.Errorf("the default policy warns of its own table: %q", got)
	}
}

func TestZeroThresholdMeansAnyWorsening(t *testing.T) {
	t.Parallel()
	strict := func(p *compare.Policy) { p.Dimensions["correctness"] = compare.Thresholds{FailDelta: new(0.0)} }
	base := oneTrial("base", spec("correctness"), 0.5)
	for candidate, want := range map[float64]compare.Verdict{0.5: "pass", 0.6: "pass", 0.499: "fail"} {
		if got := gate(base, oneTrial("cand", spec("correctness"), candidate), strict); got.Verdict != want {
			t.Errorf("0.5 -> %v: got %s, want %s", candidate, got.Verdict, want)
		}
	}
}

// Without require_comparable there is still nothing to hold a threshold
// against, so nothing passes that has a dimension to lose.
func TestNotComparableNeverPasses(t *testing.T) {
	t.Parallel()
	base, cand := oneTrial("base", standard(), 1, 1, 1, 1), oneTrial("cand", standard(), 1, 1, 1, 1)
	cand.EvaluationSpecDigest = "other"
	got := gate(base, cand, func(p *compare.Policy) { p.RequireComparable, p.RequireEvidenceQuality = false, false })
	if got.Verdict != compare.InsufficientEvidence || got.ReasonCode != "required_dimension_unavailable" {
		t.Errorf("got %s / %s, want insufficient_evidence / required_dimension_unavailable", got.Verdict, got.ReasonCode)
	}
	wantTriggered := []string{"required_dimension_unavailable:correctness", "required_dimension_unavailable:cost",
		"required_dimension_unavailable:latency", "required_dimension_unavailable:reliability"}
	if diff := cmp.Diff(wantTriggered, got.EvaluationDetails.TriggeredConditions); diff != "" {
		t.Errorf("triggered (-want +got):\n%s", diff)
	}
	missing := compare.Snapshot{Identity: identity("gone")}
	got = gate(base, missing, func(p *compare.Policy) {
		p.RequireComparable, p.RequireEvidenceQuality, p.RequireScorecardPass = false, false, false
	})
	if got.ReasonCode != "candidate_scorecard_invalid" {
		t.Errorf("no scorecard: got %s, want candidate_scorecard_invalid", got.ReasonCode)
	}
}

func TestGateDocument(t *testing.T) {
	t.Parallel()
	s := spec("correctness", "latency", "style")
	golden(t, "release_gate.json", gate(oneTrial("base", s, 0.9, 0.5, 1), oneTrial("cand", s, 0.84, 0.7, 0), nil))
}
