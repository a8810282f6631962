package store_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// start is when the tests' clock begins.
var start = time.Date(2026, 3, 15, 12, 0, 0, 123456789, time.UTC)

// whole compares payloads as one, which go-cmp does byte by byte.
var whole = cmp.Comparer(func(a, b json.RawMessage) bool { return string(a) == string(b) })

var me = store.Owner{ID: "boot/1/1", PID: 1, Host: "here"}

// tick is a clock that moves a second with every reading.
func tick() func() time.Time {
	var n atomic.Int64
	return func() time.Time { return start.Add(time.Duration(n.Add(1)) * time.Second) }
}

// id is the n-th id of a sort, in the form of a UUIDv7.
func id(sort byte, n int) string { return fmt.Sprintf("0195a000-0000-7000-8%03x-%012x", sort, n) }

func numbered() func() string {
	var n atomic.Int64
	return func() string { return id('x', int(n.Add(1))) }
}

func open(tb testing.TB, path string) *store.DB {
	tb.Helper()
	db, err := store.Open(tb.Context(), store.Options{Path: path, Now: tick(), NewID: numbered()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

func fresh(tb testing.TB) *store.DB {
	tb.Helper()
	return open(tb, filepath.Join(tb.TempDir(), "home", "agentclash.db"))
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func snapshot(slug string, version int32) store.PackSnapshot {
	return store.PackSnapshot{Slug: slug, Name: "The " + slug, Family: "tests", Version: version,
		Digest: fmt.Sprintf("%064x", version), SpecDigest: "5bec", Manifest: []byte(`{"tool_policy":{}}`)}
}

// makePlan plans agents x cases, one repetition.
func makePlan(runID string, agents, cases int) plan.Plan {
	p := plan.Plan{
		RunID: runID, Name: "Run " + runID[len(runID)-2:], CreatedAt: start, InputSet: "default", Mode: "prompt_eval", SpecDigest: "5bec",
		Pack:    event.PackRef{Slug: "sums", Name: "The sums", Version: 1, Digest: fmt.Sprintf("%064x", 1)},
		Options: plan.Options{Repetitions: 1, Concurrency: 4, MinPassRate: 1},
	}
	for a := range agents {
		p.Agents = append(p.Agents, plan.RunAgent{ID: runID[:24] + fmt.Sprintf("a%03x", a) + runID[28:], Label: fmt.Sprintf("Agent-%d", a), Lane: a,
			Deployment: plan.Deployment{Name: "d", Provider: "scripted", Model: "m"}})
	}
	for c := range cases {
		key := fmt.Sprintf("case-%05d", c)
		p.Cases = append(p.Cases, plan.CaseRef{Key: key, Digest: fmt.Sprintf("%064x", c)})
		for a := range agents {
			p.Trials = append(p.Trials, plan.Trial{ID: fmt.Sprintf("%s%04x%s", runID[:24], a, runID[28:30]) + fmt.Sprintf("%06x", c), Agent: a, CaseKey: key, Repetition: 1, Attempt: 1})
		}
	}
	return p
}

func createRun(tb testing.TB, db *store.DB, planned plan.Plan) plan.Plan {
	tb.Helper()
	_, err := db.SavePack(tb.Context(), snapshot("sums", 1))
	must(tb, err)
	must(tb, db.CreateRun(tb.Context(), planned, me))
	return planned
}

func record(tb testing.TB, db *store.DB, planned plan.Plan) *store.Recorder {
	tb.Helper()
	r, err := db.Recorder(tb.Context(), planned.RunID, me)
	must(tb, err)
	tb.Cleanup(func() { r.Close() })
	return r
}

// voice emits the events of one attempt of a trial.
type voice struct {
	tb   testing.TB
	sink event.Sink
	base event.Event
	said []event.Event
}

func speak(tb testing.TB, sink event.Sink, planned plan.Plan, trial plan.Trial) *voice {
	return &voice{tb: tb, sink: sink, base: event.Event{SchemaVersion: event.SchemaVersion, RunID: planned.RunID,
		RunAgentID: planned.Agents[trial.Agent].ID, TrialID: trial.ID, CaseKey: trial.CaseKey, Repetition: trial.Repetition,
		Attempt: trial.Attempt, Source: event.SourcePromptEval}}
}

func (v *voice) next(typ event.Type, payload any) event.Event {
	e := v.base
	e.Sequence = int64(len(v.said) + 1)
	e.ID = event.NewID(e.TrialID, e.Attempt, e.Sequence)
	e.Type, e.OccurredAt = typ, start.Add(time.Duration(e.Sequence)*time.Millisecond)
	switch p := payload.(type) {
	case nil:
	case string:
		if p != "" {
			e.Payload = json.RawMessage(p)
		}
	default:
		raw, err := json.Marshal(p)
		if err != nil {
			panic(err)
		}
		e.Payload = raw
	}
	v.said = append(v.said, e)
	return e
}

func (v *voice) emit(typ event.Type, payload any) {
	v.tb.Helper()
	if err := v.sink.Emit(context.Background(), v.next(typ, payload)); err != nil {
		v.tb.Fatal(err)
	}
}

// begin queues and starts the attempt.
func (v *voice) begin() {
	v.tb.Helper()
	v.emit(event.TrialQueued, event.Queue{Attempt: v.base.Attempt})
	v.emit(event.Started, event.TrialStart{DeploymentType: "native", ExecutionMode: "prompt_eval"})
}

func (v *voice) finish(outcome scoring.Outcome, retry bool) {
	v.tb.Helper()
	v.emit(event.TrialDone, ending(v.base, outcome, retry))
}

func ending(e event.Event, outcome scoring.Outcome, retry bool) event.TrialEnd {
	score := 0.5
	end := event.TrialEnd{WillRetry: retry, Trial: scoring.Trial{TrialID: e.TrialID, CaseKey: e.CaseKey, Repetition: e.Repetition,
		Attempt: e.Attempt, Outcome: outcome, Scorecard: &scoring.Scorecard{Status: "complete", OverallScore: &score}}}
	if outcome == scoring.OutcomeInvalid {
		end.Code, end.Phase, end.Scorecard = "unavailable", "model", nil
	}
	return end
}

// readEvents returns all events that match and their cursors.
func readEvents(tb testing.TB, db *store.DB, f store.EventFilter) (events []event.Event, cursors []int64) {
	tb.Helper()
	must(tb, db.Events(tb.Context(), f, func(cursor int64, e event.Event) error {
		events, cursors = append(events, e), append(cursors, cursor)
		return nil
	}))
	return events, cursors
}

func readTrials(tb testing.TB, db *store.DB, f store.TrialFilter) (trials []store.Trial) {
	tb.Helper()
	must(tb, db.Trials(tb.Context(), f, func(t store.Trial) error {
		trials = append(trials, t)
		return nil
	}))
	return trials
}

// smallTrial emits the nine events of a typical prompt_eval trial.
func smallTrial(ctx context.Context, sink event.Sink, v *voice, payload string, end any) error {
	v.said = v.said[:0]
	for _, typ := range []event.Type{event.TrialQueued, event.Started, event.CallStarted, event.OutputDelta, event.CallDone,
		event.OutputFinal, event.Completed, event.ScoringDone} {
		if err := sink.Emit(ctx, v.next(typ, payload)); err != nil {
			return err
		}
	}
	return sink.Emit(ctx, v.next(event.TrialDone, end))
}

// noise is text that does not compress to less than three quarters.
func noise(n int) string {
	raw := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(raw) // never fails
	return base64.StdEncoding.EncodeToString(raw)
}
