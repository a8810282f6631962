package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// BaselineMark says which run agent a pack's runs are compared with.
type BaselineMark struct {
	Workspace  string
	PackSlug   string
	RunID      string
	RunName    string
	RunAgentID string
	Label      string // of the run agent
	SetAt      time.Time
	EndedAt    time.Time // when it was replaced or cleared; zero: it is the current one
}

// SetBaseline makes a run agent the baseline of its run's workspace and pack,
// in place of the one there was.
func (db *DB) SetBaseline(ctx context.Context, runAgentID string) (BaselineMark, error) {
	doing := fmt.Sprintf("set baseline to run agent %q", runAgentID)
	var mark BaselineMark
	err := db.write(ctx, doing, func(tx *sql.Tx) error {
		var run, agent int64
		var ws, slug string
		err := one(tx.QueryRowContext(ctx, `SELECT r.id, a.id, r.workspace, p.slug FROM run_agents a
			JOIN runs r ON r.id = a.run_id JOIN packs p ON p.id = r.pack_id WHERE a.uid = ?`, runAgentID), &run, &agent, &ws, &slug)
		if err != nil {
			return err
		}
		now := db.stamp()
		if _, err := endBaselines(ctx, tx, ws, slug, now); err != nil {
			return err
		}
		var id int64
		err = tx.QueryRowContext(ctx, `INSERT INTO baselines (workspace, slug, run_id, agent_id, set_at) VALUES (?, ?, ?, ?, ?)
			RETURNING id`, ws, slug, run, agent, now).Scan(&id)
		if err != nil {
			return err
		}
		mark, err = scanBaseline(tx.QueryRowContext(ctx, baselineColumns+"WHERE b.id = ?", id).Scan)
		return err
	})
	return mark, err
}

// ClearBaseline ends the baseline of a pack, or of all packs of the workspace
// when slug is "", and says whether there was one.
func (db *DB) ClearBaseline(ctx context.Context, ws, slug string) (bool, error) {
	var ended int64
	err := db.write(ctx, "clear baseline", func(tx *sql.Tx) (err error) {
		ended, err = endBaselines(ctx, tx, workspace(ws), slug, db.stamp())
		return err
	})
	return ended > 0, err
}

func endBaselines(ctx context.Context, tx *sql.Tx, ws, slug string, now int64) (int64, error) {
	done, err := tx.ExecContext(ctx, "UPDATE baselines SET ended_at = ?1 WHERE workspace = ?2 AND ?3 IN ('', slug) AND ended_at IS NULL", now, ws, slug)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

const baselineColumns = `SELECT b.workspace, b.slug, r.uid, r.name, a.uid, a.label, b.set_at, b.ended_at
	FROM baselines b JOIN runs r ON r.id = b.run_id JOIN run_agents a ON a.id = b.agent_id `

func scanBaseline(scan func(...any) error) (BaselineMark, error) {
	var b BaselineMark
	var set, ended sql.NullInt64
	err := scan(&b.Workspace, &b.PackSlug, &b.RunID, &b.RunName, &b.RunAgentID, &b.Label, &set, &ended)
	b.SetAt, b.EndedAt = clock(set), clock(ended)
	return b, err
}

// Baselines lists the current baselines of the workspace, one for each pack at
// most, the newest first.
func (db *DB) Baselines(ctx context.Context, ws string) ([]BaselineMark, error) {
	return db.baselines(ctx, "WHERE b.workspace = ? AND b.ended_at IS NULL", workspace(ws))
}

// BaselineHistory lists every baseline a pack had, the newest first.
func (db *DB) BaselineHistory(ctx context.Context, ws, slug string) ([]BaselineMark, error) {
	return db.baselines(ctx, "WHERE b.workspace = ? AND b.slug = ?", workspace(ws), slug)
}

func (db *DB) baselines(ctx context.Context, where string, args ...any) ([]BaselineMark, error) {
	var marks []BaselineMark
	rows, err := db.r.QueryContext(ctx, baselineColumns+where+" ORDER BY b.id DESC", args...)
	err = each(rows, err, func(rows *sql.Rows) error {
		b, err := scanBaseline(rows.Scan)
		marks = append(marks, b)
		return err
	})
	if err != nil {
		return nil, db.fail("list baselines", err)
	}
	return marks, nil
}

// Baseline is the current baseline of a pack. None is ErrNotFound.
func (db *DB) Baseline(ctx context.Context, ws, slug string) (BaselineMark, error) {
	marks, err := db.baselines(ctx, "WHERE b.workspace = ? AND b.slug = ? AND b.ended_at IS NULL", workspace(ws), slug)
	if err == nil && len(marks) == 0 {
		err = db.fail(fmt.Sprintf("find baseline of pack %q", slug), ErrNotFound)
	}
	if err != nil {
		return BaselineMark{}, err
	}
	return marks[0], nil
}
