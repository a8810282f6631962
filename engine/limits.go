package engine

import (
	"cmp"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
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
	tokens    int64
	costUSD   float64
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
		l.tokens = *r.MaxTotalTokens
	}
	if r.MaxCostUSD != nil {
		l.costUSD = *r.MaxCostUSD
	}
	return l
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// spending counts what a trial has used against its limits. Usage that a
// provider does not report counts as nothing: it cannot be known.
type spending struct {
	tokens int64
	usd    float64
}

func (s *spending) add(prices *scoring.Scorer, providerKey string, r provider.Response) {
	if r.Usage == nil {
		return
	}
	s.tokens += r.Usage.Total
	usd, _ := prices.Cost(providerKey, r.Model, r.Usage.Input, r.Usage.Output)
	s.usd += usd
}

// usedUp ends a trial whose budget does not allow another call.
func (a *attempt) usedUp() (ending, bool) {
	return a.budget(func(used, allowed float64) bool { return used >= allowed })
}

// overspent ends a trial that went past its budget with its last call.
func (a *attempt) overspent() (ending, bool) {
	return a.budget(func(used, allowed float64) bool { return used > allowed })
}

func (a *attempt) budget(reached func(used, allowed float64) bool) (ending, bool) {
	for _, b := range []struct {
		stop, key     string
		used, allowed float64
	}{
		{stopTokens, "max_total_tokens", float64(a.spent.tokens), float64(a.limits.tokens)},
		{stopCost, "max_cost_usd", a.spent.usd, a.limits.costUSD},
	} {
		if b.allowed > 0 && reached(b.used, b.allowed) {
			a.log.emit(event.BudgetReach, event.Budget{Limit: b.key, Allowed: b.allowed, Used: b.used})
			return byAgent(b.stop, "%s is used up: %g of %g", b.key, b.used, b.allowed), true
		}
	}
	return ending{}, false
}
