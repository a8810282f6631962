//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// cpu is the processor time this process has used.
func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// script makes the nine small events of every trial of a plan.
func script(tb testing.TB, planned plan.Plan) [][]event.Event {
	payload := `{"text":"` + strings.Repeat("x", 250) + `"}`
	var trials [][]event.Event
	for _, t := range planned.Trials {
		v := speak(tb, nil, planned, t)
		v.sink = event.SinkFunc(func(context.Context, event.Event) error { return nil })
		end := ending(v.base, scoring.OutcomePassed, false)
		end.Scorecard.Warnings = []string{strings.Repeat("w", 600)}
		must(tb, smallTrial(tb.Context(), v.sink, v, payload, end))
		trials = append(trials, v.said)
	}
	return trials
}

// recordAll records scripted trials, several at a time.
func recordAll(tb testing.TB, db *store.DB, planned plan.Plan, script [][]event.Event, lanes int) {
	r := record(tb, db, planned)
	trials := make(chan []event.Event)
	var wg sync.WaitGroup
	for range lanes {
		wg.Go(func() {
			for events := range trials {
				for _, e := range events {
					if err := r.Emit(tb.Context(), e); err != nil {
						tb.Error(err)
					}
				}
			}
		})
	}
	for _, events := range script {
		trials <- events
	}
	close(trials)
	wg.Wait()
	must(tb, r.Close())
}

// BenchmarkRecorder stores 20,000 trials of nine small events each. lanes is
// how many trials run at once.
func BenchmarkRecorder(b *testing.B) {
	planned := makePlan(id('r', 0x1000000), 1, 20000)
	events := script(b, planned)
	for _, lanes := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) {
			var used time.Duration
			for b.Loop() {
				b.StopTimer()
				db := fresh(b)
				createRun(b, db, planned)
				runtime.GC()
				b.StartTimer()
				before := cpu()
				recordAll(b, db, planned, events, lanes)
				used += cpu() - before
			}
			b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(b.N*9*len(planned.Trials))/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkCreateRun stores a plan of 20,000 trials.
func BenchmarkCreateRun(b *testing.B) {
	db := fresh(b)
	_, err := db.SavePack(b.Context(), snapshot("sums", 1))
	must(b, err)
	n := 0
	for b.Loop() {
		n++
		must(b, db.CreateRun(b.Context(), makePlan(id('r', n*0x1000000), 1, 20000), me))
	}
}

// BenchmarkRead reads from a store of a million events: 45 runs of 2,000
// trials and one of 20,000.
func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "agentclash.db")
	db := open(b, path)
	var last plan.Plan
	for n := 1; n <= 46; n++ {
		cases := 2000
		if n == 46 {
			cases = 20000
		}
		last = createRun(b, db, makePlan(id('r', n*0x1000000), 1, cases))
		recordAll(b, db, last, script(b, last), 64)
		must(b, db.FinishRun(b.Context(), last.RunID, me, engine.Result{Status: store.Completed, Agents: []engine.AgentResult{
			{RunAgentID: last.Agents[0].ID, Label: "Agent-0", Status: store.Completed}}}))
	}
	agent := last.Agents[0].ID
	ctx := b.Context()
	for _, read := range []struct {
		name string
		do   func() error
	}{
		{"open", func() error {
			db, err := store.Open(ctx, store.Options{Path: path})
			if err == nil {
				err = db.Close()
			}
			return err
		}},
		{"runs", func() error { _, _, err := db.Runs(ctx, store.RunFilter{Limit: 20}); return err }},
		{"run by name", func() error { _, err := db.Run(ctx, "", "run 00"); return ignoreAmbiguous(err) }},
		{"run by tail", func() error { _, err := db.Run(ctx, "", "2d000000"); return err }},
		{"latest", func() error { _, err := db.Run(ctx, "", store.Latest); return err }},
		{"run agents", func() error { _, err := db.RunAgents(ctx, last.RunID); return err }},
		{"tally of 20,000", func() error { _, err := db.Tally(ctx, agent); return err }},
		{"trials of 20,000 without results", func() error {
			return db.Trials(ctx, store.TrialFilter{RunAgentID: agent, NoResults: true}, func(store.Trial) error { return nil })
		}},
		{"trials of 20,000", func() error {
			return db.Trials(ctx, store.TrialFilter{RunAgentID: agent}, func(store.Trial) error { return nil })
		}},
		{"trial by tail", func() error { _, err := db.Trial(ctx, "", last.Trials[9000].ID[24:]); return ignoreAmbiguous(err) }},
		{"events of a trial", func() error {
			return db.Events(ctx, store.EventFilter{TrialID: last.Trials[9000].ID}, func(int64, event.Event) error { return nil })
		}},
		{"events of 20,000 trials", func() error {
			return db.Events(ctx, store.EventFilter{RunID: last.RunID}, func(int64, event.Event) error { return nil })
		}},
		{"finished events of 20,000 trials", func() error {
			return db.Events(ctx, store.EventFilter{RunID: last.RunID, Types: []string{"trial.*"}}, func(int64, event.Event) error { return nil })
		}},
		{"check", func() error { return db.Check(ctx) }},
	} {
		b.Run(read.name, func(b *testing.B) {
			for b.Loop() {
				must(b, read.do())
			}
		})
	}
	info, err := db.Info(ctx)
	must(b, err)
	b.Logf("the store has %d MiB", info.Bytes>>20)
}

func ignoreAmbiguous(err error) error {
	var a *store.AmbiguousError
	if err == nil || errors.As(err, &a) {
		return nil
	}
	return err
}
