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
