package tui_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/engine/event"
)

// A trial that is run again because it was invalid is counted once.
func TestApplyOfInvalidTrialsRunAgain(t *testing.T) {
	t.Parallel()
	var state tui.State
	s := newStory(into(&state))
	s.starts(2, 2)
	s.ends(0, 0, invalid())
	s.ends(1, 0, invalid())
	s.ends(1, 1, passed())
	s.tell(event.RunAdjusted, event.Event{}, event.Adjustment{Action: event.ActionRetry, Concurrency: 4, Trials: 2})
	again := trial(0, 0)
	again.Attempt = 2
	s.tell(event.TrialQueued, again, event.Queue{Attempt: 2})
	got := fmt.Sprintln(state.Passed, state.Invalid, state.Done(), state.Lanes[0].Invalid, state.Lanes[1].Invalid, state.Queued())
	if want := "1 1 2 0 1 1\n"; got != want {
		t.Errorf("while it runs: got %q, want %q", got, want)
	}
	s.tell(event.TrialDone, again, invalid())
	if state.Done() != 3 || state.Lanes[0].Invalid != 1 {
		t.Errorf("invalid again: got %d done, %d invalid in the lane", state.Done(), state.Lanes[0].Invalid)
	}
	again.Attempt = 3
	s.tell(event.TrialQueued, again, event.Queue{Attempt: 3})
	s.tell(event.TrialDone, again, passed())
	if state.Done() != 3 || state.Passed != 2 || state.Invalid != 1 || state.Lanes[0].Done() != 1 {
		t.Errorf("passed in the end: got %d done, %d passed, %d invalid", state.Done(), state.Passed, state.Invalid)
	}
}

func TestApplyEstimatesFromTheLastTrials(t *testing.T) {
	t.Parallel()
	var state tui.State
	s := newStory(into(&state))
	s.starts(1, 200)
	for n := range 100 {
		s.at = s.at.Add(time.Minute) // slow at first
		s.ends(0, n, passed())
	}
	for n := range 60 {
		s.ends(0, 100+n, passed()) // then one a second
	}
	last := s.at.Add(-time.Second)
	if got, want := state.EndsAt.Sub(last), 40*time.Second; got != want {
		t.Errorf("40 trials are left: got %v, want %v", got, want)
	}
	s.tell(event.RunAdjusted, event.Event{}, event.Adjustment{Action: event.ActionPaused, Paused: true})
	s.ends(0, 160, passed())
	if !state.EndsAt.IsZero() || !state.Paused {
		t.Errorf("a run that is paused: got %v, want no estimate", state.EndsAt)
	}
	s.at = s.at.Add(time.Hour) // which is no part of the rate
	s.tell(event.RunAdjusted, event.Event{}, event.Adjustment{Action: event.ActionResumed})
	s.ends(0, 161, passed())
	if got, want := state.EndsAt.Sub(s.at.Add(-time.Second)), 38*time.Second; got != want {
		t.Errorf("after the pause: got %v, want %v", got, want)
	}
	for n := range 38 {
		s.ends(0, 162+n, passed())
	}
	if !state.EndsAt.IsZero() {
		t.Errorf("nothing is left: got %v, want no estimate", state.EndsAt)
	}
}

func TestApplyKeepsTheBudgetAndThePace(t *testing.T) {
	t.Parallel()
	var state tui.State
	s := newStory(into(&state))
	s.tell(event.RunStarted, event.Event{}, event.RunStart{Trials: 3, Concurrency: 8, BudgetUSD: 5, ChargedUSD: 0.5})
	s.tell(event.TrialQueued, trial(0, 1), event.Queue{Judging: &event.JudgeUse{}}) // an earlier attempt's, stated again
	s.tell(event.CallDone, trial(0, 1), event.CallEnd{ChargedUSD: 100})
	s.tell(event.ScoringStart, trial(0, 1), event.ScoringStarted{})
	s.tell(event.JudgeDone, trial(0, 1), event.JudgeReply{ChargedUSD: 0.25})
	s.tell(event.CallDone, trial(0, 2), event.CallEnd{ChargedUSD: 0.5})
	s.tell(event.CallFailed, trial(0, 2), event.CallError{ChargedUSD: 0.125, Code: "rate_limit"})
	s.tell(event.CallRetried, trial(0, 2), event.CallError{Code: "rate_limit"})
	s.tell(event.TurnSimulated, trial(0, 2), event.SimulatedTurn{ChargedUSD: 0.125})
	if state.BudgetUSD != 5 || state.ChargedUSD != 1.5 || state.RateLimits != 1 {
		t.Errorf("got $%v of $%v and %d rate limits, want $1.5 of $5 and one", state.ChargedUSD, state.BudgetUSD, state.RateLimits)
	}
	held := noon.Add(time.Hour)
	for _, p := range []event.Pacing{{Provider: "openai", Model: "b", Window: 9}, {Provider: "openai", Model: "a", Account: "work", Window: 4, UnderWay: 2},
		{Provider: "openai", Model: "b", Window: 3, UnderWay: 3, HeldUntil: &held}} {
		s.tell(event.RunPaced, event.Event{}, p)
	}
	want := []tui.Pace{{Model: "openai/a (work)", Window: 4}, {Model: "openai/b", Window: 3, HeldUntil: held}}
	if diff := cmp.Diff(want, state.Paces); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The quietest trial is that from which nothing has come for the longest, not the
// one that has run the longest; one that waits for a person is none.
func TestSnapshotNamesTheQuietest(t *testing.T) {
	t.Parallel()
	var state tui.State
	s := newStory(into(&state))
	s.starts(1, 4)
	if got := state.Snapshot().Quiet; got != -1 {
		t.Errorf("nothing runs: got %d, want none", got)
	}
	for n := range 3 {
		s.trialStarts(0, n)
	}
	s.tell(event.OutputDelta, trial(0, 0), event.TextDelta{TextDelta: "x"})
	if got := state.Snapshot().Quiet; got != 1 {
		t.Errorf("got %d, want the second", got)
	}
	s.tell(event.TurnAwaiting, trial(0, 1), event.HumanWait{TimeoutMS: 1000})
	s.tell(event.OutputDelta, trial(0, 2), event.TextDelta{TextDelta: "x"})
	if got := state.Snapshot().Quiet; got != 0 {
		t.Errorf("got %d, want the first", got)
	}
	s.tell(event.TurnUser, trial(0, 1), event.UserTurn{})
	s.tell(event.CallStarted, trial(0, 0), event.Call{})
	if got := state.Snapshot().Quiet; got != 2 {
		t.Errorf("got %d, want the third", got)
	}
}
