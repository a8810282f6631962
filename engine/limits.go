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
	priced bool // every reply so far had usage and a price
	calls  int
}

func (s *spending) add(pricing scoring.Pricing, providerKey string, r provider.Response) {
	s.calls++
	if r.Usage == nil {
		s.priced = false
		return
	}
	s.tokens += r.Usage.Total
	usd, ok := pricing.Cost(providerKey, r.Model, r.Usage.Input, r.Usage.Output)
	s.usd += usd
	s.priced = ok && (s.priced || s.calls == 1)
}

// check returns the stop reason and the budget that is used up, before a call
// that would go past it.
func (l limits) check(s spending) (string, event.Budget, bool) {
	if l.tokens > 0 && s.tokens >= l.tokens {
		return stopTokens, event.Budget{Limit: "max_total_tokens", Allowed: float64(l.tokens), Used: float64(s.tokens)}, true
	}
	if l.costUSD > 0 && s.usd >= l.costUSD {
		return stopCost, event.Budget{Limit: "max_cost_usd", Allowed: l.costUSD, Used: s.usd}, true
	}
	return "", event.Budget{}, false
}
