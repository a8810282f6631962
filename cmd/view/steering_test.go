package view_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// A trial that is run again in its run counts once, as what it came to in the end.
func TestFollowCountsTrialsNotAttempts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	sink := view.Follow(&out, view.Options{})
	tell := func(typ event.Type, trial string, attempt int, payload any) {
		raw, err := event.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Emit(t.Context(), event.Event{Type: typ, RunID: "r", TrialID: trial, CaseKey: "c", Attempt: attempt, Payload: raw}); err != nil {
			t.Fatal(err)
		}
	}
	end := func(outcome scoring.Outcome) event.TrialEnd {
		return event.TrialEnd{Trial: scoring.Trial{Outcome: outcome}}
	}
	tell(event.RunStarted, "", 0, event.RunStart{Trials: 2})
	tell(event.TrialDone, "a", 1, end(scoring.OutcomeInvalid))
	tell(event.TrialDone, "b", 1, end(scoring.OutcomePassed))
	tell(event.TrialDone, "a", 2, end(scoring.OutcomePassed))
	tell(event.RunFinished, "", 0, event.RunEnd{Status: "completed"})
	if got := out.String(); !strings.Contains(got, "2 passed, 0 failed, 0 invalid [2/2]") || strings.Contains(got, "[3/2]") {
		t.Errorf("got\n%s", got)
	}
}

// TestSteeringIsTold: what was changed in a run, in a line each. A pace that only grows
// gets none.
func TestSteeringIsTold(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		typ     event.Type
		payload any
		want    string
		silent  bool
	}{
		{event.RunAdjusted, event.Adjustment{Action: event.ActionPaused, Paused: true, Concurrency: 4}, "paused: no other trial begins", false},
		{event.RunAdjusted, event.Adjustment{Action: event.ActionResumed, Concurrency: 4}, "goes on", false},
		{event.RunAdjusted, event.Adjustment{Action: event.ActionConcurrency, Concurrency: 1}, "1 trial at once", false},
		{event.RunAdjusted, event.Adjustment{Action: event.ActionCancelTrial, TrialID: "0195a000-0000-7000-8000-00000000abcd"}, "trial 0000abcd is cancelled", false},
		{event.RunAdjusted, event.Adjustment{Action: event.ActionRetry, Trials: 2}, "2 invalid trials to be run again", false},
		{event.RunAdjusted, event.Adjustment{Action: "\x1b[31mnew"}, "new", false},
		{event.RunPaced, event.Pacing{Provider: "openai", Model: "gpt", Window: 4, UnderWay: 3}, "openai gpt: 4 calls at once, 3 under way", true},
		{event.RunPaced, event.Pacing{Provider: "openai", Model: "gpt", Window: 1, HeldUntil: &until}, "openai gpt: 1 call at once, 0 under way, and none before 2026-01-02T03:04:05Z", false},
	} {
		raw, err := event.Marshal(c.payload)
		if err != nil {
			t.Fatal(err)
		}
		e := event.Event{Type: c.typ, RunID: "r", Source: event.SourceRun, OccurredAt: until, Payload: raw}
		if got := view.Describe(e); !strings.Contains(got, c.want) || strings.Contains(got, "\x1b") {
			t.Errorf("%s: got %q, want %q", raw, got, c.want)
		}
		var out bytes.Buffer
		if err := view.Follow(&out, view.Options{}).Emit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if c.silent != (out.Len() == 0) {
			t.Errorf("%s: followed as %q", raw, out.String())
		}
	}
}
