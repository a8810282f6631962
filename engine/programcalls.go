package engine

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/proxy"
	"github.com/agentclash/agentclash/engine/record"
)

var _ proxy.Watch = (*program)(nil)

// do has the attempt's own goroutine do something, and waits for it. It is false
// when the program's part is over.
func (p *program) do(f func()) bool {
	done := make(chan struct{})
	select {
	case p.posts <- func() { defer close(done); f() }:
		<-done
		return true
	case <-p.over:
		return false
	}
}

// Begin lets a call through when the trial's limits do.
func (p *program) Begin(c *proxy.Call) (refusal *proxy.Refusal) {
	if !p.do(func() { refusal = p.begin(c) }) {
		return &proxy.Refusal{Status: http.StatusServiceUnavailable, Code: "over", Message: "the trial has ended"}
	}
	return refusal
}

func (p *program) begin(c *proxy.Call) *proxy.Refusal {
	a := p.a
	if p.limit == nil {
		if end, stop := a.mayStep(p.ctx); stop {
			p.limit = &end
		}
	}
	c.Ref = provider.Ref{Agent: a.agent.Label, Case: a.trial.CaseKey, Repetition: a.trial.Repetition, Attempt: a.number, Call: a.calls}
	var set held
	set.bounds, set.began = boundsOf(c), a.run.deps.Now()
	if p.limit == nil {
		p.limit = p.reserve(c, &set)
	}
	if p.limit != nil {
		refusal := &proxy.Refusal{Status: http.StatusBadRequest, Code: p.limit.stop, Message: "the trial ends here: " + p.limit.err.Error()}
		p.keepRefusal(c, refusal)
		return refusal
	}
	a.steps++
	c.Number = a.steps
	p.held[c.Number] = set
	a.calls++
	a.log.emit(event.StepStarted, event.Step{StepIndex: c.Number})
	started := event.Call{
		StepIndex: c.Number, ProviderKey: a.deployment.Provider, Model: p.asked(c), StepTimeoutMS: a.limits.Step.Milliseconds(),
		MessageCount: len(c.Messages), ToolDefinitionCount: len(c.Tools), Messages: p.heard.fresh(c.Messages),
	}
	if a.run.purse != nil {
		started.ReservedUSD = set.most.USD
	}
	if set.short != budget.None {
		started.MaxOutputTokens = c.Output
	}
	if !p.tools && len(c.Tools) > 0 {
		p.tools, started.Tools = true, c.Tools
	}
	a.log.emit(event.CallStarted, started)
	return nil
}

// asked is the model of a call as it is known outside the box.
func (p *program) asked(c *proxy.Call) string {
	if p.a.deployment.Provider == provider.Scripted {
		return p.a.deployment.Model
	}
	return c.Model
}

// Refused states what is not let through: the first ones each, those that follow
// by their number when the program's part is over.
func (p *program) Refused(r *proxy.Refusal) {
	p.do(func() {
		if p.play.on { // what was refused when it was recorded is stated
			p.refused = r
			return
		}
		p.refuse(r)
	})
}

func (p *program) refuse(r *proxy.Refusal) {
	p.refusals++
	p.refused = r
	p.keepRefusal(nil, r)
	fact := event.RefusedCall{Code: r.Code, Status: r.Status, Model: r.Model, Key: r.Key, Message: r.Message}
	if p.refusals > maxRefusals {
		fact.Count = p.refusals - maxRefusals
		p.unstated = fact
		return
	}
	p.a.log.emit(event.CallRefused, fact)
}

// stateUnstated says how many refusals were not stated, with the last of them.
func (p *program) stateUnstated() {
	if p.unstated.Count > 0 {
		p.a.log.emit(event.CallRefused, p.unstated)
	}
}

// First states the first piece of a reply.
func (p *program) First(c *proxy.Call, d provider.Delta) {
	p.do(func() {
		set := p.held[c.Number]
		set.first = &d
		p.held[c.Number] = set
		p.first(d)
	})
}

func (p *program) first(d provider.Delta) { p.a.delta(d, true) }

// Done states a reply, and counts what it used. One that was cut at a bound that a
// limit had lowered ends the trial, as it does in the loop.
func (p *program) Done(c *proxy.Call, r provider.Response) {
	p.do(func() {
		if p.recording() {
			r.TTFT, r.Elapsed = r.TTFT.Truncate(time.Millisecond), r.Elapsed.Truncate(time.Millisecond)
		}
		p.keepCall(c, &r, nil)
		p.done(c, r)
	})
}

func (p *program) done(c *proxy.Call, r provider.Response) {
	p.refused = nil
	if r.Model == "" {
		r.Model = p.asked(c)
	}
	p.a.spent.short = p.held[c.Number].short
	if end, short := p.a.cutShort(); short && r.Finish == provider.FinishMaxTokens && p.limit == nil {
		p.limit = &end
	}
	p.settle(c.Number, r, nil)
	p.a.answered(r, c.Number)
	p.a.log.emit(event.StepDone, event.Step{StepIndex: c.Number})
}

// held is what is set aside for a call.
type held struct {
	model string // that is asked
	most  budget.Use
	short budget.Limit // that its output bound was lowered for
	hold  *budget.Hold
	// What a recording has of the call.
	bounds record.Bounds
	began  time.Time
	first  *provider.Delta
}

// reserve sets the most that a call can use aside: of the trial's limits, then of
// the run's budget. A call that does not fit the limits is let have a shorter
// reply, as in the loop. The calls of a program that has such limits come one by one.
func (p *program) reserve(c *proxy.Call, set *held) *ending {
	a := p.a
	most, err := p.fit(c)
	if limit := (*overLimit)(nil); errors.As(err, &limit) {
		return &limit.ending
	}
	hold, err := a.hold(p.ctx, most.USD)
	if err != nil {
		return &ending{fault: faultHalt, stop: stopInterrupted, phase: phaseAgent, err: err}
	}
	set.model, set.most, set.short, set.hold = p.asked(c), most, a.spent.short, hold
	return nil
}

// fit is the most that a call can use. It lowers the output bound of one that
// would not fit the trial's limits otherwise.
func (p *program) fit(c *proxy.Call) (budget.Use, error) {
	a, price := p.a, p.a.run.plan.MostPrice(p.a.deployment, p.asked(c))
	// a replay has nobody who could foretell
	if f, ok := a.client.(forecaster); ok && a.run.deps.Tape == nil {
		u := f.Forecast(provider.Request{Ref: c.Ref, Model: a.deployment.Model, Messages: c.Messages})
		most := budget.Use{Tokens: max(u.Total, u.Input+u.Output), USD: price(u.Input, u.Output)}
		return most, a.refuse(a.limits.Budget.Over(a.spent.used, most), most)
	}
	output, err := a.shorten(price, c.Most, c.Output, max(minOutput, c.Least))
	if err != nil {
		return budget.Use{}, err
	}
	c.Output = output
	return price.Most(c.Most, output), nil
}

// settle counts what a call has used, by its reply or its failure.
func (p *program) settle(number int, r provider.Response, failure *provider.Error) {
	set, ok := p.held[number]
	if !ok {
		return
	}
	delete(p.held, number)
	p.a.count(provider.Request{Model: set.model}, set.most, r, failure)
	p.a.spent.known = budget.Conversation{} // whatever the program asks next
	set.hold.Settle(p.a.spent.charged)
}

// release counts what nothing more is heard of, when the program's part is over.
func (p *program) release() {
	for number := range p.held {
		p.settle(number, provider.Response{}, &provider.Error{Code: provider.Cancelled})
	}
}

// Failed states a call without a reply. The last one that was not the agent's
// doing is remembered: it may be why the program fails.
func (p *program) Failed(c *proxy.Call, e *provider.Error) {
	p.do(func() {
		if p.recording() {
			e = p.lasting(c, e)
		}
		p.keepCall(c, nil, e)
		p.failed(c, e)
	})
}

// lasting is a failure with how long it took, in whole milliseconds.
func (p *program) lasting(c *proxy.Call, e *provider.Error) *provider.Error {
	took := *e
	if !took.FromRecording {
		took.Recorded = p.a.run.deps.Now().Sub(p.held[c.Number].began)
	}
	took.Recorded, took.Silent = took.Recorded.Truncate(time.Millisecond), took.Silent.Truncate(time.Millisecond)
	return &took
}

func (p *program) failed(c *proxy.Call, e *provider.Error) {
	a := p.a
	switch e.Code {
	case provider.Cancelled: // by us: the program had ended
	case provider.InvalidRequest, provider.ContextLength, provider.ContentFilter:
		a.failing = nil
		if e.Provider == provider.Scripted && e.Code == provider.InvalidRequest {
			a.failing = e // a script's author wrote no reply for this
		}
	default:
		a.failing = e
	}
	a.log.clock.pass(e.Recorded)
	failed := callError(a.deployment, e)
	failed.StepIndex, failed.Model, failed.Try = c.Number, p.asked(c), 1
	p.settle(c.Number, provider.Response{}, e)
	if a.run.purse != nil {
		failed.ChargedUSD = a.spent.charged
	}
	a.log.emit(event.CallFailed, failed)
	a.log.emit(event.StepDone, event.Step{StepIndex: c.Number})
}

// heard are the conversations that have been written down, by the hash of each of
// their beginnings.
type heard map[[sha256.Size]byte]bool

// maxHeard bounds what is remembered of a program that never says the same twice;
// beyond it messages are written down again.
const maxHeard = 50_000

// fresh are the messages after the longest beginning that is known.
func (h heard) fresh(messages []provider.Message) []provider.Message {
	var sum [sha256.Size]byte
	known := 0
	for i, m := range messages {
		raw, err := event.Marshal(m)
		if err != nil {
			return messages // texts always marshal
		}
		sum = sha256.Sum256(append(sum[:], raw...))
		if h[sum] {
			known = i + 1
		} else if len(h) < maxHeard {
			h[sum] = true
		}
	}
	return messages[known:]
}
