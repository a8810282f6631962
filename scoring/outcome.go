package scoring

import "cmp"

// The codes that scoring gives to a trial's outcome. A trial that the
// scorecard itself decides has none.
const (
	CodeNoOutput   = "no_output"
	CodeNoVerdict  = "no_verdict"
	CodePackError  = "pack_error"
	CodeInfraError = "infra_error"
	CodeJudgeError = "judge_error"
	// CodeSecurity is that of a trial in which something happened that the pack's
	// security block forbids.
	CodeSecurity = "security_incident"
	// CodeCancelled is that of a trial that somebody ended while it ran.
	CodeCancelled = "cancelled"
)

// The phases of an invalid trial that scoring finds out about.
const (
	PhaseVerification = "verification"
	PhaseScoring      = "scoring"
)

// Decision is how a trial ended, and why when it did not pass.
type Decision struct {
	Outcome Outcome
	Code    string
	Phase   string // of an invalid trial
	Reason  string
}

// Decide is the outcome of a trial that ended regularly, in this order: an
// incident as bad as the security block's gate makes it failed, as it happened
// whatever else could not be found out; what the machinery failed to do makes it
// invalid; what the agent never produced makes it failed, whatever the scorecard
// says; what the pack's author must mend and what the judges did not say makes it
// invalid; then the verdict decides, and no verdict is no pass.
func (c Scorecard) Decide() Decision {
	switch {
	case c.Security != nil && !c.Security.Passed:
		return Decision{OutcomeFailed, CodeSecurity, "", c.Security.Reason}
	case c.InfraError != "":
		return Decision{OutcomeInvalid, CodeInfraError, PhaseVerification, c.InfraError}
	case c.NoOutput != "":
		return Decision{OutcomeFailed, CodeNoOutput, "", c.NoOutput}
	case c.PackError != "":
		return Decision{OutcomeInvalid, CodePackError, PhaseScoring, c.PackError}
	case c.JudgeError != "":
		return Decision{OutcomeInvalid, cmp.Or(c.JudgeErrorCode, CodeJudgeError), PhaseScoring, c.JudgeError}
	case c.Passed == nil:
		return Decision{OutcomeFailed, CodeNoVerdict, "", c.OverallReason}
	case !*c.Passed:
		return Decision{OutcomeFailed, "", "", c.OverallReason}
	}
	return Decision{Outcome: OutcomePassed}
}

// LacksJudge says that nothing but its judges keeps a trial from its outcome.
func (c Scorecard) LacksJudge() bool {
	return c.InfraError == "" && c.NoOutput == "" && c.PackError == "" && c.JudgeError != ""
}

// Decide gives the trial its scorecard and its outcome. agentCode is the code
// of a failure of the agent's own that ended the trial (a limit, no submit),
// "" for a trial that ended regularly: such a trial is failed with that code,
// whatever the scorecard says. A reason that is already there is kept.
func (s *Scorer) Decide(t *Trial, c Scorecard, agentCode string) {
	t.Scorecard = &c
	d := c.Decide()
	if agentCode != "" {
		d = Decision{Outcome: OutcomeFailed, Code: agentCode}
	}
	t.Outcome, t.Code, t.Phase = d.Outcome, d.Code, d.Phase
	if t.Reason == "" {
		t.Reason = d.Reason
	}
}

// Measure fills in what a trial reports beside its scorecard: the final
// output, tokens, cost and time. Unknown tokens count as 0; an unknown cost or
// time is nil. A trial that called no model cost nothing.
func (s *Scorer) Measure(t *Trial, ev Evidence) {
	e := &trial{ev: ev}
	t.FinalOutput = ev.FinalOutput
	t.Usage = Usage{InputTokens: known(ev.InputTokens), OutputTokens: known(ev.OutputTokens), TotalTokens: known(ev.TotalTokens)}
	t.CostUSD, t.PriceSource = nil, ""
	if b, unknown := e.cost(s); unknown == "" {
		t.CostUSD, t.PriceSource = &b.USD, b.Source
	} else if len(ev.Models) == 0 && t.Usage == (Usage{}) {
		t.CostUSD = new(0.0)
	}
	t.CachedUSD = nil
	if len(ev.Cached) > 0 {
		if b, unknown := (&trial{ev: Evidence{Models: ev.Cached}}).cost(s); unknown == "" {
			t.CachedUSD = &b.USD
		}
	}
	t.Simulator = s.simulated(ev.Simulators)
	t.LatencyMS = nil
	if !ev.StartedAt.IsZero() && !ev.EndedAt.IsZero() {
		t.LatencyMS = new(milliseconds(ev.StartedAt, ev.EndedAt))
	}
}

// simulated is what simulated users used, and what that costs; nil without any.
func (s *Scorer) simulated(models []ModelUsage) *Simulated {
	if len(models) == 0 {
		return nil
	}
	out := &Simulated{CostUSD: new(0.0)}
	for _, m := range models {
		out.Calls += m.Calls
		out.InputTokens += m.InputTokens
		out.OutputTokens += m.OutputTokens
		out.TotalTokens += m.TotalTokens
		b, ok := s.bill(m)
		switch {
		case !m.Known || !ok:
			out.CostUSD = nil
		case out.CostUSD != nil:
			*out.CostUSD += b.USD
		}
	}
	return out
}

func known(n *int64) int64 {
	if n == nil {
		return 0
	}
	return max(*n, 0)
}
