package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/turn"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// Bounds of what users say.
const (
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
	return ending{fault: faultPack, stop: string(provider.InvalidRequest), code: scoring.CodePackError, phase: phaseUser, err: err}
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
