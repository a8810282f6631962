package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Gate is the record of one gate decision. What decided it is in Document,
// which the store does not read.
type Gate struct {
	ID                string // made when ""
	Workspace         string
	BaselineRunID     string
	BaselineAgentID   string
	CandidateRunID    string
	CandidateAgentID  string
	Verdict           string
	ReasonCode        string
	PolicyKey         string
	PolicyVersion     int
	PolicyFingerprint string
	GeneratedAt       time.Time // now when zero
	Document          json.RawMessage
}

// GateFilter says which gates to list; zero fields do not narrow.
type GateFilter struct {
	Workspace      string // "" is DefaultWorkspace
	BaselineRunID  string
	CandidateRunID string
	Limit          int // 0: all
}

// SaveGate keeps a gate decision and returns it as it was kept.
func (db *DB) SaveGate(ctx context.Context, g Gate) (Gate, error) {
	const doing = "save gate record"
	if !json.Valid(g.Document) {
		return Gate{}, fmt.Errorf("%s: %w", doing, errors.New("its document is not JSON"))
	}
	if g.ID == "" {
		g.ID = db.newID()
	}
	if g.GeneratedAt.IsZero() {
		g.GeneratedAt = db.now()
	}
	g.GeneratedAt, g.Workspace = g.GeneratedAt.UTC(), workspace(g.Workspace)
	err := db.write(ctx, doing, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO gates ("+gateColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			g.ID, g.Workspace, g.BaselineRunID, g.BaselineAgentID, g.CandidateRunID, g.CandidateAgentID, g.Verdict, g.ReasonCode,
			g.PolicyKey, g.PolicyVersion, g.PolicyFingerprint, instant(g.GeneratedAt), string(g.Document))
		return err
	})
	if err != nil {
		return Gate{}, err
	}
	return g, nil
}

const gateColumns = `uid, workspace, baseline_run_id, baseline_agent_id, candidate_run_id, candidate_agent_id, verdict, reason_code,
	policy_key, policy_version, policy_fingerprint, generated_at, document`

// Gates lists gate records, the newest first.
func (db *DB) Gates(ctx context.Context, f GateFilter) ([]Gate, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = -1
	}
	var gates []Gate
	rows, err := db.r.QueryContext(ctx, "SELECT "+gateColumns+` FROM gates WHERE workspace = ?1 AND ?2 IN ('', baseline_run_id)
		AND ?3 IN ('', candidate_run_id) ORDER BY generated_at DESC, id DESC LIMIT ?4`,
		workspace(f.Workspace), f.BaselineRunID, f.CandidateRunID, limit)
	err = each(rows, err, func(rows *sql.Rows) error {
		g, err := scanGate(rows)
		gates = append(gates, g)
		return err
	})
	if err != nil {
		return nil, db.fail("list gate records", err)
	}
	return gates, nil
}

func scanGate(rows *sql.Rows) (Gate, error) {
	var g Gate
	var at sql.NullInt64
	var document string
	err := rows.Scan(&g.ID, &g.Workspace, &g.BaselineRunID, &g.BaselineAgentID, &g.CandidateRunID, &g.CandidateAgentID, &g.Verdict,
		&g.ReasonCode, &g.PolicyKey, &g.PolicyVersion, &g.PolicyFingerprint, &at, &document)
	g.GeneratedAt, g.Document = clock(at), json.RawMessage(document)
	return g, err
}
