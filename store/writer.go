package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine/event"
)

// writer turns batches of events into rows. Only the recorder's goroutine
// uses it, except for refuse.
type writer struct {
	db     *DB
	run    int64 // row
	runID  string
	owner  Owner
	agents map[string]*lane       // by id
	trials map[string]*trialState // those that have not ended, by id
	kinds  map[kind]int64         // rows
	statements
}

// kind is what an event is, and who says so.
type kind struct {
	event  event.Type
	source string
}

// lane is a run agent while its run is recorded.
type lane struct {
	row   int64
	begun bool
}

// statements are prepared once for the writing connection.
type statements struct {
	end      *sql.Stmt // the run's owner and last event
	attempt  *sql.Stmt // update
	trial    *sql.Stmt // update
	event    *sql.Stmt // insert any event
	events   *bulk     // insert plain ones
	attempts *bulk     // insert
}

func (w *writer) open(ctx context.Context, db *DB, runID string, owner Owner) error {
	w.db, w.runID, w.owner = db, runID, owner
	run, err := owned(ctx, db.r, runID, owner)
	if err != nil {
		return err
	}
	if !active(run.status) {
		return fmt.Errorf("%w: it is %s", ErrConflict, run.status)
	}
	w.run = run.row
	var schema string
	if err := one(db.r.QueryRowContext(ctx, "SELECT event_schema FROM runs WHERE id = ?", w.run), &schema); err != nil {
		return err
	}
	if schema != event.SchemaVersion {
		return fmt.Errorf("%w: its events are of schema %s, this binary's of %s; start a new run", ErrConflict, schema, event.SchemaVersion)
	}
	if err := w.loadAgents(ctx); err != nil {
		return err
	}
	if err := w.loadTrials(ctx); err != nil {
		return err
	}
	if w.kinds, err = db.kinds(ctx); err != nil {
		return err
	}
	return db.patiently(ctx, func() error { return w.prepare(ctx) })
}

func (w *writer) loadAgents(ctx context.Context) error {
	w.agents = map[string]*lane{}
	rows, err := w.db.r.QueryContext(ctx, "SELECT id, uid FROM run_agents WHERE run_id = ?", w.run)
	return each(rows, err, func(rows *sql.Rows) error {
		var id string
		var l lane
		err := rows.Scan(&l.row, &id)
		w.agents[id] = &l
		return err
	})
}

func (w *writer) prepare(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&w.end, `SELECT owner, (SELECT max(id) FROM events WHERE id < ?2) FROM runs WHERE id = ?1`},
		{&w.attempt, `UPDATE attempts SET status = ?2, started_at = coalesce(started_at, ?3), finished_at = ?4, result = ?5, result_id = ?6 WHERE id = ?1`},
		{&w.trial, `UPDATE trials SET status = ?, attempt = ?, code = ?, phase = ?, overall_score = ?, finished_at = ? WHERE id = ?`},
		{&w.event, `INSERT INTO events (id, attempt_id, kind_id, sequence, at, payload, blob_id, uid, agent_id)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`},
	} {
		if *p.stmt, err = w.db.w.PrepareContext(ctx, p.text); err != nil { //nolint:sqlclosecheck // the writer's own close does
			return err
		}
	}
	w.events, err = newBulk(ctx, w.db.w, "events", "id", "attempt_id", "kind_id", "sequence", "at", "payload")
	if err != nil {
		return err
	}
	w.attempts, err = newBulk(ctx, w.db.w, "attempts", "id", "status", "started_at", "finished_at", "result", "result_id")
	return err
}

// in is the same statements within a transaction.
func (s statements) in(ctx context.Context, tx *sql.Tx) statements {
	return statements{end: tx.StmtContext(ctx, s.end), attempt: tx.StmtContext(ctx, s.attempt),
		trial: tx.StmtContext(ctx, s.trial), event: tx.StmtContext(ctx, s.event), events: s.events.in(tx), attempts: s.attempts.in(tx)}
}

func (s statements) close() {
	for _, stmt := range []*sql.Stmt{s.end, s.attempt, s.trial, s.event} {
		if stmt != nil {
			_ = stmt.Close() // closing a statement loses nothing
		}
	}
	for _, b := range []*bulk{s.events, s.attempts} {
		if b != nil {
			b.close()
		}
	}
}

var errNoTrial = errors.New("it is a trial's fact and names no trial")

// refuse says what is wrong with an event on its own. Any goroutine may call
// it.
func (w *writer) refuse(e event.Event) error {
	switch {
	case e.Type == "":
		return errors.New("it has no type")
	case e.RunID != w.runID:
		return fmt.Errorf("it is of run %q, not %q", e.RunID, w.runID)
	case e.SchemaVersion != "" && e.SchemaVersion != event.SchemaVersion:
		return fmt.Errorf("its schema is %q, not %q", e.SchemaVersion, event.SchemaVersion)
	case e.TrialID != "" && (e.Attempt < 1 || e.Sequence < 1):
		return fmt.Errorf("it has attempt %d and sequence %d; both count from 1", e.Attempt, e.Sequence)
	case e.TrialID != "":
		return nil
	case e.CaseKey != "", e.Repetition != 0, e.Attempt != 0, e.Type == event.TrialDone:
		return errNoTrial
	}
	return nil
}

// kinds reads what events are.
func (db *DB) kinds(ctx context.Context) (map[kind]int64, error) {
	kinds := map[kind]int64{}
	rows, err := db.r.QueryContext(ctx, "SELECT id, type, source FROM kinds")
	err = each(rows, err, func(rows *sql.Rows) error {
		var id int64
		var k kind
		err := rows.Scan(&id, &k.event, &k.source)
		kinds[k] = id
		return err
	})
	return kinds, err
}
