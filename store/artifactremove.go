package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// RemoveArtifact takes an artifact out of the store, and its content when no other
// artifact has it, in one transaction. The bytes lie in blobs that others may share by
// their hash: GC removes those that nothing refers to. Without force, one that a stored
// pack names is ErrConflict; with it, that pack keeps the bytes it was stored with.
// What names it is returned in either case.
func (db *DB) RemoveArtifact(ctx context.Context, a Artifact, force bool) (packs []string, err error) {
	doing := fmt.Sprintf("delete artifact %q", a.ID)
	err = db.write(ctx, doing, func(tx *sql.Tx) error {
		var row, content int64
		err := one(tx.QueryRowContext(ctx, "SELECT id, content_id FROM artifacts WHERE uid = ?", a.ID), &row, &content)
		if err != nil {
			return err
		}
		// nobody stores another pack meanwhile: this has the right to write
		if packs, err = db.packsNaming(ctx, a.Workspace, a.ID); err != nil {
			return err
		}
		if len(packs) > 0 && !force {
			return fmt.Errorf("%w: it is an asset of %s", ErrConflict, strings.Join(packs, ", "))
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM artifacts WHERE id = ?", row); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM contents WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM artifacts WHERE content_id = ?1)", content)
		return err // its parts go with it
	})
	return packs, err
}

// packsNaming are the stored packs of a workspace in whose manifest an id stands, each
// once as slug@number.
func (db *DB) packsNaming(ctx context.Context, ws, id string) ([]string, error) {
	type stored struct {
		name     string
		manifest int64
	}
	var all []stored
	rows, err := db.r.QueryContext(ctx, "SELECT slug || '@' || version, manifest_id FROM packs WHERE workspace = ? ORDER BY slug, version, id", workspace(ws))
	err = each(rows, err, func(rows *sql.Rows) error {
		var p stored
		err := rows.Scan(&p.name, &p.manifest)
		all = append(all, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range all {
		manifest, err := db.content(ctx, p.manifest)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(manifest, []byte(strconv.Quote(id))) && (len(names) == 0 || names[len(names)-1] != p.name) {
			names = append(names, p.name)
		}
	}
	return names, nil
}
