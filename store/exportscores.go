package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/agentclash/agentclash/store/bundle"
)

// rescorings hands on the finished rescorings, the oldest first, each with its
// trials.
func (x *exporter) rescorings(ctx context.Context, _ string) error {
	if x.db.schema < rescoringSchema {
		return nil
	}
	var list []bundle.Rescoring
	var ids []int64
	rows, err := x.tx.QueryContext(ctx, `SELECT s.id, s.uid, p.digest, s.spec_digest, s.program, s.trials, s.flipped, s.kept, s.left_out,
		s.created_at, s.finished_at FROM rescorings s JOIN packs p ON p.id = s.pack_id
		WHERE s.run_id = ? AND s.finished_at IS NOT NULL ORDER BY s.id`, x.run)
	err = each(rows, err, func(rows *sql.Rows) error {
		var id int64
		var r bundle.Rescoring
		var created, finished sql.NullInt64
		err := rows.Scan(&id, &r.ID, &r.PackDigest, &r.SpecDigest, &r.Program, &r.Trials, &r.Flipped, &r.Kept, &r.LeftOut, &created, &finished)
		r.CreatedAt, r.FinishedAt = clock(created), clock(finished)
		list, ids = append(list, r), append(ids, id)
		return err
	})
	for i, r := range list {
		if err == nil {
			r.Scorecards, err = x.rescoredCards(ctx, ids[i])
		}
		if err == nil {
			err = x.put(r)
		}
		if err == nil {
			err = x.rescored(ctx, ids[i])
		}
	}
	return err
}

func (x *exporter) rescoredCards(ctx context.Context, rescoring int64) ([]json.RawMessage, error) {
	cards := make([]json.RawMessage, len(x.agents))
	rows, err := x.tx.QueryContext(ctx, "SELECT agent_id, scorecard FROM rescoring_agents WHERE rescoring_id = ?", rescoring)
	err = each(rows, err, func(rows *sql.Rows) error {
		var agent int64
		var card string
		err := rows.Scan(&agent, &card)
		if at := x.agents[agent]; at > 0 {
			cards[at-1] = json.RawMessage(card)
		}
		return err
	})
	return cards, err
}

func (x *exporter) rescored(ctx context.Context, rescoring int64) error {
	rows, err := x.tx.QueryContext(ctx, `SELECT s.attempt_id, s.result, b.sha256 FROM rescored_trials s
		LEFT JOIN blobs b ON b.id = s.result_id WHERE s.rescoring_id = ? ORDER BY s.id`, rescoring)
	return each(rows, err, func(rows *sql.Rows) error {
		var attempt int64
		var result sql.NullString
		var sum []byte
		if err := rows.Scan(&attempt, &result, &sum); err != nil {
			return err
		}
		trial, err := x.place(attempt)
		if err != nil {
			return err
		}
		return x.put(bundle.Rescored{Trial: trial, Attempt: int(attempt % maxAttempts), Result: inline(result), Blob: hexed(sum)})
	})
}

// gates hands on the records of the gates that judged the run.
func (x *exporter) gates(ctx context.Context, runID string) error {
	rows, err := x.tx.QueryContext(ctx, "SELECT "+gateColumns+" FROM gates WHERE candidate_run_id = ? ORDER BY generated_at, id", runID)
	return each(rows, err, func(rows *sql.Rows) error {
		g, err := scanGate(rows.Scan)
		if err != nil {
			return err
		}
		return x.put(bundle.Gate{ID: g.ID, BaselineRunID: g.BaselineRunID, BaselineAgentID: g.BaselineAgentID, CandidateAgentID: g.CandidateAgentID,
			Verdict: g.Verdict, ReasonCode: g.ReasonCode, PolicyKey: g.PolicyKey, PolicyVersion: g.PolicyVersion,
			PolicyFingerprint: g.PolicyFingerprint, GeneratedAt: g.GeneratedAt, Document: g.Document})
	})
}
