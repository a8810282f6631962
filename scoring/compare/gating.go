package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// gating is one gate being worked out.
type gating struct {
	policy              Policy
	comparison          Comparison
	baseline, candidate Snapshot
	required            []string
	results             map[string]DimensionResult
	rules               []RuleResult
	tested              []StatisticalResult
}

// decision is a gate's answer. Triggered holds every reason code that applied
// at the deciding step.
type decision struct {
	verdict   Verdict
	reason    string
	summary   string
	triggered []string
}

func (d decision) evidence() string {
	if d.verdict == InsufficientEvidence {
		return "insufficient"
	}
	return "sufficient"
}

// undecided leaves the answer to the next question.
func undecided() (decision, bool) { return decision{}, false }

func decided(v Verdict, reason, summary string) (decision, bool) {
	return decision{verdict: v, reason: reason, summary: summary, triggered: []string{reason}}, true
}

// decide asks whether there is enough evidence, then whether the candidate
// passed on its own, and only then what changed.
func (g *gating) decide() decision {
	for _, ask := range []func() (decision, bool){
		g.invalidPolicy,
		g.notComparable,
		g.tooManyInvalid,
		g.sequential,
		g.noLimitEvidence,
		g.evidenceMissing,
		g.dimensionMissing,
		g.untested,
		g.passUnknown,
		g.notPassed,
		g.failures,
		g.warnings,
	} {
		if d, ok := ask(); ok {
			return d
		}
	}
	summary := "the candidate is within the thresholds of " + quote(g.policy.Key)
	if s := g.decidedBy(); s != nil {
		summary = s.Words() + "; nothing else of " + quote(g.policy.Key) + " stands against it"
	}
	return decision{verdict: Pass, reason: GateWithinThresholds, summary: summary}
}

func (g *gating) invalidPolicy() (decision, bool) {
	if err := g.policy.Validate(); err != nil {
		return decided(InsufficientEvidence, GatePolicyInvalid, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return undecided()
}

func (g *gating) notComparable() (decision, bool) {
	if !g.policy.RequireComparable || g.comparison.Status == Comparable {
		return undecided()
	}
	return decided(InsufficientEvidence, GateNotComparable,
		fmt.Sprintf("%s (%s)", g.comparison.Summary, g.comparison.ReasonCode))
}

// tooManyInvalid looks at the trials, never at the word a scorecard's validity
// is: a side within its run's --max-invalid, or the policy's limit that stands in
// its place, is judged by its valid trials.
func (g *gating) tooManyInvalid() (decision, bool) {
	for _, side := range []struct {
		name string
		Snapshot
	}{{"candidate", g.candidate}, {"baseline", g.baseline}} {
		if !hasValidTrial(side.Snapshot) {
			return decided(InsufficientEvidence, side.name+gateScorecardInvalid,
				fmt.Sprintf("the %s has no valid trial", side.name))
		}
		if n := side.Scorecard.InvalidTrials; n > side.MaxInvalid && g.policy.MaxInvalid == nil && g.policy.MaxInvalidShare == nil {
			return decided(InsufficientEvidence, side.name+gateScorecardDegraded,
				fmt.Sprintf("the %s has %s, its run allows %d", side.name, count(n, "invalid trial"), side.MaxInvalid))
		}
	}
	return undecided()
}

func (g *gating) evidenceMissing() (decision, bool) {
	missing := g.missingFields()
	if !g.policy.RequireEvidenceQuality || len(missing) == 0 {
		return undecided()
	}
	return decided(InsufficientEvidence, GateEvidenceMissing, "evidence is missing: "+names(missing))
}

func (g *gating) dimensionMissing() (decision, bool) {
	missing := g.missingDimensions()
	if len(missing) == 0 {
		return undecided()
	}
	d := decision{verdict: InsufficientEvidence, reason: GateDimensionMissing,
		summary: "required on both sides and not available: " + names(missing)}
	for _, key := range missing {
		d.triggered = append(d.triggered, GateDimensionMissing+":"+key)
	}
	return d, true
}

func (g *gating) passUnknown() (decision, bool) {
	if !g.policy.RequireScorecardPass || g.candidate.passed() != nil || g.decidedBy() != nil {
		return undecided()
	}
	return decided(InsufficientEvidence, GatePassUnknown, "the candidate's scorecard has no verdict")
}

func (g *gating) notPassed() (decision, bool) {
	passed := g.candidate.passed()
	if !g.policy.RequireScorecardPass || passed == nil || *passed || g.decidedBy() != nil {
		return undecided()
	}
	card := g.candidate.Scorecard
	return decided(Fail, GateNotPassed, fmt.Sprintf("the candidate did not pass: pass rate %s over %s, the minimum is %s",
		number(*card.PassRate), count(card.PassedTrials+card.FailedTrials, "valid trial"), number(g.candidate.MinPassRate)))
}

// failures collects every reason to fail.
func (g *gating) failures() (decision, bool) {
	found := slices.Concat(g.thresholds(DimensionFail), g.regressed(onRegressionFail), g.overLimits())
	switch divergence := g.comparison.FailureDivergence; {
	case divergence == CandidateFailedBaselineSucceeded && g.policy.FailOnCandidateFailure:
		found = append(found, finding{divergence, onlyCandidateFailed})
	case divergence == BothFailedDifferently && g.policy.FailOnBothFailedDifferently:
		found = append(found, finding{divergence, bothFailed})
	}
	return combine(Fail, found)
}

func (g *gating) warnings() (decision, bool) {
	return combine(Warn, append(g.thresholds(DimensionWarn), g.regressed(onRegressionWarn)...))
}

// finding is one reason to fail or warn.
type finding struct{ code, why string }

// thresholds finds the dimensions with the outcome, which is warn or fail.
func (g *gating) thresholds(outcome string) []finding {
	var found []finding
	for key, r := range g.results {
		if r.Outcome != outcome {
			continue
		}
		code, limit := gateThresholdFail+key, r.FailThreshold
		if outcome == DimensionWarn {
			code, limit = gateThresholdWarn+key, r.WarnThreshold
		}
		found = append(found, finding{code, fmt.Sprintf("%s fell by %s, the %s threshold is %s",
			quote(key), number(*r.WorseningDelta), outcome, number(*limit))})
	}
	return found
}

// combine makes one decision of all findings; the alphabetically first code
// becomes its reason.
func combine(v Verdict, found []finding) (decision, bool) {
	if len(found) == 0 {
		return undecided()
	}
	slices.SortFunc(found, func(a, b finding) int { return cmp.Compare(a.code, b.code) })
	d := decision{verdict: v, reason: found[0].code}
	var why []string
	for _, f := range found {
		d.triggered = append(d.triggered, f.code)
		why = append(why, f.why)
	}
	d.summary = strings.Join(why, "; ")
	return d, true
}

// missingDimensions are the required ones without a delta.
func (g *gating) missingDimensions() []string {
	var missing []string
	for _, key := range g.required {
		if d := g.comparison.keyDelta(key); d.State != DeltaAvailable || d.Delta == nil {
			missing = append(missing, key)
		}
	}
	return missing
}

func (g *gating) missingFields() []string {
	fields := []string{}
	for _, key := range g.missingDimensions() {
		fields = append(fields, missingDimension(key))
	}
	return fields
}

// notes are the comparison's warnings and what the policy asked for in vain.
func (g *gating) notes() []string {
	notes := append([]string{}, g.comparison.EvidenceQuality.Warnings...)
	var undeclared []string
	standard := DefaultPolicy().Dimensions
	for key, r := range g.results {
		if _, ok := standard[key]; r.Outcome == DimensionNotDeclared && !ok {
			undeclared = append(undeclared, key)
		}
	}
	if len(undeclared) > 0 {
		slices.Sort(undeclared)
		notes = append(notes, "the policy has thresholds for dimensions that neither side declares: "+names(undeclared))
	}
	if len(g.required) == 0 {
		notes = append(notes, "neither side declares a dimension of the policy, so no threshold was applied")
	}
	return notes
}
