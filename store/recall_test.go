package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// recorded makes a run whose trials have two attempts each: events of all sizes,
// and more of the last trial's second attempt than are read at once.
func recorded(t *testing.T, db *store.DB, planned plan.Plan) []event.Reused {
	t.Helper()
	createRun(t, db, planned)
	r := record(t, db, planned)
	var order []event.Reused
	chance := rand.New(rand.NewPCG(3, uint64(len(planned.Trials))))
	for i, trial := range planned.Trials {
		for trial.Attempt = 1; trial.Attempt <= 2; trial.Attempt++ {
			v, n := speak(t, r, planned, trial), chance.IntN(12)
			if i == len(planned.Trials)-1 && trial.Attempt == 2 {
				n = 2100
			}
			v.begin()
			for range n {
				payload := randomPayload(chance)
				if n == 2100 {
					payload = `{"many":true}`
				}
				v.emit(event.ToolDone, payload)
			}
			end := ending(v.base, scoring.OutcomePassed, trial.Attempt == 1)
			if i%7 == 0 {
				end.Reason = strings.Repeat("why ", 2000) // a large result
			}
			v.emit(event.TrialDone, end)
		}
		order = append(order, event.Reused{RunID: planned.RunID, TrialID: trial.ID, Attempt: 1 + i%2})
	}
	must(t, r.Close())
	return order
}

func recall(ctx context.Context, r *store.Recall, of event.Reused) (events []event.Event, err error) {
	err = r.Events(ctx, of.TrialID, of.Attempt, func(e event.Event) error {
		events = append(events, e)
		return nil
	})
	return events, err
}

// Whoever asks, and in whatever order, is told what reading the attempt by itself
// tells.
func TestRecallReadsAsEventsDoes(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	order := recorded(t, db, makePlan(id('r', 0x1000000), 2, 70))
	order = append(order, recorded(t, db, makePlan(id('r', 0x2000000), 1, 20))...)
	asked := append([]event.Reused{}, order...)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(order), func(i, j int) { // two runs in turns
		order[i], order[j] = order[j], order[i]
	})
	for name, asked := range map[string][]event.Reused{"as it was said": order, "otherwise": asked} {
		r, next := db.Recall(order), make(chan event.Reused)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for of := range next {
					want, _ := readEvents(t, db, store.EventFilter{TrialID: of.TrialID, Attempt: of.Attempt})
					got, err := recall(t.Context(), r, of)
					if diff := cmp.Diff(want, got, whole); diff != "" || err != nil {
						t.Errorf("%s: attempt %d of trial %s: %v, read by itself (-) and ahead (+):\n%s", name, of.Attempt, of.TrialID, err, diff)
					}
				}
			})
		}
		for _, of := range asked {
			next <- of
		}
		close(next)
		wg.Wait()
	}
}

func TestRecallOfOthers(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	order := recorded(t, db, makePlan(id('r', 0x1000000), 1, 3))
	gone := event.Reused{RunID: order[0].RunID, TrialID: id('t', 1), Attempt: 1}
	lost := event.Reused{RunID: id('r', 9), TrialID: id('t', 2), Attempt: 1}
	r := db.Recall([]event.Reused{order[0], gone, order[1], lost})
	for _, of := range []event.Reused{
		order[2],                                // is not of the order
		{TrialID: order[0].TrialID, Attempt: 2}, // is of the order with another attempt
		order[0], order[0],                      // is asked for twice
		order[1],
	} {
		want, _ := readEvents(t, db, store.EventFilter{TrialID: of.TrialID, Attempt: of.Attempt})
		if got, err := recall(t.Context(), r, of); err != nil || !cmp.Equal(want, got, whole) {
			t.Errorf("%+v: got %d events, %v, want %d", of, len(got), err, len(want))
		}
	}
	for _, of := range []event.Reused{gone, lost} {
		if got, err := recall(t.Context(), r, of); !errors.Is(err, store.ErrNotFound) || len(got) > 0 {
			t.Errorf("%+v: got %d events, %v, want not found", of, len(got), err)
		}
	}
	stop := fmt.Errorf("enough")
	if err := r.Events(t.Context(), order[1].TrialID, 1, func(event.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("a reader that stops: got %v", err)
	}
}
