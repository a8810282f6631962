package evaluation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/packs"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
	"golang.org/x/sync/errgroup"
)

// rescoring is a run that is being scored again.
type rescoring struct {
	run     store.Run
	plan    plan.Plan
	pack    *pack.Pack    // that scores
	ref     event.PackRef // of it
	before  scoring.Spec  // of the run
	score   *engine.Rescoring
	details bool // changes are wanted one by one

	lanes   []*rescoredLane
	byAgent map[string]*rescoredLane
	leftOut map[string]*view.LeftOutCase // by case
	doc     view.RescoreDocument
}

// What bounds the memory of a rescoring.
const (
	rescoreSpan    = 64 // trials that are read, scored and written together
	rescoreWorkers = 4  // spans at once, at most
)

// rescore scores every trial that can be, and stores the result unless dry.
func rescore(ctx context.Context, a *cli.App, r *rescoring, dry bool) (view.RescoreDocument, error) {
	if dry {
		db, err := a.Stored(ctx)
		if err == nil {
			err = r.read(ctx, db, func([]store.RescoredTrial) error { return nil })
		}
		return r.document(), err
	}
	db, err := a.Store(ctx)
	if err != nil {
		return view.RescoreDocument{}, err
	}
	by := store.Rescoring{RunID: r.run.ID, PackID: r.run.PackID, SpecDigest: r.score.SpecDigest(), Program: cli.ReadBuildInfo().Version}
	if r.ref.Digest != r.run.Pack.Digest {
		stored, err := packs.Snapshot(ctx, a, db, r.pack, r.run.Workspace, false)
		if err != nil {
			return view.RescoreDocument{}, err
		}
		by.PackID = stored.ID
	}
	w, err := db.StartRescoring(ctx, by, cli.Self(), a.OwnerLives)
	if err != nil {
		return view.RescoreDocument{}, err
	}
	err = r.read(ctx, db, func(trials []store.RescoredTrial) error { return w.Add(ctx, trials) })
	if err != nil || r.doc.Rescored == 0 {
		return r.document(), errors.Join(err, w.Discard(context.WithoutCancel(ctx)))
	}
	done, err := w.Finish(context.WithoutCancel(ctx), r.end())
	r.doc.RescoringID = &done.ID
	return r.document(), err
}

// read scores the run span by span, several at once, and hands what is to be
// written to write in the order of execution.
func (r *rescoring) read(ctx context.Context, db *store.DB, write func([]store.RescoredTrial) error) error {
	if err := r.open(ctx, db); err != nil {
		return err
	}
	trials, err := db.Deciding(ctx, r.run.ID, r.score.EventTypes())
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	spans := make(chan chan []rescoredTrial, min(runtime.GOMAXPROCS(0), rescoreWorkers)-1) // in order
	g.Go(func() error {
		defer close(spans)
		for _, s := range trials.Spans(rescoreSpan) {
			span := make(chan []rescoredTrial, 1)
			select {
			case spans <- span:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			g.Go(func() error {
				list, err := r.span(ctx, trials, s)
				span <- list
				return err
			})
		}
		return nil
	})
	g.Go(func() error {
		for span := range spans {
			list := <-span
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := r.take(list, write); err != nil {
				return err
			}
		}
		return nil
	})
	return g.Wait()
}

// open makes a lane of each run agent.
func (r *rescoring) open(ctx context.Context, db *store.DB) error {
	agents, err := db.RunAgents(ctx, r.run.ID)
	if err != nil {
		return err
	}
	r.lanes, r.byAgent, r.leftOut = nil, map[string]*rescoredLane{}, map[string]*view.LeftOutCase{}
	for _, agent := range agents {
		l := &rescoredLane{
			agent:  agent,
			before: scoring.NewAggregator(r.before, r.plan.Options.MinPassRate),
			after:  scoring.NewAggregator(r.score.Spec(), r.plan.Options.MinPassRate),
		}
		r.lanes, r.byAgent[agent.ID] = append(r.lanes, l), l
	}
	return nil
}

// rescoredTrial is a trial with what became of it.
type rescoredTrial struct {
	of            store.DecidingTrial
	earlier       []scoring.Trial // attempts that count as spend
	before, after scoring.Trial   // the same when it was not scored again
	scored        bool
	leftOut       string
	result        json.RawMessage // nil: as it is stored
	change        *compare.Change // nil: it reads as before
}

// span reads and scores the trials of a span.
func (r *rescoring) span(ctx context.Context, from *store.Deciding, s store.Span) ([]rescoredTrial, error) {
	trials, err := from.Trials(ctx, s)
	if err != nil {
		return nil, err
	}
	list := make([]rescoredTrial, len(trials))
	ask := make([]store.DecidingTrial, 0, len(trials)) // whose events are needed
	var at []int
	for i, of := range trials {
		list[i].of, list[i].leftOut = of, r.score.LeftOut(of.CaseKey)
		if of.Result == nil || list[i].leftOut != "" {
			continue
		}
		if err := list[i].decode(); err != nil {
			return nil, err
		}
		ask, at = append(ask, of), append(at, i)
	}
	err = from.Events(ctx, ask, func(i int, events []event.Event) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return r.trial(&list[at[i]], events)
	})
	for i := range list {
		list[i].slim()
	}
	return list, err
}

// decode reads what the attempts of a trial came to.
func (t *rescoredTrial) decode() error {
	results := append(t.of.Earlier[:len(t.of.Earlier):len(t.of.Earlier)], t.of.Result)
	for _, raw := range results {
		end, err := store.Trial{ID: t.of.ID, Result: raw}.End()
		if err != nil {
			return err
		}
		t.earlier = append(t.earlier, end.Trial)
	}
	last := len(t.earlier) - 1
	t.before, t.earlier = t.earlier[last], t.earlier[:last]
	t.after = t.before
	return nil
}

// trial scores one trial again.
func (r *rescoring) trial(t *rescoredTrial, events []event.Event) error {
	after, scored, err := r.score.Trial(t.before, events)
	if err != nil || !scored {
		return err
	}
	t.scored = true
	raw, err := engine.ResultOf(after)
	if err != nil || bytes.Equal(raw, t.of.Result) {
		return err
	}
	t.result, t.after = raw, scoring.Trial{}
	if err := json.Unmarshal(raw, &t.after); err != nil {
		return fmt.Errorf("read result of trial %q: %w", t.of.ID, err)
	}
	if c, changed := compare.Rescored(t.before, t.after); changed {
		t.change = &c
	}
	return nil
}

// slim lets go of what only comparing needed.
func (t *rescoredTrial) slim() {
	t.of.Result, t.of.Earlier = nil, nil
	for _, kept := range []*scoring.Trial{&t.before, &t.after} {
		kept.FinalOutput = nil
		if kept.Scorecard != nil {
			kept.Scorecard.Validators, kept.Scorecard.Metrics = nil, nil
		}
	}
}

// take counts the trials of a span and writes those that the new scorecard
// counts.
func (r *rescoring) take(list []rescoredTrial, write func([]store.RescoredTrial) error) error {
	var counted []store.RescoredTrial
	for i := range list {
		t := &list[i]
		if r.byAgent[t.of.RunAgentID].take(t) {
			counted = append(counted, store.RescoredTrial{Of: t.of, Result: t.result})
		}
		r.count(t)
	}
	return write(counted)
}
