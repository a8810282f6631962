package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Taken is how a run stood before it was taken over, for [DB.GiveBack].
type Taken struct {
	status, reason string
	finished       any // NULL, or when
	agents         []takenAgent
}

type takenAgent struct {
	row                 int64
	status, reason      string
	finished, scorecard any
}

// TakeOver makes owner the owner of a run that is to be resumed: unfinished
// when its owner is dead, or finished. A run whose owner alive says yes to is
// ErrOwned; of two that try at once, one succeeds. One that is not of the owner
// from any more is ErrConflict: another has gone on with it since it was read.
// What was running is marked interrupted, a request to cancel is forgotten, and the
// run is queued again.
func (db *DB) TakeOver(ctx context.Context, runID string, from, owner Owner, alive func(owner string) bool) (was Taken, err error) {
	doing := fmt.Sprintf("take over run %q", runID)
	if owner.ID == "" {
		return was, fmt.Errorf("%s: the new owner has no id", doing)
	}
	err = db.write(ctx, doing, func(tx *sql.Tx) error {
		run, err := findRun(ctx, tx, runID)
		if err != nil {
			return err
		}
		if active(run.status) && run.owner != owner.ID && alive(run.owner) {
			return ErrOwned
		}
		if run.owner != from.ID {
			return fmt.Errorf("%w: another process has gone on with it meanwhile", ErrConflict)
		}
		if err := endTrials(ctx, tx, run.row, Interrupted); err != nil {
			return err
		}
		if was, err = standing(ctx, tx, run.row); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE run_agents SET status = ?, reason = '', finished_at = NULL, scorecard = NULL WHERE run_id = ?", Queued, run.row)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE runs SET status = ?, reason = '', finished_at = NULL, cancel_at = NULL,
			owner = ?, owner_pid = ?, owner_host = ?, heartbeat_at = ? WHERE id = ?`,
			Queued, owner.ID, owner.PID, owner.Host, db.stamp(), run.row)
		return err
	})
	return was, err
}

// GiveBack undoes a TakeOver by owner after which nothing was begun: the run and
// its agents stand as they did. What a dead owner had left unfinished is
// interrupted, which it is.
func (db *DB) GiveBack(ctx context.Context, runID string, owner Owner, was Taken) error {
	return db.write(ctx, fmt.Sprintf("give back run %q", runID), func(tx *sql.Tx) error {
		run, err := owned(ctx, tx, runID, owner)
		if err != nil {
			return err
		}
		if run.status != Queued {
			return fmt.Errorf("%w: it is %s", ErrConflict, run.status)
		}
		for _, a := range was.agents {
			_, err := tx.ExecContext(ctx, "UPDATE run_agents SET status = ?, reason = ?, finished_at = ?, scorecard = ? WHERE id = ?",
				ended(a.status), a.reason, a.finished, a.scorecard, a.row)
			if err != nil {
				return err
			}
		}
		status, reason := was.status, was.reason
		if active(status) {
			status, reason = Interrupted, interruptedReason
		}
		_, err = tx.ExecContext(ctx, "UPDATE runs SET status = ?, reason = ?, finished_at = coalesce(?, heartbeat_at) WHERE id = ?",
			status, reason, was.finished, run.row)
		return err
	})
}

// ended is the status of what nobody goes on with.
func ended(status string) string {
	if active(status) {
		return Interrupted
	}
	return status
}

// standing reads how a run and its agents stand.
func standing(ctx context.Context, tx *sql.Tx, run int64) (t Taken, err error) {
	err = tx.QueryRowContext(ctx, "SELECT status, reason, finished_at FROM runs WHERE id = ?", run).Scan(&t.status, &t.reason, &t.finished)
	if err != nil {
		return t, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT id, status, reason, finished_at, scorecard FROM run_agents WHERE run_id = ? ORDER BY id", run)
	err = each(rows, err, func(rows *sql.Rows) error {
		var a takenAgent
		err := rows.Scan(&a.row, &a.status, &a.reason, &a.finished, &a.scorecard)
		t.agents = append(t.agents, a)
		return err
	})
	return t, err
}
