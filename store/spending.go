package store

import (
	"context"
	"database/sql"
	"time"
)

// Spent is what a stored run has cost, as far as its scorecards say.
type Spent struct {
	RunID string
	Ended bool    // its scorecards hold everything
	USD   float64 // what has no price is not in it
}

// Spending lists what the runs of a workspace have cost: those that were made since
// a time, or those of a session when one is named.
func (db *DB) Spending(ctx context.Context, ws string, since time.Time, session string) ([]Spent, error) {
	const doing = "add up what runs have cost"
	query := `SELECT r.uid, r.status, count(a.id) = count(a.scorecard), coalesce(sum(json_extract(a.scorecard, '$.spent_usd')), 0)
		FROM runs r JOIN run_agents a ON a.run_id = r.id WHERE r.workspace = ? AND r.created_at >= ? GROUP BY r.id ORDER BY r.id`
	args := []any{workspace(ws), since.UnixNano()}
	if session != "" {
		if db.schema < sessionSchema {
			return nil, nil
		}
		query = `SELECT r.uid, r.status, count(a.id) = count(a.scorecard), coalesce(sum(json_extract(a.scorecard, '$.spent_usd')), 0)
			FROM sessions s JOIN runs r ON r.session_id = s.id JOIN run_agents a ON a.run_id = r.id
			WHERE s.workspace = ? AND s.name_key = ? GROUP BY r.id ORDER BY r.id`
		args = []any{workspace(ws), fold(session)}
	}
	var list []Spent
	rows, err := db.r.QueryContext(ctx, query, args...)
	err = each(rows, err, func(rows *sql.Rows) error {
		var s Spent
		var status string
		if err := rows.Scan(&s.RunID, &status, &s.Ended, &s.USD); err != nil {
			return err
		}
		s.Ended = s.Ended && !active(status) && status != Interrupted
		list = append(list, s)
		return nil
	})
	if err != nil {
		return nil, db.fail(doing, err)
	}
	return list, nil
}
