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

// Validate reports everything that is wrong with the policy, one problem a
// line, each beginning with the field. An empty policy is not taken for the
// default one.
func (p Policy) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if strings.TrimSpace(p.Key) == "" {
		add("policy_key: missing")
	}
	if p.Version < 1 {
		add("policy_version: must be 1 or more, got %d", p.Version)
	}
	if len(p.Dimensions) == 0 {
		add("dimensions: at least one dimension needs a threshold")
	}
	for _, key := range slices.Sorted(maps.Keys(p.Dimensions)) {
		for _, what := range p.Dimensions[key].problems() {
			add("dimensions[%s]%s", quote(key), what)
		}
		if !isKey(key) {
			add("dimensions[%s]: a key is neither empty nor surrounded by spaces", quote(key))
		}
	}
	for i, key := range p.RequiredDimensions {
		if _, ok := p.Dimensions[key]; !ok {
			add("required_dimensions[%d]: %s has no threshold in dimensions", i, quote(key))
		}
	}
	for _, what := range p.RegressionGateRules.problems() {
		add("regression_gate_rules.%s", what)
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("gate policy %s: %w", quote(p.Key), errors.Join(problems...))
}

func (t Thresholds) problems() []string {
	var out []string
	if t.WarnDelta == nil && t.FailDelta == nil {
		out = append(out, ": needs warn_delta, fail_delta or both")
	}
	for _, d := range []struct {
		field string
		value *float64
	}{{"warn_delta", t.WarnDelta}, {"fail_delta", t.FailDelta}} {
		if d.value != nil && (finite(d.value) == nil || *d.value < 0 || *d.value > 1) {
			out = append(out, fmt.Sprintf(".%s: must be between 0 and 1, got %v", d.field, *d.value))
		}
	}
	if t.WarnDelta != nil && t.FailDelta != nil && *t.WarnDelta > *t.FailDelta {
		out = append(out, fmt.Sprintf(".warn_delta: %v is above fail_delta %v", *t.WarnDelta, *t.FailDelta))
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
