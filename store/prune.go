package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Why a run is kept when others are removed.
const (
	KeptActive   = "it is not over"
	KeptBaseline = "it is a baseline"
	KeptSession  = "it is part of a session"
	KeptReuse    = "a run of the same pack is going on, and may reuse its trials"
	KeptNewest   = "it is one of the newest of its pack"
	KeptYoung    = "it is not old enough"
)

// PruneRules say which runs of a workspace may go. What others still need is kept
// in any case.
type PruneRules struct {
	Workspace string
	Before    time.Time // only runs created before; zero: of any age
	Keep      int       // the newest of each pack's that stay
}

// PruneRun is a run and why it is kept; Kept is empty for one that may go.
type PruneRun struct {
	ID, Name, Slug, Status string
	CreatedAt              time.Time
	Kept                   string
}

// neededRuns says of each run why it cannot go, "" when nothing needs it.
const neededRuns = `SELECT r.uid, r.name, p.slug, r.status, r.created_at, CASE
		WHEN r.status IN ('queued', 'running', 'scoring') OR EXISTS (SELECT 1 FROM rescorings x WHERE x.run_id = r.id AND x.finished_at IS NULL) THEN '` + KeptActive + `'
		WHEN EXISTS (SELECT 1 FROM baselines b WHERE b.run_id = r.id AND b.ended_at IS NULL) THEN '` + KeptBaseline + `'
		WHEN EXISTS (SELECT 1 FROM sessions s WHERE s.id = r.session_id AND s.name IS NOT NULL) THEN '` + KeptSession + `'
		WHEN EXISTS (SELECT 1 FROM runs o JOIN packs q ON q.id = o.pack_id WHERE o.status IN ('queued', 'running', 'scoring')
			AND o.workspace = r.workspace AND q.slug = p.slug) THEN '` + KeptReuse + `'
		ELSE '' END
	FROM runs r JOIN packs p ON p.id = r.pack_id`

// Prunable lists the runs of a workspace, newest first, with what keeps each.
func (db *DB) Prunable(ctx context.Context, rules PruneRules) ([]PruneRun, error) {
	var list []PruneRun
	newer := map[string]int{} // of a slug, that have been seen
	rows, err := db.r.QueryContext(ctx, neededRuns+" WHERE r.workspace = ? ORDER BY r.created_at DESC, r.id DESC", workspace(rules.Workspace))
	err = each(rows, err, func(rows *sql.Rows) error {
		var r PruneRun
		var created sql.NullInt64
		err := rows.Scan(&r.ID, &r.Name, &r.Slug, &r.Status, &created, &r.Kept)
		r.CreatedAt = clock(created)
		switch newer[r.Slug]++; {
		case r.Kept != "":
		case newer[r.Slug] <= rules.Keep:
			r.Kept = KeptNewest
		case !rules.Before.IsZero() && !r.CreatedAt.Before(rules.Before):
			r.Kept = KeptYoung
		}
		list = append(list, r)
		return err
	})
	return list, db.fail("list runs to remove", err)
}

// ofRun are the tables that hold what belongs to a run, in the order in which they
// are emptied of it. ?1 is the run's row.
var ofRun = []struct{ table, where string }{
	{"events", "id >= ?1 << 32 AND id < (?1 + 1) << 32"},
	{"rescored_trials", "rescoring_id IN (SELECT id FROM rescorings WHERE run_id = ?1)"},
	{"rescoring_agents", "rescoring_id IN (SELECT id FROM rescorings WHERE run_id = ?1)"},
	{"rescorings", "run_id = ?1"},
	{"human_turns", "trial_id IN (SELECT t.id FROM run_agents a JOIN trials t ON t.agent_id = a.id WHERE a.run_id = ?1)"},
	{"wanted_phases", "trial_id IN (SELECT t.id FROM run_agents a JOIN trials t ON t.agent_id = a.id WHERE a.run_id = ?1)"},
	{"attempts", `id IN (SELECT k.id FROM run_agents a CROSS JOIN trials t CROSS JOIN attempts k
		WHERE a.run_id = ?1 AND t.agent_id = a.id AND k.id > t.id * 1024 AND k.id < (t.id + 1) * 1024)`},
	{"trials", "agent_id IN (SELECT id FROM run_agents WHERE run_id = ?1)"},
	{"baselines", "run_id = ?1"}, // none that stands
	{"artifacts", "run_id = ?1 OR agent_id IN (SELECT id FROM run_agents WHERE run_id = ?1)"},
	{"content_parts", "content_id IN (" + unattached + ")"},
	{"contents", "id IN (" + unattached + ")"},
	{"run_agents", "run_id = ?1"},
}

// unattached are the contents that no artifact has.
const unattached = "SELECT c.id FROM contents c WHERE NOT EXISTS (SELECT 1 FROM artifacts f WHERE f.content_id = c.id)"

// RemoveRun takes a run out of the store, with all that belongs to it, in one
// transaction. One that is needed, now or by the time this looks, is ErrConflict.
// The room it took is free for new rows; GC gives it back.
func (db *DB) RemoveRun(ctx context.Context, runID string) error {
	doing := fmt.Sprintf("remove run %q", runID)
	return db.unchecked(ctx, doing, func(tx *sql.Tx) error {
		var kept string
		var row int64
		var session sql.NullInt64
		var ignored any
		err := one(tx.QueryRowContext(ctx, neededRuns+" WHERE r.uid = ?", runID), &ignored, &ignored, &ignored, &ignored, &ignored, &kept)
		if err != nil {
			return err
		}
		if kept != "" {
			return fmt.Errorf("%w: %s", ErrConflict, kept)
		}
		if err := one(tx.QueryRowContext(ctx, "SELECT id, session_id FROM runs WHERE uid = ?", runID), &row, &session); err != nil {
			return err
		}
		if err := checkOfRun(ctx, tx); err != nil {
			return err
		}
		if err := removeRun(ctx, tx, row); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM sessions WHERE id = ? AND name IS NULL", session) // it was this run
		return err
	})
}

// removeRun deletes a run's row and those that belong to it.
func removeRun(ctx context.Context, tx *sql.Tx, row int64) error {
	for _, t := range ofRun {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+t.table+" WHERE "+t.where, row); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM runs WHERE id = ?", row)
	return err
}

// checkOfRun refuses to remove anything when a table refers to runs that ofRun does
// not know.
func checkOfRun(ctx context.Context, tx *sql.Tx) error {
	known := []string{"runs"}
	for _, t := range ofRun {
		known = append(known, t.table)
	}
	rows, err := tx.QueryContext(ctx, `SELECT DISTINCT m.name FROM sqlite_schema m, pragma_foreign_key_list(m.name) f
		WHERE m.type = 'table' AND f."table" IN ('`+strings.Join(known, "', '")+`')`)
	return each(rows, err, func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		if !slices.Contains(known, name) {
			return fmt.Errorf("%w: the table %s refers to runs, and nobody said what becomes of it", ErrConflict, name)
		}
		return nil
	})
}

// unchecked is write without looking for rows that still refer to what goes: fn has
// taken care of that. Looking would read all events for each row, since they have no
// index for it.
func (db *DB) unchecked(ctx context.Context, doing string, fn func(tx *sql.Tx) error) (err error) {
	if db.w == nil {
		return db.fail(doing, ErrReadOnly)
	}
	if _, err := db.w.ExecContext(ctx, "PRAGMA foreign_keys = 0"); err != nil { // it has one connection
		return db.fail(doing, err)
	}
	defer func() {
		if _, on := db.w.ExecContext(context.WithoutCancel(ctx), "PRAGMA foreign_keys = 1"); err == nil {
			err = db.fail(doing, on)
		}
	}()
	return db.write(ctx, doing, fn)
}
