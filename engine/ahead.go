package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/sandbox"
)

// maxAhead is for how many trials boxes are started before they begin.
const maxAhead = 4

// ahead has boxes started for the trials that begin next, so that these need
// not wait for them. Nil does nothing.
type ahead struct {
	run   *run
	boxes sandbox.Warmer

	mu    sync.Mutex
	stops map[string]context.CancelFunc // by trial
}

// ahead is nil where trials have no box, or one that is there at once.
func (r *run) ahead() *ahead {
	boxes, ok := r.deps.Boxes.(sandbox.Warmer)
	if !ok || !slices.ContainsFunc(r.lanes, func(l *lane) bool { return l.mode.Tools != nil }) {
		return nil
	}
	return &ahead{run: r, boxes: boxes, stops: map[string]context.CancelFunc{}}
}

// expect says that the first of these trials come next. Ctx ends with the run.
func (a *ahead) expect(ctx context.Context, next []plan.Trial) error {
	if a == nil {
		return nil
	}
	for _, t := range next[:min(len(next), a.run.gate.Standing().Limit, maxAhead)] {
		if a.run.lanes[t.Agent].mode.Tools == nil {
			continue // it needs none
		}
		if a.run.lanes[t.Agent].halted.Load() != nil || t.Reuse != nil || t.Attempt > 1 && len(a.run.plan.Judges) > 0 {
			continue // it does not begin, needs none, or may lack nothing but its judges
		}
		if err := a.one(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// one has a box started for a trial, once.
func (a *ahead) one(ctx context.Context, t plan.Trial) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stops[t.ID] != nil {
		return nil
	}
	at, err := a.run.attempt(ctx, t, t.Attempt)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	a.stops[t.ID] = stop
	a.boxes.Warm(ctx, at.spec())
	return nil
}

// over says that a trial has ended, or will not begin.
func (a *ahead) over(t plan.Trial) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if stop := a.stops[t.ID]; stop != nil {
		stop()
		delete(a.stops, t.ID)
	}
}
