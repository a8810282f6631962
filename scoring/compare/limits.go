package compare

import (
	"fmt"
	"math"
)

// RuleResult is one limit of a policy held against a side or a comparison.
// Observed is nil where it is not known.
type RuleResult struct {
	Rule       string   `json:"rule"` // the policy's field
	Observed   *float64 `json:"observed"`
	Limit      float64  `json:"limit"`
	Outcome    string   `json:"outcome"` // pass, fail or insufficient
	ReasonCode string   `json:"reason_code,omitempty"`
	Summary    string   `json:"summary"`
}

// The values of [RuleResult.Outcome].
const (
	RulePass         = "pass"
	RuleFail         = "fail"
	RuleInsufficient = "insufficient"
)

// The reason codes of limits. Those of invalid trials begin with the side.
const (
	GateBaselineStale      = "baseline_stale"
	GateBaselineAgeUnknown = "baseline_age_unknown"
	GateTooFewCompared     = "too_few_compared_cases"
	GateCoverage           = "coverage_below_minimum"
	GatePassRate           = "pass_rate_below_minimum"
	gateMaxInvalid         = "_max_invalid_exceeded"
	gateAbove              = "_above_maximum"
	gateIncrease           = "_increase_above_maximum"
	gateUnavailable        = "_unavailable"
)

// limitProblems are what is wrong with the limits of a policy.
func (p Policy) limitProblems() []PolicyProblem {
	var list []PolicyProblem
	for _, l := range []struct {
		field string
		value *float64
		most  float64
	}{
		{"min_pass_rate", p.MinPassRate, 1}, {"max_invalid_share", p.MaxInvalidShare, 1}, {"min_coverage", p.MinCoverage, 1},
		{"max_cost_usd_per_trial", p.MaxCostUSDPerTrial, math.MaxFloat64}, {"max_latency_ms", p.MaxLatencyMS, math.MaxFloat64},
		{"max_cost_increase", p.MaxCostIncrease, math.MaxFloat64}, {"max_latency_increase", p.MaxLatencyIncrease, math.MaxFloat64},
		{"max_tokens_increase", p.MaxTokensIncrease, math.MaxFloat64}, {"max_baseline_age_days", p.MaxBaselineAgeDays, math.MaxFloat64},
	} {
		switch {
		case l.value == nil || finite(l.value) != nil && *l.value >= 0 && *l.value <= l.most:
		case l.most == 1:
			list = append(list, PolicyProblem{l.field, fmt.Sprintf("must be between 0 and 1, got %v", *l.value)})
		default:
			list = append(list, PolicyProblem{l.field, fmt.Sprintf("must be 0 or more, got %v", *l.value)})
		}
	}
	if n := p.MaxInvalid; n != nil && *n < 0 {
		list = append(list, PolicyProblem{"max_invalid", fmt.Sprintf("must be 0 or more, got %d", *n)})
	}
	if n := p.MinComparedCases; n != nil && *n < 1 {
		list = append(list, PolicyProblem{"min_compared_cases", fmt.Sprintf("must be 1 or more, got %d", *n)})
	}
	return list
}

// limits holds both sides against every limit of the policy.
func (g *gating) limits() []RuleResult {
	if g.baseline.Scorecard == nil || g.candidate.Scorecard == nil {
		return nil
	}
	list := g.ageLimit()
	list = append(list, g.invalidLimits("candidate", g.candidate)...)
	list = append(list, g.invalidLimits("baseline", g.baseline)...)
	list = append(list, g.coverageLimits()...)
	if l := g.policy.MinPassRate; l != nil {
		r := RuleResult{Rule: "min_pass_rate", Observed: finite(g.candidate.Scorecard.PassRate), Limit: *l}
		list = append(list, r.known("pass_rate", GatePassRate, "the candidate's pass rate", func(v float64) bool { return v >= *l }))
	}
	own := measure(g.candidate, nil)
	for _, c := range []struct {
		rule, what, words string
		limit, observed   *float64
	}{
		{"max_cost_usd_per_trial", "cost", "the candidate's cost in USD per trial", g.policy.MaxCostUSDPerTrial, own.cost},
		{"max_latency_ms", "latency", "the candidate's latency in ms", g.policy.MaxLatencyMS, own.latency},
	} {
		if c.limit != nil {
			r := RuleResult{Rule: c.rule, Observed: finite(c.observed), Limit: *c.limit}
			list = append(list, r.known(c.what, c.what+gateAbove, c.words, func(v float64) bool { return v <= *c.limit }))
		}
	}
	return append(list, g.increases()...)
}

// known judges what was observed; what was not is no evidence.
func (r RuleResult) known(what, code, words string, within func(float64) bool) RuleResult {
	switch {
	case r.Observed == nil:
		r.Outcome, r.ReasonCode, r.Summary = RuleInsufficient, what+gateUnavailable, words+" is not known"
		return r
	case within(*r.Observed):
		r.Outcome = RulePass
	default:
		r.Outcome, r.ReasonCode = RuleFail, code
	}
	r.Summary = fmt.Sprintf("%s is %s, the limit (%s) is %s", words, number(*r.Observed), r.Rule, number(r.Limit))
	return r
}

// ageLimit looks at when the baseline's run was started. A date that is not
// known, or lies ahead by more than a day, says nothing.
func (g *gating) ageLimit() []RuleResult {
	if g.policy.MaxBaselineAgeDays == nil {
		return nil
	}
	limit := *g.policy.MaxBaselineAgeDays
	r := RuleResult{Rule: "max_baseline_age_days", Limit: limit, Outcome: RuleInsufficient,
		ReasonCode: GateBaselineAgeUnknown, Summary: "it is not known when the baseline's run was started"}
	now, ran := g.comparison.GeneratedAt, g.baseline.RanAt
	if now.IsZero() || ran.IsZero() {
		return []RuleResult{r}
	}
	if ran.Sub(now) > aheadOfClock {
		r.Summary = "the baseline's run is dated ahead of this clock, so its age is not known"
		return []RuleResult{r}
	}
	days := max(0, now.Sub(ran).Hours()/24)
	r.Observed = new(math.Floor(days*100) / 100)
	r.Summary = fmt.Sprintf("the baseline's run is %s days old, the limit (%s) is %s", number(*r.Observed), r.Rule, number(limit))
	if days <= limit {
		r.Outcome, r.ReasonCode = RulePass, ""
		return []RuleResult{r}
	}
	r.ReasonCode = GateBaselineStale
	r.Summary += "; run its agent again and set a new one"
	return []RuleResult{r}
}

// invalidLimits stand in place of the run's own --max-invalid.
func (g *gating) invalidLimits(name string, s Snapshot) (list []RuleResult) {
	invalid, trials := s.Scorecard.InvalidTrials, s.Scorecard.InvalidTrials+s.Scorecard.PassedTrials+s.Scorecard.FailedTrials
	add := func(rule string, observed, limit float64) {
		r := RuleResult{Rule: rule, Observed: &observed, Limit: limit, Outcome: RulePass,
			Summary: fmt.Sprintf("the %s has %s of %d, the limit (%s) is %s", name, count(invalid, "invalid trial"), trials, rule, number(limit))}
		if observed > limit {
			r.Outcome, r.ReasonCode = RuleInsufficient, name+gateMaxInvalid
		}
		list = append(list, r)
	}
	if l := g.policy.MaxInvalid; l != nil {
		add("max_invalid", float64(invalid), float64(*l))
	}
	if l := g.policy.MaxInvalidShare; l != nil && trials > 0 {
		add("max_invalid_share", round(float64(invalid)/float64(trials)), *l)
	}
	return list
}

func (g *gating) coverageLimits() (list []RuleResult) {
	compared, of := g.comparison.Cases.Compared, len(g.candidate.Cases)
	add := func(rule, code string, observed, limit float64) {
		r := RuleResult{Rule: rule, Observed: &observed, Limit: limit, Outcome: RulePass,
			Summary: fmt.Sprintf("%d of the candidate's %s compared, the least (%s) is %s", compared, count(of, "case"), rule, number(limit))}
		if observed < limit {
			r.Outcome, r.ReasonCode = RuleInsufficient, code
		}
		list = append(list, r)
	}
	if l := g.policy.MinComparedCases; l != nil {
		add("min_compared_cases", GateTooFewCompared, float64(compared), float64(*l))
	}
	if l := g.policy.MinCoverage; l != nil {
		add("min_coverage", GateCoverage, round(float64(compared)/float64(max(of, 1))), *l)
	}
	return list
}

// increases are over the compared cases: 0.2 is a fifth more than the baseline.
// From nothing, anything is too much.
func (g *gating) increases() (list []RuleResult) {
	for _, l := range []struct {
		rule, what, metric, words string
		limit                     *float64
	}{
		{"max_cost_increase", "cost", metricCost, "cost per trial", g.policy.MaxCostIncrease},
		{"max_latency_increase", "latency", metricLatency, "latency", g.policy.MaxLatencyIncrease},
		{"max_tokens_increase", "tokens", metricTokens, "tokens per trial", g.policy.MaxTokensIncrease},
	} {
		if l.limit == nil {
			continue
		}
		r := RuleResult{Rule: l.rule, Limit: *l.limit}
		for _, d := range g.comparison.AgentDeltas {
			if d.Metric == l.metric && d.Delta != nil {
				r.Observed = increase(*d.BaselineValue, *d.CandidateValue)
			}
		}
		list = append(list, r.known(l.what, l.what+gateIncrease, "the increase of "+l.words, func(v float64) bool { return v <= round(*l.limit) }))
	}
	return list
}

// increase is relative to the baseline; what rises from 0 has risen without
// bound, for which the largest number stands.
func increase(baseline, candidate float64) *float64 {
	switch {
	case candidate <= baseline && baseline <= 0:
		return new(0.0)
	case baseline <= 0:
		return new(math.MaxFloat64)
	}
	v := round((candidate - baseline) / baseline)
	return finite(&v)
}

// noLimitEvidence is the answer where a limit finds the evidence too thin.
func (g *gating) noLimitEvidence() (decision, bool) {
	var found []finding
	for _, r := range g.rules {
		if r.Outcome == RuleInsufficient {
			found = append(found, finding{r.ReasonCode, r.Summary})
		}
	}
	return combineInOrder(InsufficientEvidence, found)
}

// overLimits are the limits that the candidate breaks.
func (g *gating) overLimits() (found []finding) {
	for _, r := range g.rules {
		if r.Outcome == RuleFail {
			found = append(found, finding{r.ReasonCode, r.Summary})
		}
	}
	return found
}
