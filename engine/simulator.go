package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/engine/turn"
)

const simulatorTimeout = time.Minute // of one call

// simulate asks a model what its user says next.
func (a *attempt) simulate(ctx context.Context, m turn.Move) (string, ending, bool) {
	i := slices.IndexFunc(a.run.plan.Simulators, func(s plan.SimulatorModel) bool {
		return s.Lane == a.trial.Agent && s.Name == strings.TrimSpace(m.Phase.Model)
	})
	if i < 0 || i >= len(a.run.deps.Simulators) || a.run.deps.Simulators[i] == nil {
		return "", unsimulated(stopInternal, fmt.Errorf("the run has no client for the user of phase %q", m.Phase.ID)), true
	}
	prompt, err := turn.Prompt(m.Phase.Persona, a.users.talk.Lines(), a.run.plan.Source.AgentView(a.kase).Case.Payload)
	if err != nil {
		return "", packBroken(err), true
	}
	reply, err := a.askSimulator(ctx, m, a.run.plan.Simulators[i], a.run.deps.Simulators[i], prompt)
	if over, stop := halted(ctx); stop {
		return "", over, true
	}
	if err != nil {
		return "", a.simulatorFailed(m, err), true
	}
	text := strings.TrimSpace(reply.Text)
	switch {
	case reply.Finish == provider.FinishContentFilter:
		return "", unsimulated(stopSimulator, fmt.Errorf("the user of phase %q was withheld by the model's provider", m.Phase.ID)), true
	case text == "":
		return "", unsimulated(stopSimulator, fmt.Errorf("the user of phase %q said nothing: the model's reply is blank", m.Phase.ID)), true
	}
	return event.Clip(text, MaxUserMessage), ending{}, false
}

// askSimulator makes the call, with retries, and states what came of it.
func (a *attempt) askSimulator(ctx context.Context, m turn.Move, s plan.SimulatorModel, client provider.Client, prompt string) (provider.Response, error) {
	began := time.Now()
	ctx, stop := context.WithTimeoutCause(ctx, a.users.simulating, errors.New("the users' models have used up their time"))
	defer stop()
	req := provider.Request{
		Ref:   provider.Ref{Agent: a.agent.Label, Case: a.trial.CaseKey, Repetition: a.trial.Repetition, Attempt: a.number, Call: a.users.calls},
		Model: s.Model, Messages: []provider.Message{{Role: provider.User, Content: prompt}},
		Sampling: provider.Sampling{MaxOutputTokens: plan.SimulatorMaxOutput}, Seed: a.run.plan.Options.Seed,
	}
	charged, stated := 0.0, false
	state := func(t provider.Try, reserved float64) {
		if !stated { // a call that is tried again is still one call
			a.simulatorAsked(m, s, t, reserved)
		}
		stated = true
	}
	reply, err := a.run.retry(simulatorTimeout, a.run.paces.Of(s.Pace(), 0)).Do(ctx, client, req, provider.Observer{
		Begin: func(ctx context.Context, t provider.Try, req *provider.Request) (func(provider.Response, *provider.Error), error) {
			most := a.run.plan.Price(s.Provider, s.Model).Most(budget.MostInput(*req), req.Sampling.MaxOutputTokens).USD
			hold, err := a.run.purse.Reserve(ctx, most)
			if err != nil {
				return nil, err
			}
			charged = most // until it is counted, whatever happens
			state(t, most)
			return func(res provider.Response, failure *provider.Error) {
				charged = a.run.plan.SimulatorCharge(s, res, failure, most)
				hold.Settle(charged)
			}, nil
		},
		Failed: func(t provider.FailedTry) {
			state(provider.Try{Paced: t.Paced}, 0)
			a.simulatorTry(m, s, t, charged)
		},
		Again: triedAgain,
	})
	a.users.simulating -= time.Since(began)
	if err != nil {
		return reply, err
	}
	a.users.calls++
	a.log.clock.pass(reply.Elapsed)
	simulated := event.SimulatedTurn{
		TurnIndex: m.Turn, PhaseID: m.Phase.ID, Actor: m.Phase.Actor, ProviderKey: s.Provider, ProviderModelID: cmp.Or(reply.Model, s.Model),
		FinishReason: string(reply.Finish), Usage: reply.Usage,
		Timing:   event.Timing{TTFTMS: reply.TTFT.Milliseconds(), TotalLatencyMS: reply.Elapsed.Milliseconds()},
		CacheUse: event.CacheUseOf(reply.Cache),
	}
	if a.run.purse != nil {
		simulated.ChargedUSD = charged
	}
	a.log.emit(event.TurnSimulated, simulated)
	return reply, nil
}

// simulatorAsked states that a user's model is asked, with what was set aside for it.
func (a *attempt) simulatorAsked(m turn.Move, s plan.SimulatorModel, t provider.Try, reserved float64) {
	asked := event.SimulatorCall{
		TurnIndex: m.Turn, PhaseID: m.Phase.ID, Actor: m.Phase.Actor, ProviderKey: s.Provider, Model: s.Model, WaitedMS: t.Paced.Milliseconds(),
	}
	if a.run.purse != nil {
		asked.ReservedUSD = reserved
	}
	a.log.emit(event.TurnAsked, asked)
}

// simulatorTry states a failed try of a call to a user's model.
func (a *attempt) simulatorTry(m turn.Move, s plan.SimulatorModel, t provider.FailedTry, charged float64) {
	a.users.calls++
	a.log.clock.pass(t.Err.Recorded)
	c := callError(plan.Deployment{Provider: s.Provider, Model: s.Model}, t.Err)
	c.Try, c.PhaseID = t.Try, m.Phase.ID
	if a.run.purse != nil && !t.Err.Unsent {
		c.ChargedUSD = charged
	}
	a.log.emit(event.CallFailed, c)
	if t.Retrying {
		wait := a.tapeWaitOf(record.Simulators, t.Wait)
		c.WaitMS, c.ChargedUSD = wait.Milliseconds(), 0
		a.log.emit(event.CallRetried, c)
		a.log.clock.pass(wait)
	}
}

// simulatorFailed ends a trial whose user's model could not be reached: that is
// infrastructure. A key or a model that is wrong is so for all of the run agent's
// trials.
func (a *attempt) simulatorFailed(m turn.Move, err error) ending {
	if reached := (*budget.Reached)(nil); errors.As(err, &reached) {
		return ending{fault: faultHalt, stop: stopInterrupted, phase: phaseUser, err: reached}
	}
	end := unsimulated(stopSimulator, fmt.Errorf("the user of phase %q could not be asked: %w", m.Phase.ID, err))
	var call *provider.Error
	if !errors.As(err, &call) {
		return end
	}
	a.wait = call.RetryAfter
	switch call.Code {
	case provider.Auth, provider.UnknownModel:
		end.fault, end.code = faultFatal, string(call.Code)
	case provider.RateLimit, provider.Unavailable, provider.Timeout: // as with any other model
		end.code = string(call.Code)
	}
	return end
}

func unsimulated(code string, err error) ending {
	return ending{fault: faultInfra, stop: stopSimulator, code: code, phase: phaseUser, err: err}
}
