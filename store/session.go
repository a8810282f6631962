package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/plan"
)

// sessionSchema is the first schema with sessions. An older store that cannot be
// written is read as one that has none.
const sessionSchema = 6

// Session is a group of runs of one pack and one evaluation spec: those that were
// started into it by its name, or a single run of several repetitions, whose id
// and name are then the session's.
type Session struct {
	ID         string
	Workspace  string
	Name       string
	Single     bool // it is one run, and no other can be started into it
	Slug       string
	SpecDigest string
	Runs       int
	CreatedAt  time.Time // of the first run
	UpdatedAt  time.Time // when the last run began or ended
	row        int64
}

const sessionColumns = `SELECT s.id, s.uid, s.workspace, coalesce(s.name, max(r.name)), s.name IS NULL, s.slug, s.spec_digest,
	count(*), min(r.created_at), max(coalesce(r.finished_at, r.started_at, r.created_at))
	FROM sessions s JOIN runs r ON r.session_id = s.id `

func scanSession(scan func(...any) error) (Session, error) {
	var s Session
	var created, updated sql.NullInt64
	err := scan(&s.row, &s.ID, &s.Workspace, &s.Name, &s.Single, &s.Slug, &s.SpecDigest, &s.Runs, &created, &updated)
	s.CreatedAt, s.UpdatedAt = clock(created), clock(updated)
	return s, err
}

// KnowsSessions is false of a store of an older schema, which reads as having none.
func (db *DB) KnowsSessions() bool { return db.schema >= sessionSchema }

// Sessions lists sessions, that of the newest run first, and says how many there
// are without limit and offset. A limit of 0 is none.
func (db *DB) Sessions(ctx context.Context, ws string, limit, offset int) (list []Session, total int, err error) {
	const doing = "list sessions"
	if db.schema < sessionSchema {
		return nil, 0, nil
	}
	ws = workspace(ws)
	err = db.r.QueryRowContext(ctx, `SELECT count(DISTINCT r.session_id) FROM runs r JOIN sessions s ON s.id = r.session_id
		WHERE s.workspace = ?`, ws).Scan(&total)
	if err != nil {
		return nil, 0, db.fail(doing, err)
	}
	if limit <= 0 {
		limit = -1
	}
	rows, err := db.r.QueryContext(ctx, sessionColumns+`WHERE s.workspace = ? GROUP BY s.id
		ORDER BY max(r.created_at) DESC, max(r.id) DESC LIMIT ? OFFSET ?`, ws, limit, max(offset, 0))
	err = each(rows, err, func(rows *sql.Rows) error {
		s, err := scanSession(rows.Scan)
		list = append(list, s)
		return err
	})
	return list, total, db.fail(doing, err)
}

// Session finds one session: by its id (in any workspace), by its name (case does
// not matter), by six or more digits of its id's end, or as Latest; else as the
// one that a run is in, which is found as by Run. A run that is in none is
// ErrNotFound.
func (db *DB) Session(ctx context.Context, ws, selector string) (Session, error) {
	doing := fmt.Sprintf("find session %q", selector)
	row, err := db.selectSession(ctx, workspace(ws), selector)
	if err != nil {
		return Session{}, db.fail(doing, err)
	}
	s, err := scanSession(db.r.QueryRowContext(ctx, sessionColumns+"WHERE s.id = ? GROUP BY s.id", row).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return s, db.fail(doing, err)
}

func (db *DB) selectSession(ctx context.Context, ws, selector string) (int64, error) {
	if db.schema < sessionSchema {
		return 0, fmt.Errorf("%w: the store was made by an agentclash without sessions, and cannot be written to be brought up to date", ErrNotFound)
	}
	var row int64
	err := db.r.QueryRowContext(ctx, "SELECT id FROM sessions WHERE uid = ?", selector).Scan(&row)
	if !errors.Is(err, sql.ErrNoRows) {
		return row, err
	}
	if fold(selector) == Latest {
		err = one(db.r.QueryRowContext(ctx, `SELECT r.session_id FROM runs r WHERE r.workspace = ? AND r.session_id IS NOT NULL
			ORDER BY r.created_at DESC, r.id DESC LIMIT 1`, ws), &row)
		return row, err
	}
	var c candidates
	err = c.gather(db.r.QueryContext(ctx, `SELECT id, uid, coalesce(name, '') FROM sessions WHERE workspace = ?1
		AND (name_key = ?2 OR `+tailMatches("uid", "?3")+`) ORDER BY id DESC`, ws, fold(selector), tail(selector)))
	if err != nil {
		return 0, err
	}
	if row, err = c.pick("session", selector); !errors.Is(err, ErrNotFound) {
		return row, err
	}
	run, err := db.selectRun(ctx, ws, selector)
	if err != nil {
		return 0, err
	}
	var of sql.NullInt64
	var name string
	err = db.r.QueryRowContext(ctx, "SELECT session_id, name FROM runs WHERE id = ?", run).Scan(&of, &name)
	if err == nil && !of.Valid {
		err = fmt.Errorf("%w: run %q is in no session: it was started without --session, and with one repetition or as a part of a run", ErrNotFound, name)
	}
	return of.Int64, err
}

// SessionRuns lists the runs of a session, oldest first.
func (db *DB) SessionRuns(ctx context.Context, s Session) ([]Run, error) {
	var runs []Run
	rows, err := db.r.QueryContext(ctx, "SELECT "+runColumns+runTables+"WHERE r.session_id = ? ORDER BY r.created_at, r.id", s.row)
	err = each(rows, err, func(rows *sql.Rows) error {
		r, err := scanRun(rows.Scan)
		runs = append(runs, r)
		return err
	})
	return runs, db.fail(fmt.Sprintf("list runs of session %q", s.Name), err)
}

// SessionOf is the session that a run is in; ok is false when it is in none.
func (db *DB) SessionOf(ctx context.Context, runID string) (s Session, ok bool, err error) {
	if db.schema < sessionSchema {
		return s, false, nil
	}
	s, err = scanSession(db.r.QueryRowContext(ctx, sessionColumns+`WHERE s.id = (SELECT session_id FROM runs WHERE uid = ?) GROUP BY s.id`, runID).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	return s, err == nil, db.fail(fmt.Sprintf("find the session of run %q", runID), err)
}

// CaseCount is how the trials of a run agent on one case have ended so far.
type CaseCount struct {
	CaseKey                 string
	Passed, Failed, Invalid int
}

// CaseCounts counts a run agent's trials case by case, in the order of their keys.
func (db *DB) CaseCounts(ctx context.Context, runAgentID string, yield func(CaseCount)) error {
	rows, err := db.r.QueryContext(ctx, `SELECT t.case_key, sum(t.status = 'passed'), sum(t.status = 'failed'), sum(t.status = 'invalid')
		FROM trials t WHERE t.agent_id = (SELECT id FROM run_agents WHERE uid = ?) GROUP BY t.case_key`, runAgentID)
	err = each(rows, err, func(rows *sql.Rows) error {
		var c CaseCount
		err := rows.Scan(&c.CaseKey, &c.Passed, &c.Failed, &c.Invalid)
		if err == nil {
			yield(c)
		}
		return err
	})
	return db.fail(fmt.Sprintf("count the trials of run agent %q by case", runAgentID), err)
}

// CheckSession says whether a run of the pack and the evaluation spec can be
// started into the session of that name: ErrConflict when its runs are of others.
func (db *DB) CheckSession(ctx context.Context, ws, name, slug, specDigest string) error {
	if db.schema < sessionSchema {
		return nil
	}
	_, err := joinable(ctx, db.r, newSession{workspace(ws), name, slug, specDigest})
	return db.fail(fmt.Sprintf("join session %q", strings.TrimSpace(name)), err)
}

// newSession is what a run wants to be in.
type newSession struct{ workspace, name, slug, specDigest string }

// joinable is the row of the session, 0 when there is none so far.
func joinable(ctx context.Context, q querier, n newSession) (row int64, err error) {
	var slug, digest string
	err = one(q.QueryRowContext(ctx, "SELECT id, slug, spec_digest FROM sessions WHERE workspace = ? AND name_key = ?",
		n.workspace, fold(n.name)), &row, &slug, &digest)
	switch {
	case errors.Is(err, ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	case slug != n.slug:
		return 0, fmt.Errorf("%w: its runs are of the pack %s, and this one is of %s", ErrConflict, slug, n.slug)
	case digest != n.specDigest:
		return 0, fmt.Errorf("%w: its runs were scored by another evaluation spec (%.12s) than this one's (%.12s)", ErrConflict, digest, n.specDigest)
	}
	return row, nil
}

// joinSession puts a run that has just been written into the session that its plan
// names, and one of several repetitions into one of its own. A shard is a part of a
// run, and what runs failed trials again is no sample of anything: they are in none.
func (db *DB) joinSession(ctx context.Context, tx *sql.Tx, run int64, p plan.Plan) error {
	n := newSession{workspace(p.Workspace), strings.TrimSpace(p.Session), p.Pack.Slug, p.SpecDigest}
	uid, name, key := p.RunID, any(nil), any(nil)
	switch {
	case n.name != "":
		row, err := joinable(ctx, tx, n)
		if err != nil {
			return fmt.Errorf("session %q: %w", n.name, err)
		}
		if row != 0 {
			_, err = tx.ExecContext(ctx, "UPDATE runs SET session_id = ? WHERE id = ?", row, run)
			return err
		}
		uid, name, key = db.newID(), n.name, fold(n.name)
	case p.Options.Repetitions < 2 || p.Options.Shard != nil || p.RetryOf != "":
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO sessions (uid, workspace, name, name_key, slug, spec_digest) VALUES (?, ?, ?, ?, ?, ?)`,
		uid, n.workspace, name, key, n.slug, n.specDigest)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE runs SET session_id = (SELECT id FROM sessions WHERE uid = ?) WHERE id = ?", uid, run)
	}
	return err
}
