package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/turn"
	"github.com/agentclash/agentclash/scoring"
)

// decide says whether a phase of the conversation runs, and states why.
func (a *attempt) decide(ctx context.Context, m turn.Move) (end ending, over bool) {
	if end, over := halted(ctx); over {
		return end, true
	}
	runs, why, known := a.users.talk.Decided()
	if !known {
		a.aside(func() { runs, why, end, over = a.triggered(ctx, m) })
	}
	if over {
		return end, true
	}
	a.log.emit(event.PhaseDecided, event.PhaseDecision{
		PhaseID: m.Phase.ID, PhaseIndex: m.Place, Actor: m.Phase.Actor, Trigger: m.Phase.Trigger, Runs: runs,
		Reason: event.Clip(why, maxReason), NextTurn: m.Turn,
	})
	if a.log.err != nil {
		return ending{fault: faultHalt, stop: stopInterrupted, phase: phaseUser, err: a.log.err}, true
	}
	a.users.talk.Begin(runs)
	return ending{}, false
}

// triggered looks at what the conversation itself does not know.
func (a *attempt) triggered(ctx context.Context, m turn.Move) (runs bool, why string, end ending, over bool) {
	switch m.Phase.Trigger {
	case turn.OnAgentLoop:
		ev := a.log.fold.Evidence()
		runs, why = turn.Looping(ev.ToolCalls, ev.Turns)
		return runs, why, ending{}, false
	case turn.OnValidatorFail:
		runs, key, reason := a.run.plan.Scorer.FailsNow(a.evidenceNow())
		if !runs {
			return false, "no validator of the final output or the conversation fails now", ending{}, false
		}
		return true, because("the validator "+key+" does not pass now", reason), ending{}, false
	case turn.OnJudgeBelow:
		return a.judgedBelow(ctx)
	case turn.Manual:
		return a.wanted(ctx, m)
	}
	return false, "", packBroken(fmt.Errorf("phase %q has a trigger that nothing can set off: %q", m.Phase.ID, m.Phase.Trigger)), true
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// judgedBelow asks the judges about what there is now. They are asked within their
// limits, and what they say is a part of the conversation: when the trial is scored,
// other evidence makes other questions.
func (a *attempt) judgedBelow(ctx context.Context) (runs bool, why string, end ending, over bool) {
	began := time.Now()
	asking, stop := context.WithTimeout(ctx, a.users.simulating)
	defer stop()
	end, over = a.question(asking, a.mode.Source, a.evidenceNow)
	if reached := (*budget.Reached)(nil); over && (ctx.Err() != nil || errors.As(end.err, &reached)) {
		return false, "", end, true
	}
	a.users.simulating -= time.Since(began)
	below, key, reason, unreached := a.run.plan.Scorer.BelowNow(a.evidenceNow())
	switch {
	case below:
		return true, because("the judge "+key+" is below its threshold", reason), ending{}, false
	case unreached != "":
		return false, "", judgeUnreached(key, reason, unreached), true
	case asking.Err() != nil:
		return false, "", judgeUnreached(key, "the users' models and judges have used up their time", string(provider.Timeout)), true
	}
	return false, "no judge is below its threshold", ending{}, false
}

// judgeUnreached ends a trial that cannot go on as its pack says, since a judge
// decides how.
func judgeUnreached(key, reason, code string) ending {
	end := ending{fault: faultInfra, stop: stopJudge, code: code, phase: scoring.PhaseScoring,
		err: errors.New(because("the judge "+key+", which decides how the conversation goes on, was not heard", reason))}
	if code == string(provider.Auth) || code == string(provider.UnknownModel) {
		end.fault = faultFatal
	}
	return end
}

// wanted asks whether a person wants a phase.
func (a *attempt) wanted(ctx context.Context, m turn.Move) (runs bool, why string, end ending, over bool) {
	if a.run.deps.Users == nil {
		return false, "nobody asked for it", ending{}, false
	}
	runs, err := a.run.deps.Users.Wanted(ctx, a.humanTurn(m))
	if over, stop := halted(ctx); stop {
		return false, "", over, true
	}
	if err != nil {
		return false, "", ending{fault: faultInfra, stop: stopInternal, code: "infra_error", phase: phaseUser, err: fmt.Errorf("look whether somebody asked for phase %q: %w", m.Phase.ID, err)}, true
	}
	if runs {
		return true, "somebody asked for it", ending{}, false
	}
	return false, "nobody asked for it", ending{}, false
}
