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

// accountSchema is the first schema with provider accounts. An older store that
// cannot be written is read as one that has none.
const accountSchema = 3

// Account is a stored provider account.
type Account struct {
	ID        string
	Workspace string
	CreatedAt time.Time
	plan.Account
}

// SaveAccount keeps a new provider account under its name. The same account
// again changes nothing; another one under the name, in any case, is
// ErrConflict.
func (db *DB) SaveAccount(ctx context.Context, ws string, a plan.Account) (Account, error) {
	doing := fmt.Sprintf("save provider account %q", a.Name)
	if strings.TrimSpace(a.Name) == "" {
		return Account{}, errors.New("save provider account: it has no name")
	}
	document, err := json.Marshal(a)
	if err != nil {
		return Account{}, fmt.Errorf("%s: %w", doing, err)
	}
	var kept Account
	err = db.write(ctx, doing, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO provider_accounts (uid, workspace, name, name_key, document, created_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, name_key) DO NOTHING`,
			db.newID(), workspace(ws), a.Name, fold(a.Name), string(document), db.stamp())
		if err != nil {
			return err
		}
		kept, err = scanAccount(tx.QueryRowContext(ctx, accountColumns+"WHERE workspace = ? AND name_key = ?", workspace(ws), fold(a.Name)).Scan)
		if err == nil && kept.Account != a {
			err = fmt.Errorf("%w: %q exists and is another account", ErrConflict, kept.Name)
		}
		return err
	})
	if err != nil {
		return Account{}, err
	}
	return kept, nil
}

const accountColumns = "SELECT uid, workspace, created_at, document FROM provider_accounts "

func scanAccount(scan func(...any) error) (Account, error) {
	var a Account
	var created sql.NullInt64
	var document string
	if err := scan(&a.ID, &a.Workspace, &created, &document); err != nil {
		return a, err
	}
	a.CreatedAt = clock(created)
	if err := json.Unmarshal([]byte(document), &a.Account); err != nil {
		return a, fmt.Errorf("provider account %q: %w: %w", a.ID, ErrCorrupt, err)
	}
	return a, nil
}

// Accounts lists the workspace's provider accounts by name.
func (db *DB) Accounts(ctx context.Context, ws string) ([]Account, error) {
	if db.schema < accountSchema {
		return nil, nil
	}
	var list []Account
	rows, err := db.r.QueryContext(ctx, accountColumns+"WHERE workspace = ? ORDER BY name_key", workspace(ws))
	err = each(rows, err, func(rows *sql.Rows) error {
		a, err := scanAccount(rows.Scan)
		list = append(list, a)
		return err
	})
	if err != nil {
		return nil, db.fail("list provider accounts", err)
	}
	return list, nil
}

// Account finds one provider account: by its name (case does not matter), by its
// id, or by six or more digits of its id's end.
func (db *DB) Account(ctx context.Context, ws, selector string) (Account, error) {
	doing := fmt.Sprintf("find provider account %q", selector)
	if db.schema < accountSchema {
		return Account{}, fmt.Errorf("%s: %w", doing, ErrNotFound)
	}
	var c candidates
	err := c.gather(db.r.QueryContext(ctx, `SELECT id, uid, name FROM provider_accounts WHERE uid = ?1 OR workspace = ?2
		AND (name_key = ?3 OR `+tailMatches("uid", "?4")+`) ORDER BY id DESC`, selector, workspace(ws), fold(selector), tail(selector)))
	if err != nil {
		return Account{}, db.fail(doing, err)
	}
	row, err := c.pick("provider account", selector)
	if err != nil {
		return Account{}, db.fail(doing, err)
	}
	a, err := scanAccount(db.r.QueryRowContext(ctx, accountColumns+"WHERE id = ?", row).Scan)
	return a, db.fail(doing, err)
}

// DeleteAccount removes a provider account by its id. One that is named by a
// deployment is ErrConflict.
func (db *DB) DeleteAccount(ctx context.Context, id string) error {
	return db.write(ctx, fmt.Sprintf("delete provider account %q", id), func(tx *sql.Tx) error {
		a, err := scanAccount(tx.QueryRowContext(ctx, accountColumns+"WHERE uid = ?", id).Scan)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		users, err := accountUsers(ctx, tx, a)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return fmt.Errorf("%w: deployments use it: %s", ErrConflict, strings.Join(users, ", "))
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM provider_accounts WHERE uid = ?", id)
		return err
	})
}

// accountUsers are the names of the deployments that name an account.
func accountUsers(ctx context.Context, tx *sql.Tx, a Account) ([]string, error) {
	var users []string
	rows, err := tx.QueryContext(ctx, deploymentColumns+"WHERE workspace = ? ORDER BY name_key", a.Workspace)
	err = each(rows, err, func(rows *sql.Rows) error {
		d, _, err := scanDeployment(rows.Scan)
		if err == nil && fold(d.Account) == fold(a.Name) {
			users = append(users, d.Name)
		}
		return err
	})
	return users, err
}
