package store_test

import (
	"errors"
	"testing"

	"github.com/agentclash/agentclash/store"
)

// TestEventsEnd holds the end of each run's log against the last event that is read,
// with another run's after it.
func TestEventsEnd(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	empty := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
	first, _ := finishedRun(t, db, 0x2000000, 2)
	second, _ := finishedRun(t, db, 0x3000000, 1)
	for _, run := range []string{first, second} {
		_, cursors := readEvents(t, db, store.EventFilter{RunID: run})
		end, err := db.EventsEnd(t.Context(), run)
		if err != nil || len(cursors) == 0 || end != cursors[len(cursors)-1] {
			t.Errorf("run %s: got %d, %v, want the last of %v", run, end, err, cursors)
		}
		if after, _ := readEvents(t, db, store.EventFilter{RunID: run, After: end}); len(after) > 0 {
			t.Errorf("run %s: %d events come after its end", run, len(after))
		}
	}
	if end, err := db.EventsEnd(t.Context(), empty.RunID); err != nil || end != 0 {
		t.Errorf("a run without events: got %d, %v", end, err)
	}
	if _, err := db.EventsEnd(t.Context(), "nowhere"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no run: got %v", err)
	}
}
