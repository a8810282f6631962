package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/plan"
)

// Deployment is a stored deployment.
type Deployment struct {
	ID        string
	Workspace string
	CreatedAt time.Time
	plan.Deployment
}

// SaveDeployment keeps a new deployment under its name. The same deployment
// again changes nothing; another one under the name, in any case, is
// ErrConflict.
func (db *DB) SaveDeployment(ctx context.Context, ws string, d plan.Deployment) (Deployment, error) {
	doing := fmt.Sprintf("save deployment %q", d.Name)
	if strings.TrimSpace(d.Name) == "" {
		return Deployment{}, errors.New("save deployment: it has no name")
	}
	document, err := json.Marshal(d)
	if err != nil {
		return Deployment{}, fmt.Errorf("%s: %w", doing, err)
	}
	var kept Deployment
	err = db.write(ctx, doing, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO deployments (uid, workspace, name, name_key, document, created_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, name_key) DO NOTHING`,
			db.newID(), workspace(ws), d.Name, fold(d.Name), string(document), db.stamp())
		if err != nil {
			return err
		}
		var stored string
		kept, stored, err = scanDeployment(tx.QueryRowContext(ctx, deploymentColumns+"WHERE workspace = ? AND name_key = ?", workspace(ws), fold(d.Name)).Scan)
		if err == nil && stored != string(document) {
			err = fmt.Errorf("%w: %q exists and is another deployment", ErrConflict, kept.Name)
		}
		return err
	})
	if err != nil {
		return Deployment{}, err
	}
	return kept, nil
}

const deploymentColumns = "SELECT uid, workspace, created_at, document FROM deployments "

func scanDeployment(scan func(...any) error) (d Deployment, document string, err error) {
	var created sql.NullInt64
	if err := scan(&d.ID, &d.Workspace, &created, &document); err != nil {
		return d, "", err
	}
	d.CreatedAt = clock(created)
	if err := json.Unmarshal([]byte(document), &d.Deployment); err != nil {
		return d, "", fmt.Errorf("deployment %q: %w: %w", d.ID, ErrCorrupt, err)
	}
	return d, document, nil
}

// Deployments lists the workspace's deployments by name.
func (db *DB) Deployments(ctx context.Context, ws string) ([]Deployment, error) {
	var list []Deployment
	rows, err := db.r.QueryContext(ctx, deploymentColumns+"WHERE workspace = ? ORDER BY name_key", workspace(ws))
	err = each(rows, err, func(rows *sql.Rows) error {
		d, _, err := scanDeployment(rows.Scan)
		list = append(list, d)
		return err
	})
	if err != nil {
		return nil, db.fail("list deployments", err)
	}
	return list, nil
}

// Deployment finds one deployment: by its name (case does not matter), by its
// id, or by six or more digits of its id's end.
func (db *DB) Deployment(ctx context.Context, ws, selector string) (Deployment, error) {
	doing := fmt.Sprintf("find deployment %q", selector)
	var c candidates
	err := c.gather(db.r.QueryContext(ctx, `SELECT id, uid, name FROM deployments WHERE uid = ?1 OR workspace = ?2
		AND (name_key = ?3 OR `+tailMatches("uid", "?4")+`) ORDER BY id DESC`, selector, workspace(ws), fold(selector), tail(selector)))
	if err != nil {
		return Deployment{}, db.fail(doing, err)
	}
	row, err := c.pick("deployment", selector)
	if err != nil {
		return Deployment{}, db.fail(doing, err)
	}
	d, _, err := scanDeployment(db.r.QueryRowContext(ctx, deploymentColumns+"WHERE id = ?", row).Scan)
	return d, db.fail(doing, err)
}

// UpdateDeployment puts another deployment in the place of a stored one, which must
// be as it was read: ErrConflict when somebody changed it meanwhile, or when the
// new name is taken. Runs keep what they were planned with.
func (db *DB) UpdateDeployment(ctx context.Context, was Deployment, is plan.Deployment) (Deployment, error) {
	doing := fmt.Sprintf("update deployment %q", was.Name)
	before, err := json.Marshal(was.Deployment)
	if err != nil {
		return Deployment{}, fmt.Errorf("%s: %w", doing, err)
	}
	after, err := json.Marshal(is)
	if err != nil {
		return Deployment{}, fmt.Errorf("%s: %w", doing, err)
	}
	var kept Deployment
	err = db.write(ctx, doing, func(tx *sql.Tx) error {
		now, _, err := scanDeployment(tx.QueryRowContext(ctx, deploymentColumns+"WHERE uid = ?", was.ID).Scan)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		if stored, err := json.Marshal(now.Deployment); err != nil || string(stored) != string(before) {
			return errors.Join(err, fmt.Errorf("%w: it was changed meanwhile", ErrConflict))
		}
		var taken int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM deployments WHERE workspace = ? AND name_key = ? AND uid != ?",
			was.Workspace, fold(is.Name), was.ID).Scan(&taken); err != nil {
			return err
		}
		if taken > 0 {
			return fmt.Errorf("%w: there is another deployment %q", ErrConflict, is.Name)
		}
		if _, err := tx.ExecContext(ctx, "UPDATE deployments SET name = ?, name_key = ?, document = ? WHERE uid = ?",
			is.Name, fold(is.Name), string(after), was.ID); err != nil {
			return err
		}
		kept, _, err = scanDeployment(tx.QueryRowContext(ctx, deploymentColumns+"WHERE uid = ?", was.ID).Scan)
		return err
	})
	if err != nil {
		return Deployment{}, err
	}
	return kept, nil
}

// DeleteDeployment removes a deployment by its id, and counts the runs of the
// workspace that have an agent of its name: they keep what they were planned with.
func (db *DB) DeleteDeployment(ctx context.Context, d Deployment) (runs int, err error) {
	err = db.write(ctx, fmt.Sprintf("delete deployment %q", d.Name), func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "DELETE FROM deployments WHERE uid = ?", d.ID)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNotFound)
		}
		return tx.QueryRowContext(ctx, `SELECT count(DISTINCT r.id) FROM run_agents a JOIN runs r ON r.id = a.run_id
			WHERE r.workspace = ? AND a.label_key = ?`, d.Workspace, fold(d.Name)).Scan(&runs)
	})
	return runs, err
}
