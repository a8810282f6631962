package compare

import (
	"slices"
	"time"

	"github.com/agentclash/agentclash/scoring"
)

// Verdict is what a gate says.
type Verdict string

// The verdicts of a gate.
const (
	Pass                 Verdict = "pass"
	Warn                 Verdict = "warn"
	Fail                 Verdict = "fail"
	InsufficientEvidence Verdict = "insufficient_evidence"
)

// ExitStatus is the process status of a verdict: 0 pass, 1 fail, 2 warn,
// 3 insufficient evidence, which is also what an unknown verdict amounts to.
func (v Verdict) ExitStatus() int {
	switch v {
	case Pass:
		return 0
	case Fail:
		return 1
	case Warn:
		return 2
	}
	return 3
}

// GateResult is the record of one gate. Its JSON is the `release_gate`
// document.
type GateResult struct {
	// ID and GeneratedAt are left to the caller, who has ids and a clock.
	ID      string  `json:"id,omitempty"`
	Verdict Verdict `json:"verdict"`
	// ReasonCode names the first thing that decided.
	ReasonCode        string            `json:"reason_code"`
	Summary           string            `json:"summary"`
	EvidenceStatus    string            `json:"evidence_status"` // sufficient or insufficient
	PolicyKey         string            `json:"policy_key"`
	PolicyVersion     int               `json:"policy_version"`
	PolicyFingerprint string            `json:"policy_fingerprint"`
	PolicySnapshot    Policy            `json:"policy_snapshot"` // normalized
	EvaluationDetails EvaluationDetails `json:"evaluation_details"`
	// Sequential is what a candidate that was run until it was decided came to; nil
	// for any other, and against another baseline than that of its test.
	Sequential  *Sequential `json:"sequential,omitempty"`
	GeneratedAt time.Time   `json:"generated_at,omitzero"`
}

// EvaluationDetails is everything a gate looked at. No list is ever nil.
type EvaluationDetails struct {
	ComparisonStatus string `json:"comparison_status"`
	// DimensionResults has a row for every dimension of the policy.
	DimensionResults map[string]DimensionResult `json:"dimension_results"`
	// TriggeredConditions are the reason codes that hold at the deciding step.
	TriggeredConditions []string `json:"triggered_conditions"`
	Warnings            []string `json:"warnings"`
	// MissingFields concern required dimensions only; the comparison has all.
	MissingFields []string `json:"missing_fields"`
	// RequiredDimensions are those that were required of these two sides.
	RequiredDimensions []string `json:"required_dimensions"`
	// RegressionViolations are the regression cases that break a rule of the policy.
	RegressionViolations []RegressionViolation `json:"regression_violations"`
	// RuleResults has a row for every limit of the policy and side that it is of,
	// StatisticalResults one for everything that its statistics tested.
	RuleResults        []RuleResult        `json:"rule_results,omitempty"`
	StatisticalResults []StatisticalResult `json:"statistical_results,omitempty"`
}

// DimensionResult is one dimension held against its thresholds. WorseningDelta
// is the observed delta turned round: positive is worse.
type DimensionResult struct {
	State           string   `json:"state"` // of the comparison's delta
	BetterDirection string   `json:"better_direction"`
	ObservedDelta   *float64 `json:"observed_delta"`
	WorseningDelta  *float64 `json:"worsening_delta"`
	WarnThreshold   *float64 `json:"warn_threshold"`
	FailThreshold   *float64 `json:"fail_threshold"`
	Outcome         string   `json:"outcome"`
}

// The values of [DimensionResult.Outcome].
const (
	DimensionPass        = "pass"
	DimensionWarn        = "warn"
	DimensionFail        = "fail"
	DimensionUnavailable = "unavailable"
	DimensionNotDeclared = "not_declared" // by neither side
	// DimensionCannotTell reached a threshold, and may have done so by chance.
	DimensionCannotTell = "cannot_tell"
)

// The reason codes of a gate, beside [CandidateFailedBaselineSucceeded] and
// [BothFailedDifferently]. Those of a scorecard begin with the side, those of a
// threshold end in the dimension: candidate_scorecard_degraded,
// threshold_fail_correctness.
const (
	GateWithinThresholds  = "within_thresholds"
	GateNotComparable     = "comparison_not_comparable"
	GateEvidenceMissing   = "comparison_evidence_missing"
	GateDimensionMissing  = "required_dimension_unavailable"
	GatePassUnknown       = "scorecard_pass_unknown"
	GateNotPassed         = "scorecard_not_passed"
	GatePolicyInvalid     = "policy_invalid"
	gateScorecardInvalid  = "_scorecard_invalid"
	gateScorecardDegraded = "_scorecard_degraded"
	gateThresholdFail     = "threshold_fail_"
	gateThresholdWarn     = "threshold_warn_"
)

// Gate holds the candidate against the policy. The comparison must be that of
// the two snapshots. Questions are asked in a fixed order, and the first that
// has an answer decides: is the policy valid, are the sides comparable, are too
// many trials invalid (candidate, then baseline), has the candidate's own sequential
// test found a regression or nothing, is evidence too thin for a limit of the policy, is evidence missing, is a required dimension unavailable,
// can what is to be tested be tested, is the candidate's own verdict unknown, did
// it not pass, is there a reason to fail, is there a reason to warn. A sequential test
// that found no regression stands in for what reads chance as a fall. Then the rules
// about regression cases have their say. A policy that Validate refuses never
// passes anything.
func Gate(p Policy, c Comparison, baseline, candidate Snapshot) GateResult {
	policy := p.Normalized()
	g := gating{policy: policy, comparison: c, baseline: baseline, candidate: candidate}
	g.required = requiredDimensions(policy, baseline, candidate)
	g.results = make(map[string]DimensionResult, len(policy.Dimensions))
	for key, t := range policy.Dimensions {
		declared := baseline.declares(key) || candidate.declares(key)
		g.results[key] = judgeDimension(c.keyDelta(key), t, declared)
	}
	g.rules, g.tested = g.limits(), g.testRegressions()
	weighed := append(g.weighThresholds(), g.leaveToTest()...)
	regressions := g.regressions()
	d := regressions.merge(g.decide())
	return GateResult{
		Verdict: d.verdict, ReasonCode: d.reason, Summary: d.summary, EvidenceStatus: d.evidence(),
		PolicyKey: policy.Key, PolicyVersion: policy.Version,
		PolicyFingerprint: policy.Fingerprint(), PolicySnapshot: policy,
		EvaluationDetails: EvaluationDetails{
			ComparisonStatus:     c.Status,
			DimensionResults:     g.results,
			TriggeredConditions:  append([]string{}, d.triggered...),
			Warnings:             append(g.notes(), append(weighed, regressions.warnings...)...),
			MissingFields:        g.missingFields(),
			RequiredDimensions:   g.required,
			RegressionViolations: regressions.violations,
			RuleResults:          g.rules,
			StatisticalResults:   g.tested,
		},
		Sequential: g.decidedBy(),
	}
}

// requiredDimensions are the policy's own list or, without one, those of its
// table that a side declares; sorted.
func requiredDimensions(p Policy, baseline, candidate Snapshot) []string {
	required := append([]string{}, p.RequiredDimensions...)
	if len(required) > 0 {
		return required
	}
	for key := range p.Dimensions {
		if baseline.declares(key) || candidate.declares(key) {
			required = append(required, key)
		}
	}
	slices.Sort(required)
	return required
}

// judgeDimension holds one delta against its thresholds. What did not worsen
// triggers nothing, whatever the threshold.
func judgeDimension(d Delta, t Thresholds, declared bool) DimensionResult {
	r := DimensionResult{State: d.State, BetterDirection: scoring.Higher,
		WarnThreshold: t.WarnDelta, FailThreshold: t.FailDelta, Outcome: DimensionPass}
	switch {
	case !declared:
		r.Outcome = DimensionNotDeclared
		return r
	case d.State != DeltaAvailable || d.Delta == nil:
		r.Outcome = DimensionUnavailable
		return r
	}
	worsening := round(-*d.Delta)
	r.ObservedDelta, r.WorseningDelta = new(*d.Delta), new(worsening)
	switch {
	case reached(worsening, t.FailDelta):
		r.Outcome = DimensionFail
	case reached(worsening, t.WarnDelta):
		r.Outcome = DimensionWarn
	}
	return r
}

func reached(worsening float64, threshold *float64) bool {
	return threshold != nil && worsening > 0 && worsening >= round(*threshold)
}
