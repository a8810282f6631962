package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// resourceSchema is the first schema with resources, build versions and
// artifacts. An older store that cannot be written is read as one without any.
const resourceSchema = 7

// Kind is what a resource is. The store keeps its document and does not read it.
type Kind string

// The kinds of resources.
const (
	RuntimeProfile Kind = "runtime_profile"
	ModelAlias     Kind = "model_alias"
	SpendPolicy    Kind = "spend_policy"
	Build          Kind = "build"
)

// words are the kind as people read it.
func (k Kind) words() string { return strings.ReplaceAll(string(k), "_", " ") }

// Resource is something that is kept under a name.
type Resource struct {
	ID         string
	Workspace  string
	Kind       Kind
	Name       string
	Document   json.RawMessage
	CreatedAt  time.Time
	ArchivedAt time.Time // zero: it may be chosen
}

const resourceColumns = "SELECT id, uid, workspace, kind, name, document, created_at, archived_at FROM resources "

func scanResource(scan func(...any) error) (r Resource, row int64, err error) {
	var created, archived sql.NullInt64
	var document string
	if err := scan(&row, &r.ID, &r.Workspace, &r.Kind, &r.Name, &document, &created, &archived); err != nil {
		return r, 0, err
	}
	if !json.Valid([]byte(document)) {
		return r, 0, fmt.Errorf("%s %q: %w", r.Kind.words(), r.Name, ErrCorrupt)
	}
	r.Document, r.CreatedAt, r.ArchivedAt = json.RawMessage(document), clock(created), clock(archived)
	return r, row, nil
}

// SaveResource keeps a new resource under its name, which is unique in its kind
// and workspace, case aside. The same document again changes nothing; another one
// is ErrConflict, and so is one that was archived.
func (db *DB) SaveResource(ctx context.Context, r Resource) (Resource, error) {
	doing := fmt.Sprintf("save %s %q", r.Kind.words(), r.Name)
	if strings.TrimSpace(r.Name) == "" {
		return Resource{}, fmt.Errorf("save %s: it has no name", r.Kind.words())
	}
	var kept Resource
	err := db.write(ctx, doing, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO resources (uid, workspace, kind, name, name_key, document, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, kind, name_key) DO NOTHING`,
			db.newID(), workspace(r.Workspace), r.Kind, r.Name, fold(r.Name), string(r.Document), db.stamp())
		if err != nil {
			return err
		}
		kept, _, err = scanResource(tx.QueryRowContext(ctx, resourceColumns+"WHERE workspace = ? AND kind = ? AND name_key = ?",
			workspace(r.Workspace), r.Kind, fold(r.Name)).Scan)
		switch {
		case err != nil:
		case !kept.ArchivedAt.IsZero():
			err = fmt.Errorf("%w: %q was archived, and its name stays taken", ErrConflict, kept.Name)
		case string(kept.Document) != string(r.Document):
			err = fmt.Errorf("%w: %q exists and is another %s", ErrConflict, kept.Name, r.Kind.words())
		}
		return err
	})
	if err != nil {
		return Resource{}, err
	}
	return kept, nil
}

// Resources lists a workspace's resources of a kind by name, those that were
// archived too.
func (db *DB) Resources(ctx context.Context, ws string, kind Kind) ([]Resource, error) {
	if db.schema < resourceSchema {
		return nil, nil
	}
	var list []Resource
	rows, err := db.r.QueryContext(ctx, resourceColumns+"WHERE workspace = ? AND kind = ? ORDER BY name_key", workspace(ws), kind)
	err = each(rows, err, func(rows *sql.Rows) error {
		r, _, err := scanResource(rows.Scan)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, db.fail(fmt.Sprintf("list %ss", kind.words()), err)
	}
	return list, nil
}

// Resource finds one: by its name (case does not matter), by its id, or by six or
// more digits of its id's end. A name goes before an id's end.
func (db *DB) Resource(ctx context.Context, ws string, kind Kind, selector string) (Resource, error) {
	r, _, err := db.resource(ctx, ws, kind, selector)
	return r, err
}

func (db *DB) resource(ctx context.Context, ws string, kind Kind, selector string) (Resource, int64, error) {
	doing := fmt.Sprintf("find %s %q", kind.words(), selector)
	if db.schema < resourceSchema {
		return Resource{}, 0, fmt.Errorf("%s: %w", doing, ErrNotFound)
	}
	r, row, err := scanResource(db.r.QueryRowContext(ctx, resourceColumns+"WHERE workspace = ? AND kind = ? AND name_key = ?",
		workspace(ws), kind, fold(selector)).Scan)
	if !errors.Is(err, sql.ErrNoRows) {
		return r, row, db.fail(doing, err)
	}
	var c candidates
	err = c.gather(db.r.QueryContext(ctx, `SELECT id, uid, name FROM resources WHERE kind = ?1 AND (uid = ?2 OR workspace = ?3
		AND `+tailMatches("uid", "?4")+`) ORDER BY id DESC`, kind, selector, workspace(ws), tail(selector)))
	if err != nil {
		return Resource{}, 0, db.fail(doing, err)
	}
	if row, err = c.pick(kind.words(), selector); err != nil {
		return Resource{}, 0, db.fail(doing, err)
	}
	r, row, err = scanResource(db.r.QueryRowContext(ctx, resourceColumns+"WHERE id = ?", row).Scan)
	return r, row, db.fail(doing, err)
}

// DeleteResource removes one by its id.
func (db *DB) DeleteResource(ctx context.Context, id string) error {
	return db.changeResource(ctx, "delete", "DELETE FROM resources WHERE uid = ?", id)
}

// ArchiveResource keeps one, and its name, while it is no longer to be chosen.
// Archiving again changes nothing.
func (db *DB) ArchiveResource(ctx context.Context, id string) error {
	return db.changeResource(ctx, "archive", "UPDATE resources SET archived_at = coalesce(archived_at, ?) WHERE uid = ?", db.stamp(), id)
}

func (db *DB) changeResource(ctx context.Context, verb, statement string, args ...any) error {
	return db.write(ctx, fmt.Sprintf("%s %v", verb, args[len(args)-1]), func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return ErrNotFound
	})
}
