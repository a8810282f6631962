package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// ofWorkspace are the tables that hold what is kept in a workspace besides its runs, in
// the order in which they are emptied of it, and what a person calls their rows. ?1 is
// the workspace's name.
var ofWorkspace = []struct{ table, where, noun string }{
	{"baselines", "workspace = ?1", "baselines"},
	{"gates", "workspace = ?1", "gate records"},
	{"sessions", "workspace = ?1", "sessions"},
	{"artifacts", "workspace = ?1", "artifacts"},
	{"content_parts", "content_id IN (" + unattached + ")", ""},
	{"contents", "id IN (" + unattached + ")", ""},
	{"deployments", "workspace = ?1", "deployments"},
	{"provider_accounts", "workspace = ?1", "provider accounts"},
	{"build_versions", "build_id IN (SELECT id FROM resources WHERE workspace = ?1)", ""},
	{"resources", "workspace = ?1", "profiles, aliases, policies and builds"},
	{"pack_input_sets", "pack_id IN (SELECT id FROM packs WHERE workspace = ?1)", ""},
	{"pack_assets", "pack_id IN (SELECT id FROM packs WHERE workspace = ?1)", ""},
	{"packs", "workspace = ?1", ""},
	{"challenge_packs", "workspace = ?1", "challenge packs"},
}

// RemoveWorkspace takes all that is kept in a workspace out of the store, in one
// transaction. Without force, one that holds anything is ErrConflict, which says what;
// one in which a run is not over is ErrConflict in any case.
func (db *DB) RemoveWorkspace(ctx context.Context, name string, force bool) error {
	doing := fmt.Sprintf("delete workspace %q", name)
	name = workspace(name)
	return db.unchecked(ctx, doing, func(tx *sql.Tx) error {
		if err := removableWorkspace(ctx, tx, name, force); err != nil {
			return err
		}
		var runs []int64
		rows, err := tx.QueryContext(ctx, "SELECT id FROM runs WHERE workspace = ?", name)
		err = each(rows, err, func(rows *sql.Rows) error {
			var row int64
			err := rows.Scan(&row)
			runs = append(runs, row)
			return err
		})
		if err != nil {
			return err
		}
		for _, row := range runs {
			if err := removeRun(ctx, tx, row); err != nil {
				return err
			}
		}
		for _, t := range ofWorkspace {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+t.table+" WHERE "+t.where, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// removableWorkspace refuses a workspace that something needs, or that is not known to
// be empty once every table of ofRun and ofWorkspace is.
func removableWorkspace(ctx context.Context, tx *sql.Tx, name string, force bool) error {
	var going bool
	err := one(tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs r WHERE r.workspace = ?1 AND (r.status IN ('queued', 'running', 'scoring')
		OR EXISTS (SELECT 1 FROM rescorings x WHERE x.run_id = r.id AND x.finished_at IS NULL)))`, name), &going)
	if err != nil {
		return err
	}
	if going {
		return fmt.Errorf("%w: one of its runs is not over", ErrConflict)
	}
	var elsewhere bool
	err = one(tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs r JOIN packs p ON p.id = r.pack_id WHERE p.workspace = ?1 AND r.workspace <> ?1)`, name), &elsewhere)
	if err != nil {
		return err
	}
	if elsewhere {
		return fmt.Errorf("%w: a run of another workspace is of a pack of this one", ErrConflict)
	}
	if err := errors.Join(checkOfRun(ctx, tx), checkOfWorkspace(ctx, tx)); err != nil || force {
		return err
	}
	var holds []string
	for _, t := range append([]struct{ table, where, noun string }{{"runs", "workspace = ?1", "runs"}}, ofWorkspace...) {
		var n int
		if t.noun == "" {
			continue
		}
		if err := one(tx.QueryRowContext(ctx, "SELECT count(*) FROM "+t.table+" WHERE "+t.where, name), &n); err != nil {
			return err
		}
		if n > 0 {
			holds = append(holds, fmt.Sprintf("%s: %d", t.noun, n))
		}
	}
	if len(holds) > 0 {
		return fmt.Errorf("%w: it holds %s", ErrConflict, strings.Join(holds, ", "))
	}
	return nil
}

// checkOfWorkspace refuses to remove anything when a table belongs to workspaces that
// ofWorkspace does not know.
func checkOfWorkspace(ctx context.Context, tx *sql.Tx) error {
	known := []string{"runs"}
	for _, t := range ofWorkspace {
		known = append(known, t.table)
	}
	rows, err := tx.QueryContext(ctx, `SELECT m.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'workspace'
		UNION SELECT m.name FROM sqlite_schema m, pragma_foreign_key_list(m.name) f
		WHERE m.type = 'table' AND f."table" IN ('packs', 'challenge_packs', 'resources', 'contents')`)
	return each(rows, err, func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		if !slices.Contains(known, name) && !slices.ContainsFunc(ofRun, func(t struct{ table, where string }) bool { return t.table == name }) {
			return fmt.Errorf("%w: the table %s is of workspaces, and nobody said what becomes of it", ErrConflict, name)
		}
		return nil
	})
}
