package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/turn"
	"github.com/agentclash/agentclash/pack"
)

// The stop reasons of conversations.
const (
	stopHuman     = "human_turn_timeout"
	stopSimulator = "simulator_error"
	stopJudge     = "judge_error"
)

// phaseUser is where a trial is that a user it was to talk to keeps from going on.
const phaseUser = "user"

// users is what a conversation keeps of those who play its users.
type users struct {
	talk  *turn.Talk
	began time.Time // of the clock, when the conversation did
	// simulating is left of the time for models that play users, and for judges that
	// are asked on the way.
	simulating time.Duration
	calls      int // to models that play users, failed ones too
	answer     *string
}

// converse has the pack's users and the agent take turns. The agent has one box,
// one history and one set of counters for all of it; a turn is the one loop, until
// it hands in or says something. What users take of the time is not the agent's.
func (a *attempt) converse(ctx context.Context) ending {
	a.users = users{talk: turn.New(*a.kase.UserSimulator), began: a.log.clock.Now(), simulating: a.limits.Trial}
	for {
		var end ending
		var over bool
		switch move := a.users.talk.Next(); move.Kind {
		case turn.End:
			end, over = ending{stop: move.Stop, answer: a.users.answer}, true
		case turn.Decide:
			end, over = a.decide(ctx, move)
		case turn.Speak:
			end, over = a.exchange(ctx, move)
		}
		if over {
			return a.parted(end)
		}
	}
}

// parted states the end of a conversation. One in which nobody said anything to
// the agent judges nobody.
func (a *attempt) parted(end ending) ending {
	if end.fault == faultHalt {
		return end
	}
	if a.users.talk.Summary().Turns == 0 && end.stop == stopHuman {
		end = ending{fault: faultPack, stop: stopHuman, code: stopHuman, phase: phaseUser, err: end.err}
		if end.err == nil {
			end.err = errors.New("nobody spoke to the agent: the conversation begins with a person, and none answered")
		}
	}
	s := a.users.talk.Summary()
	a.log.emit(event.ConversationDone, event.ConversationEnd{
		TurnCount: s.Turns, ActorsUsed: append([]string{}, s.Actors...), MismatchTurns: append([]int{}, s.Mismatches...),
		HumanTurnCount: s.Humans, StopReason: end.stop, FinalOutput: a.users.answer, Calibration: a.sampled(),
	})
	return end
}

// exchange is one turn: the user says something, and the agent answers.
func (a *attempt) exchange(ctx context.Context, m turn.Move) (ending, bool) {
	if end, over := halted(ctx); over {
		return end, true
	}
	said, end, over := a.userSays(ctx, m)
	if over {
		return end, true
	}
	at := event.UserTurn{TurnIndex: m.Turn, PhaseID: m.Phase.ID, Actor: m.Phase.Actor, Content: said}
	a.log.emit(event.TurnUser, at)
	a.messages = append(a.messages, provider.Message{Role: provider.User, Content: said})
	if end = a.respond(ctx); end.fault != faultNone {
		return end, true
	}
	a.users.answer = end.answer
	a.log.emit(event.TurnAssistant, event.AssistantTurn{TurnIndex: m.Turn, PhaseID: m.Phase.ID, Content: *end.answer})
	compared, mismatch := turn.Compare(m.Script.Expects, *end.answer)
	done := event.TurnEnd{TurnIndex: m.Turn, PhaseID: m.Phase.ID, Actor: m.Phase.Actor, Mismatch: mismatch}
	for _, x := range compared {
		done.Expectations = append(done.Expectations, event.Expected{Key: x.Key, Kind: x.Kind, Met: x.Why == "", Reason: x.Why})
	}
	a.log.emit(event.TurnDone, done)
	a.users.talk.Took(turn.Exchange{User: said, Assistant: *end.answer, Mismatch: mismatch})
	return ending{}, false
}

// aside does something on the users' account: the agent's time stands still.
func (a *attempt) aside(part func()) {
	if a.time != nil {
		a.time.Pause(true)
		defer a.time.Pause(false)
	}
	began := a.log.clock.Now()
	part()
	a.startedAt = a.startedAt.Add(a.log.clock.Now().Sub(began))
}

// ownTime is how long the agent itself took in a conversation; nil elsewhere, where
// all the time is its own.
func (a *attempt) ownTime() *int64 {
	if !a.mode.Turns {
		return nil
	}
	return new(max(a.log.clock.Now().Sub(a.startedAt), 0).Milliseconds())
}

// usersTime is how long the users of a conversation may take at most: people as
// long as their phases say, and models and judges together as long as the agent.
func (a *attempt) usersTime() time.Duration {
	if !a.mode.Turns || a.kase.UserSimulator == nil {
		return 0
	}
	most := a.limits.Trial + time.Minute
	for _, p := range a.kase.UserSimulator.Phases {
		if strings.TrimSpace(p.Actor) == pack.HumanActor {
			most += patience(p)
		}
	}
	return most
}

// sampled says whether people are to look at the conversation.
func (a *attempt) sampled() bool {
	if !a.mode.Turns || a.kase.UserSimulator == nil {
		return false
	}
	return turn.Sampled(a.kase.UserSimulator.Calibration, turn.Trial{
		Seed: a.run.plan.Options.Seed, Agent: a.agent.Label, Case: a.trial.CaseKey, Repetition: a.trial.Repetition,
	})
}
