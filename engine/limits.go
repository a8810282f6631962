package engine

import (
	"cmp"
	"time"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// limits are the caps of one trial, resolved from the pack, the case and the
// deployment. Zero is no cap.
type limits struct {
	steps     int
	toolCalls int
	step      time.Duration
	trial     time.Duration
	output    int64 // tokens of one reply
	reminders int   // of submit
	budget    budget.Limits
}

// resolveLimits: the pack's max_iterations wins over the deployment's, a
// case's timeout over the deployment's, and of two durations the shorter.
func resolveLimits(spec scoring.Spec, c pack.Case, d Deployment) limits {
	def := DefaultLimits()
	l := limits{
		steps:     cmp.Or(d.Limits.MaxIterations, def.MaxIterations),
		toolCalls: cmp.Or(d.Limits.MaxToolCalls, def.MaxToolCalls),
		step:      seconds(cmp.Or(d.Limits.StepTimeoutSeconds, def.StepTimeoutSeconds)),
		trial:     seconds(cmp.Or(d.Limits.RunTimeoutSeconds, def.RunTimeoutSeconds)),
		output:    cmp.Or(d.Limits.MaxOutputTokens, def.MaxOutputTokens),
		reminders: *cmp.Or(d.Limits.TextReminders, def.TextReminders),
	}
	if d.isHTTP() && d.Limits.StepTimeoutSeconds == 0 {
		l.step = l.trial // the one call is the whole trial
	}
	if c.CaseTimeoutSeconds > 0 {
		l.trial = seconds(int(c.CaseTimeoutSeconds))
	}
	r := spec.RuntimeLimits
	if r.MaxIterations != nil {
		l.steps = int(*r.MaxIterations)
	}
	if r.MaxDurationMS != nil {
		l.trial = min(l.trial, time.Duration(*r.MaxDurationMS)*time.Millisecond)
	}
	if r.MaxTotalTokens != nil {
		l.budget.Tokens = *r.MaxTotalTokens
	}
	if r.MaxCostUSD != nil {
		l.budget.USD = *r.MaxCostUSD
	}
	return l
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
