package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

// warmer notes which boxes it was told of, and which were opened.
type warmer struct {
	*sandboxtest.MemoryProvider
	mu     sync.Mutex
	told   []string
	ends   map[string]context.Context
	opened map[string]bool
	ahead  int // the most that were told of and neither opened nor over: next, or begun
}

func (w *warmer) Warm(ctx context.Context, spec sandbox.Spec) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := spec.Labels.TrialID
	w.told, w.ends[id] = append(w.told, id), ctx
	now := 0
	for id, ctx := range w.ends {
		if !w.opened[id] && ctx.Err() == nil {
			now++
		}
	}
	w.ahead = max(w.ahead, now)
}

func (w *warmer) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Session, error) {
	w.mu.Lock()
	w.opened[spec.Labels.TrialID] = true
	w.mu.Unlock()
	return w.MemoryProvider.Open(ctx, spec)
}

func newWarmer() *warmer {
	return &warmer{MemoryProvider: sandboxtest.Memory(), ends: map[string]context.Context{}, opened: map[string]bool{}}
}

func (w *warmer) check(t *testing.T, trials, atOnce int) {
	t.Helper()
	seen := map[string]bool{}
	for _, id := range w.told {
		if seen[id] {
			t.Errorf("trial %s was told of twice", id)
		}
		seen[id] = true
		if w.ends[id].Err() == nil {
			t.Errorf("the run is over and the box of trial %s is still expected", id)
		}
	}
	if len(w.told) != trials {
		t.Errorf("%d trials were told of, want %d", len(w.told), trials)
	}
	if w.ahead > atOnce {
		t.Errorf("%d boxes were expected at once, want %d at most", w.ahead, atOnce)
	}
}

const writes = `
default:
  - tool_calls: [{name: submit, arguments: {answer: done}}]
`

func TestBoxesAreExpected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ concurrency, atOnce int }{{1, 2}, {2, 4}, {10, 14}} {
		t.Run(fmt.Sprint(c.concurrency), func(t *testing.T) {
			t.Parallel()
			h, w := newHarness(parse(t, nativePack), writes), newWarmer()
			h.boxes, h.options.Repetitions, h.options.Concurrency = w, 12, c.concurrency
			h.run(t)
			w.check(t, 11, c.atOnce) // the first begins at once
			for id := range w.ends {
				if !w.opened[id] {
					t.Errorf("trial %s was told of and not opened", id)
				}
			}
		})
	}
}

// TestBoxesOfAStoppedAgent: its trials never begin, and nothing waits for them.
func TestBoxesOfAStoppedAgent(t *testing.T) {
	t.Parallel()
	h, w := newHarness(parse(t, nativePack), "default: [{error: {code: auth, message: x}}]"), newWarmer()
	h.boxes, h.options.Repetitions = w, 12
	h.run(t)
	w.check(t, len(w.told), 2)
	if len(w.told) > 2 || len(w.opened) != 1 {
		t.Errorf("%d were told of and %d opened after the first trial stopped the agent", len(w.told), len(w.opened))
	}
}

func TestBoxesOfACancelledRun(t *testing.T) {
	t.Parallel()
	h, w := newHarness(parse(t, nativePack), writes), newWarmer()
	h.boxes, h.options.Repetitions, h.options.Concurrency = w, 50, 2
	ctx, cancel := context.WithCancelCause(t.Context())
	w.OnOpen(func(*sandboxtest.MemoryBox) {
		if len(w.Boxes()) == 5 {
			cancel(engine.ErrInterrupted)
		}
	})
	h.runOnly(t, ctx, h.plan(t))
	w.check(t, len(w.told), 4)
	if len(w.told) > 12 {
		t.Errorf("%d boxes were expected of a run that was interrupted at the fifth", len(w.told))
	}
}
