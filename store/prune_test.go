package store_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// endedRun makes a run of one trial with a large payload of its own, and ends it.
func endedRun(t *testing.T, db *store.DB, n int) string {
	t.Helper()
	planned := makePlan(id(byte('a'+n), n), 1, 1)
	planned.CreatedAt = start.Add(time.Duration(n) * time.Hour)
	createRun(t, db, planned)
	r := record(t, db, planned)
	v := speak(t, r, planned, planned.Trials[0])
	v.begin()
	v.emit(event.CallDone, map[string]string{"text": planned.RunID + noise(20_000)})
	v.finish(scoring.OutcomePassed, false)
	must(t, r.Close())
	must(t, db.FinishRun(t.Context(), planned.RunID, me, engine.Result{Status: store.Completed}))
	return planned.RunID
}

// intact asks SQLite whether a row refers to one that is gone, or the file is
// damaged.
func intact(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "PRAGMA foreign_key_check")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var table string
		var row, parent, key any
		must(t, rows.Scan(&table, &row, &parent, &key))
		t.Errorf("row %v of %s refers to a row of %v that is gone", row, table, parent)
	}
	must(t, rows.Err())
	var verdict string
	must(t, db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict))
	if verdict != "ok" {
		t.Error(verdict)
	}
}

// TestRemoveRun removes runs between others, which keep all they have.
func TestRemoveRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agentclash.db")
	db := open(t, path)
	first, second, third := endedRun(t, db, 1), endedRun(t, db, 2), endedRun(t, db, 3)
	before, _ := readEvents(t, db, store.EventFilter{RunID: third})
	details, err := db.Details(t.Context())
	must(t, err)
	if details.Runs != 3 || details.Trials != 3 || details.Events < 9 || details.Blobs < 6 || len(details.Tables) < 5 || details.Tables[0].Bytes == 0 {
		t.Errorf("the store has %+v", details)
	}

	runs, err := db.Prunable(t.Context(), store.PruneRules{Keep: 1, Before: start.Add(150 * time.Minute)})
	must(t, err)
	var kept []string
	for _, r := range runs {
		kept = append(kept, r.ID+" "+r.Kept)
	}
	if want := []string{third + " " + store.KeptNewest, second + " ", first + " "}; !slices.Equal(kept, want) {
		t.Errorf("the list is %q, want %q", kept, want)
	}

	must(t, db.RemoveRun(t.Context(), first))
	must(t, db.RemoveRun(t.Context(), second))
	if err := db.RemoveRun(t.Context(), first); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a removed run: %v", err)
	}
	if gone, _ := readEvents(t, db, store.EventFilter{RunID: third}); len(gone) != len(before) || len(before) == 0 {
		t.Errorf("the other run has %d events, had %d", len(gone), len(before))
	}
	dry, err := db.GC(t.Context(), true)
	must(t, err)
	g, err := db.GC(t.Context(), false)
	must(t, err)
	if dry.Blobs < 2 || dry.Blobs != g.Blobs || dry.Bytes != g.Bytes || g.FreedBytes <= 0 {
		t.Errorf("it would collect %+v, and collected %+v", dry, g)
	}
	if again, err := db.GC(t.Context(), false); err != nil || again.Blobs != 0 {
		t.Errorf("the second time: %+v, %v", again, err)
	}
	after, _ := readEvents(t, db, store.EventFilter{RunID: third})
	if len(after) != len(before) || string(after[2].Payload) != string(before[2].Payload) {
		t.Error("the other run lost a payload")
	}
	fourth := endedRun(t, db, 4) // rows may be used again
	if said, _ := readEvents(t, db, store.EventFilter{RunID: fourth}); len(said) != len(before) {
		t.Errorf("a new run has %d events, want %d", len(said), len(before))
	}
	must(t, db.Close())
	intact(t, path)
}

// TestNeededRunsStay asks for the removal of what something needs.
func TestNeededRunsStay(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	ended := endedRun(t, db, 1)
	going := makePlan(id('r', 2), 1, 1)
	createRun(t, db, going)
	for runID, why := range map[string]string{going.RunID: store.KeptActive, ended: store.KeptReuse} {
		runs, err := db.Prunable(t.Context(), store.PruneRules{})
		must(t, err)
		if i := slices.IndexFunc(runs, func(r store.PruneRun) bool { return r.ID == runID }); runs[i].Kept != why {
			t.Errorf("%s: kept because %q, want %q", runID, runs[i].Kept, why)
		}
		if err := db.RemoveRun(t.Context(), runID); !errors.Is(err, store.ErrConflict) {
			t.Errorf("removing %s: %v", runID, err)
		}
	}
	if _, err := db.GC(t.Context(), false); !errors.Is(err, store.ErrLocked) {
		t.Errorf("collecting beside a run: %v", err)
	}
	if said, _ := readEvents(t, db, store.EventFilter{RunID: ended}); len(said) == 0 {
		t.Error("a needed run lost its events")
	}
}

// TestRemoveWorkspace removes a workspace between others: all of it, or nothing, and
// nothing of theirs.
func TestRemoveWorkspace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agentclash.db")
	db := open(t, path)
	stays := endedRun(t, db, 1)
	planned := makePlan(id('w', 2), 1, 2)
	planned.Workspace = "full"
	theirs := snapshot("sums", 1)
	theirs.Workspace = "full"
	_, err := db.SavePack(t.Context(), theirs)
	must(t, err)
	must(t, db.CreateRun(t.Context(), planned, me))
	shared := strings.Repeat("the same bytes in both", 1000)
	for _, ws := range []string{"", "full"} {
		_, err = db.SaveArtifact(t.Context(), store.Artifact{Workspace: ws, Type: "notes", Metadata: []byte("{}")}, strings.NewReader(shared))
		must(t, err)
	}
	before, err := store.RowCounts(t.Context(), db)
	must(t, err)

	if err := db.RemoveWorkspace(t.Context(), "full", true); !errors.Is(err, store.ErrConflict) {
		t.Errorf("with a run that goes on: %v", err)
	}
	must(t, db.FinishRun(t.Context(), planned.RunID, me, engine.Result{Status: store.Cancelled}))
	if err := db.RemoveWorkspace(t.Context(), "full", false); !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "runs: 1, ") {
		t.Errorf("without force: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := db.RemoveWorkspace(stopped, "full", true); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if now, err := store.RowCounts(t.Context(), db); err != nil || now["runs"] != before["runs"] || now["artifacts"] != 2 || now["contents"] != 1 {
		t.Errorf("a refused removal left %v of %v: %v", now, before, err)
	}

	must(t, db.RemoveWorkspace(t.Context(), "full", true))
	must(t, db.RemoveWorkspace(t.Context(), "full", false)) // nothing is left to refuse for
	_, err = db.GC(t.Context(), false)
	must(t, err)
	list, err := db.Workspaces(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].Name != store.DefaultWorkspace || list[0].Runs != 1 {
		t.Errorf("the workspaces are %+v", list)
	}
	if said, _ := readEvents(t, db, store.EventFilter{RunID: stays}); len(said) == 0 {
		t.Error("a run of another workspace lost its events")
	}
	kept, _, err := db.Artifacts(t.Context(), store.ArtifactFilter{})
	must(t, err)
	var content strings.Builder
	must(t, db.ReadArtifact(t.Context(), kept[0], &content))
	if content.String() != shared {
		t.Error("an artifact of another workspace lost its bytes")
	}
	must(t, db.Close())
	intact(t, path)
}
