package store

import (
	"context"
	"database/sql"
	"time"
)

// Workspace is what the store has of one workspace.
type Workspace struct {
	Name        string
	Runs        int
	Packs       int // slugs, not versions
	Deployments int
	Baselines   int       // that stand now
	LastRunAt   time.Time // zero without a run
}

// Workspaces are those that anything is kept of, by name.
func (db *DB) Workspaces(ctx context.Context) ([]Workspace, error) {
	const doing = "list workspaces"
	var list []Workspace
	since := "" // what older stores that cannot be written have no tables of
	if db.schema >= resourceSchema {
		since += " UNION SELECT workspace FROM resources UNION SELECT workspace FROM artifacts"
	}
	if db.schema >= sessionSchema {
		since += " UNION SELECT workspace FROM sessions"
	}
	rows, err := db.r.QueryContext(ctx, `
		SELECT w.workspace,
			(SELECT count(*) FROM runs x WHERE x.workspace = w.workspace),
			(SELECT count(*) FROM challenge_packs x WHERE x.workspace = w.workspace),
			(SELECT count(*) FROM deployments x WHERE x.workspace = w.workspace),
			(SELECT count(*) FROM baselines x WHERE x.workspace = w.workspace AND x.ended_at IS NULL),
			(SELECT max(created_at) FROM runs x WHERE x.workspace = w.workspace)
		FROM (SELECT workspace FROM runs UNION SELECT workspace FROM challenge_packs
			UNION SELECT workspace FROM deployments UNION SELECT workspace FROM provider_accounts
			UNION SELECT workspace FROM baselines UNION SELECT workspace FROM gates`+since+`) w
		ORDER BY w.workspace`)
	err = each(rows, err, func(rows *sql.Rows) error {
		var w Workspace
		var last sql.NullInt64
		err := rows.Scan(&w.Name, &w.Runs, &w.Packs, &w.Deployments, &w.Baselines, &last)
		w.LastRunAt = clock(last)
		list = append(list, w)
		return err
	})
	return list, db.fail(doing, err)
}
