package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/engine/turn"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// Bounds of what users say.
const (
	simulatorTimeout = time.Minute // of one call
	// MaxUserMessage is how many bytes one message of a user has at most.
	MaxUserMessage = 64 << 10
	humanPatience  = 30 * time.Minute // when the phase does not say
	maxHint        = 4 << 10
)

// nobody is why a person's turn is over at once.
const nobody = "nobody is there to ask: --follow on a terminal asks, and --human-wait waits for agentclash run turn submit"

// Users are the people who take part in conversations. Its methods are called
// from several trials at a time.
type Users interface {
	// Waits says whether there is anybody who could be asked.
	Waits() bool
	// Ask waits for a person's message until it comes or ctx ends, with the context's
	// error then.
	Ask(ctx context.Context, t HumanTurn) (string, error)
	// Wanted says whether somebody asked for a phase with the trigger manual.
	Wanted(ctx context.Context, t HumanTurn) (bool, error)
}

// HumanTurn is a turn that a person is to take. It belongs to an attempt, so that
// what is said to one is never taken for an answer to another.
type HumanTurn struct {
	TrialID string
	Attempt int
	PhaseID string
	Turn    int // from 0
	Hint    string
	Timeout time.Duration
}

// userSays is the next message of a user, whoever plays it.
func (a *attempt) userSays(ctx context.Context, m turn.Move) (said string, end ending, over bool) {
	switch m.Phase.Actor {
	case pack.ScriptedActor:
		return a.recite(m)
	case pack.LLMActor:
		a.aside(func() { said, end, over = a.simulate(ctx, m) })
	case pack.HumanActor:
		a.aside(func() { said, end, over = a.askPerson(ctx, m) })
	default:
		return "", packBroken(fmt.Errorf("phase %q has no actor that could play it: %q", m.Phase.ID, m.Phase.Actor)), true
	}
	return said, end, over
}

// packBroken ends a trial whose pack says something that cannot be done.
func packBroken(err error) ending {
	return ending{fault: faultPack, stop: string(provider.InvalidRequest), code: "pack_error", phase: phaseUser, err: err}
}

// recite fills in a scripted message. One that cannot be filled, or is blank then,
// is the pack's mistake.
func (a *attempt) recite(m turn.Move) (string, ending, bool) {
	text, missing := a.kase.RenderStrict(m.Script.Message)
	switch {
	case len(missing) > 0:
		return "", packBroken(fmt.Errorf("a message of phase %q cannot be filled in: the case has no %s", m.Phase.ID, strings.Join(missing, ", "))), true
	case strings.TrimSpace(text) == "":
		return "", packBroken(fmt.Errorf("a message of phase %q is blank once it is filled in", m.Phase.ID)), true
	}
	return text, ending{}, false
}

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
	charged := 0.0
	reply, err := a.run.retry(simulatorTimeout, a.run.paces.Of(s.Pace(), 0)).Do(ctx, client, req, provider.Observer{
		Begin: func(ctx context.Context, _ provider.Try, req *provider.Request) (func(provider.Response, *provider.Error), error) {
			price := a.run.plan.Price(s.Provider, s.Model)
			most := price.Most((&budget.Conversation{}).MostInput(*req), req.Sampling.MaxOutputTokens).USD
			hold, err := a.run.purse.Reserve(ctx, most)
			if err != nil {
				return nil, err
			}
			return func(res provider.Response, failure *provider.Error) {
				charged = a.run.plan.SimulatorCharge(s, res, failure, most)
				hold.Settle(charged)
			}, nil
		},
		Failed: func(t provider.FailedTry) { a.simulatorTry(m, s, t, charged) },
		Again:  triedAgain,
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

// simulatorTry states a failed try of a call to a user's model.
func (a *attempt) simulatorTry(m turn.Move, s plan.SimulatorModel, t provider.FailedTry, charged float64) {
	a.users.calls++
	a.log.clock.pass(t.Err.Recorded)
	c := callError(plan.Deployment{Provider: s.Provider, Model: s.Model}, t.Err)
	c.Try, c.PhaseID = t.Try, m.Phase.ID
	if a.run.purse != nil {
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
	if call.Code == provider.Auth || call.Code == provider.UnknownModel {
		end.fault, end.code = faultFatal, string(call.Code)
	}
	return end
}

func unsimulated(code string, err error) ending {
	return ending{fault: faultInfra, stop: stopSimulator, code: code, phase: phaseUser, err: err}
}

// patience is how long a person is waited for.
func patience(p pack.Phase) time.Duration {
	if p.TimeoutMS <= 0 {
		return humanPatience
	}
	return time.Duration(min(p.TimeoutMS, int64(365*24*time.Hour/time.Millisecond))) * time.Millisecond
}

// askPerson waits for a message of a person. When none comes the conversation is
// over, or, where the phase says so, the trial is failed.
func (a *attempt) askPerson(ctx context.Context, m turn.Move) (string, ending, bool) {
	t := a.humanTurn(m)
	wait := event.HumanWait{
		TurnIndex: m.Turn, PhaseID: m.Phase.ID, Actor: m.Phase.Actor, PromptHint: t.Hint, TimeoutMS: t.Timeout.Milliseconds(), OnTimeout: "stop",
	}
	if m.Phase.OnTimeout == "fail" {
		wait.OnTimeout = "fail"
	}
	somebody := a.run.deps.Users != nil && a.run.deps.Users.Waits()
	if !somebody {
		wait.TimeoutMS = 0
	}
	a.log.emit(event.TurnAwaiting, wait)
	if a.log.err != nil {
		return "", ending{fault: faultHalt, stop: stopInterrupted, phase: phaseUser, err: a.log.err}, true
	}
	wait.Reason = nobody
	if somebody {
		said, reason, err := a.hear(ctx, t)
		if over, stop := halted(ctx); stop {
			return "", over, true
		}
		if err != nil { // which is nobody's silence
			return "", ending{fault: faultInfra, stop: stopHuman, code: "infra_error", phase: phaseUser, err: fmt.Errorf("ask a person: %w", err)}, true
		}
		if reason == "" {
			return said, ending{}, false
		}
		wait.Reason = reason
	}
	return a.unanswered(m, wait)
}

// hear waits for what a person says; reason is why that is nothing.
func (a *attempt) hear(ctx context.Context, t HumanTurn) (said, reason string, err error) {
	ctx, stop := context.WithTimeout(ctx, t.Timeout)
	defer stop()
	said, err = a.run.deps.Users.Ask(ctx, t)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Sprintf("nobody answered within %s", t.Timeout), nil
	case err == nil && strings.TrimSpace(said) == "":
		return "", "the message was blank", nil
	}
	return event.Clip(said, MaxUserMessage), "", err
}

// unanswered ends a conversation in which a person did not take their turn.
func (a *attempt) unanswered(m turn.Move, wait event.HumanWait) (string, ending, bool) {
	a.log.emit(event.TurnExpired, wait)
	if wait.OnTimeout == "fail" {
		end := byAgent(stopHuman, "phase %q: %s", m.Phase.ID, wait.Reason)
		end.answer = a.users.answer
		return "", end, true
	}
	return "", ending{stop: stopHuman, answer: a.users.answer}, true
}

func (a *attempt) humanTurn(m turn.Move) HumanTurn {
	return HumanTurn{
		TrialID: a.trial.ID, Attempt: a.number, PhaseID: m.Phase.ID, Turn: m.Turn, Timeout: patience(m.Phase),
		Hint: event.Clip(strings.TrimSpace(m.Phase.Persona), maxHint),
	}
}

// evidenceNow is what is known while the conversation goes on, as if the agent's
// last answer was its final one.
func (a *attempt) evidenceNow() scoring.Evidence {
	ev := a.log.fold.Evidence()
	if a.users.answer != nil {
		ev = ev.WithOutput(a.run.redact.Text(*a.users.answer))
	}
	return ev
}
