package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/agentclash/agentclash/store/bundle"
)

// ranRun is a finished run of two agents with large payloads and a retry.
func ranRun(t *testing.T, db *store.DB) plan.Plan {
	t.Helper()
	planned := createRun(t, db, makePlan(id('r', 1), 2, 5))
	r := record(t, db, planned)
	must(t, r.Emit(t.Context(), event.Event{RunID: planned.RunID, Sequence: 1, Type: event.RunStarted, Source: event.SourceRun, OccurredAt: start, Payload: []byte(`{}`)}))
	for i, trial := range planned.Trials {
		v := speak(t, r, planned, trial)
		v.begin()
		v.emit(event.CallDone, fmt.Sprintf(`{"text":"%d %s"}`, i%3, strings.Repeat("<long & twice>", 500)))
		if i%4 == 3 {
			v.finish(scoring.OutcomeInvalid, true)
			trial.Attempt = 2
			v = speak(t, r, planned, trial)
			v.begin()
		}
		v.finish([]scoring.Outcome{scoring.OutcomePassed, scoring.OutcomeFailed}[i%2], false)
	}
	must(t, r.Close())
	result := engine.Result{Status: store.Completed}
	for _, a := range planned.Agents {
		result.Agents = append(result.Agents, engine.AgentResult{RunAgentID: a.ID, Label: a.Label, Status: store.Completed, Scorecard: scoring.AgentScorecard{Trials: 5}})
	}
	must(t, db.FinishRun(t.Context(), planned.RunID, me, result))
	_, err := db.SaveGate(t.Context(), store.Gate{BaselineRunID: id('b', 1), BaselineAgentID: id('b', 2), CandidateRunID: planned.RunID,
		CandidateAgentID: planned.Agents[0].ID, Verdict: "pass", Document: []byte(`{"a":1}`)})
	must(t, err)
	return planned
}

// recordsOf are the records of a run, which Check lets through.
func recordsOf(t *testing.T, db *store.DB, runID string) (list []bundle.Record) {
	t.Helper()
	c := &bundle.Check{RunID: runID, Next: bundle.SinkFunc(func(r bundle.Record) error {
		if b, ok := r.(bundle.Blob); ok {
			b.Of = ""
			r = b
		}
		list = append(list, r)
		return nil
	})}
	must(t, db.Export(t.Context(), runID, c))
	must(t, c.Finish())
	return list
}

func hand(list []bundle.Record) func(bundle.Sink) error {
	return func(sink bundle.Sink) error {
		for _, r := range list {
			if err := sink.Put(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// rowCounts are how many rows each table has, so that nothing can be left behind.
func rowCounts(t *testing.T, db *store.DB) map[string]int {
	t.Helper()
	counts, err := store.RowCounts(t.Context(), db)
	must(t, err)
	return counts
}

func TestImportKeepsWhatWasExported(t *testing.T) {
	t.Parallel()
	home, away := fresh(t), fresh(t)
	planned := ranRun(t, home)
	other := planned // the ids of rows there are others
	other.RunID = id('r', 7)
	other.Agents = []plan.RunAgent{{ID: id('r', 8), Label: "x"}}
	other.Trials = []plan.Trial{{ID: id('r', 9), CaseKey: planned.Cases[0].Key, Repetition: 1, Attempt: 1}}
	createRun(t, away, other)
	list := recordsOf(t, home, planned.RunID)
	must(t, away.Import(t.Context(), "elsewhere", me, hand(list)))
	got := recordsOf(t, away, planned.RunID)
	moved := list[0].(bundle.Run)
	moved.Plan = got[0].(bundle.Run).Plan // which has the workspace
	if diff := cmp.Diff(append([]bundle.Record{moved}, list[1:]...), got); diff != "" {
		t.Errorf("(-home +away):\n%s", diff)
	}
	p, err := away.Plan(t.Context(), planned.RunID)
	must(t, err)
	if p.Workspace != "elsewhere" {
		t.Errorf("the plan's workspace is %q", p.Workspace)
	}
	before := rowCounts(t, away)
	if err := away.Import(t.Context(), "third", me, hand(list)); !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), `in workspace "elsewhere"`) {
		t.Errorf("again: got %v", err)
	}
	if diff := cmp.Diff(before, rowCounts(t, away)); diff != "" {
		t.Errorf("again changed something:\n%s", diff)
	}
}

// Whatever ends an import in its middle, nothing of it is there afterwards.
func TestImportIsAllOrNothing(t *testing.T) {
	t.Parallel()
	home := fresh(t)
	planned := ranRun(t, home)
	list := recordsOf(t, home, planned.RunID)
	away := fresh(t)
	before := rowCounts(t, away)
	broken := errors.New("cut")
	for n := range list {
		err := away.Import(t.Context(), "", me, func(sink bundle.Sink) error {
			if err := hand(list[:n])(sink); err != nil {
				return err
			}
			return broken
		})
		if !errors.Is(err, broken) {
			t.Fatalf("after %d records: got %v", n, err)
		}
		if diff := cmp.Diff(before, rowCounts(t, away)); diff != "" {
			t.Fatalf("after %d records:\n%s", n, diff)
		}
	}
	must(t, away.Import(t.Context(), "", me, hand(list)))
}

func TestExportRefuses(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('r', 1), 1, 1))
	none := bundle.SinkFunc(func(bundle.Record) error { t.Error("something was exported"); return nil })
	if err := db.Export(t.Context(), planned.RunID, none); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a run that is going on: got %v", err)
	}
	if err := db.Export(t.Context(), id('r', 2), none); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no run: got %v", err)
	}
	if err := fresh(t).Export(t.Context(), id('r', 2), none); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no store: got %v", err)
	}
	must(t, db.FinishRun(t.Context(), planned.RunID, me, engine.Result{Status: store.Interrupted}))
	stop := errors.New("enough")
	if err := db.Export(t.Context(), planned.RunID, bundle.SinkFunc(func(bundle.Record) error { return stop })); err != stop { //nolint:errorlint // as it is
		t.Errorf("got %v", err)
	}
	// an unfinished run is evidence, too
	must(t, fresh(t).Import(t.Context(), "", me, hand(recordsOf(t, db, planned.RunID))))
}

// A store that can only be read is exported from as well.
func TestExportFromReadOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agentclash.db")
	db := open(t, path)
	planned := ranRun(t, db)
	want := recordsOf(t, db, planned.RunID)
	must(t, db.Close())
	reading, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
	must(t, err)
	t.Cleanup(func() { reading.Close() })
	if diff := cmp.Diff(want, recordsOf(t, reading, planned.RunID)); diff != "" {
		t.Error(diff)
	}
	if err := reading.Import(t.Context(), "", me, hand(want)); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("got %v", err)
	}
}
