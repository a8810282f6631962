package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine"
)

// Heartbeat is the owner's sign of life, and its question whether somebody
// asked for the run to be cancelled. ErrOwned: the run was taken over, so the
// caller must stop.
func (db *DB) Heartbeat(ctx context.Context, runID string, owner Owner) (cancel bool, err error) {
	doing := fmt.Sprintf("heartbeat of run %q", runID)
	err = db.write(ctx, doing, func(tx *sql.Tx) error {
		run, err := owned(ctx, tx, runID, owner)
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "UPDATE runs SET heartbeat_at = ? WHERE id = ? RETURNING cancel_at IS NOT NULL",
			db.stamp(), run.row).Scan(&cancel)
	})
	return cancel, err
}

// SetRunStatus moves an unfinished run among Queued, Running and Scoring.
func (db *DB) SetRunStatus(ctx context.Context, runID string, owner Owner, status string) error {
	doing := fmt.Sprintf("set status of run %q to %q", runID, status)
	if !active(status) {
		return fmt.Errorf("%s: only FinishRun ends a run", doing)
	}
	return db.write(ctx, doing, func(tx *sql.Tx) error {
		run, err := owned(ctx, tx, runID, owner)
		if err != nil {
			return err
		}
		if !active(run.status) {
			return fmt.Errorf("%w: it is %s", ErrConflict, run.status)
		}
		_, err = tx.ExecContext(ctx, "UPDATE runs SET status = ? WHERE id = ?", status, run.row)
		return err
	})
}

// FinishRun stores how a run and its agents ended; an agent the result does
// not name ends as the run does. Trials that never ended are
// cancelled, or interrupted in an interrupted run, whose queued ones stay
// queued. A run that is finished already is ErrConflict.
func (db *DB) FinishRun(ctx context.Context, runID string, owner Owner, result engine.Result) error {
	doing := fmt.Sprintf("finish run %q", runID)
	switch result.Status {
	case Completed, Failed, Cancelled, Interrupted:
	default:
		return fmt.Errorf("%s: %q is no status a run ends with", doing, result.Status)
	}
	return db.write(ctx, doing, func(tx *sql.Tx) error {
		run, err := owned(ctx, tx, runID, owner)
		if err != nil {
			return err
		}
		if !active(run.status) && run.status != Interrupted {
			return fmt.Errorf("%w: it is %s", ErrConflict, run.status)
		}
		left := result.Status
		if result.Code != "" {
			left = Interrupted // a limit of the run's own leaves what can be resumed
		}
		if result.Over && result.Status == Completed {
			if err := dropUnneeded(ctx, tx, run.row); err != nil {
				return err
			}
		}
		if err := endTrials(ctx, tx, run.row, left); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE run_agents SET status = ? WHERE run_id = ? AND status IN ('queued', 'running')", result.Status, run.row)
		if err != nil {
			return err
		}
		for _, a := range result.Agents {
			if err := finishAgent(ctx, tx, run.row, a); err != nil {
				return fmt.Errorf("run agent %q: %w", a.Label, err)
			}
		}
		_, err = tx.ExecContext(ctx, "UPDATE runs SET status = ?, reason = ?, finished_at = ?, heartbeat_at = ? WHERE id = ?",
			result.Status, result.Reason, db.stamp(), db.stamp(), run.row)
		return err
	})
}

// dropUnneeded takes out of a run that its results have ended the trials that
// nothing was ever done for: there is nothing to know of them, and nothing to resume
// or to count.
func dropUnneeded(ctx context.Context, tx *sql.Tx, run int64) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM trials WHERE agent_id IN (SELECT id FROM run_agents WHERE run_id = ?)
		AND NOT EXISTS (SELECT 1 FROM attempts k WHERE k.id > trials.id * 1024 AND k.id < (trials.id + 1) * 1024)`, run)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE runs SET trials = (SELECT count(*) FROM trials t JOIN run_agents a ON a.id = t.agent_id
		WHERE a.run_id = ?1) WHERE id = ?1`, run)
	return err
}

func finishAgent(ctx context.Context, tx *sql.Tx, run int64, a engine.AgentResult) error {
	scorecard, err := json.Marshal(a.Scorecard)
	if err != nil {
		return err
	}
	done, err := tx.ExecContext(ctx, `UPDATE run_agents SET status = ?, reason = ?, scorecard = ?,
		finished_at = (SELECT max(finished_at) FROM trials WHERE agent_id = run_agents.id)
		WHERE uid = ? AND run_id = ?`, a.Status, a.Reason, string(scorecard), a.RunAgentID, run)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, ErrNotFound)
	}
	return nil
}

// endTrials gives an end to what has none when its run ends with a status:
// everything is cancelled, but when the run is interrupted what is running is,
// and what is queued waits to be resumed.
func endTrials(ctx context.Context, tx *sql.Tx, run int64, runStatus string) error {
	if err := expireTurns(ctx, tx, run); err != nil {
		return err
	}
	end, trials, attempts := Cancelled, "('queued', 'running', 'interrupted')", "('queued', 'running')"
	if runStatus == Interrupted {
		end, trials, attempts = Interrupted, "('running')", "('running')"
	}
	_, err := tx.ExecContext(ctx, `UPDATE attempts SET status = ?2 WHERE status IN `+attempts+` AND id IN
		(SELECT t.id * 1024 + t.attempt + n.column1 FROM trials t JOIN run_agents a ON a.id = t.agent_id JOIN (VALUES (0), (1)) n
		 WHERE a.run_id = ?1 AND t.status IN `+trials+`)`, run, end)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE trials SET status = ?2 WHERE status IN `+trials+`
		AND agent_id IN (SELECT id FROM run_agents WHERE run_id = ?1)`, run, end)
	return err
}

// MarkInterrupted marks every unfinished run, in all workspaces, whose owner
// alive says no to, with its running trials, and returns those runs. Alive is
// told when the owner last gave a sign of life. On a read-only store nothing
// is marked.
func (db *DB) MarkInterrupted(ctx context.Context, alive func(o Owner, lastSeen time.Time) bool) ([]Run, error) {
	if db.ReadOnly() {
		return nil, nil
	}
	const doing = "mark interrupted runs"
	var dead []Run
	rows, err := db.r.QueryContext(ctx, "SELECT "+runColumns+runTables+"WHERE r.status IN ('queued', 'running', 'scoring') ORDER BY r.id")
	err = each(rows, err, func(rows *sql.Rows) error {
		r, err := scanRun(rows.Scan)
		if err == nil && !alive(r.Owner, r.Heartbeat) {
			dead = append(dead, r)
		}
		return err
	})
	if err != nil {
		return nil, db.fail(doing, err)
	}
	var marked []Run
	for _, r := range dead {
		done, err := db.markInterrupted(ctx, &r)
		if err != nil {
			return marked, err
		}
		if done {
			marked = append(marked, r)
		}
	}
	return marked, nil
}

// markInterrupted marks a run unless it has changed hands or ended meanwhile.
func (db *DB) markInterrupted(ctx context.Context, r *Run) (done bool, err error) {
	err = db.write(ctx, fmt.Sprintf("mark run %q interrupted", r.ID), func(tx *sql.Tx) error {
		run, err := findRun(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		if run.owner != r.Owner.ID || !active(run.status) {
			return nil
		}
		if err := endTrials(ctx, tx, run.row, Interrupted); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE run_agents SET status = ? WHERE run_id = ? AND status IN ('queued', 'running')", Interrupted, run.row)
		if err != nil {
			return err
		}
		r.Status, r.Reason, r.FinishedAt = Interrupted, interruptedReason, r.Heartbeat
		_, err = tx.ExecContext(ctx, "UPDATE runs SET status = ?, reason = ?, finished_at = heartbeat_at WHERE id = ?",
			r.Status, r.Reason, run.row)
		done = err == nil
		return err
	})
	return done, err
}

const interruptedReason = "its process ended before the run did"

// RequestCancel asks the owner of an unfinished run to stop it, which it
// learns at its next Heartbeat. A run that has ended is ErrConflict.
func (db *DB) RequestCancel(ctx context.Context, runID string) error {
	return db.write(ctx, fmt.Sprintf("request cancellation of run %q", runID), func(tx *sql.Tx) error {
		run, err := findRun(ctx, tx, runID)
		if err != nil {
			return err
		}
		if !active(run.status) {
			return fmt.Errorf("%w: it is %s", ErrConflict, run.status)
		}
		_, err = tx.ExecContext(ctx, "UPDATE runs SET cancel_at = coalesce(cancel_at, ?) WHERE id = ?", db.stamp(), run.row)
		return err
	})
}

// CancelRequested says whether somebody asked for the run to be cancelled.
func (db *DB) CancelRequested(ctx context.Context, runID string) (bool, error) {
	var asked bool
	err := one(db.r.QueryRowContext(ctx, "SELECT cancel_at IS NOT NULL FROM runs WHERE uid = ?", runID), &asked)
	return asked, db.fail(fmt.Sprintf("read run %q", runID), err)
}

// runRow is what guards a write to a run.
type runRow struct {
	row    int64
	status string
	owner  string
}

func findRun(ctx context.Context, q querier, runID string) (r runRow, err error) {
	err = one(q.QueryRowContext(ctx, "SELECT id, status, owner FROM runs WHERE uid = ?", runID), &r.row, &r.status, &r.owner)
	return r, err
}

// owned finds a run and refuses it to anyone but its owner.
func owned(ctx context.Context, q querier, runID string, owner Owner) (runRow, error) {
	r, err := findRun(ctx, q, runID)
	if err == nil && r.owner != owner.ID {
		err = ErrOwned
	}
	return r, err
}
