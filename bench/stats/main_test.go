package main

import (
	"strings"
	"testing"
)

// TestSimulation is make bench-stats with fewer histories and two sizes of
// stored baselines.
func TestSimulation(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	missed, err := report(&table, world{histories: 500, seed: 2, baselines: []int{20, 56}})
	if err != nil {
		t.Fatal(err)
	}
	if missed > 0 {
		t.Errorf("%d bounds were missed:\n%s", missed, table.String())
	}
	if rows := strings.Count(table.String(), "\n| "); rows < 50 {
		t.Errorf("the tables have %d rows, which cannot be all:\n%s", rows, table.String())
	}
}

// TestMissed plants a rate over its bound in each kind of row.
func TestMissed(t *testing.T) {
	t.Parallel()
	within := decision{null: true, regressed: 0.04, exact: 0.05, of: atMost(0.05), histories: strict}
	for name, row := range map[string]interface{ print(*strings.Builder) int }{
		"simulated": printed(func(w *strings.Builder) int { d := within; d.regressed = 0.0501; return d.print(w) }),
		"exact":     printed(func(w *strings.Builder) int { d := within; d.exact = 0.0501; return d.print(w) }),
		"mean":      printed(func(w *strings.Builder) int { d := within; d.trials, d.mean = 17, 16; return d.print(w) }),
		"clear":     printed(func(w *strings.Builder) int { d := within; d.null, d.clear = false, 0.21; return d.print(w) }),
		"power": printed(func(w *strings.Builder) int {
			d := within
			d.of, d.regressed, d.exact = atLeast(0.8), 0.79, 0.81
			return d.print(w)
		}),
		"check": printed(func(w *strings.Builder) int {
			return check{rate: 0.051, of: atMost(0.05), n: strict}.print(w)
		}),
	} {
		var w strings.Builder
		if row.print(&w) != 1 || !strings.Contains(w.String(), "missed") {
			t.Errorf("%s: a rate over its bound was not seen: %s", name, w.String())
		}
	}
	var w strings.Builder
	if within.print(&w) != 0 {
		t.Errorf("a row within its bounds was called missed: %s", w.String())
	}
}

type printed func(*strings.Builder) int

func (p printed) print(w *strings.Builder) int { return p(w) }
