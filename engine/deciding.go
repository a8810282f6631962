package engine

import (
	"context"
	"fmt"
	"slices"
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
	owed   map[sequential.Place]bool // trials that are run whatever is decided, and have not ended
	spares map[sequential.Place]bool // trials in reserve
	others map[string]bool           // cases that do not count
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
	u := &deciding{plan: r.plan, fold: fold, stated: r.plan.Before.Decided,
		going: map[sequential.Place]bool{}, owed: map[sequential.Place]bool{}, spares: map[sequential.Place]bool{}, others: map[string]bool{}}
	for _, t := range r.plan.Trials {
		if r.plan.Until.WholeRound && t.Repetition == 1 {
			u.owed[placeOf(t)] = true
		}
	}
	for _, at := range r.plan.Until.Reserves() {
		u.spares[at] = true
	}
	for _, c := range r.plan.Until.Others {
		u.others[c.CaseKey] = true
	}
	r.deciding = u
	return nil
}

func placeOf(t plan.Trial) sequential.Place {
	return sequential.Place{CaseKey: t.CaseKey, Repetition: t.Repetition}
}

// settle counts an attempt that no other of its trial follows.
func (u *deciding) settle(t scoring.Trial, last bool) {
	if u == nil || !last {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fold.Settle(t.CaseKey, t.Repetition, t.Outcome)
	delete(u.owed, sequential.Place{CaseKey: t.CaseKey, Repetition: t.Repetition})
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
	if going {
		u.going[placeOf(t)] = true
	} else {
		delete(u.going, placeOf(t))
	}
}

// wait says that what is to begin next is not known, or not needed, before a trial
// that is going on has ended. As many trials as run at once have ended before one
// that they wait for: it may decide, and others that were begun meanwhile would be for
// nothing. Or all have begun but those in reserve, which may not be needed.
func (u *deciding) wait(left []plan.Trial, concurrency int) bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	n, on := u.fold.Waiting()
	return n >= concurrency && u.going[on] ||
		u.spares[placeOf(left[0])] && !u.fold.State().Spent && u.asked(left, on) < 0
}

// next takes the trial that begins next out of those that are left: the one that
// the test needs next, so that an invalid trial is made good at once, else the first.
func (u *deciding) next(left []plan.Trial) (taken, rest []plan.Trial) {
	if u == nil {
		return left[:1], left[1:]
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	i := 0
	if !u.others[left[0].CaseKey] { // these come first
		_, on := u.fold.Waiting()
		i = max(0, u.asked(left, on))
	}
	if i == 0 {
		return left[:1], left[1:]
	}
	return left[i : i+1], slices.Delete(slices.Clone(left), i, i+1) // the plan's own list stays as it is
}

// asked is where the trial is that the test needs next; -1 where it is not among them.
func (u *deciding) asked(left []plan.Trial, on sequential.Place) int {
	return slices.IndexFunc(left, func(t plan.Trial) bool { return placeOf(t) == on })
}

// isOver says that no other trial could change what the test has come to.
func (u *deciding) isOver() bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.fold.State().Spent
}

// isWhole says that moreover every trial has ended that is run whatever is decided.
func (u *deciding) isWhole() bool {
	if !u.isOver() {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.owed) == 0
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
