package store_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/store"
)

// Facts that come later continue their attempt's log, and are read like any
// other.
func TestAppendFacts(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	runID, _ := finishedRun(t, db, 1, 2)
	fact := func(trial store.DecidingTrial, payload string) event.Event {
		return event.Event{RunID: runID, TrialID: trial.ID, Attempt: trial.Attempt, Type: event.JudgeDone, Source: event.SourceScoring,
			OccurredAt: tick()(), Payload: json.RawMessage(`"` + payload + `"`)}
	}
	trials, before := readDeciding(t, db, runID, 64, event.TrialDone, event.JudgeDone)
	if err := db.AppendFacts(t.Context(), runID, []event.Event{fact(trials[0], "one")}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a run that is going on: got %v", err)
	}
	must(t, db.FinishRun(t.Context(), runID, me, engine.Result{Status: store.Completed}))
	large := noise(20_000)
	must(t, db.AppendFacts(t.Context(), runID, []event.Event{fact(trials[0], "one"), fact(trials[1], large), fact(trials[0], "two")}))

	_, after := readDeciding(t, db, runID, 64, event.TrialDone, event.JudgeDone)
	got := after[trials[0].ID]
	if len(got) != len(before[trials[0].ID])+2 || string(got[len(got)-2].Payload) != `"one"` || string(got[len(got)-1].Payload) != `"two"` {
		t.Fatalf("got %d facts of the first trial: %+v", len(got), got)
	}
	last := got[len(got)-3].Sequence
	if got[len(got)-2].Sequence != last+1 || got[len(got)-1].Sequence != last+2 {
		t.Errorf("after %d the sequence goes on with %d and %d", last, got[len(got)-2].Sequence, got[len(got)-1].Sequence)
	}
	if got := after[trials[1].ID]; string(got[len(got)-1].Payload) != `"`+large+`"` {
		t.Error("a large payload is not read back")
	}
	events, _ := readEvents(t, db, store.EventFilter{TrialID: trials[0].ID, Attempt: trials[0].Attempt})
	if e := events[len(events)-1]; e.Type != event.JudgeDone || e.ID != event.NewID(trials[0].ID, trials[0].Attempt, last+2) {
		t.Errorf("got %+v", e)
	}

	none := trials[len(trials)-1] // it has no attempt
	err := db.AppendFacts(t.Context(), runID, []event.Event{fact(trials[0], "three"), {TrialID: none.ID, Attempt: 1, Type: event.JudgeDone, Source: "x"}})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an attempt that is none: got %v", err)
	}
	if _, now := readDeciding(t, db, runID, 64, event.JudgeDone); len(now[trials[0].ID]) != 2 {
		t.Error("a part of what was refused is stored")
	}
}
