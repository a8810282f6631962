package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine"
)

// The states of a [HumanTurn].
const (
	TurnAwaiting  = "awaiting"
	TurnSubmitted = "submitted"
	TurnExpired   = "expired"
)

// HumanTurn is a turn of a conversation that a person is asked for.
type HumanTurn struct {
	RunID      string
	RunAgentID string
	Label      string // of the run agent
	TrialID    string
	CaseKey    string
	Repetition int
	Attempt    int
	Phase      string
	Turn       int // from 0
	Hint       string
	State      string
	AskedAt    time.Time
	ExpiresAt  time.Time
	AnsweredAt time.Time
	Owner      Owner // of the run
	LastSeen   time.Time
}

// AskTurn opens a turn for a person to take. Asked again it is the same turn.
func (db *DB) AskTurn(ctx context.Context, t engine.HumanTurn) error {
	return db.write(ctx, fmt.Sprintf("ask a person for turn %d of trial %q", t.Turn, t.TrialID), func(tx *sql.Tx) error {
		trial, err := trialRowOf(ctx, tx, t.TrialID)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO human_turns (trial_id, attempt, turn, phase, hint, state, asked_at, expires_at)
			VALUES (?, ?, ?, ?, ?, 'awaiting', ?, ?) ON CONFLICT (trial_id, attempt, turn) DO NOTHING`,
			trial, t.Attempt, t.Turn, t.PhaseID, t.Hint, db.stamp(), db.now().Add(t.Timeout).UnixNano())
		return err
	})
}

func trialRowOf(ctx context.Context, q querier, trialID string) (row int64, err error) {
	err = one(q.QueryRowContext(ctx, "SELECT id FROM trials WHERE uid = ?", trialID), &row)
	return row, err
}

// Answered says whether somebody has taken a turn that was asked for.
func (db *DB) Answered(ctx context.Context, t engine.HumanTurn) (bool, error) {
	var state string
	err := one(db.r.QueryRowContext(ctx, `SELECT h.state FROM human_turns h JOIN trials t ON t.id = h.trial_id
		WHERE t.uid = ? AND h.attempt = ? AND h.turn = ?`, t.TrialID, t.Attempt, t.Turn), &state)
	return state == TurnSubmitted, db.fail(fmt.Sprintf("look for the answer to turn %d of trial %q", t.Turn, t.TrialID), err)
}

// CloseTurn ends the asking: it takes the message that was submitted out of the
// store, or marks the turn expired; then nobody can take it any more.
func (db *DB) CloseTurn(ctx context.Context, t engine.HumanTurn) (message string, answered bool, err error) {
	err = db.write(ctx, fmt.Sprintf("close turn %d of trial %q", t.Turn, t.TrialID), func(tx *sql.Tx) error {
		trial, err := trialRowOf(ctx, tx, t.TrialID)
		if err != nil {
			return err
		}
		var text sql.NullString
		err = one(tx.QueryRowContext(ctx, "SELECT message FROM human_turns WHERE trial_id = ? AND attempt = ? AND turn = ?", trial, t.Attempt, t.Turn), &text)
		if err != nil {
			return err
		}
		message, answered = text.String, text.Valid
		_, err = tx.ExecContext(ctx, `UPDATE human_turns SET message = NULL, state = CASE state WHEN 'awaiting' THEN 'expired' ELSE state END
			WHERE trial_id = ? AND attempt = ? AND turn = ?`, trial, t.Attempt, t.Turn)
		return err
	})
	return message, answered, err
}

// SubmitTurn takes a turn that is awaited. One that is not, any more or yet, is
// ErrConflict.
func (db *DB) SubmitTurn(ctx context.Context, trialID string, attempt, turn int, message string) error {
	return db.write(ctx, fmt.Sprintf("submit turn %d of trial %q", turn, trialID), func(tx *sql.Tx) error {
		trial, err := trialRowOf(ctx, tx, trialID)
		if err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `UPDATE human_turns SET state = 'submitted', message = ?, answered_at = ?
			WHERE trial_id = ? AND attempt = ? AND turn = ? AND state = 'awaiting' AND expires_at > ?`,
			message, db.stamp(), trial, attempt, turn, db.stamp())
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 1 {
			return err
		}
		var state string
		err = one(tx.QueryRowContext(ctx, "SELECT state FROM human_turns WHERE trial_id = ? AND attempt = ? AND turn = ?", trial, attempt, turn), &state)
		if errors.Is(err, ErrNotFound) {
			return fmt.Errorf("%w: nobody awaits it", ErrConflict)
		}
		if err == nil && state == TurnSubmitted {
			return fmt.Errorf("%w: it was submitted already", ErrConflict)
		}
		return cmp.Or(err, fmt.Errorf("%w: it has expired", ErrConflict))
	})
}

// WantPhase asks for a phase with the trigger manual, of the attempt that is being
// made of a trial. A trial that is not running is ErrConflict.
func (db *DB) WantPhase(ctx context.Context, trialID, phase string) error {
	return db.write(ctx, fmt.Sprintf("ask for phase %q of trial %q", phase, trialID), func(tx *sql.Tx) error {
		var trial int64
		var attempt int
		var status string
		err := one(tx.QueryRowContext(ctx, "SELECT id, attempt, status FROM trials WHERE uid = ?", trialID), &trial, &attempt, &status)
		if err != nil {
			return err
		}
		if status != Running {
			return fmt.Errorf("%w: the trial is %s", ErrConflict, status)
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO wanted_phases (trial_id, attempt, phase, asked_at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, trial, attempt, phase, db.stamp())
		return err
	})
}

// PhaseWanted says whether somebody asked for a phase of an attempt.
func (db *DB) PhaseWanted(ctx context.Context, t engine.HumanTurn) (bool, error) {
	var n int
	err := one(db.r.QueryRowContext(ctx, `SELECT count(*) FROM wanted_phases w JOIN trials t ON t.id = w.trial_id
		WHERE t.uid = ? AND w.attempt = ? AND w.phase = ?`, t.TrialID, t.Attempt, t.PhaseID), &n)
	return n > 0, db.fail(fmt.Sprintf("look whether phase %q of trial %q is wanted", t.PhaseID, t.TrialID), err)
}

// TurnFilter says which turns of people to read; zero fields do not narrow.
type TurnFilter struct {
	Workspace string
	RunID     string
	Awaiting  bool // those alone that somebody waits for now
}

// turnSchema is the schema that has the turns of people: a store that is only read
// may be older.
const turnSchema = 4

// maxTurns bounds a list of turns; the newest are kept.
const maxTurns = 1000

// HumanTurns lists turns of people, the newest first.
func (db *DB) HumanTurns(ctx context.Context, f TurnFilter) ([]HumanTurn, error) {
	if db.schema < turnSchema {
		return nil, nil
	}
	var list []HumanTurn
	rows, err := db.r.QueryContext(ctx, `SELECT r.uid, a.uid, a.label, t.uid, t.case_key, t.repetition, h.attempt, h.phase, h.turn, h.hint, h.state,
			h.asked_at, h.expires_at, h.answered_at, r.owner, r.owner_pid, r.owner_host, r.heartbeat_at
		FROM human_turns h JOIN trials t ON t.id = h.trial_id JOIN run_agents a ON a.id = t.agent_id JOIN runs r ON r.id = a.run_id
		WHERE r.workspace = ?1 AND (?2 = '' OR r.uid = ?2) AND (NOT ?3 OR h.state = 'awaiting' AND h.expires_at > ?4)
		ORDER BY h.id DESC LIMIT ?5`, workspace(f.Workspace), f.RunID, f.Awaiting, db.stamp(), maxTurns)
	err = each(rows, err, func(rows *sql.Rows) error {
		var h HumanTurn
		var asked, expires, answered, seen sql.NullInt64
		err := rows.Scan(&h.RunID, &h.RunAgentID, &h.Label, &h.TrialID, &h.CaseKey, &h.Repetition, &h.Attempt, &h.Phase, &h.Turn, &h.Hint, &h.State,
			&asked, &expires, &answered, &h.Owner.ID, &h.Owner.PID, &h.Owner.Host, &seen)
		h.AskedAt, h.ExpiresAt, h.AnsweredAt, h.LastSeen = clock(asked), clock(expires), clock(answered), clock(seen)
		list = append(list, h)
		return err
	})
	return list, db.fail("list the turns of people", err)
}

// expireTurns closes what nobody waits for any more: the turns of a run that has
// ended, or changes hands.
func expireTurns(ctx context.Context, tx *sql.Tx, run int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE human_turns SET state = CASE state WHEN 'awaiting' THEN 'expired' ELSE state END, message = NULL
		WHERE (state = 'awaiting' OR message IS NOT NULL)
		AND trial_id IN (SELECT t.id FROM trials t JOIN run_agents a ON a.id = t.agent_id WHERE a.run_id = ?)`, run)
	return err
}
