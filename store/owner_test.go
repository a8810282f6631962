package store_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/agentclash/agentclash/store/bundle"
)

func dead(string) bool  { return false }
func alive(string) bool { return true }

func unseen(store.Owner, time.Time) bool { return false }
func seen(store.Owner, time.Time) bool   { return true }

// interrupted leaves a run as a process that died: a passed trial, an invalid
// one, one to be retried, one running, one queued and one untouched.
func interrupted(t *testing.T, db *store.DB) plan.Plan {
	t.Helper()
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 6))
	r := record(t, db, planned)
	must(t, r.Emit(t.Context(), event.Event{RunID: planned.RunID, Type: event.RunStarted, Source: event.SourceRun, Sequence: 1, OccurredAt: start}))
	for i, end := range []func(*voice){
		func(v *voice) { v.begin(); v.finish(scoring.OutcomePassed, false) },
		func(v *voice) { v.begin(); v.finish(scoring.OutcomeInvalid, false) },
		func(v *voice) { v.begin(); v.finish(scoring.OutcomeInvalid, true) },
		func(v *voice) { v.begin() },
		func(v *voice) { v.emit(event.TrialQueued, event.Queue{Attempt: 1}) },
	} {
		end(speak(t, r, planned, planned.Trials[i]))
	}
	must(t, r.Flush(t.Context()))
	return planned
}

func statuses(t *testing.T, db *store.DB, planned plan.Plan) (got []string) {
	t.Helper()
	for _, trial := range readTrials(t, db, store.TrialFilter{RunAgentID: planned.Agents[0].ID}) {
		got = append(got, trial.Status)
	}
	return got
}

func TestInterruptedRunIsResumed(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := interrupted(t, db)
	if marked, err := db.MarkInterrupted(t.Context(), seen); err != nil || len(marked) != 0 {
		t.Fatalf("with a live owner: marked %v, %v", marked, err)
	}
	asked := ""
	marked, err := db.MarkInterrupted(t.Context(), func(o store.Owner, _ time.Time) bool { asked = o.ID; return false })
	must(t, err)
	if len(marked) != 1 || marked[0].ID != planned.RunID || marked[0].Status != store.Interrupted || asked != me.ID {
		t.Fatalf("with a dead owner: marked %+v, asked about %q", marked, asked)
	}
	stored, err := db.Run(t.Context(), "", planned.RunID)
	must(t, err)
	if diff := cmp.Diff(marked[0], stored); diff != "" {
		t.Errorf("marked (-) and stored (+) differ:\n%s", diff)
	}
	want := []string{store.Passed, store.Invalid, store.Queued, store.Interrupted, store.Queued, store.Queued}
	if diff := cmp.Diff(want, statuses(t, db, planned)); diff != "" {
		t.Errorf("trials: want (-), got (+):\n%s", diff)
	}
	if again, err := db.MarkInterrupted(t.Context(), unseen); err != nil || len(again) != 0 {
		t.Errorf("a second time: marked %v, %v", again, err)
	}
	if left, _ := readEvents(t, db, store.EventFilter{TrialID: planned.Trials[3].ID}); len(left) != 2 {
		t.Errorf("the unfinished attempt has %d readable events, want 2", len(left))
	}

	heir := store.Owner{ID: "boot/1/99", PID: 99, Host: "here"}
	_, err = db.TakeOver(t.Context(), planned.RunID, me, heir, dead)
	must(t, err)
	left, err := db.Unfinished(t.Context(), planned.RunID, false)
	must(t, err)
	var attempts []int
	for _, trial := range left {
		attempts = append(attempts, trial.Attempt)
	}
	// retried: its second; running: its second; queued and untouched: the first
	if diff := cmp.Diff([]int{2, 2, 1, 1}, attempts); diff != "" || left[0].ID != planned.Trials[2].ID {
		t.Errorf("attempts left: want (-), got (+):\n%s", diff)
	}
	resume(t, db, planned, heir, left)
	want = []string{store.Passed, store.Invalid, store.Failed, store.Failed, store.Failed, store.Failed}
	if diff := cmp.Diff(want, statuses(t, db, planned)); diff != "" {
		t.Errorf("trials at the end: want (-), got (+):\n%s", diff)
	}
	if left, err := db.Unfinished(t.Context(), planned.RunID, true); err != nil || len(left) != 1 || left[0].ID != planned.Trials[1].ID || left[0].Attempt != 2 {
		t.Errorf("invalid trials again: got %+v, %v", left, err)
	}
}

// resume runs what is left and checks that what was queued before is not
// queued twice in the log.
func resume(t *testing.T, db *store.DB, planned plan.Plan, heir store.Owner, left []plan.Trial) {
	t.Helper()
	r, err := db.Recorder(t.Context(), planned.RunID, heir)
	must(t, err)
	var last *voice
	for _, trial := range left {
		v := speak(t, r, planned, trial)
		v.begin()
		v.finish(scoring.OutcomeFailed, false)
		if trial.ID == planned.Trials[4].ID {
			last = v
		}
	}
	must(t, r.Close())
	got, _ := readEvents(t, db, store.EventFilter{TrialID: planned.Trials[4].ID})
	if diff := cmp.Diff(last.said, got, whole); diff != "" {
		t.Errorf("events of the trial that had been queued: want (-), got (+):\n%s", diff)
	}
	must(t, db.FinishRun(t.Context(), planned.RunID, heir, engine.Result{Status: store.Completed}))
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := interrupted(t, db)
	heir := store.Owner{ID: "boot/1/99"}
	if _, err := db.TakeOver(t.Context(), planned.RunID, me, heir, alive); !errors.Is(err, store.ErrOwned) {
		t.Errorf("from a live owner: got %v, want ErrOwned", err)
	}
	must(t, db.RequestCancel(t.Context(), planned.RunID))

	// Of several that take over from the dead at once, one succeeds.
	var wg sync.WaitGroup
	errs := make([]error, 5)
	heirs := make([]store.Owner, len(errs))
	for i := range errs {
		heirs[i] = store.Owner{ID: string(rune('a' + i))}
		wg.Go(func() {
			_, errs[i] = db.TakeOver(t.Context(), planned.RunID, me, heirs[i], func(owner string) bool { return owner != me.ID })
		})
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner < 0:
			winner = i
		case !errors.Is(err, store.ErrOwned):
			t.Errorf("taker %d: got %v, want ErrOwned", i, err)
		}
	}
	if winner < 0 {
		t.Fatalf("nobody took over: %v", errs)
	}
	now, err := db.Run(t.Context(), "", planned.RunID)
	must(t, err)
	if now.Status != store.Queued || now.Owner.ID != heirs[winner].ID || !now.CancelAt.IsZero() {
		t.Errorf("the run: got %+v", now)
	}
	if _, err := db.Heartbeat(t.Context(), planned.RunID, me); !errors.Is(err, store.ErrOwned) {
		t.Errorf("the old owner's heartbeat: got %v, want ErrOwned", err)
	}
	must(t, db.FinishRun(t.Context(), planned.RunID, heirs[winner], engine.Result{Status: store.Completed}))
	if _, err := db.TakeOver(t.Context(), planned.RunID, me, heir, dead); !errors.Is(err, store.ErrConflict) {
		t.Errorf("what another has finished since it was read: got %v, want ErrConflict", err)
	}
	if _, err := db.TakeOver(t.Context(), "nope", me, heir, dead); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of no run: got %v, want not found", err)
	}
}

// TestGiveBack: a run that was taken over and not begun stands as it did, its
// scorecards included; one whose owner died is interrupted.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	heir := store.Owner{ID: "boot/1/99"}
	look := func(runID string) (store.Run, []store.RunAgent) {
		t.Helper()
		r, err := db.Run(t.Context(), "", runID)
		must(t, err)
		agents, err := db.RunAgents(t.Context(), runID)
		must(t, err)
		r.Owner, r.Heartbeat = store.Owner{}, time.Time{}
		return r, agents
	}
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 2))
	must(t, db.FinishRun(t.Context(), planned.RunID, me, engine.Result{Status: store.Failed, Reason: "so", Agents: []engine.AgentResult{{
		RunAgentID: planned.Agents[0].ID, Label: planned.Agents[0].Label, Status: store.Failed, Reason: "one", Scorecard: scoring.AgentScorecard{Trials: 2},
	}}}))
	run, agents := look(planned.RunID)
	was, err := db.TakeOver(t.Context(), planned.RunID, me, heir, dead)
	must(t, err)
	if taken, _ := look(planned.RunID); taken.Status != store.Queued {
		t.Fatalf("taken over: %+v", taken)
	}
	if err := db.GiveBack(t.Context(), planned.RunID, me, was); !errors.Is(err, store.ErrOwned) {
		t.Errorf("by another: got %v, want ErrOwned", err)
	}
	must(t, db.GiveBack(t.Context(), planned.RunID, heir, was))
	back, those := look(planned.RunID)
	if diff := cmp.Diff(run, back) + cmp.Diff(agents, those); diff != "" || len(those) == 0 || those[0].Scorecard == nil {
		t.Errorf("given back: want (-), got (+):\n%s", diff)
	}

	left := createRun(t, db, makePlan(id('r', 0x2000000), 1, 2))
	was, err = db.TakeOver(t.Context(), left.RunID, me, heir, dead)
	must(t, err)
	must(t, db.GiveBack(t.Context(), left.RunID, heir, was))
	if r, those := look(left.RunID); r.Status != store.Interrupted || those[0].Status != store.Interrupted {
		t.Errorf("of a dead owner: %s, agent %s", r.Status, those[0].Status)
	}
	was, err = db.TakeOver(t.Context(), left.RunID, heir, heir, dead)
	must(t, err)
	must(t, db.SetRunStatus(t.Context(), left.RunID, heir, store.Running))
	if err := db.GiveBack(t.Context(), left.RunID, heir, was); !errors.Is(err, store.ErrConflict) {
		t.Errorf("what has begun: got %v, want ErrConflict", err)
	}
}

func TestCancelReachesTheOwner(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
	before, err := db.Run(t.Context(), "", planned.RunID)
	must(t, err)
	if cancel, err := db.Heartbeat(t.Context(), planned.RunID, me); err != nil || cancel {
		t.Fatalf("heartbeat: got %v, %v", cancel, err)
	}
	must(t, db.RequestCancel(t.Context(), planned.RunID))
	if cancel, err := db.Heartbeat(t.Context(), planned.RunID, me); err != nil || !cancel {
		t.Errorf("heartbeat after the request: got %v, %v", cancel, err)
	}
	if asked, err := db.CancelRequested(t.Context(), planned.RunID); err != nil || !asked {
		t.Errorf("CancelRequested: got %v, %v", asked, err)
	}
	after, err := db.Run(t.Context(), "", planned.RunID)
	must(t, err)
	if !after.Heartbeat.After(before.Heartbeat) || after.CancelAt.IsZero() {
		t.Errorf("the run: heartbeat %v after %v, cancel at %v", after.Heartbeat, before.Heartbeat, after.CancelAt)
	}
	if err := db.RequestCancel(t.Context(), "nope"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of no run: got %v, want not found", err)
	}
}

// TestADecidedRunHasNoUnneededTrials: what nothing was done for is gone, what was begun
// stays, and nothing is left to do.
func TestADecidedRunHasNoUnneededTrials(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('d', 1), 1, 6))
	r := record(t, db, planned)
	first := speak(t, r, planned, planned.Trials[0])
	first.begin()
	first.finish(scoring.OutcomePassed, false)
	speak(t, r, planned, planned.Trials[2]).begin() // and the one before it was begun by nobody
	must(t, r.Close())
	must(t, db.FinishRun(t.Context(), planned.RunID, me, engine.Result{Status: store.Completed, Over: true}))

	var got []string
	for _, trial := range readTrials(t, db, store.TrialFilter{RunAgentID: planned.Agents[0].ID}) {
		got = append(got, trial.ID+" "+trial.Status)
	}
	want := []string{planned.Trials[0].ID + " " + store.Passed, planned.Trials[2].ID + " " + store.Cancelled}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trials: want (-), got (+):\n%s", diff)
	}
	if stored, err := db.Run(t.Context(), "", planned.RunID); err != nil || stored.Trials != 2 {
		t.Errorf("the run says that it has %d trials, %v", stored.Trials, err)
	}
	must(t, db.Check(t.Context()))
	next := createRun(t, db, makePlan(id('e', 1), 1, 2)) // what is stored later is not in the gap

	places := map[string]int{}
	for _, r := range recordsOf(t, db, planned.RunID) {
		switch r := r.(type) {
		case bundle.Trial:
			places[r.ID] = len(places) + 1
		case bundle.Event:
			if r.Trial > 2 {
				t.Errorf("event %s is of trial %d of 2", r.Type, r.Trial)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{planned.Trials[0].ID: 1, planned.Trials[2].ID: 2}, places); diff != "" {
		t.Errorf("exported trials: %s", diff)
	}
	if left, err := db.Unfinished(t.Context(), next.RunID, false); err != nil || len(left) != 2 {
		t.Errorf("the next run has %+v, %v", left, err)
	}
}

// TestAnUndecidedRunKeepsItsTrials: they can be resumed.
func TestAnUndecidedRunKeepsItsTrials(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('d', 2), 1, 3))
	must(t, db.FinishRun(t.Context(), planned.RunID, me, engine.Result{Status: store.Failed, Code: engine.CodeBudget}))
	if left, err := db.Unfinished(t.Context(), planned.RunID, false); err != nil || len(left) != 3 {
		t.Errorf("left: %+v, %v", left, err)
	}
}
