package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// RegressionRules say what cases of regression suites may do to a gate.
type RegressionRules struct {
	// NoBlockingFailure fails a candidate that fails a blocking case.
	NoBlockingFailure bool `json:"no_blocking_regression_failure,omitempty"`
	// NoNewBlockingFailure fails one that fails a blocking case which the baseline
	// did not.
	NoNewBlockingFailure bool `json:"no_new_blocking_failure_vs_baseline,omitempty"`
	// MaxWarningFailures warns when more cases of the severity warning fail.
	MaxWarningFailures *int `json:"max_warning_regression_failures,omitempty"`
	// SuiteIDs are the suites that count, by name; none: all.
	SuiteIDs []string `json:"suite_ids,omitempty"`
}

// The reason codes of regression rules.
const (
	GateRegressionBlocking    = "regression_blocking_failure"
	GateRegressionNewBlocking = "regression_new_blocking_failure"
	GateRegressionWarnings    = "regression_warning_threshold_exceeded"
	GateRegressionNoEvidence  = "regression_candidate_evidence_missing"
)

// The rules as violations name them.
const (
	ruleBlocking    = "no_blocking_regression_failure"
	ruleNewBlocking = "no_new_blocking_failure_vs_baseline"
	ruleWarnings    = "max_warning_regression_failures"
)

// The severities of regression cases that rules know.
const (
	severityBlocking = "blocking"
	severityWarning  = "warning"
)

// RegressionViolation is a regression case that breaks a rule.
type RegressionViolation struct {
	Rule string `json:"rule"`
	scoring.Regression
	CaseKey string `json:"case_key"`
	// ObservedCount is how many cases failed, for a rule that counts.
	ObservedCount int `json:"observed_count,omitempty"`
}

func (r *RegressionRules) empty() bool {
	return r == nil || !r.NoBlockingFailure && !r.NoNewBlockingFailure && r.MaxWarningFailures == nil
}

func (r *RegressionRules) problems() []PolicyProblem {
	var out []PolicyProblem
	if r == nil {
		return nil
	}
	if r.MaxWarningFailures != nil && *r.MaxWarningFailures < 0 {
		out = append(out, PolicyProblem{"max_warning_regression_failures", fmt.Sprintf("must be 0 or more, got %d", *r.MaxWarningFailures)})
	}
	for i, id := range r.SuiteIDs {
		if !isKey(id) {
			out = append(out, PolicyProblem{fmt.Sprintf("suite_ids[%d]", i), "a name is neither empty nor surrounded by spaces"})
		}
	}
	if r.empty() && len(r.SuiteIDs) > 0 {
		out = append(out, PolicyProblem{"suite_ids", "names suites, but no rule is on"})
	}
	return out
}

// normalized is nil for rules that say nothing.
func (r *RegressionRules) normalized() *RegressionRules {
	if r.empty() && (r == nil || len(r.SuiteIDs) == 0) {
		return nil
	}
	n := *r
	n.SuiteIDs = nil
	for _, id := range r.SuiteIDs {
		n.SuiteIDs = append(n.SuiteIDs, strings.ToLower(id))
	}
	n.SuiteIDs = slices.Compact(slices.Sorted(slices.Values(n.SuiteIDs)))
	n.MaxWarningFailures = clonePointer(r.MaxWarningFailures)
	return &n
}

// selects says whether a suite counts.
func (r *RegressionRules) selects(suite string) bool {
	return len(r.SuiteIDs) == 0 || slices.ContainsFunc(r.SuiteIDs, func(id string) bool { return strings.EqualFold(id, suite) })
}

// regressionCase is how a side did on a regression case. A case whose trials are
// all invalid has no evidence.
type regressionCase struct {
	scoring.Regression
	caseKey  string
	failed   bool
	evidence bool
}

// key is what a regression case is known by on both sides.
func (c regressionCase) key() string { return c.Suite + "\x00" + c.CaseID }

// selected are the cases of a side that the rules look at. The bar is the
// candidate's minimum pass rate, for both sides.
func (r *RegressionRules) selected(s Snapshot, minPassRate float64) []regressionCase {
	var list []regressionCase
	for _, result := range s.Cases {
		for _, ref := range result.Regressions {
			if !r.selects(ref.Suite) {
				continue
			}
			c := regressionCase{Regression: ref, caseKey: result.CaseKey, evidence: result.Valid > 0}
			c.failed = c.evidence && float64(result.Passed)/float64(result.Valid) < minPassRate
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b regressionCase) int { return strings.Compare(a.key(), b.key()) })
	return list
}

// regressionFindings is what the rules say of two sides. No list is nil but
// warnings.
type regressionFindings struct {
	violations []RegressionViolation
	fails      []finding
	missing    []string // what there is no evidence of
	warns      []finding
	warnings   []string
}

// regressions asks the policy's rules about regression cases.
func (g *gating) regressions() regressionFindings {
	f := regressionFindings{violations: []RegressionViolation{}}
	rules := g.policy.RegressionGateRules
	if rules.empty() {
		return f
	}
	baseline := rules.selected(g.baseline, g.candidate.MinPassRate)
	candidate := rules.selected(g.candidate, g.candidate.MinPassRate)
	if len(baseline)+len(candidate)+len(rules.SuiteIDs) == 0 {
		f.warnings = append(f.warnings, "the policy has rules about regression cases, and neither side ran any")
	}
	f.evidence(rules, baseline, candidate)
	if rules.NoBlockingFailure {
		f.blocking(candidate)
	}
	if rules.NoNewBlockingFailure {
		f.newBlocking(baseline, candidate)
	}
	if rules.MaxWarningFailures != nil {
		f.warningCount(*rules.MaxWarningFailures, candidate)
	}
	slices.SortFunc(f.violations, func(a, b RegressionViolation) int {
		return cmp.Or(strings.Compare(a.Rule, b.Rule), strings.Compare(a.Severity, b.Severity),
			strings.Compare(a.CaseID, b.CaseID), strings.Compare(a.Suite, b.Suite))
	})
	return f
}

// evidence looks for what the candidate should have shown: its own selected
// cases, those that the baseline had, and the suites that the policy names.
func (f *regressionFindings) evidence(r *RegressionRules, baseline, candidate []regressionCase) {
	ran := map[string]bool{}
	for _, c := range candidate {
		ran[c.key()], ran[strings.ToLower(c.Suite)] = true, true
		if !c.evidence {
			f.missing = append(f.missing, c.Suite+"/"+c.CaseID+" has no valid trial")
		}
	}
	for _, b := range baseline {
		if !ran[b.key()] && b.Severity == severityBlocking && (r.NoBlockingFailure || r.NoNewBlockingFailure) {
			f.missing = append(f.missing, b.Suite+"/"+b.CaseID+" was run by the baseline alone")
		}
	}
	for _, id := range r.SuiteIDs {
		if !ran[id] {
			f.missing = append(f.missing, "no case of suite "+quote(id)+" was run")
		}
	}
}

func (f *regressionFindings) blocking(candidate []regressionCase) {
	for _, c := range candidate {
		if c.failed && c.Severity == severityBlocking {
			f.violations = append(f.violations, RegressionViolation{Rule: ruleBlocking, Regression: c.Regression, CaseKey: c.caseKey})
			f.fails = append(f.fails, finding{GateRegressionBlocking, "blocking regression case " + c.Suite + "/" + c.CaseID + " fails"})
		}
	}
}

func (f *regressionFindings) newBlocking(baseline, candidate []regressionCase) {
	before := map[string]regressionCase{}
	for _, b := range baseline {
		before[b.key()] = b
	}
	for _, c := range candidate {
		if !c.failed || c.Severity != severityBlocking {
			continue
		}
		b, ok := before[c.key()]
		switch {
		case !ok || !b.evidence:
			f.warnings = append(f.warnings, "whether regression case "+c.Suite+"/"+c.CaseID+" is a new failure is unknown: the baseline has no valid trial of it")
		case !b.failed:
			f.violations = append(f.violations, RegressionViolation{Rule: ruleNewBlocking, Regression: c.Regression, CaseKey: c.caseKey})
			f.fails = append(f.fails, finding{GateRegressionNewBlocking, "blocking regression case " + c.Suite + "/" + c.CaseID + " fails, on the baseline it does not"})
		}
	}
}

func (f *regressionFindings) warningCount(most int, candidate []regressionCase) {
	var failed []regressionCase
	for _, c := range candidate {
		if c.failed && c.Severity == severityWarning {
			failed = append(failed, c)
		}
	}
	if len(failed) <= most {
		return
	}
	for _, c := range failed {
		f.violations = append(f.violations, RegressionViolation{Rule: ruleWarnings, Regression: c.Regression, CaseKey: c.caseKey, ObservedCount: len(failed)})
	}
	f.warns = append(f.warns, finding{GateRegressionWarnings,
		fmt.Sprintf("%s of severity warning fail, the policy allows %d", count(len(failed), "regression case"), most)})
}

// merge gives the rules their say in a decision: what lacks evidence stays so, a
// failure is a failure, missing evidence of regression cases beats pass and warn,
// and a warning beats a pass.
func (f regressionFindings) merge(d decision) decision {
	if d.verdict == InsufficientEvidence {
		return d
	}
	if fail, ok := combineInOrder(Fail, f.fails); ok {
		return d.over(fail, d.verdict != Fail)
	}
	if len(f.missing) > 0 {
		missing := decision{verdict: InsufficientEvidence, reason: GateRegressionNoEvidence,
			summary: "evidence of regression cases is missing: " + strings.Join(f.missing, "; "), triggered: []string{GateRegressionNoEvidence}}
		return d.over(missing, d.verdict != Fail)
	}
	if warn, ok := combineInOrder(Warn, f.warns); ok {
		return d.over(warn, d.verdict == Pass)
	}
	return d
}

// combineInOrder is one decision of findings, the first of which is its reason:
// rules are asked in the order of their names, as their violations are sorted.
func combineInOrder(v Verdict, found []finding) (decision, bool) {
	d, ok := combine(v, slices.Clone(found))
	if ok {
		d.triggered = slices.Compact(d.triggered)
		d.reason = found[0].code
	}
	return d, ok
}

// over adds another decision to this one, and lets it decide where it wins.
func (d decision) over(other decision, wins bool) decision {
	if !wins {
		d.triggered = append(d.triggered, other.triggered...)
		return d
	}
	other.triggered = append(append([]string{}, d.triggered...), other.triggered...)
	if d.verdict != Pass {
		other.summary += "; " + d.summary
	}
	return other
}
