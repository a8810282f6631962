package compare_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// ran is a side that ran regression cases, written as "suite/id severity outcome".
func ran(run string, cases ...string) compare.Snapshot {
	s := standard()
	refs := planned("own")
	trials := []scoring.Trial{trial(s, "own", 1, scoring.OutcomePassed, scores{1, 1, 1, 1})}
	for _, text := range cases {
		part := strings.Fields(text)
		suite, id, _ := strings.Cut(part[0], "/")
		refs = append(refs, compare.CaseRef{Key: part[0], Digest: "d", Regressions: []scoring.Regression{{Suite: suite, CaseID: id, Severity: part[1]}}})
		trials = append(trials, trial(s, part[0], 1, scoring.Outcome(part[2]), scores{1, 1, 1, 1}))
	}
	snap := snapshot(run, s, refs, trials...)
	snap.MaxInvalid = 1
	return snap
}

func TestRegressionRules(t *testing.T) {
	t.Parallel()
	all := compare.RegressionRules{NoBlockingFailure: true, NoNewBlockingFailure: true, MaxWarningFailures: new(1)}
	for _, tt := range []struct {
		name                string
		rules               compare.RegressionRules
		baseline, candidate []string
		verdict             compare.Verdict
		reason              string
		violations          int
		warning             string
	}{
		{"all pass", all, []string{"s/a blocking passed"}, []string{"s/a blocking passed"}, compare.Pass, compare.GateWithinThresholds, 0, ""},
		{"a blocking case fails on both sides", compare.RegressionRules{NoBlockingFailure: true},
			[]string{"s/a blocking failed"}, []string{"s/a blocking failed"}, compare.Fail, compare.GateRegressionBlocking, 1, ""},
		{"only new failures count", compare.RegressionRules{NoNewBlockingFailure: true},
			[]string{"s/a blocking failed"}, []string{"s/a blocking failed"}, compare.Pass, compare.GateWithinThresholds, 0, ""},
		{"a new failure", compare.RegressionRules{NoNewBlockingFailure: true},
			[]string{"s/a blocking passed"}, []string{"s/a blocking failed"}, compare.Fail, compare.GateRegressionNewBlocking, 1, ""},
		{"new or not is unknown", compare.RegressionRules{NoNewBlockingFailure: true},
			nil, []string{"s/a blocking failed"}, compare.Pass, compare.GateWithinThresholds, 0, "is unknown"},
		{"both rules list it, the first in the alphabet is the reason", all,
			[]string{"s/a blocking passed"}, []string{"s/a blocking failed"}, compare.Fail, compare.GateRegressionBlocking, 2, ""},
		{"a warning is allowed", all, nil, []string{"s/a warning failed", "s/b warning passed"}, compare.Pass, compare.GateWithinThresholds, 0, ""},
		{"two are not", all, nil, []string{"s/a warning failed", "s/b warning failed"}, compare.Warn, compare.GateRegressionWarnings, 2, ""},
		{"info never counts", all, nil, []string{"s/a info failed", "s/b info failed"}, compare.Pass, compare.GateWithinThresholds, 0, ""},
		{"another suite does not count", compare.RegressionRules{NoBlockingFailure: true, SuiteIDs: []string{"S"}},
			nil, []string{"other/a blocking failed", "s/a blocking passed"}, compare.Pass, compare.GateWithinThresholds, 0, ""},
		{"a suite that was not run", compare.RegressionRules{NoBlockingFailure: true, SuiteIDs: []string{"s"}},
			nil, nil, compare.InsufficientEvidence, compare.GateRegressionNoEvidence, 0, ""},
		{"a case without a valid trial", all, nil, []string{"s/a blocking invalid"}, compare.InsufficientEvidence, compare.GateRegressionNoEvidence, 0, ""},
		{"a failure beats what is missing", all, nil, []string{"s/a blocking invalid", "s/b blocking failed"}, compare.Fail, compare.GateRegressionBlocking, 1, "is unknown"},
		{"a case that the candidate left out", all, []string{"s/a blocking passed"}, nil, compare.InsufficientEvidence, compare.GateRegressionNoEvidence, 0, ""},
		{"no suites at all are said", all, nil, nil, compare.Pass, compare.GateWithinThresholds, 0, "neither side ran any"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := compare.DefaultPolicy()
			p.RequireScorecardPass, p.RegressionGateRules = false, &tt.rules
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			baseline, candidate := ran("base", tt.baseline...), ran("cand", tt.candidate...)
			got := compare.Gate(p, compare.Compare(baseline, candidate), baseline, candidate)
			if got.Verdict != tt.verdict || got.ReasonCode != tt.reason {
				t.Errorf("got %s / %s (%s), want %s / %s", got.Verdict, got.ReasonCode, got.Summary, tt.verdict, tt.reason)
			}
			if n := len(got.EvaluationDetails.RegressionViolations); n != tt.violations {
				t.Errorf("got %d violations, want %d: %+v", n, tt.violations, got.EvaluationDetails.RegressionViolations)
			}
			if warnings := strings.Join(got.EvaluationDetails.Warnings, "; "); !strings.Contains(warnings, tt.warning) {
				t.Errorf("warnings are %q, want %q among them", warnings, tt.warning)
			}
		})
	}
}

// TestRegressionRulesMerge holds the rules against what the gate says without
// them.
func TestRegressionRulesMerge(t *testing.T) {
	t.Parallel()
	p := compare.DefaultPolicy()
	p.RegressionGateRules = &compare.RegressionRules{NoBlockingFailure: true}
	base, bad := ran("base", "s/a blocking passed"), ran("cand", "s/a blocking failed")
	got := compare.Gate(p, compare.Compare(base, bad), base, bad)
	if got.Verdict != compare.Fail || got.ReasonCode != compare.GateNotPassed || len(got.EvaluationDetails.RegressionViolations) != 1 ||
		!strings.Contains(strings.Join(got.EvaluationDetails.TriggeredConditions, " "), compare.GateRegressionBlocking) {
		t.Errorf("a failure keeps its reason and lists the violation: %s / %s %v", got.Verdict, got.ReasonCode, got.EvaluationDetails.TriggeredConditions)
	}
	other := base
	other.EvaluationSpecDigest = "s2"
	if got := compare.Gate(p, compare.Compare(other, bad), other, bad); got.Verdict != compare.InsufficientEvidence || got.ReasonCode != compare.GateNotComparable {
		t.Errorf("what cannot be compared: %s / %s", got.Verdict, got.ReasonCode)
	}
	doc, err := json.Marshal(got.EvaluationDetails.RegressionViolations[0])
	if want := `{"rule":"no_blocking_regression_failure","suite_id":"s","regression_case_id":"a","severity":"blocking","case_key":"s/a"}`; err != nil || string(doc) != want {
		t.Errorf("a violation is %s, want %s", doc, want)
	}
}
