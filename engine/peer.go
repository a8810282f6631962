package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"golang.org/x/sync/errgroup"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/peers"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// board is how the agents of a case and repetition stand, where they are told.
type board struct {
	mu  sync.Mutex
	all []peers.Standing // by lane
}

// newBoards is nil where agents are told nothing of their peers.
func newBoards(planned *plan.Plan) map[groupKey]*board {
	if !planned.Options.PeerStandings {
		return nil
	}
	models := make([]string, len(planned.Agents))
	for i, a := range planned.Agents {
		models[i] = a.Deployment.Model
	}
	names := peers.Names(models)
	boards := map[groupKey]*board{}
	for key := range keysOf(planned) {
		if boards[key] != nil {
			continue
		}
		b := &board{}
		for lane, name := range names {
			b.all = append(b.all, peers.Standing{Lane: lane, Name: name, State: stood(planned, lane, key)})
		}
		boards[key] = b
	}
	return boards
}

// stood is how an agent stands that an earlier process has run, by the last attempt
// of its trial.
func stood(p *plan.Plan, lane int, key groupKey) peers.State {
	state := peers.NotStarted
	for _, t := range p.Prior(lane) {
		if t.CaseKey == key.caseKey && t.Repetition == key.repetition {
			state = standingOf(t)
		}
	}
	return state
}

// standingOf is how a trial that has ended stands.
func standingOf(t scoring.Trial) peers.State {
	switch {
	case t.Outcome == scoring.OutcomeInvalid:
		return peers.Failed
	case t.StopReason == stopTimeout:
		return peers.TimedOut
	case t.StopReason == stopCompleted:
		return peers.Submitted
	case t.Outcome == scoring.OutcomePassed:
		return peers.Submitted
	}
	return peers.Failed
}

// stand changes how the attempt's agent stands, and returns how all do.
func (a *attempt) stand(change func(*peers.Standing)) []peers.Standing {
	b := a.run.boards[groupKey{a.trial.CaseKey, a.trial.Repetition}]
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.all[a.trial.Agent])
	return append([]peers.Standing{}, b.all...)
}

// peek tells the agent at the start of a step how its peers stand, when it is time.
// Without the option the conversation is the same to the byte.
func (a *attempt) peek() {
	all := a.stand(func(s *peers.Standing) {
		s.State, s.Step, s.ToolCalls, s.Tokens = peers.Running, a.steps, a.toolCalls, a.spent.used.Tokens
	})
	if all == nil {
		return
	}
	a.watch.Gap = a.run.plan.Options.PeerGap
	trigger, tell := a.watch.Look(a.steps, a.trial.Agent, all)
	if !tell {
		return
	}
	text := peers.Text(a.steps, a.trial.Agent, all)
	a.messages = append(a.messages, provider.Message{Role: provider.User, Content: text})
	a.log.emit(event.Standings, event.PeerStandings{
		TokensAdded: peers.Tokens(text), TriggeredBy: trigger, SelfStepIndex: a.steps, MinStepGap: a.watch.Gap, Snapshot: snapshot(all),
	})
}

func snapshot(all []peers.Standing) (list []event.PeerStanding) {
	for _, s := range all {
		list = append(list, event.PeerStanding{
			LaneIndex: s.Lane, Name: s.Name, State: string(s.State), StepIndex: s.Step, ToolCallCount: s.ToolCalls, TotalTokens: s.Tokens,
			TookMS: s.Took.Milliseconds(),
		})
	}
	return list
}

// stands writes down how the agent's part ended: what its peers see. An attempt
// that another follows has not begun.
func (a *attempt) stands(end ending) {
	a.stand(func(s *peers.Standing) {
		s.Step, s.ToolCalls, s.Tokens = a.steps, a.toolCalls, a.spent.used.Tokens
		switch {
		case end.fault == faultNone:
			s.State, s.Took = peers.Submitted, max(a.log.clock.Now().Sub(a.startedAt), time.Millisecond)
		case end.fault == faultAgent && end.stop == stopTimeout:
			s.State = peers.TimedOut
		case end.fault == faultInfra: // it may be tried again
			s.State = peers.NotStarted
		default:
			s.State = peers.Failed
		}
	})
}

// together runs the trials of each case and repetition side by side, so that their
// agents see each other work; as many groups at once as the concurrency has room for.
func (r *run) together(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	next := r.ahead()
	for r.line.Wait(ctx) {
		if r.gate.Enter(ctx) != nil {
			break
		}
		group := r.line.Take(firstGroup)
		g.Go(func() error {
			defer r.gate.Leave()
			side, ctx := errgroup.WithContext(ctx)
			for _, t := range group {
				side.Go(func() error {
					defer r.line.Done()
					defer next.over(t)
					return r.unlessReached(r.trial(ctx, t))
				})
			}
			return side.Wait()
		})
		if err := next.expect(ctx, r.line.Left()); err != nil {
			return errors.Join(err, g.Wait())
		}
	}
	r.line.Close()
	return g.Wait()
}

// firstGroup takes the first trial with those of the same case and repetition.
func firstGroup(left []plan.Trial) (group, rest []plan.Trial) {
	n := 1
	for n < len(left) && left[n].CaseKey == left[0].CaseKey && left[n].Repetition == left[0].Repetition {
		n++
	}
	return left[:n], left[n:]
}
