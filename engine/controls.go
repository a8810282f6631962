package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// ErrTrialCancelled is what the context of a trial's attempt is ended with by
// [Controls.CancelTrial].
var ErrTrialCancelled = errors.New("the trial was cancelled while it ran")

// maxAgain is how many attempts a trial may have had to be run again in its run.
const maxAgain = 900

// Controls steer a run while it goes on. The zero value is ready, and is good for
// one run. Its methods may be called from any goroutine, before the run too, but
// not by a sink while it is handed a fact: each states one.
type Controls struct {
	mu          sync.Mutex
	run         *run // while it goes on
	over        bool
	paused      bool // what was asked for before the run
	concurrency int
}

// Pause has no other trial begin, nor another attempt of one, or lets the run go on.
// What runs ends in its own time, and so do the run's deadline and budget.
func (c *Controls) Pause(paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = paused
	if c.run != nil {
		c.run.pause(paused)
	}
}

// SetConcurrency changes how many trials run at once, within 1 and
// [plan.MaxConcurrency]. Those that run are not ended.
func (c *Controls) SetConcurrency(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.concurrency = max(n, 1)
	if c.run != nil {
		c.run.resize(c.concurrency)
	}
}

// CancelTrial ends the attempt of a trial that runs now: it is invalid, and no other
// attempt is made. A trial that does not run is an error.
func (c *Controls) CancelTrial(trialID string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.goesOn(); err != nil {
		return fmt.Errorf("cancel trial %s: %w", trialID, err)
	}
	return c.run.cancelTrial(trialID)
}

// RetryInvalid has every trial that is invalid, and that no other attempt follows, run
// once more in this run, after those that are still to begin, and says how many
// those are. Trials that their pack's author must mend are not among them.
func (c *Controls) RetryInvalid() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.goesOn(); err != nil {
		return 0, fmt.Errorf("retry invalid trials: %w", err)
	}
	return c.run.retryInvalid()
}

func (c *Controls) goesOn() error {
	switch {
	case c.over:
		return errors.New("the run has ended; agentclash run retry RUN --invalid makes another attempt at its invalid trials")
	case c.run == nil:
		return errors.New("the run has not begun")
	}
	return nil
}

// begin hands the run over, with what was asked for before it. Nil has none.
func (c *Controls) begin(r *run) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run = r
	if c.concurrency > 0 {
		r.resize(c.concurrency)
	}
	if c.paused {
		r.pause(true)
	}
}

// end lets go of the run: nothing of it changes afterwards. It may be called twice.
func (c *Controls) end() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run, c.over = nil, true
}

func (r *run) pause(paused bool) {
	if !r.gate.Pause(paused) {
		return
	}
	action := event.ActionResumed
	if paused {
		action = event.ActionPaused
	}
	r.adjusted(event.Adjustment{Action: action})
}

func (r *run) resize(n int) {
	if r.gate.Resize(min(n, plan.MaxConcurrency)) {
		r.adjusted(event.Adjustment{Action: event.ActionConcurrency})
	}
}

// adjusted states what was changed, and how the run stands after it. When it cannot
// be recorded, nothing else can, and that ends the run.
func (r *run) adjusted(a event.Adjustment) {
	s := r.gate.Standing()
	a.Paused, a.Concurrency = s.Paused, s.Limit
	_ = r.emit(r.ctx, event.RunAdjusted, a)
}

// hand is an attempt that can be cancelled.
type hand struct {
	end       context.CancelCauseFunc
	cancelled bool
}

// inHand makes an attempt of a trial one that can be cancelled, until release is
// called, which says whether it was. The context is the attempt's.
func (r *run) inHand(ctx context.Context, t plan.Trial) (_ context.Context, release func() (cancelled bool)) {
	ctx, end := context.WithCancelCause(ctx)
	h := &hand{end: end}
	r.steering.Lock()
	r.hands[t.ID] = h
	r.steering.Unlock()
	return ctx, func() bool {
		r.steering.Lock()
		defer r.steering.Unlock()
		if r.hands[t.ID] == h {
			delete(r.hands, t.ID)
		}
		end(nil)
		return h.cancelled
	}
}

func (r *run) cancelTrial(id string) error {
	r.steering.Lock()
	h := r.hands[id]
	first := h != nil && !h.cancelled
	if first {
		h.cancelled = true
		h.end(ErrTrialCancelled)
	}
	r.steering.Unlock()
	switch {
	case h == nil && !slices.ContainsFunc(r.plan.Trials, func(t plan.Trial) bool { return t.ID == id }):
		return fmt.Errorf("cancel trial %s: run %s has no such trial to run", id, r.plan.Name)
	case h == nil:
		return fmt.Errorf("cancel trial %s: it does not run: it has not begun, or it has ended", id)
	case first:
		r.adjusted(event.Adjustment{Action: event.ActionCancelTrial, TrialID: id})
	}
	return nil
}

// cancelled is how an attempt ended that was cancelled, in the phase that it was in.
func (a *attempt) cancelled() ending {
	return ending{fault: faultCancel, stop: scoring.CodeCancelled, code: scoring.CodeCancelled, phase: a.phase, err: ErrTrialCancelled}
}

// note remembers a trial that has settled: as invalid, when another attempt may mend
// it, and where trials are ranked what it came to, for those that come after it.
func (r *run) note(t plan.Trial, result scoring.Trial, f fault) {
	r.steering.Lock()
	defer r.steering.Unlock()
	if r.groups != nil {
		r.ended[laneKey{groupKey{t.CaseKey, t.Repetition}, t.Agent}] = decided{t.ID, result.Attempt, result.Outcome}
	}
	delete(r.invalid, t.ID)
	if result.Outcome == scoring.OutcomeInvalid && f != faultPack {
		r.keepInvalid(t, result)
	}
}

// keepInvalid remembers a trial for [Controls.RetryInvalid].
func (r *run) keepInvalid(t plan.Trial, result scoring.Trial) {
	if r.deps.Controls == nil || result.Code == scoring.CodePackError || result.Attempt+r.plan.Options.RetryInvalid >= maxAgain {
		return
	}
	t.Attempt, t.Reuse, t.OtherJudges = result.Attempt+1, nil, nil
	r.invalid[t.ID] = t
}

// retryInvalid queues the invalid trials of agents that can work.
func (r *run) retryInvalid() (int, error) {
	switch {
	case r.plan.Until != nil:
		return 0, errors.New("retry invalid trials: the run goes on until it is decided, and other trials take the place of its invalid ones")
	case r.deps.Tape != nil:
		return 0, errors.New("retry invalid trials: the run is recorded or replayed, with the attempts that its plan makes and no others")
	}
	r.steering.Lock()
	defer r.steering.Unlock()
	var again []plan.Trial
	var halted *ending
	for _, t := range r.invalid {
		if h := r.lanes[t.Agent].halted.Load(); h != nil {
			halted = h
			continue
		}
		again = append(again, t)
	}
	if len(again) == 0 {
		if halted != nil {
			return 0, fmt.Errorf("retry invalid trials: their agents cannot work: %w; mend that, then agentclash run retry RUN --invalid", halted.err)
		}
		return 0, nil
	}
	slices.SortFunc(again, func(a, b plan.Trial) int { // those of a group together
		return cmp.Or(cmp.Compare(a.CaseKey, b.CaseKey), cmp.Compare(a.Repetition, b.Repetition), cmp.Compare(a.Agent, b.Agent))
	})
	if !r.line.Add(again, func() { r.reopened(again) }) {
		return 0, errors.New("retry invalid trials: the run is ending; agentclash run retry RUN --invalid makes another attempt at them")
	}
	r.adjusted(event.Adjustment{Action: event.ActionRetry, Trials: len(again)})
	return len(again), nil
}

// reopened counts trials that are to be settled once more.
func (r *run) reopened(again []plan.Trial) {
	for _, t := range again {
		delete(r.invalid, t.ID)
		r.settled.Add(-1)
		r.lanes[t.Agent].left.Add(1)
		if g := r.groups[groupKey{t.CaseKey, t.Repetition}]; g != nil {
			g.expect()
		}
	}
}

// paced states how the calls with a key stand.
func (r *run) paced(s provider.Standing) {
	p := event.Pacing{Provider: s.Key.Provider, Model: s.Key.Model, Account: s.Key.Account, Window: s.Window, UnderWay: s.UnderWay}
	if !s.HeldUntil.IsZero() {
		p.HeldUntil = new(s.HeldUntil.UTC())
	}
	_ = r.emit(r.ctx, event.RunPaced, p) // as with what was adjusted
}
