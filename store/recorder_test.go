package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// randomPayload is JSON of any size: none, small, and up to a few blobs' worth,
// often the same twice.
func randomPayload(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(`{"big":%q}`, strings.Repeat("same ", 1000+1000*r.IntN(3)))
	case 2:
		junk := make([]byte, 3000+r.IntN(4000)) // around the limit of a row
		for i := range junk {
			junk[i] = byte('!' + r.IntN(90))
		}
		return fmt.Sprintf(`{"junk":%s}`, mustJSON(string(junk)))
	default:
		return fmt.Sprintf(`{"n":%d,"text":"ünïcode \u0000 %d"}`, r.Int64(), r.IntN(100))
	}
}

func mustJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Whatever is emitted is read back: every event, whole and equal, each
// attempt's in its order, whether or not the store was closed in between.
func TestEventsReadBackAsEmitted(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 3, 8))
	r := record(t, db, planned)
	voices := make([]*voice, len(planned.Trials))
	var wg sync.WaitGroup
	for i, trial := range planned.Trials {
		voices[i] = speak(t, r, planned, trial)
		wg.Go(func() {
			chance := rand.New(rand.NewPCG(7, uint64(i)))
			v := voices[i]
			v.begin()
			for range chance.IntN(40) {
				e := v.next([]event.Type{event.CallStarted, event.CallDone, event.ToolDone}[chance.IntN(3)], randomPayload(chance))
				if chance.IntN(5) == 0 {
					e.ID = fmt.Sprintf("own-%d-%d", i, e.Sequence)
					v.said[len(v.said)-1].ID = e.ID
				}
				if err := r.Emit(context.Background(), e); err != nil {
					t.Error(err)
				}
			}
			end := ending(v.base, scoring.OutcomeFailed, false)
			end.Reason = strings.Repeat("why ", chance.IntN(2000))
			v.emit(event.TrialDone, end)
		})
	}
	wg.Wait()
	must(t, r.Close())
	must(t, db.Check(t.Context()))
	for i, v := range voices {
		got, _ := readEvents(t, db, store.EventFilter{TrialID: planned.Trials[i].ID})
		if diff := cmp.Diff(v.said, got, whole); diff != "" {
			t.Fatalf("trial %d: emitted (-) and read (+) differ:\n%s", i, diff)
		}
		trial, err := db.Trial(t.Context(), "", planned.Trials[i].ID)
		if want := v.said[len(v.said)-1].Payload; err != nil || string(trial.Result) != string(want) {
			t.Errorf("trial %d: its result is not the payload of its last event, %v", i, err)
		}
	}
	checkRunOrder(t, db, planned, voices)
}

// checkRunOrder reads a whole run, at once and in pieces, and checks that
// cursors grow and each attempt keeps its order.
func checkRunOrder(t *testing.T, db *store.DB, planned plan.Plan, voices []*voice) {
	t.Helper()
	want := 0
	for _, v := range voices {
		want += len(v.said)
	}
	all, cursors := readEvents(t, db, store.EventFilter{RunID: planned.RunID})
	if len(all) != want {
		t.Fatalf("the run has %d events, want %d", len(all), want)
	}
	last := map[string]int64{}
	for i, e := range all {
		if cursors[i] != int64(i+1) {
			t.Fatalf("event %d has cursor %d", i, cursors[i])
		}
		if e.Sequence != last[e.TrialID]+1 {
			t.Fatalf("trial %s: sequence %d after %d", e.TrialID, e.Sequence, last[e.TrialID])
		}
		last[e.TrialID] = e.Sequence
	}
	var pieces []event.Event
	for after := int64(0); ; {
		piece, c := readEvents(t, db, store.EventFilter{RunID: planned.RunID, After: after, Limit: 37})
		if len(piece) == 0 {
			break
		}
		pieces, after = append(pieces, piece...), c[len(c)-1]
	}
	if diff := cmp.Diff(all, pieces, whole); diff != "" {
		t.Errorf("read at once (-) and in pieces (+) differ:\n%s", diff)
	}
}

func TestEventFilters(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 2, 2))
	r := record(t, db, planned)
	must(t, r.Emit(t.Context(), event.Event{RunID: planned.RunID, ID: event.NewRunID(planned.RunID, 1), Sequence: 1, Type: event.RunStarted,
		Source: event.SourceRun, OccurredAt: start, SchemaVersion: event.SchemaVersion}))
	must(t, r.Emit(t.Context(), event.Event{RunID: planned.RunID, RunAgentID: planned.Agents[1].ID, Sequence: 2, Type: event.BudgetReach,
		Source: event.SourceRun, OccurredAt: start, Payload: json.RawMessage(`{"limit":"usd"}`)}))
	for _, trial := range planned.Trials {
		v := speak(t, r, planned, trial)
		v.begin()
		v.emit(event.CallDone, `{"a":1}`)
		v.finish(scoring.OutcomePassed, false)
	}
	must(t, r.Close())
	for _, c := range []struct {
		name   string
		filter store.EventFilter
		want   int
	}{
		{"all", store.EventFilter{RunID: planned.RunID}, 18},
		{"agent with its run fact", store.EventFilter{RunID: planned.RunID, RunAgentID: planned.Agents[1].ID}, 9},
		{"trial", store.EventFilter{TrialID: planned.Trials[2].ID}, 4},
		{"attempt that is not", store.EventFilter{TrialID: planned.Trials[2].ID, Attempt: 2}, 0},
		{"exact type", store.EventFilter{RunID: planned.RunID, Types: []string{"trial.finished"}}, 4},
		{"globs", store.EventFilter{RunID: planned.RunID, Types: []string{"run.*", "model.*"}}, 5},
		{"glob without match", store.EventFilter{RunID: planned.RunID, Types: []string{"tool.*"}}, 0},
		{"trial and type", store.EventFilter{TrialID: planned.Trials[0].ID, Types: []string{"trial.*"}}, 2},
		{"limit", store.EventFilter{RunID: planned.RunID, Limit: 5}, 5},
		{"limit of a trial", store.EventFilter{TrialID: planned.Trials[0].ID, Limit: 1}, 1},
	} {
		if got, _ := readEvents(t, db, c.filter); len(got) != c.want {
			t.Errorf("%s: got %d events, want %d", c.name, len(got), c.want)
		}
	}
	facts, cursors := readEvents(t, db, store.EventFilter{RunID: planned.RunID, Types: []string{"budget.reached"}})
	want := event.Event{ID: event.NewRunID(planned.RunID, 2), SchemaVersion: event.SchemaVersion, RunID: planned.RunID, RunAgentID: planned.Agents[1].ID,
		Sequence: 2, Type: event.BudgetReach, Source: event.SourceRun, OccurredAt: start, Payload: json.RawMessage(`{"limit":"usd"}`)}
	if diff := cmp.Diff([]event.Event{want}, facts, whole); diff != "" {
		t.Errorf("run fact: want (-), got (+):\n%s", diff)
	}
	for _, since := range []string{facts[0].ID, fmt.Sprint(cursors[0])} {
		if got, err := db.Cursor(t.Context(), planned.RunID, since); err != nil || got != cursors[0] {
			t.Errorf("cursor of %q: got %d, %v, want %d", since, got, err, cursors[0])
		}
	}
	if _, err := db.Cursor(t.Context(), planned.RunID, "no-such-event"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("cursor of nothing: got %v, want not found", err)
	}
	if err := db.Events(t.Context(), store.EventFilter{RunID: "nope"}, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("events of no run: got %v, want not found", err)
	}
	if err := db.Events(t.Context(), store.EventFilter{RunID: planned.RunID, Types: []string{"[a"}}, nil); err == nil {
		t.Error("a broken glob: got no error")
	}
	stop := errors.New("enough")
	err := db.Events(t.Context(), store.EventFilter{RunID: planned.RunID}, func(int64, event.Event) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("reader stopped: got %v, want its own error", err)
	}
}

// trial.finished is committed with everything before it, and with its rows,
// when Emit returns: another process sees it.
func TestFinishedTrialIsCommitted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path)
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 2))
	r := record(t, db, planned)
	v := speak(t, r, planned, planned.Trials[0])
	v.begin()
	v.finish(scoring.OutcomePassed, false)

	other, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
	must(t, err)
	t.Cleanup(func() { other.Close() })
	trials := readTrials(t, other, store.TrialFilter{RunAgentID: planned.Agents[0].ID})
	if len(trials) != 2 {
		t.Fatalf("got %d trials, want 2", len(trials))
	}
	score := 0.5
	want := store.Trial{ID: planned.Trials[0].ID, RunAgentID: planned.Agents[0].ID, CaseKey: "case-00000", Repetition: 1, Attempt: 1,
		Status: store.Passed, StartedAt: v.said[1].OccurredAt, FinishedAt: v.said[2].OccurredAt, OverallScore: &score, Result: v.said[2].Payload}
	if diff := cmp.Diff(want, trials[0], whole); diff != "" {
		t.Errorf("finished trial: want (-), got (+):\n%s", diff)
	}
	end, err := trials[0].End()
	if diff := cmp.Diff(ending(v.base, scoring.OutcomePassed, false), end); diff != "" || err != nil {
		t.Errorf("its result: %v\n%s", err, diff)
	}
	if trials[1].Status != store.Queued || trials[1].Attempt != 0 || trials[1].Result != nil {
		t.Errorf("trial that was not begun: got %+v", trials[1])
	}
	if _, err := trials[1].End(); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("its result: got %v, want not found", err)
	}
	agents, err := other.RunAgents(t.Context(), planned.RunID)
	must(t, err)
	if agents[0].Status != store.Running || !agents[0].StartedAt.Equal(v.said[1].OccurredAt) {
		t.Errorf("agent: got %s since %v", agents[0].Status, agents[0].StartedAt)
	}
}

// A retried trial is queued between its attempts, and keeps them all.
func TestAttempts(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
	r := record(t, db, planned)
	first := speak(t, r, planned, planned.Trials[0])
	first.begin()
	first.finish(scoring.OutcomeInvalid, true)
	now, err := db.Trial(t.Context(), "", planned.Trials[0].ID)
	must(t, err)
	if now.Status != store.Queued || now.Attempt != 1 || now.Code != "" {
		t.Errorf("between attempts: got %s, attempt %d, code %q; want queued, 1, none", now.Status, now.Attempt, now.Code)
	}
	again := planned.Trials[0]
	again.Attempt = 2
	second := speak(t, r, planned, again)
	second.begin()
	second.finish(scoring.OutcomeInvalid, false)
	now, err = db.Trial(t.Context(), "", planned.Trials[0].ID)
	must(t, err)
	if now.Status != store.Invalid || now.Attempt != 2 || now.Code != "unavailable" || now.Phase != "model" || now.OverallScore != nil {
		t.Errorf("at the end: got %+v", now)
	}
	attempts := readTrials(t, db, store.TrialFilter{RunAgentID: planned.Agents[0].ID, AllAttempts: true})
	if len(attempts) != 2 || attempts[0].Attempt != 1 || attempts[1].Attempt != 2 || attempts[0].Status != store.Invalid {
		t.Errorf("attempts: got %+v", attempts)
	}
	for i, v := range []*voice{first, second} {
		got, _ := readEvents(t, db, store.EventFilter{TrialID: again.ID, Attempt: i + 1})
		if diff := cmp.Diff(v.said, got, whole); diff != "" {
			t.Errorf("attempt %d: emitted (-) and read (+) differ:\n%s", i+1, diff)
		}
	}
}

// The log takes each fact once, in order, from where it says it is.
func TestRecorderRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		spin func(*event.Event)
		ok   bool
	}{
		{"nothing", func(*event.Event) {}, true},
		{"a repeated sequence", func(e *event.Event) { e.Sequence-- }, false},
		{"sequence zero", func(e *event.Event) { e.Sequence = 0 }, false},
		{"another run", func(e *event.Event) { e.RunID = "other" }, false},
		{"an unknown trial", func(e *event.Event) { e.TrialID = "other" }, false},
		{"another agent", func(e *event.Event) { e.RunAgentID = "other" }, false},
		{"another case", func(e *event.Event) { e.CaseKey = "other" }, false},
		{"another repetition", func(e *event.Event) { e.Repetition = 2 }, false},
		{"an attempt that does not follow", func(e *event.Event) { e.Attempt = 0 }, false},
		{"an attempt left out", func(e *event.Event) { e.Attempt = 3 }, false},
		{"an attempt beyond all", func(e *event.Event) { e.Attempt = 5000 }, false},
		{"a trial fact without a trial", func(e *event.Event) { e.TrialID = "" }, false},
		{"another schema", func(e *event.Event) { e.SchemaVersion = "1999" }, false},
		{"no type", func(e *event.Event) { e.Type = "" }, false},
		{"an outcome that is none", func(e *event.Event) {
			e.Type, e.Payload = event.TrialDone, json.RawMessage(`{"outcome":"great"}`)
		}, false},
		{"a result that is not JSON", func(e *event.Event) { e.Type, e.Payload = event.TrialDone, json.RawMessage(`{`) }, false},
		{"a glimpse", func(e *event.Event) { *e = event.Event{Transient: true} }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := fresh(t)
			planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
			r := record(t, db, planned)
			v := speak(t, r, planned, planned.Trials[0])
			v.begin()
			e := v.next(event.CallDone, `{}`)
			c.spin(&e)
			err := r.Emit(t.Context(), e)
			if err == nil {
				err = r.Flush(t.Context())
			}
			if (err == nil) != c.ok {
				t.Errorf("got %v, want ok %v", err, c.ok)
			}
		})
	}
}

// trial.finished is the last event of its attempt, even when another follows.
func TestNothingFollowsTheEnd(t *testing.T) {
	t.Parallel()
	for _, retry := range []bool{false, true} {
		db := fresh(t)
		planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
		r := record(t, db, planned)
		v := speak(t, r, planned, planned.Trials[0])
		v.begin()
		v.finish(scoring.OutcomeInvalid, retry)
		must(t, r.Emit(t.Context(), v.next(event.CallDone, nil)))
		if err := r.Flush(t.Context()); !errors.Is(err, store.ErrConflict) {
			t.Errorf("retry %v: got %v, want a conflict", retry, err)
		}
	}
}

// The first failure sticks, and nothing is written after it.
func TestFailureSticks(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 2))
	r := record(t, db, planned)
	v := speak(t, r, planned, planned.Trials[0])
	v.begin()
	must(t, r.Flush(t.Context()))
	thief := store.Owner{ID: "boot/2/2"}
	_, err := db.TakeOver(t.Context(), planned.RunID, me, thief, func(string) bool { return false })
	must(t, err)
	err = r.Emit(t.Context(), v.next(event.TrialDone, ending(v.base, scoring.OutcomePassed, false)))
	if !errors.Is(err, store.ErrOwned) {
		t.Fatalf("after the run was taken over: got %v, want ErrOwned", err)
	}
	other := speak(t, r, planned, planned.Trials[1])
	if again := r.Emit(t.Context(), other.next(event.TrialQueued, nil)); !errors.Is(again, err) {
		t.Errorf("next Emit: got %v, want %v", again, err)
	}
	if closed := r.Close(); !errors.Is(closed, err) {
		t.Errorf("Close: got %v, want %v", closed, err)
	}
	if got, _ := readEvents(t, db, store.EventFilter{RunID: planned.RunID}); len(got) != 2 {
		t.Errorf("the log has %d events, want the 2 before the failure", len(got))
	}
}

func TestRecorderCloses(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
	r := record(t, db, planned)
	v := speak(t, r, planned, planned.Trials[0])
	v.begin()
	must(t, r.Close())
	must(t, r.Close())
	if got, _ := readEvents(t, db, store.EventFilter{RunID: planned.RunID}); len(got) != 2 {
		t.Errorf("Close committed %d events, want 2", len(got))
	}
	if err := r.Emit(t.Context(), v.next(event.CallDone, nil)); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Emit after Close: got %v, want ErrClosed", err)
	}
	if err := r.Flush(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Flush after Close: got %v, want ErrClosed", err)
	}
	if _, err := db.Recorder(t.Context(), planned.RunID, store.Owner{ID: "other"}); !errors.Is(err, store.ErrOwned) {
		t.Errorf("another's recorder: got %v, want ErrOwned", err)
	}
}

// Content that is not what was stored is an error, never somebody's evidence.
func TestDamagedBlob(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"other bytes":          "UPDATE blobs SET data = zeroblob(64)",
		"a lie about the size": "UPDATE blobs SET size = -1",
		"another sum":          "UPDATE blobs SET sha256 = zeroblob(32) WHERE id = (SELECT max(id) FROM blobs)",
	} {
		db := fresh(t)
		planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
		r := record(t, db, planned)
		v := speak(t, r, planned, planned.Trials[0])
		v.begin()
		v.emit(event.CallDone, `"`+noise(9000)+`"`)
		must(t, r.Close())
		must(t, db.Exec(t.Context(), damage))
		err := db.Events(t.Context(), store.EventFilter{RunID: planned.RunID}, func(int64, event.Event) error { return nil })
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: got %v, want ErrCorrupt", name, err)
		}
	}
}

// A cancelled run still records: facts outlive a Ctrl-C.
func TestRecorderOutlivesCancellation(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := db.Recorder(ctx, planned.RunID, me)
	must(t, err)
	cancel()
	v := speak(t, r, planned, planned.Trials[0])
	v.begin()
	v.finish(scoring.OutcomeFailed, false)
	must(t, r.Close())
}

// A queue that is full of large payloads holds Emit back, and lets go of an
// Emit whose context ends.
func TestEmitWaitsForRoom(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
	r := record(t, db, planned)
	large := []byte(noise(3 << 20))
	ctx, cancel := context.WithCancel(t.Context())
	v := speak(t, r, planned, planned.Trials[0])
	v.begin()
	must(t, r.Flush(ctx))
	must(t, db.Hold(t.Context(), func() { // nothing can be written meanwhile
		for n := range 100 {
			if n == 3 {
				go cancel() // some time later: Emit may or may not wait by then
			}
			large[n]++ // not the same blob
			if err := r.Emit(ctx, v.next(event.CallDone, `"`+string(large)+`"`)); err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Emit that waited for room: got %v, want %v", err, context.Canceled)
				}
				return
			}
		}
		t.Error("300 MB are queued")
	}))
	must(t, r.Close())
	must(t, db.Check(t.Context()))
}
