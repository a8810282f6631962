package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
)

// loop is the one agent loop: model, tools, model, until something stops it.
// It returns how the agent's part ended; what was said and done on the way is
// in the log.
func (a *attempt) loop(ctx context.Context) ending {
	messages, err := a.mode.open(a.run.plan.pack, a.kase, a.deployment)
	if err != nil {
		return ending{fault: faultPack, stop: stopProvider, code: "pack_error", phase: phaseAgent, err: err}
	}
	reminded := false
	for {
		if end, stop := a.mayStep(ctx); stop {
			return end
		}
		a.steps++
		a.stepEvent(event.StepStarted)
		reply, err := a.ask(ctx, messages)
		if err != nil {
			return a.callFailed(ctx, err)
		}
		if end, over := a.overspent(); over {
			a.stepEvent(event.StepDone)
			return end
		}
		messages = append(messages, provider.Message{Role: provider.Assistant, Content: reply.Text, ToolCalls: reply.ToolCalls})
		if len(reply.ToolCalls) == 0 {
			end, over := a.text(reply, reminded)
			a.stepEvent(event.StepDone)
			if over {
				a.messages = messages
				return end
			}
			reminded = true
			messages = append(messages, provider.Message{Role: provider.User, Content: strings.TrimSpace(submitReminder)})
			continue
		}
		results, end, over := a.callTools(ctx, reply.ToolCalls)
		if over && end.fault != faultNone {
			return end
		}
		a.stepEvent(event.StepDone)
		messages = append(messages, results...)
		if over {
			a.messages = messages
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
	if spent := a.log.clock.Now().Sub(a.startedAt); spent >= a.limits.trial {
		return byAgent(stopTimeout, "%w: %s of %s", errTrialTimeout, spent, a.limits.trial), true
	}
	if a.steps >= a.limits.steps {
		return byAgent(stopSteps, "no answer within %d steps", a.limits.steps), true
	}
	return a.usedUp()
}

// stepEvent is said for agents with tools only: a single question has no steps.
func (a *attempt) stepEvent(t event.Type) {
	if a.mode.tools != nil {
		a.log.emit(t, event.Step{StepIndex: a.steps})
	}
}

// text handles a reply without a tool call. For an agent without tools it is
// the answer; one with tools is reminded once that only submit counts.
func (a *attempt) text(reply provider.Response, reminded bool) (ending, bool) {
	if reply.Finish == provider.FinishContentFilter {
		return byAgent(string(provider.ContentFilter), "the provider withheld the reply"), true
	}
	if a.mode.tools == nil {
		return answerOf(reply), true
	}
	if reply.Finish == provider.FinishMaxTokens {
		return byAgent(stopMaxTokens, "the reply was cut at the output token limit of %d", a.limits.output), true
	}
	if reminded {
		return byAgent(stopNoSubmit, "the agent answered in text twice and never called submit"), true
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

// ask makes one model call, with retries, and states each try.
func (a *attempt) ask(ctx context.Context, messages []provider.Message) (provider.Response, error) {
	d := a.deployment
	sampling := d.Sampling
	if sampling.MaxOutputTokens == 0 {
		sampling.MaxOutputTokens = a.limits.output
	}
	req := provider.Request{
		Ref:   provider.Ref{Agent: a.agent.Label, Case: a.trial.CaseKey, Repetition: a.trial.Repetition, Attempt: a.number, Call: a.calls},
		Model: d.Model, Messages: messages, Tools: a.mode.definitions(), Sampling: sampling,
	}
	if d.isHTTP() {
		req.Task = a.run.plan.pack.AgentView(a.kase)
	}
	a.log.request(event.Call{ProviderKey: d.Provider, Model: d.Model, StepTimeoutMS: a.limits.step.Milliseconds()}, messages, req.Tools)
	first := true
	reply, err := a.run.retry(a.limits.step).Do(ctx, a.client, req, provider.Observer{
		Delta: func(delta provider.Delta) {
			a.delta(delta, first)
			first = false
		},
		Failed: func(t provider.FailedTry) {
			first = true // what the next try says is new
			a.failedTry(t)
		},
	})
	if err != nil {
		return provider.Response{}, err
	}
	a.calls++
	a.answered(reply)
	return reply, nil
}

// callFailed ends a trial whose model call failed for good. When the trial's
// time runs out while a provider is failing, the provider is what failed.
func (a *attempt) callFailed(ctx context.Context, err error) ending {
	if a.failing != nil && errors.Is(context.Cause(ctx), errTrialTimeout) {
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
	if !errors.Is(t.Err, errTrialTimeout) { // then it is not the provider that failed
		a.failing = t.Err
	}
	a.log.clock.pass(t.Err.Recorded)
	c := callError(a.deployment, t.Err)
	c.Try = t.Try
	a.log.emit(event.CallFailed, c)
	if !t.Retrying {
		return
	}
	c.WaitMS = t.Wait.Milliseconds()
	a.log.emit(event.CallRetried, c)
	a.log.clock.pass(t.Wait)
}

func callError(d Deployment, e *provider.Error) event.CallError {
	return event.CallError{
		ProviderKey: d.Provider, Model: d.Model, Code: string(e.Code), Status: e.Status, Message: e.Message,
		Retryable: e.Retryable(), RetryAfterMS: e.RetryAfter.Milliseconds(),
	}
}

// answered states a whole reply and counts what it used.
func (a *attempt) answered(r provider.Response) {
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
	a.spent.add(a.run.plan.scorer, a.deployment.Provider, r)
	calls := r.ToolCalls
	if calls == nil {
		calls = []provider.ToolCall{}
	}
	a.log.emit(event.CallDone, event.CallEnd{
		ProviderKey: a.deployment.Provider, ProviderModelID: r.Model, FinishReason: string(r.Finish),
		OutputText: r.Text, ToolCalls: calls, Usage: r.Usage, CostUSD: r.CostUSD,
		Timing: event.Timing{TTFTMS: r.TTFT.Milliseconds(), TotalLatencyMS: r.Elapsed.Milliseconds()},
	})
}

// callTools runs the calls of one reply in order. over is true when the trial
// ends here: by a submit, or by what end says went wrong.
func (a *attempt) callTools(ctx context.Context, calls []provider.ToolCall) (results []provider.Message, end ending, over bool) {
	if a.mode.tools == nil {
		return nil, byAgent("unexpected_tool_call", "the model called a tool although it was given none"), true
	}
	for _, call := range calls {
		result, end, over := a.callTool(ctx, call, len(calls) > 1)
		if over {
			return results, end, true
		}
		results = append(results, provider.Message{Role: provider.ToolRole, Content: result.Content, ToolCallID: call.ID, IsError: result.IsError})
		if result.Answer != nil {
			return results, done(*result.Answer), true
		}
	}
	return results, ending{}, false
}

func (a *attempt) callTool(ctx context.Context, call provider.ToolCall, among bool) (tool.Result, ending, bool) {
	name := strings.TrimSpace(call.Name)
	submits := name == tool.Submit
	if submits && among {
		return a.refused(call, "call submit alone: it ends the task, so nothing else may be in the same message"), ending{}, false
	}
	counts := !submits && a.mode.tools.Has(name)
	if counts && a.toolCalls >= a.limits.toolCalls {
		return tool.Result{}, byAgent(stopTools, "more than %d tool calls", a.limits.toolCalls), true
	}
	a.log.emit(event.ToolStarted, event.Tool{ToolCallID: call.ID, ToolName: name, ToolCategory: a.mode.tools.Category(name), Arguments: arguments(call)})
	began := a.log.clock.Now()
	result, err := a.tools.Call(ctx, a.bench, call)
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
