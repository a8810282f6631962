package compare_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring/compare"
)

func TestDefaultPolicy(t *testing.T) {
	t.Parallel()
	p := compare.DefaultPolicy()
	if err := p.Validate(); err != nil {
		t.Errorf("the default policy is refused: %v", err)
	}
	golden(t, "policy.json", struct {
		Policy      compare.Policy `json:"policy"`
		Fingerprint string         `json:"fingerprint"`
	}{p.Normalized(), p.Fingerprint()})
}

func TestPolicyValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*compare.Policy)
		want string
	}{
		{"no key", func(p *compare.Policy) { p.Key = " " }, "policy_key: missing"},
		{"no version", func(p *compare.Policy) { p.Version = 0 }, "policy_version: must be 1 or more, got 0"},
		{"no dimensions", func(p *compare.Policy) { p.Dimensions = nil }, "dimensions: at least one"},
		{"no threshold", func(p *compare.Policy) { p.Dimensions["cost"] = compare.Thresholds{} },
			`dimensions["cost"]: needs warn_delta, fail_delta or both`},
		{"negative", func(p *compare.Policy) { p.Dimensions["cost"] = compare.Thresholds{FailDelta: new(-0.1)} },
			`dimensions["cost"].fail_delta: must be between 0 and 1, got -0.1`},
		{"out of reach", func(p *compare.Policy) { p.Dimensions["cost"] = compare.Thresholds{WarnDelta: new(5.0)} },
			`dimensions["cost"].warn_delta: must be between 0 and 1, got 5`},
		{"not a number", func(p *compare.Policy) { p.Dimensions["cost"] = compare.Thresholds{WarnDelta: new(math.NaN())} },
			`dimensions["cost"].warn_delta: must be between 0 and 1, got NaN`},
		{"warn above fail", func(p *compare.Policy) {
			p.Dimensions["cost"] = compare.Thresholds{WarnDelta: new(0.3), FailDelta: new(0.2)}
		}, `dimensions["cost"].warn_delta: 0.3 is above fail_delta 0.2`},
		{"padded key", func(p *compare.Policy) { p.Dimensions[" x"] = compare.Thresholds{FailDelta: new(0.1)} },
			`dimensions[" x"]: a key is neither empty nor surrounded by spaces`},
		{"required without threshold", func(p *compare.Policy) { p.RequiredDimensions = []string{"cost", "Cost"} },
			`required_dimensions[1]: "Cost" has no threshold in dimensions`},
		{"a negative number of regression cases", func(p *compare.Policy) {
			p.RegressionGateRules = &compare.RegressionRules{MaxWarningFailures: new(-1)}
		}, "regression_gate_rules.max_warning_regression_failures: must be 0 or more, got -1"},
		{"suites without a rule", func(p *compare.Policy) {
			p.RegressionGateRules = &compare.RegressionRules{SuiteIDs: []string{"checkout"}}
		}, "regression_gate_rules.suite_ids: names suites, but no rule is on"},
		{"a suite without a name", func(p *compare.Policy) {
			p.RegressionGateRules = &compare.RegressionRules{NoBlockingFailure: true, SuiteIDs: []string{" x"}}
		}, "regression_gate_rules.suite_ids[0]: a name is neither empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := compare.DefaultPolicy()
			tt.edit(&p)
			err := p.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			side := oneTrial("same", standard(), 1, 1, 1, 1)
			got := compare.Gate(p, compare.Compare(side, side), side, side)
			if got.Verdict != compare.InsufficientEvidence || got.ReasonCode != "policy_invalid" || strings.Contains(got.Summary, "\n") {
				t.Errorf("gate: got %s / %s / %q, want insufficient_evidence / policy_invalid", got.Verdict, got.ReasonCode, got.Summary)
			}
		})
	}
}

func TestPolicyValidateReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	err := compare.Policy{RequireScorecardPass: true, RequiredDimensions: []string{"x"}}.Validate()
	if err == nil {
		t.Fatal("an empty policy is taken for a policy")
	}
	for _, want := range []string{"policy_key", "policy_version", "dimensions:", "required_dimensions[0]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not mention %s", err, want)
		}
	}
}

func TestEqualPoliciesShareAFingerprint(t *testing.T) {
	t.Parallel()
	base := compare.DefaultPolicy()
	base.RequiredDimensions = []string{"cost", "correctness"}
	same := compare.DefaultPolicy()
	same.RequiredDimensions = []string{"correctness", "cost", "correctness"}
	same.RegressionGateRules = &compare.RegressionRules{}
	if err := same.Validate(); err != nil {
		t.Errorf("empty regression rules are refused: %v", err)
	}
	if base.Fingerprint() != same.Fingerprint() {
		t.Errorf("got %s and %s, want one fingerprint", base.Fingerprint(), same.Fingerprint())
	}
	unset := compare.DefaultPolicy()
	unset.RequiredDimensions = nil
	if got, want := unset.Fingerprint(), compare.DefaultPolicy().Fingerprint(); got != want {
		t.Errorf("nil and empty required_dimensions: got %s, want %s", got, want)
	}
	other := compare.DefaultPolicy()
	other.RequireScorecardPass = false
	if other.Fingerprint() == compare.DefaultPolicy().Fingerprint() {
		t.Error("another policy has the same fingerprint")
	}
}

func TestNormalizedChangesAndSharesNothing(t *testing.T) {
	t.Parallel()
	p := compare.DefaultPolicy()
	p.RequiredDimensions = []string{"latency", "cost", "cost"}
	n := p.Normalized()
	n.RequiredDimensions[0] = "changed"
	*n.Dimensions["cost"].FailDelta = 1
	n.Dimensions["new"] = compare.Thresholds{}
	want := compare.DefaultPolicy()
	want.RequiredDimensions = []string{"latency", "cost", "cost"}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("the policy changed (-want +got):\n%s", diff)
	}
}
