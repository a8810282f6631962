package evaluation

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/store"
)

// answerPoll is how often a trial that waits for a person looks for the answer.
const answerPoll = 150 * time.Millisecond

// people are those who take part in the conversations of a run, by way of the
// store: whatever terminal they sit at, `run turn submit` reaches them all, and the
// follow screen does the same.
type people struct {
	db      *store.DB
	waits   bool        // somebody may answer
	manual  atomic.Bool // phases with the trigger manual are wanted, by a key
	waiting func(engine.HumanTurn)
}

// Waits says whether somebody may answer. See [engine.Users].
func (p *people) Waits() bool { return p.waits }

// Ask waits for a message. See [engine.Users].
func (p *people) Ask(ctx context.Context, t engine.HumanTurn) (string, error) {
	if err := p.db.AskTurn(ctx, t); err != nil {
		return "", err
	}
	p.waiting(t)
	tick := time.NewTicker(answerPoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			alone := errors.Is(context.Cause(ctx), engine.ErrTrialCancelled)
			if !alone && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return "", ctx.Err() // the end of the run closes the turn
			}
			message, answered, err := p.db.CloseTurn(context.WithoutCancel(ctx), t)
			if err != nil || answered {
				return message, err
			}
			return "", ctx.Err()
		}
		answered, err := p.db.Answered(ctx, t)
		if ctx.Err() != nil {
			continue
		}
		if err != nil {
			return "", err
		}
		if answered {
			message, _, err := p.db.CloseTurn(context.WithoutCancel(ctx), t)
			return message, err
		}
	}
}

// Wanted says whether somebody asked for a phase. See [engine.Users].
func (p *people) Wanted(ctx context.Context, t engine.HumanTurn) (bool, error) {
	if p.manual.Load() {
		return true, nil
	}
	return p.db.PhaseWanted(ctx, t)
}

// peopleOf are those of an execution.
func peopleOf(a *cli.App, db *store.DB, e execution) *people {
	p := &people{db: db, waits: e.humanWait || onScreen(a, e)}
	if !p.waits && e.plan.AsksPeople() {
		a.Say("! a person takes part in these conversations, and nobody is there to ask: their turns are over at once; --follow on a terminal asks, --human-wait waits")
	}
	p.waiting = func(t engine.HumanTurn) {
		if !e.follow {
			a.Say("! phase %s of trial %s waits for a person: agentclash run turn submit %s --message TEXT", t.PhaseID, cli.Short(t.TrialID), cli.Short(t.TrialID))
		}
	}
	return p
}

// onScreen says whether an execution has the live screen, at which a person sits.
func onScreen(a *cli.App, e execution) bool { return e.follow && a.Output != "json" && a.Interactive() }

// answers is what the live screen asks of people.
func (p *people) answers(ctx context.Context) tui.People {
	return tui.People{
		Answer: func(w tui.Awaited, message string) error {
			message, err := runs.CheckMessage(message)
			if err != nil {
				return err
			}
			return p.db.SubmitTurn(context.WithoutCancel(ctx), w.TrialID, w.Attempt, w.Turn, message)
		},
		Manual: p.manual.Store,
	}
}
