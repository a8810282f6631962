package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/agentclash/agentclash/engine/event"
)

// AppendFacts adds facts to attempts that have ended, in order and in one
// transaction: what judges were asked about them after their run. Each is given
// the next sequence number of its attempt; nothing that is stored changes. A
// run that is going on is ErrConflict, for its owner writes its log, and an
// attempt that has not ended is ErrNotFound.
func (db *DB) AppendFacts(ctx context.Context, runID string, facts []event.Event) error {
	doing := fmt.Sprintf("add facts to run %q", runID)
	large := make([]*blob, len(facts)) // compressed before it is this process's turn
	for i, e := range facts {
		if len(e.Payload) <= inlineBytes {
			continue
		}
		b, err := db.compress(e.Payload)
		if err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		large[i] = b
	}
	return db.write(ctx, doing, func(tx *sql.Tx) error {
		run, err := findRun(ctx, tx, runID)
		if err != nil {
			return err
		}
		if active(run.status) {
			return fmt.Errorf("%w: it is %s", ErrConflict, run.status)
		}
		for i, e := range facts {
			if err := appendFact(ctx, tx, run.row, e, large[i]); err != nil {
				return fmt.Errorf("%s of trial %q: %w", e.Type, e.TrialID, err)
			}
		}
		return nil
	})
}

func appendFact(ctx context.Context, tx *sql.Tx, run int64, e event.Event, large *blob) error {
	var trial, attempt int64
	err := one(tx.QueryRowContext(ctx, `SELECT t.id FROM trials t JOIN run_agents a ON a.id = t.agent_id
		WHERE t.uid = ? AND a.run_id = ?`, e.TrialID, run), &trial)
	if err != nil {
		return err
	}
	err = one(tx.QueryRowContext(ctx, "SELECT id FROM attempts WHERE id = ? AND (result IS NOT NULL OR result_id IS NOT NULL)",
		attemptRow(trial, e.Attempt)), &attempt)
	if err != nil {
		return fmt.Errorf("attempt %d: %w", e.Attempt, err)
	}
	kindID, err := saveKind(ctx, tx, kind{e.Type, e.Source})
	if err != nil {
		return err
	}
	var payload, blobID any = string(e.Payload), nil
	if large != nil {
		if blobID, err = saveBlob(ctx, tx, large); err != nil {
			return err
		}
		payload = nil
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO events (id, attempt_id, kind_id, sequence, at, payload, blob_id)
		VALUES ((SELECT max(?1, coalesce(max(id), 0)) + 1 FROM events WHERE id < ?2), ?3, ?4,
		(SELECT coalesce(max(sequence), 0) + 1 FROM events WHERE attempt_id = ?3), ?5, ?6, ?7)`,
		before(run), before(run+1), attempt, kindID, instant(e.OccurredAt), payload, blobID)
	return err
}
