package plan

import (
	"cmp"
	"time"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// TrialLimits are the caps of one trial, resolved from the pack, the case and the
// deployment. Zero is no cap.
type TrialLimits struct {
	Steps     int
	ToolCalls int
	Step      time.Duration
	Trial     time.Duration
	Output    int64 // tokens of one reply
	Reminders int   // of submit
	Budget    budget.Limits
}

// LimitsOf resolves them: the pack's max_iterations wins over the deployment's, a
// case's timeout over the deployment's, and of two durations the shorter.
func LimitsOf(spec scoring.Spec, c pack.Case, d Deployment) TrialLimits {
	def := DefaultLimits()
	l := TrialLimits{
		Steps:     cmp.Or(d.Limits.MaxIterations, def.MaxIterations),
		ToolCalls: cmp.Or(d.Limits.MaxToolCalls, def.MaxToolCalls),
		Step:      seconds(cmp.Or(d.Limits.StepTimeoutSeconds, def.StepTimeoutSeconds)),
		Trial:     seconds(cmp.Or(d.Limits.RunTimeoutSeconds, def.RunTimeoutSeconds)),
		Output:    cmp.Or(d.Limits.MaxOutputTokens, def.MaxOutputTokens),
		Reminders: *cmp.Or(d.Limits.TextReminders, def.TextReminders),
	}
	if d.IsHTTP() && d.Limits.StepTimeoutSeconds == 0 {
		l.Step = l.Trial // the one call is the whole trial
	}
	if c.CaseTimeoutSeconds > 0 {
		l.Trial = seconds(int(c.CaseTimeoutSeconds))
	}
	r := spec.RuntimeLimits
	if r.MaxIterations != nil {
		l.Steps = int(*r.MaxIterations)
	}
	if r.MaxDurationMS != nil {
		l.Trial = min(l.Trial, time.Duration(*r.MaxDurationMS)*time.Millisecond)
	}
	if r.MaxTotalTokens != nil {
		l.Budget.Tokens = *r.MaxTotalTokens
	}
	if r.MaxCostUSD != nil {
		l.Budget.USD = *r.MaxCostUSD
	}
	return l
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
