package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/store"
)

// running is a store with one trial that is being run, and the turn it waits for.
func running(t *testing.T) (*store.DB, plan.Plan, engine.HumanTurn) {
	t.Helper()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 2))
	r := record(t, db, planned)
	speak(t, r, planned, planned.Trials[0]).begin()
	must(t, r.Flush(t.Context()))
	return db, planned, engine.HumanTurn{TrialID: planned.Trials[0].ID, Attempt: 1, PhaseID: "person", Turn: 2, Hint: "say no", Timeout: time.Hour}
}

func states(t *testing.T, db *store.DB, f store.TurnFilter) string {
	t.Helper()
	list, err := db.HumanTurns(t.Context(), f)
	must(t, err)
	var got []string
	for _, h := range list {
		got = append(got, h.State)
	}
	return strings.Join(got, " ")
}

func TestATurnIsTakenOnce(t *testing.T) {
	t.Parallel()
	db, planned, turn := running(t)
	if err := db.SubmitTurn(t.Context(), turn.TrialID, 1, 2, "early"); !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "nobody awaits it") {
		t.Errorf("before it is asked for: %v", err)
	}
	must(t, db.AskTurn(t.Context(), turn))
	must(t, db.AskTurn(t.Context(), turn)) // the same
	list, err := db.HumanTurns(t.Context(), store.TurnFilter{RunID: planned.RunID, Awaiting: true})
	must(t, err)
	if len(list) != 1 || list[0].Hint != "say no" || list[0].TrialID != turn.TrialID || list[0].Turn != 2 || list[0].Owner.ID != me.ID || list[0].Label != "Agent-0" {
		t.Fatalf("got %+v", list)
	}
	if answered, err := db.Answered(t.Context(), turn); answered || err != nil {
		t.Errorf("before: %v, %v", answered, err)
	}
	must(t, db.SubmitTurn(t.Context(), turn.TrialID, 1, 2, "no"))
	if err := db.SubmitTurn(t.Context(), turn.TrialID, 1, 2, "again"); !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "submitted already") {
		t.Errorf("twice: %v", err)
	}
	if answered, err := db.Answered(t.Context(), turn); !answered || err != nil {
		t.Errorf("after: %v, %v", answered, err)
	}
	if message, answered, err := db.CloseTurn(t.Context(), turn); message != "no" || !answered || err != nil {
		t.Errorf("taken: %q, %v, %v", message, answered, err)
	}
	if message, answered, err := db.CloseTurn(t.Context(), turn); message != "" || answered || err != nil {
		t.Errorf("the message stays in the store: %q, %v, %v", message, answered, err)
	}
	if got := states(t, db, store.TurnFilter{}); got != "submitted" {
		t.Errorf("got %s", got)
	}
}

func TestATurnExpires(t *testing.T) {
	t.Parallel()
	db, _, turn := running(t)
	must(t, db.AskTurn(t.Context(), turn))
	if _, answered, err := db.CloseTurn(t.Context(), turn); answered || err != nil {
		t.Errorf("got %v, %v", answered, err)
	}
	if err := db.SubmitTurn(t.Context(), turn.TrialID, 1, 2, "late"); !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("late: %v", err)
	}
	turn.Turn, turn.Timeout = 3, 0 // its time is up, though nobody has closed it
	must(t, db.AskTurn(t.Context(), turn))
	if err := db.SubmitTurn(t.Context(), turn.TrialID, 1, 3, "late"); !errors.Is(err, store.ErrConflict) {
		t.Errorf("after its time: %v", err)
	}
	if got := states(t, db, store.TurnFilter{Awaiting: true}); got != "" {
		t.Errorf("awaiting: %s", got)
	}
}

// What was said to an attempt whose process died is never an answer to another.
func TestNoFalseAnswerAfterADeath(t *testing.T) {
	t.Parallel()
	db, planned, turn := running(t)
	must(t, db.AskTurn(t.Context(), turn))
	must(t, db.SubmitTurn(t.Context(), turn.TrialID, 1, 2, "to the dead"))
	waiting := turn
	waiting.Turn = 4
	must(t, db.AskTurn(t.Context(), waiting))
	_, err := db.TakeOver(t.Context(), planned.RunID, me, store.Owner{ID: "other"}, dead)
	must(t, err)
	if got := states(t, db, store.TurnFilter{}); got != "expired submitted" {
		t.Errorf("got %s", got)
	}
	if message, _, err := db.CloseTurn(t.Context(), turn); message != "" || err != nil {
		t.Errorf("the message outlives the attempt: %q, %v", message, err)
	}
	next := turn
	next.Attempt = 2
	must(t, db.AskTurn(t.Context(), next))
	if answered, err := db.Answered(t.Context(), next); answered || err != nil {
		t.Errorf("the next attempt: %v, %v", answered, err)
	}
}

func TestAWantedPhaseIsTheAttempts(t *testing.T) {
	t.Parallel()
	db, planned, turn := running(t)
	if wanted, err := db.PhaseWanted(t.Context(), turn); wanted || err != nil {
		t.Errorf("before: %v, %v", wanted, err)
	}
	must(t, db.WantPhase(t.Context(), turn.TrialID, "person"))
	must(t, db.WantPhase(t.Context(), turn.TrialID, "person"))
	if wanted, err := db.PhaseWanted(t.Context(), turn); !wanted || err != nil {
		t.Errorf("after: %v, %v", wanted, err)
	}
	turn.Attempt = 2
	if wanted, err := db.PhaseWanted(t.Context(), turn); wanted || err != nil {
		t.Errorf("of the next attempt: %v, %v", wanted, err)
	}
	if err := db.WantPhase(t.Context(), planned.Trials[1].ID, "person"); !errors.Is(err, store.ErrConflict) {
		t.Errorf("of a trial that is queued: %v", err)
	}
	if err := db.WantPhase(t.Context(), id('t', 99), "person"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of no trial: %v", err)
	}
}
