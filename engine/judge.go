package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/scoring"
)

// maxJudgeText is what is kept of a judge's reply, in bytes.
const maxJudgeText = 256 << 10

// maxJudgeFailures is how many calls to a judge's model may fail one after the
// other before the rest of its samples are not asked for.
const maxJudgeFailures = 2

// panel asks judges on behalf of one trial, or of one group of trials that are
// ranked, within its budget.
type panel struct {
	plan    *plan.Plan
	clients map[string]provider.Client // by JudgeModel.Name
	tape    record.Tape                // nil without a recording
	retry   func(plan.JudgeModel, time.Duration) provider.Retry
	purse   *budget.Purse // of the run; nil: none
	limits  scoring.JudgeLimits
	ref     provider.Ref // of the next call
	// state writes a fact down.
	state func(event.Type, any)

	charged float64                    // to the run's budget, by the last try
	used    event.JudgeUse             // against the limits, by earlier attempts as well
	own     scoring.Judging            // what counts as this attempt's spend
	put     map[string]bool            // questions that were put, by sample
	said    map[string]bool            // questions whose prompt is written down
	failed  map[string]int             // calls to a model that failed one after the other
	refused map[string]*provider.Error // models that refuse every question
	capped  map[string]bool            // limits that were reached
}

func (r *run) panel(ref provider.Ref, state func(event.Type, any)) *panel {
	p := newPanel(r.plan, r.deps, ref, state)
	p.purse = r.purse
	p.retry = func(m plan.JudgeModel, timeout time.Duration) provider.Retry {
		return r.retry(timeout, r.paces.Of(m.Pace(), m.MaxConcurrent))
	}
	return p
}

func newPanel(p *plan.Plan, deps Deps, ref provider.Ref, state func(event.Type, any)) *panel {
	return &panel{
		plan: p, clients: deps.Judges, tape: deps.Tape, limits: p.Scorer.JudgeLimits(), ref: ref, state: state,
		retry: func(m plan.JudgeModel, timeout time.Duration) provider.Retry {
			return retrying(p, deps, timeout, nil)
		},
		own: scoring.Judging{CostUSD: new(0.0)},
		put: map[string]bool{}, said: map[string]bool{}, failed: map[string]int{},
		refused: map[string]*provider.Error{}, capped: map[string]bool{},
	}
}

// judging is what the panel's own calls came to, nil for none. A nil panel has
// nobody to ask.
func (p *panel) judging() *scoring.Judging {
	if p == nil || p.own.Calls == 0 && p.own.Tokens == 0 && p.own.CostUSD != nil && *p.own.CostUSD == 0 {
		return nil
	}
	return new(p.own)
}

// ask puts one question, and returns what came of it as a fact that is still to
// be stated. The error is the context's end, or a question that was put before:
// its reply was not found again, and it would be asked for ever.
func (p *panel) ask(ctx context.Context, q scoring.Question) (reply event.JudgeReply, err error) {
	m := p.plan.Judge(q.Model)
	reply = event.JudgeReply{
		JudgeKey: q.JudgeKey, Mode: q.Mode, JudgeModel: q.Model, SampleIndex: q.Sample, QuestionID: q.ID,
		ProviderKey: m.Provider, ProviderModelID: m.Model,
	}
	defer func() {
		if r := recover(); r != nil { // a bug of ours: the others go on
			p.failed[q.Model]++
			reply.Status, reply.Code, reply.Reason = scoring.JudgeFailed, stopInternal, fmt.Sprintf("this is a bug in agentclash: %v", r)
		}
		reply.Used = new(p.used)
	}()
	if p.put[name(q)] {
		return p.unanswered(reply, stopInternal, "the reply to this question was not found again"), fmt.Errorf("judge %q: the reply of %q was not found again", q.JudgeKey, q.Model)
	}
	p.put[name(q)] = true
	client := p.clients[q.Model]
	if client == nil {
		return p.unanswered(reply, stopInternal, fmt.Sprintf("the run has no client for %q", q.Model)), nil
	}
	if e := p.refused[q.Model]; e != nil {
		return p.unanswered(reply, string(e.Code), "not asked: "+e.Error()), nil
	}
	if n := p.failed[q.Model]; n >= maxJudgeFailures {
		return p.unanswered(reply, string(provider.Unavailable), fmt.Sprintf("not asked: %d calls before it failed", n)), nil
	}
	q, why := p.fit(m, q)
	if why != "" {
		reply.Status, reply.Reason = scoring.JudgeUnable, why
		if p.used.Unheard { // it was not what judges said that used it up
			reply = p.unanswered(reply, string(provider.Unavailable), why+", some of it by calls that were not answered")
		}
		return reply, nil
	}
	res, err := p.call(ctx, m, q, client)
	if err != nil {
		return p.noAnswer(ctx, q, reply, err)
	}
	if p.purse != nil {
		reply.ChargedUSD = p.charged
	}
	p.ref.Call++
	p.failed[q.Model] = 0
	reply.Status, reply.ResponseText = scoring.JudgeAnswered, event.Clip(res.Text, maxJudgeText)
	reply.FinishReason, reply.Usage, reply.CacheUse = string(res.Finish), res.Usage, event.CacheUseOf(res.Cache)
	reply.Timing = &event.Timing{TTFTMS: res.TTFT.Milliseconds(), TotalLatencyMS: res.Elapsed.Milliseconds()}
	if res.Model != "" {
		reply.ProviderModelID = res.Model
	}
	return reply, nil
}

// name tells the samples of a trial, or of a group, apart. In a conversation a
// judge may be asked several questions; a ranking's have no id.
func name(q scoring.Question) string {
	return fmt.Sprintf("%s %s %d %s", q.JudgeKey, q.Model, q.Sample, q.ID)
}

func (p *panel) unanswered(reply event.JudgeReply, code, reason string) event.JudgeReply {
	reply.Status, reply.Code, reply.Reason = scoring.JudgeFailed, code, event.Clip(reason, maxReason)
	return reply
}

// call makes the call, again while that can help and fits the limits.
func (p *panel) call(ctx context.Context, m plan.JudgeModel, q scoring.Question, client provider.Client) (provider.Response, error) {
	req := provider.Request{
		Ref: p.ref, Model: m.Model, Messages: []provider.Message{{Role: provider.User, Content: q.Prompt}},
		Sampling: provider.Sampling{MaxOutputTokens: q.MaxOutputTokens}, Seed: p.plan.Options.Seed,
	}
	announced := false
	return p.retry(m, q.Timeout).Do(ctx, client, req, provider.Observer{
		Begin: func(ctx context.Context, t provider.Try, _ *provider.Request) (func(provider.Response, *provider.Error), error) {
			hold, err := p.purse.Reserve(ctx, p.plan.MostJudgeUse(m, q).CostUSD)
			if err != nil {
				return nil, err
			}
			p.charged = p.plan.MostJudgeUse(m, q).CostUSD // until it is counted, whatever happens
			if !announced {
				p.announce(m, q, t)
			}
			announced = true
			return func(res provider.Response, failure *provider.Error) {
				defer func() { hold.Settle(p.charged) }()
				p.count(m, q, res, failure)
			}, nil
		},
		Again:  func(t provider.FailedTry) bool { return p.plan.TooDear(p.used, m, q) == "" && triedAgain(t) },
		Failed: func(t provider.FailedTry) { p.failedTry(m, q, t) },
	})
}

// count takes down what a try used.
func (p *panel) count(m plan.JudgeModel, q scoring.Question, res provider.Response, failure *provider.Error) {
	before := p.used.CostUSD
	switch {
	case failure == nil:
		p.spend(m, q, &res)
	case budget.MayCost(failure):
		p.spend(m, q, nil)
	}
	p.charged = p.used.CostUSD - before
	if res.Cached() {
		p.charged = 0
	}
}

// fit cuts so much out of a question's evidence that it fits the limits; why
// says which one it cannot fit.
func (p *panel) fit(m plan.JudgeModel, q scoring.Question) (fits scoring.Question, why string) {
	if p.plan.TooDear(p.used, m, q) == "" {
		return q, ""
	}
	room := int64(math.MaxInt64)
	if p.limits.MaxTokens > 0 {
		room = p.limits.MaxTokens - p.used.Tokens - q.MaxOutputTokens
	}
	if most := p.limits.MaxCallsUSD; most > 0 {
		out, _ := p.plan.Scorer.Cost(m.Provider, m.Model, 0, q.MaxOutputTokens)
		million, _ := p.plan.Scorer.Cost(m.Provider, m.Model, 1e6, 0)
		if million > 0 {
			room = min(room, int64((most-p.used.CostUSD-out)/million*1e6)-1)
		}
	}
	if small, ok := q.Within(room); ok && p.plan.TooDear(p.used, m, small) == "" {
		return small, ""
	}
	why = p.plan.TooDear(p.used, m, q)
	if !p.capped[why] {
		p.capped[why] = true
		p.reached()
	}
	return q, why
}

// reached states that a limit leaves no room for another call.
func (p *panel) reached() {
	if most := p.limits.MaxTokens; most > 0 {
		p.state(event.BudgetReach, event.Budget{Limit: "judge_limits.max_tokens", Allowed: float64(most), Used: float64(p.used.Tokens)})
	}
	if most := p.limits.MaxCallsUSD; most > 0 {
		p.state(event.BudgetReach, event.Budget{Limit: "judge_limits.max_calls_usd", Allowed: most, Used: p.used.CostUSD})
	}
}

// noAnswer says what a call that failed for good means. What a provider refuses
// for what the agent wrote cannot be judged, and is no failure to reach it.
func (p *panel) noAnswer(ctx context.Context, q scoring.Question, reply event.JudgeReply, err error) (event.JudgeReply, error) {
	if reached := (*budget.Reached)(nil); errors.As(err, &reached) {
		return p.unanswered(reply, CodeBudget, err.Error()), reached
	}
	if ctx.Err() != nil {
		return p.unanswered(reply, string(provider.Cancelled), err.Error()), context.Cause(ctx)
	}
	var call *provider.Error
	if !errors.As(err, &call) {
		p.failed[q.Model]++
		return p.unanswered(reply, stopInternal, err.Error()), nil
	}
	reply = p.unanswered(reply, string(call.Code), err.Error())
	switch call.Code {
	case provider.ContentFilter, provider.ContextLength:
		reply.Status = scoring.JudgeUnable
	case provider.Auth, provider.UnknownModel:
		p.refused[q.Model] = call
	default:
		p.failed[q.Model]++
	}
	return reply, nil
}

// announce states that a judge is asked, with the prompt when it was not
// written down before.
func (p *panel) announce(m plan.JudgeModel, q scoring.Question, t provider.Try) {
	call := event.JudgeCall{
		JudgeKey: q.JudgeKey, Mode: q.Mode, JudgeModel: q.Model, SampleIndex: q.Sample, QuestionID: q.ID,
		ProviderKey: m.Provider, Model: m.Model, TimeoutMS: q.Timeout.Milliseconds(), MaxOutputTokens: q.MaxOutputTokens,
		Reserved: p.plan.MostJudgeUse(m, q), WaitedMS: t.Paced.Milliseconds(),
	}
	if len(q.Shown) > 0 || !p.said[q.ID] { // a ranking shows its candidates in another order each time
		call.Prompt, p.said[q.ID] = q.Prompt, true
	}
	p.state(event.JudgeStarted, call)
}

// failedTry states a failed try.
func (p *panel) failedTry(m plan.JudgeModel, q scoring.Question, t provider.FailedTry) {
	p.ref.Call++
	c := event.CallError{
		ProviderKey: m.Provider, Model: m.Model, Code: string(t.Err.Code), Status: t.Err.Status, Message: t.Err.Message,
		Retryable: t.Err.Retryable(), RetryAfterMS: t.Err.RetryAfter.Milliseconds(), Try: t.Try, JudgeKey: q.JudgeKey, JudgeUsed: new(p.used),
		WaitedMS: t.Paced.Milliseconds(),
	}
	if p.purse != nil && !t.Err.Unsent {
		c.ChargedUSD = p.charged
	}
	p.state(event.CallFailed, c)
	if t.Retrying {
		c.WaitMS, c.ChargedUSD = p.tapeWait(q, t.Wait).Milliseconds(), 0
		p.state(event.CallRetried, c)
	}
}

// spend counts a call. Without a reply, and with one that does not say what it
// used, the most that it can be counts against the limits.
func (p *panel) spend(m plan.JudgeModel, q scoring.Question, res *provider.Response) {
	p.own.Calls++
	if res == nil || res.Usage == nil {
		most := p.plan.MostJudgeUse(m, q)
		most.Unheard = res == nil
		p.used = p.used.Plus(most)
		p.own.CostUSD = nil // nobody knows
		return
	}
	use, priced := p.plan.JudgeUse(m, res.Usage)
	p.used = p.used.Plus(use)
	if res.Cached() { // it counts against the limits, and costs nothing
		use.CostUSD, priced = 0, true
	}
	p.own = p.own.Plus(spent(use, priced))
}

// spent is what a reply used, as spend.
func spent(use event.JudgeUse, priced bool) scoring.Judging {
	s := scoring.Judging{Tokens: use.Tokens}
	if priced {
		s.CostUSD = &use.CostUSD
	}
	return s
}

// askJudges asks all that the evidence leaves open about one trial.
func (a *attempt) askJudges(ctx context.Context, end ending) ending {
	if over, stop := a.question(ctx, event.SourceScoring, a.log.fold.Evidence); stop {
		return over
	}
	return end
}

// question asks judges what some evidence leaves open. Their replies are evidence,
// stated by source. stop says that the run ended meanwhile.
func (a *attempt) question(ctx context.Context, source string, evidence func() scoring.Evidence) (over ending, stop bool) {
	if a.panel == nil {
		return ending{}, false
	}
	a.asking = source
	for {
		q, ok := a.run.plan.Scorer.NextQuestion(evidence())
		if !ok || a.log.err != nil {
			return ending{}, false
		}
		if over, stop := halted(ctx); stop {
			return over, true
		}
		reply, err := a.panel.ask(ctx, q)
		if over, stop := halted(ctx); stop && err != nil {
			return over, true
		}
		if reached := (*budget.Reached)(nil); errors.As(err, &reached) {
			return ending{fault: faultHalt, stop: stopInterrupted, phase: scoring.PhaseScoring, err: reached}, true
		}
		if reply.Timing != nil {
			a.log.clock.pass(time.Duration(reply.Timing.TotalLatencyMS) * time.Millisecond)
		}
		a.log.emitAs(source, event.JudgeDone, reply)
		if err != nil {
			return ending{}, false
		}
	}
}
