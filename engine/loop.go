package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
)

// loop is the agent's part: one task, or what the users of a conversation say in
// turns. It returns how it ended; what was said and done on the way is in the log.
func (a *attempt) loop(ctx context.Context) ending {
	messages, err := a.mode.Open(a.run.plan.Source, a.kase, a.deployment)
	if err != nil {
		return ending{fault: faultPack, stop: stopProvider, code: scoring.CodePackError, phase: phaseAgent, err: err}
	}
	a.messages = messages
	if a.mode.Turns {
		return a.converse(ctx)
	}
	return a.respond(ctx)
}

// respond is the one agent loop: model, tools, model, until something stops it.
// It goes on from what was said last, which is not the agent's.
func (a *attempt) respond(ctx context.Context) ending {
	reminded := 0
	for {
		if end, stop := a.mayStep(ctx); stop {
			return end
		}
		if end, over := a.overBudget(a.messages); over {
			return end
		}
		a.steps++
		a.stepEvent(event.StepStarted)
		a.peek()
		reply, err := a.ask(ctx, a.messages)
		if err != nil {
			return a.callFailed(ctx, err)
		}
		if end, over := a.passed(reply); over {
			a.stepEvent(event.StepDone)
			return end
		}
		a.messages = append(a.messages, provider.Message{Role: provider.Assistant, Content: reply.Text, ToolCalls: reply.ToolCalls, State: reply.State})
		if len(reply.ToolCalls) == 0 {
			end, over := a.text(reply, reminded)
			a.stepEvent(event.StepDone)
			if over {
				return end
			}
			reminded++
			a.messages = append(a.messages, provider.Message{Role: provider.User, Content: strings.TrimSpace(plan.SubmitReminder)})
			continue
		}
		results, end, over := a.callTools(ctx, reply.ToolCalls)
		if over && end.fault != faultNone {
			return end
		}
		a.stepEvent(event.StepDone)
		a.messages = append(a.messages, results...)
		if over {
			return end
		}
	}
}

// mayStep checks every cap before the next model call.
func (a *attempt) mayStep(ctx context.Context) (ending, bool) {
	if end, over := halted(ctx); over {
		return end, true
	}
	if a.log.err != nil {
		return ending{fault: faultHalt, stop: stopInterrupted, phase: phaseAgent, err: a.log.err}, true
	}
	if spent := a.log.clock.Now().Sub(a.startedAt) - a.waited; spent >= a.limits.Trial {
		return byAgent(stopTimeout, "%w: %s of %s", errTrialTimeout, spent, a.limits.Trial), true
	}
	if a.steps >= a.limits.Steps {
		return byAgent(stopSteps, "no answer within %d steps", a.limits.Steps), true
	}
	return ending{}, false
}

// stepEvent is said for agents with tools and in conversations: a single question
// has no steps.
func (a *attempt) stepEvent(t event.Type) {
	if a.mode.Tools != nil || a.mode.Turns {
		a.log.emit(t, event.Step{StepIndex: a.steps})
	}
}

// text handles a reply without a tool call. For an agent without tools, and in a
// conversation, it is the answer; one with tools is reminded that only submit
// counts, as often as its limits say.
func (a *attempt) text(reply provider.Response, reminded int) (ending, bool) {
	if reply.Finish == provider.FinishContentFilter {
		return byAgent(string(provider.ContentFilter), "the provider withheld the reply"), true
	}
	answers := a.mode.Tools == nil || a.mode.Turns
	if end, short := a.cutShort(); short && reply.Finish == provider.FinishMaxTokens {
		if answers {
			end.answer = &reply.Text
		}
		return end, true
	}
	if answers {
		return answerOf(reply), true
	}
	if reply.Finish == provider.FinishMaxTokens {
		return byAgent(stopMaxTokens, "the reply was cut at the output token limit of %d", a.limits.Output), true
	}
	if reminded >= a.limits.Reminders {
		return byAgent(stopNoSubmit, "the agent answered in text %d times and never called submit", reminded+1), true
	}
	return ending{}, false
}

// answerOf ends a single question. A reply that was cut or empty is no answer,
// though what there is of it is kept.
func answerOf(reply provider.Response) ending {
	if reply.Finish == provider.FinishMaxTokens {
		end := byAgent(stopMaxTokens, "the reply was cut at the output token limit")
		end.answer = &reply.Text
		return end
	}
	if strings.TrimSpace(reply.Text) == "" {
		return byAgent(stopNoOutput, "the model replied with nothing")
	}
	return done(reply.Text)
}

// requestOf is the next model call.
func (a *attempt) requestOf(messages []provider.Message) provider.Request {
	d := a.deployment
	sampling := d.Sampling
	if a.mode.Surface != "" {
		sampling.MaxOutputTokens = cmp.Or(sampling.MaxOutputTokens, d.Limits.MaxOutputTokens)
	} else if sampling.MaxOutputTokens == 0 {
		sampling.MaxOutputTokens = a.limits.Output
	}
	req := provider.Request{
		Ref:   provider.Ref{Agent: a.agent.Label, Case: a.trial.CaseKey, Repetition: a.trial.Repetition, Attempt: a.number, Call: a.calls},
		Model: d.Model, Messages: messages, Tools: a.mode.Definitions(), Sampling: sampling,
		Seed: a.run.plan.Options.Seed,
	}
	if d.IsHTTP() {
		req.Task = a.run.plan.Source.AgentView(a.kase)
	}
	return req
}

// stepTime bounds one try of a call.
func (a *attempt) stepTime() time.Duration {
	if a.mode.Surface != "" {
		return 0
	}
	return a.limits.Step
}

// ask makes one model call, with retries, and states each try.
func (a *attempt) ask(ctx context.Context, messages []provider.Message) (provider.Response, error) {
	req := a.requestOf(messages)
	first, stated := true, false
	state := func(t provider.Try, reserved float64) {
		if !stated { // a call that is tried again is still one call
			a.request(messages, req, t, reserved)
		}
		stated = true
	}
	reply, err := a.run.retry(a.stepTime(), a.pace).Do(ctx, a.client, req, provider.Observer{
		Begin: func(ctx context.Context, t provider.Try, r *provider.Request) (func(provider.Response, *provider.Error), error) {
			return a.begin(ctx, r, func(usd float64) { req = *r; state(t, usd) })
		},
		Waiting: a.waiting,
		Delta: func(delta provider.Delta) {
			a.delta(delta, first)
			first = false
		},
		Failed: func(t provider.FailedTry) {
			first = true // what the next try says is new
			state(provider.Try{Paced: t.Paced}, 0)
			a.failedTry(t)
		},
		Again: triedAgain,
	})
	if err != nil {
		return provider.Response{}, err
	}
	a.calls++
	a.run.lanes[a.trial.Agent].answered.Store(true)
	a.answered(reply, a.steps)
	return reply, nil
}

// request states that the model is asked, with what was set aside for it.
func (a *attempt) request(messages []provider.Message, req provider.Request, t provider.Try, reserved float64) {
	c := event.Call{
		StepIndex: a.steps, ProviderKey: a.deployment.Provider, Model: a.deployment.Model, APISurface: a.mode.Surface, StepTimeoutMS: a.stepTime().Milliseconds(),
		WaitedMS: t.Paced.Milliseconds(),
	}
	if a.run.purse != nil {
		c.ReservedUSD = reserved
	}
	if a.spent.short != budget.None {
		c.MaxOutputTokens = req.Sampling.MaxOutputTokens
	}
	a.log.request(c, messages, req.Tools)
}

// callFailed ends a trial whose model call failed for good, or was not made
// because a limit or the run's budget has no room for it. When the trial's time
// runs out while a provider is failing, or silent, the provider is what failed.
func (a *attempt) callFailed(ctx context.Context, err error) ending {
	if limit := (*overLimit)(nil); errors.As(err, &limit) {
		a.stepEvent(event.StepDone)
		return limit.ending
	}
	if reached := (*budget.Reached)(nil); errors.As(err, &reached) {
		return ending{fault: faultHalt, stop: stopInterrupted, phase: phaseAgent, err: reached}
	}
	if a.failing != nil && (errors.Is(context.Cause(ctx), errTrialTimeout) || errors.Is(err, errTrialTimeout)) {
		return byCall(context.WithoutCancel(ctx), a.failing)
	}
	return byCall(ctx, err)
}

// delta states the first piece of a reply; later ones are for eyes only. A
// recorded reply says when its first piece came only when it is whole.
func (a *attempt) delta(delta provider.Delta, first bool) {
	d := event.TextDelta{ProviderKey: a.deployment.Provider, ProviderModelID: a.deployment.Model, StreamKind: "text", TextDelta: delta.Text}
	if delta.ToolName != "" {
		d.StreamKind, d.ToolName = "tool_call", delta.ToolName
	}
	switch {
	case !first:
		a.log.glimpse(d)
	case a.log.clock.recorded:
		a.firstPiece = &d
	default:
		a.log.emit(event.OutputDelta, d)
	}
}

// failedTry states a failed try and, when another follows, the wait before it.
func (a *attempt) failedTry(t provider.FailedTry) {
	a.calls++
	if silent := a.silence(t.Err); silent != nil {
		a.failing = silent
	} else if !errors.Is(t.Err, errTrialTimeout) { // then it is not the provider that failed
		a.failing = t.Err
	}
	a.log.clock.pass(t.Err.Recorded)
	c := callError(a.deployment, t.Err)
	c.StepIndex, c.Try, c.WaitedMS = a.steps, t.Try, t.Paced.Milliseconds()
	if a.run.purse != nil && !t.Err.Unsent {
		c.ChargedUSD = a.spent.charged
	}
	a.log.emit(event.CallFailed, c)
	if !t.Retrying {
		return
	}
	wait := a.tapeWait(t.Wait)
	c.WaitMS, c.ChargedUSD = wait.Milliseconds(), 0
	a.log.emit(event.CallRetried, c)
	a.log.clock.pass(wait)
	if a.log.clock.recorded {
		a.waited += wait
	}
}

// silence is the failure of a provider that had said nothing for more than half of
// the trial's time when that ran out; nil for any other end of a call. How long it
// was is measured once, with the call, so that a replay decides the same.
func (a *attempt) silence(e *provider.Error) *provider.Error {
	if !errors.Is(e, errTrialTimeout) {
		return nil
	}
	return a.silentFor(e.Silent)
}

// silentFor is the failure of a provider that had been silent for so long when the
// trial's time was up; nil when that is not more than half of it.
func (a *attempt) silentFor(silent time.Duration) *provider.Error {
	if 2*silent <= a.limits.Trial {
		return nil
	}
	return &provider.Error{Provider: a.deployment.Provider, Code: provider.Timeout, Silent: silent,
		Message: fmt.Sprintf("the provider had been silent for %v when the trial's time of %v was up", silent, a.limits.Trial)}
}

func callError(d plan.Deployment, e *provider.Error) event.CallError {
	return event.CallError{
		ProviderKey: d.Provider, Model: d.Model, Code: string(e.Code), Status: e.Status, Message: e.Message,
		Retryable: e.Retryable(), RetryAfterMS: e.RetryAfter.Milliseconds(),
		SilentMS: e.Silent.Milliseconds(),
	}
}

// answered states a whole reply to the call of a step.
func (a *attempt) answered(r provider.Response, step int) {
	if r.Model == "" {
		r.Model = a.deployment.Model
	}
	a.failing = nil
	if a.firstPiece != nil {
		a.log.clock.pass(r.TTFT)
		a.log.emit(event.OutputDelta, *a.firstPiece)
		a.log.clock.pass(-r.TTFT)
		a.firstPiece = nil
	}
	a.log.clock.pass(r.Elapsed)
	calls := r.ToolCalls
	if calls == nil {
		calls = []provider.ToolCall{}
	}
	done := event.CallEnd{
		StepIndex: step, ProviderKey: a.deployment.Provider, ProviderModelID: r.Model, FinishReason: string(r.Finish),
		OutputText: r.Text, ToolCalls: calls, Usage: r.Usage, CostUSD: r.CostUSD, Note: r.Note,
		Timing:   event.Timing{TTFTMS: r.TTFT.Milliseconds(), TotalLatencyMS: r.Elapsed.Milliseconds()},
		CacheUse: event.CacheUseOf(r.Cache),
	}
	if a.run.purse != nil {
		done.ChargedUSD = a.spent.charged
	}
	a.log.emit(event.CallDone, done)
}

// callTools runs the calls of one reply in order. over is true when the trial
// ends here: by a submit, or by what end says went wrong.
func (a *attempt) callTools(ctx context.Context, calls []provider.ToolCall) (results []provider.Message, end ending, over bool) {
	if a.mode.Tools == nil {
		return nil, byAgent("unexpected_tool_call", "the model called a tool although it was given none"), true
	}
	for i, call := range calls {
		result, end, over := a.callTool(ctx, call, len(calls) > 1)
		if over {
			return results, end, true
		}
		results = append(results, provider.Message{Role: provider.ToolRole, Content: result.Content, ToolCallID: call.ID, IsError: result.IsError})
		if result.Answer != nil {
			return append(results, skipped(calls[i+1:])...), done(*result.Answer), true
		}
	}
	return results, ending{}, false
}

// skipped answers the calls after one that handed in: a conversation goes on, and
// each call of its history must have a result.
func skipped(calls []provider.ToolCall) (results []provider.Message) {
	for _, call := range calls {
		results = append(results, provider.Message{Role: provider.ToolRole, ToolCallID: call.ID, IsError: true,
			Content: "not run: the answer was handed in before"})
	}
	return results
}

func (a *attempt) callTool(ctx context.Context, call provider.ToolCall, among bool) (tool.Result, ending, bool) {
	name := strings.TrimSpace(call.Name)
	submits := name == tool.Submit
	if submits && among {
		return a.refused(call, "call submit alone: it ends the task, so nothing else may be in the same message"), ending{}, false
	}
	counts := !submits && a.mode.Tools.Has(name)
	if counts && a.toolCalls >= a.limits.ToolCalls {
		return tool.Result{}, byAgent(stopTools, "more than %d tool calls", a.limits.ToolCalls), true
	}
	a.log.emit(event.ToolStarted, event.Tool{ToolCallID: call.ID, ToolName: name, ToolCategory: a.mode.Tools.Category(name), Arguments: arguments(call)})
	began := a.log.clock.Now()
	result, err := a.useTool(ctx, call)
	if err != nil {
		return tool.Result{}, a.lost(ctx, phaseAgent, err), true
	}
	if counts {
		a.toolCalls++
	}
	a.stateEgress()
	if end := a.stateVault(ctx); end.fault != faultNone {
		return tool.Result{}, end, true
	}
	result = a.tell(call, result)
	a.toolEvent(call, result, a.log.clock.Now().Sub(began))
	return result, ending{}, false
}

// refused answers a call that is not run.
func (a *attempt) refused(call provider.ToolCall, why string) tool.Result {
	r := tool.Refusal(why)
	a.toolEvent(call, r, 0)
	return r
}

func (a *attempt) toolEvent(call provider.ToolCall, r tool.Result, took time.Duration) {
	typ := event.ToolDone
	if r.IsError {
		typ = event.ToolFailed
	}
	t := event.Tool{
		ToolCallID: call.ID, ToolName: strings.TrimSpace(call.Name), ToolCategory: r.Category,
		Arguments:     arguments(call),
		Result:        &event.ToolResult{ToolCallID: call.ID, Content: r.Content, IsError: r.IsError},
		FailureOrigin: r.Origin, Limit: r.Limit, DurationMS: took.Milliseconds(),
	}
	if len(r.Chain) > 1 {
		t.ResolutionChain, t.ResolvedToolName, t.ResolvedToolCategory = r.Chain, r.ResolvedName, r.ResolvedCategory
		t.FailureDepth = r.FailureDepth()
	}
	a.log.emit(typ, t)
}

// arguments are what the model sent; the client has made JSON of anything.
func arguments(call provider.ToolCall) json.RawMessage {
	if len(call.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return call.Arguments
}
