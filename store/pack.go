package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// PackSnapshot is one pack version with everything a run of it needs.
type PackSnapshot struct {
	Workspace  string
	Slug       string
	Name       string
	Family     string
	Version    int32
	Mode       string // the execution mode
	Digest     string // sha256 hex of manifest, assets and reference
	SpecDigest string // sha256 hex of the evaluation spec
	InputSets  []string
	Manifest   []byte
	Assets     map[string][]byte // by path in the pack
	Reference  []byte            // the script of its reference agent, nil for none
	Bundle     []byte            // the file as its author wrote it; kept when it is published
}

// Pack is a stored pack version without its bytes.
type Pack struct {
	ID              string // of the version
	ChallengePackID string // of all versions of the slug
	SpecID          string // of the version's evaluation spec
	BundleID        string // of the file as it was published, "" for a snapshot of a path
	Workspace       string
	Slug            string
	Name            string
	Family          string
	Version         int32
	Mode            string
	Digest          string
	SpecDigest      string
	CreatedAt       time.Time
	PublishedAt     time.Time // zero: a snapshot of a path
}

// InputSet is an input set of a stored pack version.
type InputSet struct{ ID, Key string }

// Published says that the version number was given to this content.
func (p Pack) Published() bool { return !p.PublishedAt.IsZero() }

// Ref is how the version is written: slug@N when published, else slug@N+digest
// with the digest's first twelve digits.
func (p Pack) Ref() string {
	ref := p.Slug + "@" + strconv.Itoa(int(p.Version))
	if p.Published() {
		return ref
	}
	return ref + "+" + p.Digest[:min(len(p.Digest), 12)]
}

// SavePack keeps a snapshot. Content is kept once: a snapshot that is already
// there is returned as it is. It is never a conflict with another.
func (db *DB) SavePack(ctx context.Context, s PackSnapshot) (Pack, error) {
	var row int64
	doing := fmt.Sprintf("save pack %q", s.Slug)
	err := db.write(ctx, doing, func(tx *sql.Tx) (err error) {
		row, err = db.savePack(ctx, tx, s)
		return err
	})
	if err != nil {
		return Pack{}, err
	}
	return db.packAt(ctx, row)
}

// Publish keeps a snapshot and gives it its version number for good. The same
// content again changes nothing. ErrConflict: the number belongs to other
// content, or the slug was published under another name or family.
func (db *DB) Publish(ctx context.Context, s PackSnapshot) (Pack, error) {
	var row int64
	doing := fmt.Sprintf("publish pack %q", s.Slug)
	err := db.write(ctx, doing, func(tx *sql.Tx) (err error) {
		if err := publishable(ctx, tx, s); err != nil {
			return err
		}
		if row, err = db.savePack(ctx, tx, s); err != nil {
			return err
		}
		return db.publish(ctx, tx, row, s.Bundle)
	})
	if err != nil {
		return Pack{}, err
	}
	return db.packAt(ctx, row)
}

// publish gives a snapshot its number, once.
func (db *DB) publish(ctx context.Context, tx *sql.Tx, row int64, bundle []byte) error {
	var uid, id any
	if len(bundle) > 0 {
		blob, err := db.saveContent(ctx, tx, bundle)
		if err != nil {
			return err
		}
		uid, id = db.newID(), blob
	}
	_, err := tx.ExecContext(ctx, "UPDATE packs SET published_at = ?, bundle_uid = ?, bundle_id = ? WHERE id = ? AND published_at IS NULL",
		db.stamp(), uid, id, row)
	return err
}

func publishable(ctx context.Context, tx *sql.Tx, s PackSnapshot) error {
	rows, err := tx.QueryContext(ctx, `SELECT name, family, version, digest FROM packs
		WHERE workspace = ? AND slug = ? AND published_at IS NOT NULL`, workspace(s.Workspace), s.Slug)
	return each(rows, err, func(rows *sql.Rows) error {
		var name, family, digest string
		var version int32
		if err := rows.Scan(&name, &family, &version, &digest); err != nil {
			return err
		}
		switch {
		case version == s.Version && digest != s.Digest:
			return fmt.Errorf("%w: version %d is published with other content; raise pack version number", ErrConflict, version)
		case name != s.Name:
			return fmt.Errorf("%w: the slug is published with the name %q, not %q", ErrConflict, name, s.Name)
		case family != s.Family:
			return fmt.Errorf("%w: the slug is published with the family %q, not %q", ErrConflict, family, s.Family)
		}
		return nil
	})
}

func (db *DB) savePack(ctx context.Context, tx *sql.Tx, s PackSnapshot) (int64, error) {
	if s.Slug == "" || s.Digest == "" {
		return 0, errors.New("it has no slug or no digest")
	}
	var row int64
	err := tx.QueryRowContext(ctx, "SELECT id FROM packs WHERE workspace = ? AND slug = ? AND version = ? AND digest = ?",
		workspace(s.Workspace), s.Slug, s.Version, s.Digest).Scan(&row)
	if !errors.Is(err, sql.ErrNoRows) {
		return row, err
	}
	manifest, err := db.saveContent(ctx, tx, s.Manifest)
	if err != nil {
		return 0, err
	}
	var reference any
	if len(s.Reference) > 0 {
		if reference, err = db.saveContent(ctx, tx, s.Reference); err != nil {
			return 0, err
		}
	}
	challengePack, err := db.challengePack(ctx, tx, workspace(s.Workspace), s.Slug)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, `INSERT INTO packs
		(uid, challenge_pack_id, spec_uid, workspace, slug, name, family, version, mode, digest, spec_digest, manifest_id, reference_id, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		db.newID(), challengePack, db.newID(), workspace(s.Workspace), s.Slug, s.Name, s.Family, s.Version,
		s.Mode, s.Digest, s.SpecDigest, manifest, reference, db.stamp()).Scan(&row)
	if err != nil {
		return 0, err
	}
	return row, db.savePackParts(ctx, tx, row, s)
}

// challengePack is the row that all versions of a slug share.
func (db *DB) challengePack(ctx context.Context, tx *sql.Tx, ws, slug string) (int64, error) {
	var row int64
	_, err := tx.ExecContext(ctx, "INSERT INTO challenge_packs (uid, workspace, slug) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", db.newID(), ws, slug)
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT id FROM challenge_packs WHERE workspace = ? AND slug = ?", ws, slug).Scan(&row)
	}
	return row, err
}

func (db *DB) savePackParts(ctx context.Context, tx *sql.Tx, row int64, s PackSnapshot) error {
	for i, key := range s.InputSets {
		if _, err := tx.ExecContext(ctx, "INSERT INTO pack_input_sets (pack_id, position, uid, key) VALUES (?, ?, ?, ?)", row, i, db.newID(), key); err != nil {
			return err
		}
	}
	for path, content := range s.Assets {
		id, err := db.saveContent(ctx, tx, content)
		if err != nil {
			return fmt.Errorf("asset %q: %w", path, err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO pack_assets (pack_id, path, blob_id) VALUES (?, ?, ?)", row, path, id); err != nil {
			return err
		}
	}
	return nil
}
