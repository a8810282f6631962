package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Policy says what a gate demands. Validate it before use.
type Policy struct {
	Key     string `json:"policy_key"`
	Version int    `json:"policy_version"`

	// RequireComparable refuses to judge sides that are not comparable.
	RequireComparable bool `json:"require_comparable"`
	// RequireEvidenceQuality refuses to judge when evidence is missing for a
	// required dimension; evidence for anything else is never demanded.
	RequireEvidenceQuality bool `json:"require_evidence_quality"`
	// FailOnCandidateFailure fails a candidate whose run agent failed as a
	// whole where the baseline's did not.
	FailOnCandidateFailure bool `json:"fail_on_candidate_failure"`
	// FailOnBothFailedDifferently fails when both failed, for other causes.
	FailOnBothFailedDifferently bool `json:"fail_on_both_failed_differently"`
	// RequireScorecardPass fails a candidate whose own scorecard did not pass.
	RequireScorecardPass bool `json:"require_scorecard_pass"`

	// RequiredDimensions must be available on both sides. Empty means those
	// of Dimensions that the evaluation spec of either side declares.
	RequiredDimensions []string `json:"required_dimensions"`
	// Dimensions are the thresholds, by dimension key.
	Dimensions map[string]Thresholds `json:"dimensions"`

	// RegressionGateRules are about cases of regression suites; nil: no rule.
	RegressionGateRules *RegressionRules `json:"regression_gate_rules,omitempty"`

	// Statistics lets evidence decide what has regressed; nil: the deltas do.
	Statistics *StatisticalRules `json:"statistics,omitempty"`

	// Sequential is what eval start --until-decided aims at; nil: the default aim.
	Sequential *SequentialRules `json:"sequential,omitempty"`

	// The limits below do not exist where they are nil. A limit whose number is
	// not known is insufficient evidence.

	// MinPassRate is the least share of the candidate's valid trials to pass.
	MinPassRate *float64 `json:"min_pass_rate,omitempty"`
	// MaxInvalid is the most invalid trials of a side, and MaxInvalidShare the
	// largest share of its trials. Either stands in place of the run's --max-invalid.
	MaxInvalid      *int     `json:"max_invalid,omitempty"`
	MaxInvalidShare *float64 `json:"max_invalid_share,omitempty"`
	// MaxCostUSDPerTrial is the most the candidate's valid trials cost on average.
	MaxCostUSDPerTrial *float64 `json:"max_cost_usd_per_trial,omitempty"`
	// MaxLatencyMS is the most milliseconds they take on average.
	MaxLatencyMS *float64 `json:"max_latency_ms,omitempty"`
	// MaxCostIncrease bounds the cost per trial over the compared cases: 0.2 is a
	// fifth more than the baseline's.
	MaxCostIncrease *float64 `json:"max_cost_increase,omitempty"`
	// MaxLatencyIncrease bounds the latency in the same way.
	MaxLatencyIncrease *float64 `json:"max_latency_increase,omitempty"`
	// MaxTokensIncrease bounds the tokens per trial in the same way.
	MaxTokensIncrease *float64 `json:"max_tokens_increase,omitempty"`
	// MinComparedCases is the fewest cases to be compared.
	MinComparedCases *int `json:"min_compared_cases,omitempty"`
	// MinCoverage is the least share of the candidate's cases to be compared.
	MinCoverage *float64 `json:"min_coverage,omitempty"`
	// MaxBaselineAgeDays is how old the baseline's run may be.
	MaxBaselineAgeDays *float64 `json:"max_baseline_age_days,omitempty"`
}

// Thresholds bound how much a dimension's score may worsen, 0..1. Reaching a
// threshold is enough; at 0 any worsening is. A nil threshold does not exist.
type Thresholds struct {
	WarnDelta *float64 `json:"warn_delta,omitempty"`
	FailDelta *float64 `json:"fail_delta,omitempty"`
}

// DefaultPolicy is the policy of a gate that was given none.
func DefaultPolicy() Policy {
	return Policy{
		Key: "default", Version: 1,
		RequireComparable: true, RequireEvidenceQuality: true, FailOnCandidateFailure: true,
		FailOnBothFailedDifferently: true, RequireScorecardPass: true,
		RequiredDimensions: []string{},
		Dimensions: map[string]Thresholds{
			"correctness": {WarnDelta: new(0.02), FailDelta: new(0.05)},
			"reliability": {WarnDelta: new(0.02), FailDelta: new(0.05)},
			"latency":     {WarnDelta: new(0.05), FailDelta: new(0.15)},
			"cost":        {WarnDelta: new(0.10), FailDelta: new(0.25)},
		},
	}
}

// PolicyProblem is one thing that is wrong with a policy. Field is a path such
// as dimensions["cost"].fail_delta.
type PolicyProblem struct{ Field, Message string }

// Problems are everything that is wrong with the policy. An empty policy is not
// taken for the default one.
func (p Policy) Problems() []PolicyProblem {
	var list []PolicyProblem
	add := func(field, format string, args ...any) {
		list = append(list, PolicyProblem{field, fmt.Sprintf(format, args...)})
	}
	if strings.TrimSpace(p.Key) == "" {
		add("policy_key", "missing")
	}
	if p.Version < 1 {
		add("policy_version", "must be 1 or more, got %d", p.Version)
	}
	if len(p.Dimensions) == 0 {
		add("dimensions", "at least one dimension needs a threshold")
	}
	for _, key := range slices.Sorted(maps.Keys(p.Dimensions)) {
		at := "dimensions[" + quote(key) + "]"
		for _, what := range p.Dimensions[key].problems() {
			add(at+what.Field, "%s", what.Message)
		}
		if !isKey(key) {
			add(at, "a key is neither empty nor surrounded by spaces")
		}
	}
	for i, key := range p.RequiredDimensions {
		if _, ok := p.Dimensions[key]; !ok {
			add(fmt.Sprintf("required_dimensions[%d]", i), "%s has no threshold in dimensions", quote(key))
		}
	}
	for _, what := range p.RegressionGateRules.problems() {
		add("regression_gate_rules."+what.Field, "%s", what.Message)
	}
	return slices.Concat(list, p.Statistics.problems(), p.Sequential.problems(), p.limitProblems())
}

// Validate reports [Policy.Problems] as one error, one problem a line, each
// beginning with the field.
func (p Policy) Validate() error {
	var problems []error
	for _, what := range p.Problems() {
		problems = append(problems, fmt.Errorf("%s: %s", what.Field, what.Message))
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("gate policy %s: %w", quote(p.Key), errors.Join(problems...))
}

func (t Thresholds) problems() []PolicyProblem {
	var out []PolicyProblem
	if t.WarnDelta == nil && t.FailDelta == nil {
		out = append(out, PolicyProblem{"", "needs warn_delta, fail_delta or both"})
	}
	for _, d := range []struct {
		field string
		value *float64
	}{{"warn_delta", t.WarnDelta}, {"fail_delta", t.FailDelta}} {
		if d.value != nil && (finite(d.value) == nil || *d.value < 0 || *d.value > 1) {
			out = append(out, PolicyProblem{"." + d.field, fmt.Sprintf("must be between 0 and 1, got %v", *d.value)})
		}
	}
	if t.WarnDelta != nil && t.FailDelta != nil && *t.WarnDelta > *t.FailDelta {
		out = append(out, PolicyProblem{".warn_delta", fmt.Sprintf("%v is above fail_delta %v", *t.WarnDelta, *t.FailDelta)})
	}
	return out
}

func isKey(s string) bool { return s != "" && s == strings.TrimSpace(s) }

// Normalized is the policy in the one form that equal policies share: required
// dimensions sorted and each once, no empty fields. It shares nothing with p.
func (p Policy) Normalized() Policy {
	p.RequiredDimensions = slices.Compact(slices.Sorted(slices.Values(p.RequiredDimensions)))
	if p.RequiredDimensions == nil {
		p.RequiredDimensions = []string{}
	}
	dimensions := make(map[string]Thresholds, len(p.Dimensions))
	for key, t := range p.Dimensions {
		dimensions[key] = Thresholds{WarnDelta: clonePointer(t.WarnDelta), FailDelta: clonePointer(t.FailDelta)}
	}
	p.Dimensions = dimensions
	p.RegressionGateRules = p.RegressionGateRules.normalized()
	p.Statistics, p.Sequential = p.Statistics.normalized(), p.Sequential.normalized()
	return p
}

func clonePointer[T any](v *T) *T {
	if v == nil {
		return nil
	}
	return new(*v)
}

// Fingerprint is the SHA-256, in hex, of the normalized policy's JSON. It is
// empty for a policy that has no JSON, which Validate refuses.
func (p Policy) Fingerprint() string {
	doc, err := json.Marshal(p.Normalized())
	if err != nil {
		return ""
	}
	digest := sha256.Sum256(doc)
	return hex.EncodeToString(digest[:])
}
