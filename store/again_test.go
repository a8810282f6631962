package store_test

import (
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// TestAnInvalidTrialIsRunAgain in its run, whose process dies at each moment of that:
// the run goes on with the right attempt.
func TestAnInvalidTrialIsRunAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		died   func(v *voice)
		status string
		left   int // attempt that is to be made, 0 for none
	}{
		{"before it is queued", func(*voice) {}, "invalid", 0},
		{"queued", func(v *voice) { v.emit(event.TrialQueued, event.Queue{Attempt: 2}) }, "queued", 2},
		{"begun", func(v *voice) { v.begin() }, "interrupted", 3},
		{"to be tried again", func(v *voice) { v.begin(); v.finish(scoring.OutcomeInvalid, true) }, "queued", 3},
		{"ended", func(v *voice) { v.begin(); v.finish(scoring.OutcomePassed, false) }, "passed", 0},
	} {
		db := fresh(t)
		planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
		trial := planned.Trials[0]
		r := record(t, db, planned)
		v := speak(t, r, planned, trial)
		v.begin()
		v.finish(scoring.OutcomeInvalid, false)
		trial.Attempt = 2
		c.died(speak(t, r, planned, trial))
		must(t, r.Close())
		_, err := db.MarkInterrupted(t.Context(), func(store.Owner, time.Time) bool { return false })
		must(t, err)
		got := readTrials(t, db, store.TrialFilter{RunAgentID: planned.Agents[0].ID})[0]
		left, err := db.Unfinished(t.Context(), planned.RunID, false)
		must(t, err)
		if got.Status != c.status || got.Status != "invalid" && got.Code != "" || len(left) > 1 || (len(left) == 1) != (c.left > 0) {
			t.Errorf("%s: the trial is %s %q, left are %+v", c.name, got.Status, got.Code, left)
			continue
		}
		if c.left == 0 {
			continue
		}
		if left[0].Attempt != c.left {
			t.Errorf("%s: attempt %d is next, want %d", c.name, left[0].Attempt, c.left)
		}
		_, err = db.TakeOver(t.Context(), planned.RunID, me, me, func(string) bool { return false })
		must(t, err)
		r = record(t, db, planned)
		v = speak(t, r, planned, left[0])
		v.begin()
		v.finish(scoring.OutcomePassed, false)
		must(t, r.Close())
		if got := readTrials(t, db, store.TrialFilter{RunAgentID: planned.Agents[0].ID})[0]; got.Status != "passed" {
			t.Errorf("%s: in the end the trial is %s", c.name, got.Status)
		}
	}
}
