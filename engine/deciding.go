package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/sequential"
)

// deciding is the plan's sequential test, while trials settle in whichever order they
// end. Nil never ends a run.
type deciding struct {
	plan *plan.Plan

	mu     sync.Mutex
	fold   *sequential.Fold
	spared int64
	going  map[sequential.Place]bool // trials
	stated bool                      // the decision is a fact already
}

// newDeciding begins the plan's test, where it has one.
func (r *run) newDeciding() error {
	if r.plan.Until == nil {
		return nil
	}
	fold, err := r.plan.Until.Begin()
	if err != nil {
		return fmt.Errorf("run %s: %w", r.plan.Name, err)
	}
	r.deciding = &deciding{plan: r.plan, fold: fold, going: map[sequential.Place]bool{}, stated: r.plan.Before.Decided}
	return nil
}

// settle counts an attempt that no other of its trial follows.
func (u *deciding) settle(t scoring.Trial, last bool) {
	if u == nil || !last {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fold.Settle(t.CaseKey, t.Repetition, t.Outcome)
}

// begin and end say which trials are going on.
func (u *deciding) begin(t plan.Trial) { u.mark(t, true) }
func (u *deciding) end(t plan.Trial)   { u.mark(t, false) }

func (u *deciding) mark(t plan.Trial, going bool) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if at := (sequential.Place{CaseKey: t.CaseKey, Repetition: t.Repetition}); going {
		u.going[at] = true
	} else {
		delete(u.going, at)
	}
}

// tooFar says that as many trials as run at once have ended before one that they
// wait for: it may decide, and others that were begun meanwhile would be for nothing.
func (u *deciding) tooFar() bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	n, on := u.fold.Waiting()
	return n >= max(u.plan.Options.Concurrency, 1) && u.going[on]
}

// isOver says that the test has decided.
func (u *deciding) isOver() bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.fold.State().Decided()
}

// spare says that a trial need not begin any more, and counts it.
func (u *deciding) spare(t plan.Trial) bool {
	if !u.isOver() || !u.plan.Spared(t) {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.spared++
	return true
}

func (u *deciding) sparedTrials() int64 {
	if u == nil {
		return 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.spared
}

// decided states the decision, once.
func (r *run) decided(ctx context.Context) error {
	u := r.deciding
	if u == nil {
		return nil
	}
	u.mu.Lock()
	s := u.fold.State()
	first := s.Decided() && !u.stated
	u.stated = u.stated || first
	u.mu.Unlock()
	if !first {
		return nil
	}
	return r.emit(ctx, event.Decided, event.Decision{
		Decision: string(s.Decision), Method: s.Method, Trials: s.Trials, MaxTrials: s.MaxTrials, Failed: s.Failed,
		Alpha: s.Alpha, Power: s.Power, Drop: s.Drop,
	})
}
