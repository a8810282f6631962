package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// DefaultBaseline is the name of a baseline that was given none.
const DefaultBaseline = "default"

// namedBaselineSchema is the schema that has the names of baselines: in a store
// that is only read, and older, all are called DefaultBaseline.
const namedBaselineSchema = 5

// BaselineMark says which run agent a pack's runs are compared with.
type BaselineMark struct {
	Workspace  string
	PackSlug   string
	Name       string // "" is DefaultBaseline
	RunID      string
	RunName    string
	RunAgentID string
	Label      string // of the run agent
	SetAt      time.Time
	EndedAt    time.Time // when it was replaced or cleared; zero: it is the current one
	// Imported says that it came in a file: the store has no such run, and what is
	// compared is its document.
	Imported bool

	row int64
}

// SetBaseline makes a run agent a baseline of its run's workspace and pack, in
// place of the one of that name there was.
func (db *DB) SetBaseline(ctx context.Context, runAgentID, name string) (BaselineMark, error) {
	doing := fmt.Sprintf("set baseline to run agent %q", runAgentID)
	return db.putBaseline(ctx, doing, func(tx *sql.Tx) (m BaselineMark, run, agent, document any, err error) {
		var runRow, agentRow int64
		err = one(tx.QueryRowContext(ctx, `SELECT r.id, a.id, r.workspace, p.slug, r.uid, r.name, a.uid, a.label FROM run_agents a
			JOIN runs r ON r.id = a.run_id JOIN packs p ON p.id = r.pack_id WHERE a.uid = ?`, runAgentID),
			&runRow, &agentRow, &m.Workspace, &m.PackSlug, &m.RunID, &m.RunName, &m.RunAgentID, &m.Label)
		m.Name = name
		return m, runRow, agentRow, nil, err
	})
}

// ImportBaseline makes what a document says a baseline, of a run that need not be
// in the store. The mark says whose it is and when it was set; document is JSON,
// which the store does not read.
func (db *DB) ImportBaseline(ctx context.Context, m BaselineMark, document json.RawMessage) (BaselineMark, error) {
	const doing = "import baseline"
	if !json.Valid(document) {
		return BaselineMark{}, fmt.Errorf("%s: %w", doing, errors.New("its document is not JSON"))
	}
	return db.putBaseline(ctx, doing, func(*sql.Tx) (BaselineMark, any, any, any, error) {
		m.Workspace = workspace(m.Workspace)
		return m, nil, nil, string(document), nil
	})
}

// putBaseline ends the baseline of the name there is and puts another in its place.
func (db *DB) putBaseline(ctx context.Context, doing string,
	find func(*sql.Tx) (m BaselineMark, run, agent, document any, err error)) (mark BaselineMark, err error) {
	err = db.write(ctx, doing, func(tx *sql.Tx) error {
		m, run, agent, document, err := find(tx)
		if err != nil {
			return err
		}
		m.Name = baselineName(m.Name)
		now := db.stamp()
		if _, err := endBaselines(ctx, tx, m.Workspace, m.PackSlug, m.Name, now); err != nil {
			return err
		}
		set := any(now)
		if !m.SetAt.IsZero() {
			set = instant(m.SetAt)
		}
		var row int64
		err = tx.QueryRowContext(ctx, `INSERT INTO baselines (workspace, slug, name, name_key, run_id, agent_id, run_uid, run_name, agent_uid, label,
			document, set_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`, m.Workspace, m.PackSlug, m.Name, fold(m.Name), run, agent,
			m.RunID, m.RunName, m.RunAgentID, m.Label, document, set).Scan(&row)
		if err != nil {
			return err
		}
		mark, err = scanBaseline(tx.QueryRowContext(ctx, baselineColumns+"FROM baselines b WHERE b.id = ?", row).Scan)
		return err
	})
	return mark, err
}

func baselineName(name string) string {
	if name = strings.TrimSpace(name); name == "" {
		return DefaultBaseline
	}
	return name
}

// ClearBaseline ends a baseline of a pack and says whether there was one.
func (db *DB) ClearBaseline(ctx context.Context, ws, slug, name string) (bool, error) {
	var ended int64
	err := db.write(ctx, "clear baseline", func(tx *sql.Tx) (err error) {
		ended, err = endBaselines(ctx, tx, workspace(ws), slug, baselineName(name), db.stamp())
		return err
	})
	return ended > 0, err
}

func endBaselines(ctx context.Context, tx *sql.Tx, ws, slug, name string, now int64) (int64, error) {
	done, err := tx.ExecContext(ctx, "UPDATE baselines SET ended_at = ? WHERE workspace = ? AND slug = ? AND name_key = ? AND ended_at IS NULL",
		now, ws, slug, fold(name))
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

const baselineColumns = `SELECT b.id, b.workspace, b.slug, b.name, b.run_uid, b.run_name, b.agent_uid, b.label, b.document IS NOT NULL,
	b.set_at, b.ended_at `

// unnamedBaselines are the baselines of an older schema.
const unnamedBaselines = `(SELECT o.id, o.workspace, o.slug, 'default' AS name, 'default' AS name_key, o.run_id, r.uid AS run_uid,
	r.name AS run_name, a.uid AS agent_uid, a.label, NULL AS document, o.set_at, o.ended_at
	FROM baselines o JOIN runs r ON r.id = o.run_id JOIN run_agents a ON a.id = o.agent_id) b `

func (db *DB) baselineTable() string {
	if db.schema < namedBaselineSchema {
		return unnamedBaselines
	}
	return "baselines b "
}

func scanBaseline(scan func(...any) error) (BaselineMark, error) {
	var b BaselineMark
	var set, ended sql.NullInt64
	err := scan(&b.row, &b.Workspace, &b.PackSlug, &b.Name, &b.RunID, &b.RunName, &b.RunAgentID, &b.Label, &b.Imported, &set, &ended)
	b.SetAt, b.EndedAt = clock(set), clock(ended)
	return b, err
}

// Baselines lists the current baselines of the workspace, the newest first: one
// for each pack and name at most.
func (db *DB) Baselines(ctx context.Context, ws string) ([]BaselineMark, error) {
	return db.baselines(ctx, "WHERE b.workspace = ? AND b.ended_at IS NULL", workspace(ws))
}

// BaselineHistory lists every baseline that a pack had under a name, the newest
// first; "" is every name.
func (db *DB) BaselineHistory(ctx context.Context, ws, slug, name string) ([]BaselineMark, error) {
	return db.baselines(ctx, "WHERE b.workspace = ? AND b.slug = ? AND ?3 IN ('', b.name_key)", workspace(ws), slug, fold(name))
}

func (db *DB) baselines(ctx context.Context, where string, args ...any) ([]BaselineMark, error) {
	var marks []BaselineMark
	rows, err := db.r.QueryContext(ctx, baselineColumns+"FROM "+db.baselineTable()+where+" ORDER BY b.id DESC", args...)
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
func (db *DB) Baseline(ctx context.Context, ws, slug, name string) (BaselineMark, error) {
	name = baselineName(name)
	marks, err := db.baselines(ctx, "WHERE b.workspace = ? AND b.slug = ? AND b.name_key = ? AND b.ended_at IS NULL", workspace(ws), slug, fold(name))
	if err == nil && len(marks) == 0 {
		err = db.fail(fmt.Sprintf("find baseline %q of pack %q", name, slug), ErrNotFound)
	}
	if err != nil {
		return BaselineMark{}, err
	}
	return marks[0], nil
}

// BaselineDocument is what an imported baseline came with.
func (db *DB) BaselineDocument(ctx context.Context, m BaselineMark) (json.RawMessage, error) {
	var document string
	err := one(db.r.QueryRowContext(ctx, "SELECT document FROM baselines WHERE id = ? AND document IS NOT NULL", m.row), &document)
	if err != nil {
		return nil, db.fail(fmt.Sprintf("read baseline %q", m.Name), err)
	}
	return json.RawMessage(document), nil
}
