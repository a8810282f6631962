package compare

import (
	"fmt"
	"slices"
	"time"
)

// Comparison is what a candidate did against a baseline. Its JSON is the
// document that `compare runs` prints.
type Comparison struct {
	State      string `json:"state"`
	Status     string `json:"status"`
	ReasonCode string `json:"reason_code"` // empty when comparable

	BaselineRunID       string `json:"baseline_run_id"`
	BaselineRunAgentID  string `json:"baseline_run_agent_id"`
	CandidateRunID      string `json:"candidate_run_id"`
	CandidateRunAgentID string `json:"candidate_run_agent_id"`
	// GeneratedAt is left to the caller, who has a clock.
	GeneratedAt time.Time `json:"generated_at,omitzero"`

	// KeyDeltas has a row for every declared dimension, the largest change
	// first. Empty when not comparable.
	KeyDeltas []Delta `json:"key_deltas"`
	// AgentDeltas are overall score, pass rate, and cost, latency and tokens
	// per valid trial. They inform; only limits and statistics of a policy read them.
	AgentDeltas []Delta        `json:"agent_deltas"`
	Cases       CaseComparison `json:"cases"`
	// Statistics says which deltas are more than chance; nil when not comparable.
	Statistics *Statistics `json:"statistics"`

	// FailureDivergence is empty unless a run agent failed as a whole.
	FailureDivergence string          `json:"failure_divergence,omitempty"`
	ScorecardPass     ScorecardPass   `json:"scorecard_pass"`
	RegressionReasons []string        `json:"regression_reasons"`
	EvidenceQuality   EvidenceQuality `json:"evidence_quality"`
	Summary           string          `json:"summary"`
}

// The values of [Comparison.State]; [Comparison.Status] is the first or the
// last of them. PartialEvidence is comparable, with something missing or
// something to be warned of.
const (
	Comparable      = "comparable"
	PartialEvidence = "partial_evidence"
	NotComparable   = "not_comparable"
)

// The values of [Comparison.ReasonCode], in the order they are looked for.
const (
	ReasonBaselineUnresolved  = "baseline_run_agent_unresolved"
	ReasonCandidateUnresolved = "candidate_run_agent_unresolved"
	ReasonPackMismatch        = "challenge_pack_version_mismatch" // the slugs differ
	ReasonInputSetMismatch    = "challenge_input_set_mismatch"
	ReasonSpecMismatch        = "evaluation_spec_mismatch"
	ReasonMissingScorecard    = "missing_scorecard"
	ReasonCoverageMismatch    = "challenge_coverage_mismatch" // no case is shared
)

// The values of [Comparison.FailureDivergence]. Two failed run agents failed
// differently when the codes and phases of their invalid trials differ.
const (
	CandidateFailedBaselineSucceeded = "candidate_failed_baseline_succeeded"
	CandidateSucceededBaselineFailed = "candidate_succeeded_baseline_failed"
	BothFailedDifferently            = "both_failed_differently"
)

// ScorecardPass is the verdict of each side's scorecard, nil when unknown.
type ScorecardPass struct {
	Baseline  *bool `json:"baseline"`
	Candidate *bool `json:"candidate"`
}

// EvidenceQuality says what the comparison could not look at. Neither list is
// ever nil.
type EvidenceQuality struct {
	// MissingFields are paths such as "dimension_deltas.cost".
	MissingFields []string `json:"missing_fields"`
	Warnings      []string `json:"warnings"`
}

// Compare holds a candidate against a baseline. Two sides are comparable when
// pack slug, input set and evaluation spec digest agree; they are compared
// over the cases with equal key and digest that both have measured, and the
// other cases are listed. Where that is all cases, the scores are those of the
// scorecards. Compare reads no clock and changes neither side.
func Compare(baseline, candidate Snapshot) Comparison {
	c := Comparison{
		State: Comparable, Status: Comparable,
		BaselineRunID: baseline.RunID, BaselineRunAgentID: baseline.RunAgentID,
		CandidateRunID: candidate.RunID, CandidateRunAgentID: candidate.RunAgentID,
		KeyDeltas: []Delta{}, AgentDeltas: []Delta{},
		Cases:             pairCases(Snapshot{}, Snapshot{}),
		ScorecardPass:     ScorecardPass{Baseline: baseline.passed(), Candidate: candidate.passed()},
		RegressionReasons: []string{},
		EvidenceQuality:   EvidenceQuality{MissingFields: []string{}, Warnings: []string{}},
	}
	if code, why := mismatch(baseline, candidate); code != "" {
		return c.refuse(code, why)
	}
	c.Cases = pairCases(baseline, candidate)
	if why := c.Cases.nothingShared(hasValidTrial(baseline) && hasValidTrial(candidate)); why != "" {
		return c.refuse(ReasonCoverageMismatch, why)
	}
	c.FailureDivergence = failureDivergence(baseline, candidate)
	b, k := measureBoth(baseline, candidate, &c.Cases)
	c.KeyDeltas, c.AgentDeltas = dimensionDeltas(b, k), agentDeltas(b, k)
	c.Statistics = doubts(c, baseline, candidate)
	c.EvidenceQuality = evidenceQuality(c, b, k)
	c.EvidenceQuality.Warnings = append(c.EvidenceQuality.Warnings, stoppedWarnings(baseline, candidate)...)
	if len(c.EvidenceQuality.MissingFields)+len(c.EvidenceQuality.Warnings) > 0 {
		c.State = PartialEvidence
	}
	c.RegressionReasons = regressionReasons(c)
	c.Summary = summary(c, baseline, candidate)
	return c
}

// OldBaseline is the age from which a comparison says that its baseline is old: the
// model behind a name changes in that time.
const OldBaseline = 30 * 24 * time.Hour

// aheadOfClock is how far ahead of the clock a date may lie, as machines differ,
// before it is wrong.
const aheadOfClock = 24 * time.Hour

// At dates the comparison, and warns of a baseline that was old by then, or has
// not been run yet.
func (c Comparison) At(now time.Time, baseline Snapshot) Comparison {
	c.GeneratedAt = now.UTC()
	if baseline.RanAt.IsZero() || c.Status == NotComparable {
		return c
	}
	var warning string
	switch age := now.Sub(baseline.RanAt); {
	case age >= OldBaseline:
		warning = fmt.Sprintf("the baseline's run is %s old; run its agent again and set a new one", count(int(age.Hours()/24), "day"))
	case age < -aheadOfClock:
		warning = "the baseline's run is dated ahead of this clock, so its age is not known"
	default:
		return c
	}
	c.State = PartialEvidence
	c.EvidenceQuality.Warnings = append(slices.Clip(c.EvidenceQuality.Warnings), warning)
	return c
}

func (c Comparison) refuse(code, why string) Comparison {
	c.State, c.Status, c.ReasonCode = NotComparable, NotComparable, code
	c.Summary = "not comparable: " + why
	return c
}

// mismatch finds the first reason why the two sides cannot be compared, apart
// from their cases.
func mismatch(b, c Snapshot) (code, why string) {
	switch {
	case b.RunAgentID == "":
		return ReasonBaselineUnresolved, "the baseline names no run agent"
	case c.RunAgentID == "":
		return ReasonCandidateUnresolved, "the candidate names no run agent"
	case b.Pack.Slug != c.Pack.Slug:
		return ReasonPackMismatch, fmt.Sprintf("the packs differ: %s and %s", quote(b.Pack.Slug), quote(c.Pack.Slug))
	case b.InputSet != c.InputSet:
		return ReasonInputSetMismatch, fmt.Sprintf("the input sets differ: %s and %s", quote(b.InputSet), quote(c.InputSet))
	case b.EvaluationSpecDigest != c.EvaluationSpecDigest:
		return ReasonSpecMismatch, "the evaluation specs differ, so scores do not mean the same; rescore one side or run it again"
	case !b.final():
		return ReasonMissingScorecard, "the baseline " + noScorecard(b)
	case !c.final():
		return ReasonMissingScorecard, "the candidate " + noScorecard(c)
	}
	return "", ""
}

func noScorecard(s Snapshot) string {
	return fmt.Sprintf("has no final scorecard (run %s, run agent %s)", quote(s.RunStatus), quote(s.RunAgentStatus))
}

func failureDivergence(baseline, candidate Snapshot) string {
	switch b, c := baseline.failed(), candidate.failed(); {
	case c && !b:
		return CandidateFailedBaselineSucceeded
	case b && !c:
		return CandidateSucceededBaselineFailed
	case b && c && !sameCauses(baseline.InvalidCauses, candidate.InvalidCauses):
		return BothFailedDifferently
	}
	return ""
}

// sameCauses ignores how often a cause occurred.
func sameCauses(a, b []InvalidCause) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Code != b[i].Code || a[i].Phase != b[i].Phase {
			return false
		}
	}
	return true
}

// measureBoth takes the scorecards' own numbers when all cases are compared,
// and otherwise works them out over the compared ones. A side without a valid
// trial leaves nothing to compare; then too the scorecards are shown as they are.
func measureBoth(baseline, candidate Snapshot, cases *CaseComparison) (b, c side) {
	var only map[string]bool
	if !cases.whole() && hasValidTrial(baseline) && hasValidTrial(candidate) {
		only = cases.compared()
	}
	return measure(baseline, only), measure(candidate, only)
}

// hasValidTrial says whether anything was measured at all.
func hasValidTrial(s Snapshot) bool {
	return s.Scorecard != nil && s.Scorecard.PassedTrials+s.Scorecard.FailedTrials > 0
}
