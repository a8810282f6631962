package store_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

func everybody(store.Owner, time.Time) bool { return true }
func nobody(store.Owner, time.Time) bool    { return false }

// finishedRun stores a run of two agents and n cases. Of the trials the first
// has an attempt before the one that decides it, the second a large result, the
// last none at all.
func finishedRun(t *testing.T, db *store.DB, n, cases int) (runID string, agents []store.RunAgent) {
	t.Helper()
	plan := createRun(t, db, makePlan(id('r', n), 2, cases))
	r := record(t, db, plan)
	for i, trial := range plan.Trials[:len(plan.Trials)-1] {
		v := speak(t, r, plan, trial)
		if i == 0 {
			v.begin()
			v.finish(scoring.OutcomeInvalid, true)
			trial.Attempt = 2
			v = speak(t, r, plan, trial)
		}
		end := ending(v.base, scoring.OutcomePassed, false)
		if i == 1 {
			end.Reason = noise(6000)
		}
		must(t, smallTrial(t.Context(), r, v, fmt.Sprintf(`"%s"`, strings.Repeat("p", 20+4999*(i%2))), end))
	}
	must(t, r.Close())
	agents, err := db.RunAgents(t.Context(), plan.RunID)
	must(t, err)
	return plan.RunID, agents
}

// readDeciding reads a run span by span.
func readDeciding(t *testing.T, db *store.DB, runID string, size int, types ...event.Type) (trials []store.DecidingTrial, events map[string][]event.Event) {
	t.Helper()
	d, err := db.Deciding(t.Context(), runID, types)
	must(t, err)
	events = map[string][]event.Event{}
	for _, s := range d.Spans(size) {
		list, err := d.Trials(t.Context(), s)
		must(t, err)
		must(t, d.Events(t.Context(), list, func(i int, e []event.Event) error {
			events[list[i].ID] = e
			return nil
		}))
		trials = append(trials, list...)
	}
	return trials, events
}

// The deciding attempts and their events are what Trials and Events read, one by
// one.
func TestDecidingTrials(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	finishedRun(t, db, 0x2000000, 3) // whose rows lie around those of the other
	runID, agents := finishedRun(t, db, 0x1000000, 5)
	finishedRun(t, db, 0x3000000, 2)
	types := []event.Type{event.Started, event.CallDone, event.ScoringDone}
	for _, size := range []int{1, 3, 100} {
		trials, events := readDeciding(t, db, runID, size, types...)
		if len(trials) != 10 || trials[0].Attempt != 2 || len(trials[0].Earlier) != 1 || trials[9].Attempt != 0 || trials[9].Result != nil {
			t.Fatalf("spans of %d: got %d trials, the first %+v", size, len(trials), trials[0])
		}
		var want []store.Trial
		for _, a := range agents {
			want = append(want, readTrials(t, db, store.TrialFilter{RunAgentID: a.ID})...)
		}
		for _, got := range trials {
			i := slices.IndexFunc(want, func(w store.Trial) bool { return w.ID == got.ID })
			if i < 0 || string(want[i].Result) != string(got.Result) || want[i].RunAgentID != got.RunAgentID || want[i].CaseKey != got.CaseKey || want[i].Status != got.Status {
				t.Errorf("spans of %d: trial %s differs from what Trials reads", size, got.ID)
			}
			if got.Attempt == 0 {
				continue
			}
			all, _ := readEvents(t, db, store.EventFilter{TrialID: got.ID, Attempt: got.Attempt, Types: []string{string(types[0]), string(types[1]), string(types[2])}})
			for i := range all {
				all[i].ID = ""
			}
			if diff := cmp.Diff(all, events[got.ID], whole); diff != "" || len(all) != 3 {
				t.Errorf("spans of %d: events of %s (-Events +Deciding):\n%s", size, got.ID, diff)
			}
		}
	}
	stop := errors.New("enough")
	d, err := db.Deciding(t.Context(), runID, types)
	must(t, err)
	list, err := d.Trials(t.Context(), d.Spans(100)[0])
	must(t, err)
	if err := d.Events(t.Context(), list, func(int, []event.Event) error { return stop }); err != stop { //nolint:errorlint // as it is
		t.Errorf("an error of yield: got %v", err)
	}
	if _, err := db.Deciding(t.Context(), "no such run", nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown run: got %v", err)
	}
}

// writeRescoring writes a rescoring: the first trial has another result, the
// second a large one, the others what they had.
func writeRescoring(t *testing.T, db *store.DB, runID string, before ...store.Rescoring) store.Rescoring {
	t.Helper()
	w, trials := startRescoring(t, db, runID)
	rescored := []store.RescoredTrial{}
	for i, trial := range trials[:len(trials)-1] {
		r := store.RescoredTrial{Of: trial}
		switch i {
		case 0:
			r.Result = json.RawMessage(`{"outcome":"failed"}`)
		case 1:
			r.Result = json.RawMessage(fmt.Sprintf(`{"outcome":"failed","reason":%q}`, noise(7000)))
		}
		rescored = append(rescored, r)
	}
	must(t, w.Add(t.Context(), rescored[:3]))
	must(t, w.Add(t.Context(), rescored[3:]))
	if list, err := db.Rescorings(t.Context(), runID); err != nil || len(list) != len(before) {
		t.Errorf("before it is finished: got %v, %v", list, err)
	}
	cards := map[string]scoring.AgentScorecard{}
	for i, a := range []string{trials[0].RunAgentID, trials[1].RunAgentID} {
		cards[a] = scoring.AgentScorecard{Headline: "failed", Trials: i + 1}
	}
	done, err := w.Finish(t.Context(), store.RescoringEnd{Trials: 9, Flipped: 2, Kept: 1, LeftOut: 3, Scorecards: cards})
	must(t, err)
	return done
}

func startRescoring(t *testing.T, db *store.DB, runID string) (*store.RescoringWriter, []store.DecidingTrial) {
	t.Helper()
	run, err := db.Run(t.Context(), "", runID)
	must(t, err)
	trials, _ := readDeciding(t, db, runID, 64)
	w, err := db.StartRescoring(t.Context(), store.Rescoring{RunID: runID, PackID: run.PackID, SpecDigest: "5bec", Program: "v1"}, me, everybody)
	must(t, err)
	return w, trials
}

func TestRescoring(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	runID, agents := finishedRun(t, db, 0x1000000, 5)
	before := readTrials(t, db, store.TrialFilter{RunAgentID: agents[0].ID})
	first := writeRescoring(t, db, runID)
	second := writeRescoring(t, db, runID, first)
	list, err := db.Rescorings(t.Context(), runID)
	must(t, err)
	if diff := cmp.Diff([]store.Rescoring{second, first}, list); diff != "" {
		t.Errorf("the list, newest first (-want +got):\n%s", diff)
	}
	if first.Trials != 9 || first.Flipped != 2 || first.Kept != 1 || first.LeftOut != 3 || first.RunID != runID || first.SpecDigest != "5bec" || first.Program != "v1" ||
		first.PackRef != "sums@1+000000000000" || first.CreatedAt.IsZero() {
		t.Errorf("got %+v", first)
	}
	for selector, want := range map[string]string{"latest": second.ID, first.ID: first.ID, first.ID[len(first.ID)-8:]: first.ID} {
		if got, err := db.Rescoring(t.Context(), runID, selector); err != nil || got.ID != want {
			t.Errorf("%q: got %s, %v, want %s", selector, got.ID, err, want)
		}
	}
	if _, err := db.Rescoring(t.Context(), runID, "abcdef12"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown one: got %v", err)
	}
	for i, agent := range agents {
		card, err := db.RescoredAgent(t.Context(), first.ID, agent.ID)
		if err != nil || card.Trials != i+1 {
			t.Errorf("agent %d: got %+v, %v", i, card, err)
		}
		var got []string
		must(t, db.RescoredTrials(t.Context(), first.ID, agent.ID, func(t store.Trial) error {
			end, err := t.End()
			got = append(got, fmt.Sprintf("%s %d %s %d", t.CaseKey, t.Attempt, end.Outcome, len(end.Reason)))
			return err
		}))
		want := [][]string{
			{"case-00000 2 failed 0", "case-00001 1 passed 0", "case-00002 1 passed 0", "case-00003 1 passed 0", "case-00004 1 passed 0"},
			{"case-00000 1 failed 9336", "case-00001 1 passed 0", "case-00002 1 passed 0", "case-00003 1 passed 0"},
		}[i]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("agent %d (-want +got):\n%s", i, diff)
		}
	}
	if diff := cmp.Diff(before, readTrials(t, db, store.TrialFilter{RunAgentID: agents[0].ID}), whole); diff != "" {
		t.Errorf("the run's own trials were changed:\n%s", diff)
	}
	// a run that is removed takes its rescorings along
	must(t, db.Exec(t.Context(), "DELETE FROM runs WHERE uid = '"+runID+"'"))
	for _, table := range []string{"rescorings", "rescoring_agents", "rescored_trials"} {
		if n := db.Count(t.Context(), t, table); n != 0 {
			t.Errorf("%s: %d rows outlive their run", table, n)
		}
	}
}

// What is not finished is shown to nobody, and goes with the next rescoring once
// its writer is dead.
func TestUnfinishedRescoring(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path)
	runID, agents := finishedRun(t, db, 0x1000000, 20)
	writer, lines := child(t, "rescore", path, "")
	said := []string{}
	for range 10 {
		said = append(said, <-lines)
	}
	killed := writer.Process.Kill()
	for line := range lines { // until it is gone
		said = append(said, line)
	}
	// How far it came by then depends on the machine; it never ends by itself.
	if killed != nil || slices.ContainsFunc(said, func(line string) bool { return !strings.HasPrefix(line, "added ") }) {
		t.Fatalf("killed: %v; the other process said:\n%s", killed, strings.Join(said, "\n"))
	}
	if list, err := db.Rescorings(t.Context(), runID); err != nil || len(list) > 0 {
		t.Errorf("got %v, %v", list, err)
	}
	if _, err := db.Rescoring(t.Context(), runID, store.Latest); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the latest: got %v", err)
	}
	must(t, db.Check(t.Context()))
	if n := db.Count(t.Context(), t, "rescored_trials"); n < 10 {
		t.Errorf("it left %d trials, want at least the 10 that it was told are written", n)
	}
	w, trials := startRescoring(t, db, runID) // everybody is alive
	if n := db.Count(t.Context(), t, "rescorings"); n != 2 {
		t.Errorf("got %d rescorings, want that of the living kept", n)
	}
	must(t, w.Add(t.Context(), []store.RescoredTrial{{Of: trials[0]}}))
	must(t, w.Discard(t.Context()))
	run, err := db.Run(t.Context(), "", runID)
	must(t, err)
	next, err := db.StartRescoring(t.Context(), store.Rescoring{RunID: runID, PackID: run.PackID}, me, nobody)
	must(t, err)
	if n := db.Count(t.Context(), t, "rescored_trials"); n != 0 {
		t.Errorf("%d trials of dead writers are still there", n)
	}
	if err := w.Add(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("one that was removed under its writer: got %v", err)
	}
	_, err = next.Finish(t.Context(), store.RescoringEnd{Scorecards: map[string]scoring.AgentScorecard{"no such agent": {}, agents[0].ID: {}}})
	if err == nil {
		t.Error("an agent of no run: got no error")
	}
	if _, err := db.StartRescoring(t.Context(), store.Rescoring{RunID: "nothing", PackID: run.PackID}, me, everybody); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown run: got %v", err)
	}
}

// schema1 is a store that was made before there were rescorings: a run of two
// agents and two cases, one trial of it invalid.
func schema1(t *testing.T) string {
	t.Helper()
	return fixture(t, "schema1.db.gz")
}

// fixture unpacks a store of an older schema.
func fixture(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	raw, err := io.ReadAll(z)
	must(t, err)
	path := filepath.Join(t.TempDir(), "a.db")
	must(t, os.WriteFile(path, raw, 0o600))
	return path
}

func TestAnOlderStoreIsMigrated(t *testing.T) {
	t.Parallel()
	db := open(t, schema1(t))
	info, err := db.Info(t.Context())
	must(t, err)
	run, err := db.Run(t.Context(), "", store.Latest)
	must(t, err)
	events, _ := readEvents(t, db, store.EventFilter{RunID: run.ID})
	if info.Schema != store.Newest(t) || info.Runs != 1 || len(events) != 4*9+2 {
		t.Errorf("got %+v and %d events", info, len(events))
	}
	w, trials := startRescoring(t, db, run.ID)
	must(t, w.Add(t.Context(), []store.RescoredTrial{{Of: trials[0]}, {Of: trials[3], Result: []byte(`{"outcome":"passed"}`)}}))
	_, err = w.Finish(t.Context(), store.RescoringEnd{Trials: 2})
	must(t, err)
	if list, err := db.Rescorings(t.Context(), run.ID); err != nil || len(list) != 1 {
		t.Errorf("got %v, %v", list, err)
	}
	must(t, db.Check(t.Context()))
}

// An older store that is not to be written is read as it is.
func TestAnOlderStoreIsReadAsItIs(t *testing.T) {
	t.Parallel()
	path := schema1(t)
	before, err := os.ReadFile(path)
	must(t, err)
	db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
	must(t, err)
	run, err := db.Run(t.Context(), "", store.Latest)
	must(t, err)
	if list, err := db.Rescorings(t.Context(), run.ID); err != nil || list != nil {
		t.Errorf("got %v, %v, want none", list, err)
	}
	if _, err := db.Rescoring(t.Context(), run.ID, store.Latest); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the latest: got %v", err)
	}
	if trials, _ := readDeciding(t, db, run.ID, 64); len(trials) != 4 {
		t.Errorf("got %d trials", len(trials))
	}
	must(t, db.Close())
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("reading changed the file (%v)", err)
	}
}
