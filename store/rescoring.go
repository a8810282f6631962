package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/scoring"
)

// RescoredTrial is a trial as a rescoring has it. Result is shaped like the
// attempt's own; nil says that it is the attempt's own.
type RescoredTrial struct {
	Of     DecidingTrial
	Result json.RawMessage
}

// RescoringEnd is what a rescoring came to.
type RescoringEnd struct {
	Trials     int                               // scored again
	Flipped    int                               // of these
	Kept       int                               // not scored again, and still counted as what they were
	LeftOut    int                               // not scored again, and not counted
	Scorecards map[string]scoring.AgentScorecard // by the run agent's id
}

// RescoringWriter writes one rescoring, batch by batch. Until Finish nobody is
// shown any of it. It is for one goroutine.
type RescoringWriter struct {
	db  *DB
	row int64
	id  string
}

// StartRescoring begins a rescoring of r.RunID by the pack version r.PackID. It
// removes what writers have left unfinished whom alive says no to.
func (db *DB) StartRescoring(ctx context.Context, r Rescoring, owner Owner, alive func(o Owner, lastSeen time.Time) bool) (*RescoringWriter, error) {
	doing := fmt.Sprintf("start rescoring of run %q", r.RunID)
	w := &RescoringWriter{db: db, id: db.newID()}
	err := db.write(ctx, doing, func(tx *sql.Tx) error {
		if err := dropAbandoned(ctx, tx, alive); err != nil {
			return err
		}
		run, err := findRun(ctx, tx, r.RunID)
		if err != nil {
			return err
		}
		var pack int64
		if err := one(tx.QueryRowContext(ctx, "SELECT id FROM packs WHERE uid = ?", r.PackID), &pack); err != nil {
			return fmt.Errorf("pack %q: %w", r.PackID, err)
		}
		now := db.stamp()
		return tx.QueryRowContext(ctx, `INSERT INTO rescorings (uid, run_id, pack_id, spec_digest, program, created_at,
			owner, owner_pid, owner_host, heartbeat_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
			w.id, run.row, pack, r.SpecDigest, r.Program, now, owner.ID, owner.PID, owner.Host, now).Scan(&w.row)
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// dropAbandoned removes the rescorings of dead writers.
func dropAbandoned(ctx context.Context, tx *sql.Tx, alive func(o Owner, lastSeen time.Time) bool) error {
	var dead []int64
	rows, err := tx.QueryContext(ctx, "SELECT id, owner, owner_pid, owner_host, heartbeat_at FROM rescorings WHERE finished_at IS NULL")
	err = each(rows, err, func(rows *sql.Rows) error {
		var row int64
		var o Owner
		var seen sql.NullInt64
		err := rows.Scan(&row, &o.ID, &o.PID, &o.Host, &seen)
		if err == nil && !alive(o, clock(seen)) {
			dead = append(dead, row)
		}
		return err
	})
	for _, row := range dead {
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM rescorings WHERE id = ?", row)
		}
	}
	return err
}

// Add writes the next trials, in the order of execution, in one transaction.
func (w *RescoringWriter) Add(ctx context.Context, trials []RescoredTrial) error {
	doing := fmt.Sprintf("write rescoring %q", w.id)
	large := make([]*blob, len(trials)) // compressed before it is this process's turn
	for i, t := range trials {
		if len(t.Result) <= inlineBytes {
			continue
		}
		b, err := w.db.compress(t.Result)
		if err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		large[i] = b
	}
	return w.db.write(ctx, doing, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "UPDATE rescorings SET heartbeat_at = ? WHERE id = ?", w.db.stamp(), w.row)
		if err := kept(done, err); err != nil {
			return err
		}
		rows, err := newBulk(ctx, tx, "rescored_trials", "rescoring_id", "attempt_id", "result", "result_id")
		if err != nil {
			return err
		}
		defer rows.close()
		for i, t := range trials {
			var result, id any
			switch {
			case large[i] != nil:
				if id, err = saveBlob(ctx, tx, large[i]); err != nil {
					return err
				}
			case t.Result != nil:
				result = string(t.Result)
			}
			if err := rows.add(ctx, w.row, t.Of.row, result, id); err != nil {
				return fmt.Errorf("trial %q: %w", t.Of.ID, err)
			}
		}
		return rows.flush(ctx)
	})
}

// errDropped: another process took this one for dead.
var errDropped = errors.New("another process has removed it as abandoned; run the command again")

// kept says whether an update met the rescoring's row.
func kept(done sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		err = errDropped
	}
	return err
}

// Finish shows the rescoring to everybody.
func (w *RescoringWriter) Finish(ctx context.Context, end RescoringEnd) (Rescoring, error) {
	doing := fmt.Sprintf("finish rescoring %q", w.id)
	err := w.db.write(ctx, doing, func(tx *sql.Tx) error {
		for agent, card := range end.Scorecards {
			document, err := json.Marshal(card)
			if err != nil {
				return err
			}
			done, err := tx.ExecContext(ctx, `INSERT INTO rescoring_agents (rescoring_id, agent_id, scorecard)
				SELECT ?1, a.id, ?2 FROM run_agents a JOIN rescorings s ON s.run_id = a.run_id WHERE a.uid = ?3 AND s.id = ?1`,
				w.row, string(document), agent)
			if err := kept(done, err); err != nil {
				return fmt.Errorf("run agent %q: %w", agent, err)
			}
		}
		return kept(tx.ExecContext(ctx, `UPDATE rescorings SET trials = ?, flipped = ?, kept = ?, left_out = ?, finished_at = ?
			WHERE id = ?`, end.Trials, end.Flipped, end.Kept, end.LeftOut, w.db.stamp(), w.row))
	})
	if err != nil {
		return Rescoring{}, err
	}
	return w.db.rescoringAt(ctx, w.row)
}

// Discard removes a rescoring that is not to be finished.
func (w *RescoringWriter) Discard(ctx context.Context) error {
	return w.db.write(ctx, fmt.Sprintf("discard rescoring %q", w.id), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM rescorings WHERE id = ? AND finished_at IS NULL", w.row)
		return err
	})
}
