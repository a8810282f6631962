package store_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentclash/agentclash/store"
)

func TestBaselines(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	one := createRun(t, db, makePlan(id('r', 0x1000000), 2, 1))
	two := createRun(t, db, makePlan(id('r', 0x2000000), 1, 1))
	other := makePlan(id('r', 0x3000000), 1, 1)
	s := snapshot("words", 1)
	_, err := db.SavePack(t.Context(), s)
	must(t, err)
	other.Pack.Slug = "words"
	must(t, db.CreateRun(t.Context(), other, me))

	if _, err := db.Baseline(t.Context(), "", "sums", ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before any: got %v, want not found", err)
	}
	if _, err := db.SetBaseline(t.Context(), "nope", ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("to no run agent: got %v, want not found", err)
	}
	first, err := db.SetBaseline(t.Context(), one.Agents[1].ID, "")
	must(t, err)
	want := store.BaselineMark{Workspace: "default", PackSlug: "sums", Name: store.DefaultBaseline, RunID: one.RunID, RunName: one.Name, RunAgentID: one.Agents[1].ID, Label: "Agent-1", SetAt: first.SetAt}
	if diff := cmp.Diff(want, first, cmpopts.IgnoreUnexported(store.BaselineMark{})); diff != "" || first.SetAt.IsZero() {
		t.Errorf("set: want (-), got (+):\n%s", diff)
	}
	if r, err := db.Run(t.Context(), "", store.Baseline); err != nil || r.ID != one.RunID {
		t.Errorf("selector baseline: got %q, %v", r.ID, err)
	}
	second, err := db.SetBaseline(t.Context(), two.Agents[0].ID, "")
	must(t, err)
	if got, err := db.Baseline(t.Context(), "", "sums", ""); err != nil || got != second {
		t.Errorf("replaced: got %+v, %v", got, err)
	}
	_, err = db.SetBaseline(t.Context(), other.Agents[0].ID, "")
	must(t, err)
	var ambiguous *store.AmbiguousError
	if _, err := db.Run(t.Context(), "", store.Baseline); !errors.As(err, &ambiguous) {
		t.Errorf("selector with two packs' baselines: got %v, want ambiguous", err)
	}
	if all, err := db.Baselines(t.Context(), ""); err != nil || len(all) != 2 || all[0].PackSlug != "words" {
		t.Errorf("current ones: got %+v, %v", all, err)
	}
	for i, want := range []bool{true, false} {
		if had, err := db.ClearBaseline(t.Context(), "", "sums", ""); err != nil || had != want {
			t.Errorf("clear %d: got %v, %v, want %v", i, had, err, want)
		}
	}
	history, err := db.BaselineHistory(t.Context(), "", "sums", "")
	must(t, err)
	if len(history) != 2 || history[0].RunID != two.RunID || history[0].EndedAt.IsZero() || history[1].EndedAt.IsZero() {
		t.Errorf("history: got %+v", history)
	}
}

// Baselines of different names stand side by side, and one that came in a file
// needs no run.
func TestNamedBaselines(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	run := createRun(t, db, makePlan(id('r', 0x1000000), 2, 1))
	for i, name := range []string{"", "Main"} {
		_, err := db.SetBaseline(t.Context(), run.Agents[i].ID, name)
		must(t, err)
	}
	set := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	document := json.RawMessage(`{"kind":"x"}`)
	imported, err := db.ImportBaseline(t.Context(), store.BaselineMark{PackSlug: "sums", Name: "main", RunID: "far", RunName: "away", RunAgentID: "agent", Label: "gpt", SetAt: set}, document)
	must(t, err)
	if !imported.Imported || imported.Workspace != "default" || !imported.SetAt.Equal(set) {
		t.Errorf("imported: got %+v", imported)
	}
	if got, err := db.Baseline(t.Context(), "", "sums", "MAIN"); err != nil || got != imported {
		t.Errorf("by name: got %+v, %v, want %+v", got, err, imported)
	}
	if got, err := db.BaselineDocument(t.Context(), imported); err != nil || string(got) != string(document) {
		t.Errorf("document: got %s, %v", got, err)
	}
	usual, err := db.Baseline(t.Context(), "", "sums", "")
	must(t, err)
	if usual.Name != store.DefaultBaseline || usual.RunAgentID != run.Agents[0].ID {
		t.Errorf("the usual one: got %+v", usual)
	}
	if _, err := db.BaselineDocument(t.Context(), usual); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("document of a run's: got %v, want not found", err)
	}
	if had, err := db.BaselineHistory(t.Context(), "", "sums", "main"); err != nil || len(had) != 2 || had[1].EndedAt.IsZero() {
		t.Errorf("history of one name: got %+v, %v", had, err)
	}
	if r, err := db.Run(t.Context(), "", store.Baseline); err != nil || r.ID != run.RunID {
		t.Errorf("selector baseline: got %q, %v", r.ID, err)
	}
	if _, err := db.ImportBaseline(t.Context(), imported, json.RawMessage("{")); err == nil {
		t.Error("a document that is no JSON is kept")
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	g := store.Gate{BaselineRunID: "b", BaselineAgentID: "ba", CandidateRunID: "c", CandidateAgentID: "ca", Verdict: "warn",
		ReasonCode: "threshold_warn_latency", PolicyKey: "default", PolicyVersion: 1, PolicyFingerprint: "ff",
		GeneratedAt: start.In(time.FixedZone("", 3600)), Document: json.RawMessage(`{"verdict": "warn"}`)}
	kept, err := db.SaveGate(t.Context(), g)
	must(t, err)
	newer := g
	newer.CandidateRunID, newer.GeneratedAt = "d", start.Add(time.Hour)
	_, err = db.SaveGate(t.Context(), newer)
	must(t, err)
	list, err := db.Gates(t.Context(), store.GateFilter{CandidateRunID: "c", BaselineRunID: "b"})
	must(t, err)
	if diff := cmp.Diff([]store.Gate{kept}, list); diff != "" || kept.ID == "" {
		t.Errorf("kept (-) and listed (+) differ:\n%s", diff)
	}
	all, err := db.Gates(t.Context(), store.GateFilter{Limit: 5})
	if err != nil || len(all) != 2 || all[0].CandidateRunID != "d" {
		t.Errorf("all: got %+v, %v", all, err)
	}
	for run, want := range map[string]int{all[0].CandidateRunID: 1, "nobody": 0} {
		if got, err := db.Gates(t.Context(), store.GateFilter{RunID: run}); err != nil || (len(got) > 0) != (want > 0) {
			t.Errorf("gates of run %q: got %d, %v", run, len(got), err)
		}
	}
	for selector, want := range map[string]string{all[1].ID: all[1].ID, "latest": all[0].ID} {
		if got, err := db.Gate(t.Context(), "", selector); err != nil || got.ID != want {
			t.Errorf("gate %q: got %q, %v", selector, got.ID, err)
		}
	}
	if _, err := db.Gate(t.Context(), "", "abc"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown gate: got %v", err)
	}
	if none, err := db.Gates(t.Context(), store.GateFilter{Workspace: "other"}); err != nil || len(none) != 0 {
		t.Errorf("another workspace: got %+v, %v", none, err)
	}
	if _, err := db.SaveGate(t.Context(), store.Gate{Document: json.RawMessage("{")}); err == nil {
		t.Error("a document that is not JSON: got no error")
	}
	if _, err := db.SaveGate(t.Context(), kept); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the same id again: got %v, want a conflict", err)
	}
}

func TestDeployments(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	d := plan.Deployment{Name: "Sonnet", Provider: "anthropic", Model: "sonnet", Limits: plan.Limits{MaxToolCalls: 3},
		OutputSchema: map[string]any{"type": "object"}}
	kept, err := db.SaveDeployment(t.Context(), "", d)
	must(t, err)
	if diff := cmp.Diff(d, kept.Deployment); diff != "" || kept.ID == "" || kept.Workspace != "default" {
		t.Errorf("saved: %+v\n%s", kept, diff)
	}
	same, err := db.SaveDeployment(t.Context(), "", d)
	if diff := cmp.Diff(kept, same); diff != "" || err != nil {
		t.Errorf("the same again: %v\n%s", err, diff)
	}
	other := d
	other.Name, other.Model = "SONNET", "haiku"
	if _, err := db.SaveDeployment(t.Context(), "", other); !errors.Is(err, store.ErrConflict) {
		t.Errorf("another under the name: got %v, want a conflict", err)
	}
	if _, err := db.SaveDeployment(t.Context(), "elsewhere", other); err != nil {
		t.Errorf("in another workspace: got %v", err)
	}
	if _, err := db.SaveDeployment(t.Context(), "", plan.Deployment{Name: " "}); err == nil {
		t.Error("without a name: got no error")
	}
	for _, selector := range []string{"sonnet", kept.ID, kept.ID[28:]} {
		if got, err := db.Deployment(t.Context(), "", selector); err != nil || got.ID != kept.ID {
			t.Errorf("%q: got %q, %v", selector, got.ID, err)
		}
	}
	if _, err := db.Deployment(t.Context(), "", "son"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a part of the name: got %v, want not found", err)
	}
	if list, err := db.Deployments(t.Context(), ""); err != nil || len(list) != 1 {
		t.Errorf("list: got %+v, %v", list, err)
	}
}

// The baselines of a store from before they had names are called default, in one
// that is only read as in one that is migrated.
func TestBaselinesWithoutNames(t *testing.T) {
	t.Parallel()
	path := fixture(t, "schema4.db.gz")
	for _, readOnly := range []bool{true, false} {
		db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: readOnly})
		must(t, err)
		history, err := db.BaselineHistory(t.Context(), "", "quickstart", "")
		must(t, err)
		if len(history) != 2 || history[0].RunName != "worse" || history[1].RunName != "base" || history[1].EndedAt.IsZero() || history[0].Label == "" {
			t.Errorf("read-only %v: got %+v", readOnly, history)
		}
		if m, err := db.Baseline(t.Context(), "", "quickstart", "default"); err != nil || m.RunName != "worse" {
			t.Errorf("read-only %v: got %+v, %v", readOnly, m, err)
		}
		if r, err := db.Run(t.Context(), "", store.Baseline); err != nil || r.Name != "worse" {
			t.Errorf("read-only %v: the run is %q, %v", readOnly, r.Name, err)
		}
		must(t, db.Close())
	}
}
