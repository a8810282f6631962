package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// PackSnapshot is one pack version with everything a run of it needs.
type PackSnapshot struct {
	Workspace  string
	Slug       string
	Name       string
	Family     string
	Version    int32
	Digest     string // sha256 hex of manifest and assets
	SpecDigest string // sha256 hex of the evaluation spec
	Manifest   []byte
	Assets     map[string][]byte // by path in the pack
}

// Pack is a stored pack version without its bytes.
type Pack struct {
	ID          string
	Workspace   string
	Slug        string
	Name        string
	Family      string
	Version     int32
	Digest      string
	SpecDigest  string
	CreatedAt   time.Time
	PublishedAt time.Time // zero: a snapshot of a path
}

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
		_, err = tx.ExecContext(ctx, "UPDATE packs SET published_at = ? WHERE id = ? AND published_at IS NULL", db.stamp(), row)
		return err
	})
	if err != nil {
		return Pack{}, err
	}
	return db.packAt(ctx, row)
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
	err = tx.QueryRowContext(ctx, `INSERT INTO packs
		(uid, workspace, slug, name, family, version, digest, spec_digest, manifest_id, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		db.newID(), workspace(s.Workspace), s.Slug, s.Name, s.Family, s.Version, s.Digest, s.SpecDigest, manifest, db.stamp()).Scan(&row)
	if err != nil {
		return 0, err
	}
	for path, content := range s.Assets {
		id, err := db.saveContent(ctx, tx, content)
		if err != nil {
			return 0, fmt.Errorf("asset %q: %w", path, err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO pack_assets (pack_id, path, blob_id) VALUES (?, ?, ?)", row, path, id); err != nil {
			return 0, err
		}
	}
	return row, nil
}

const packColumns = `p.uid, p.workspace, p.slug, p.name, p.family, p.version, p.digest, p.spec_digest, p.created_at, p.published_at`

func scanPack(scan func(...any) error) (Pack, error) {
	var p Pack
	var created, published sql.NullInt64
	err := scan(&p.ID, &p.Workspace, &p.Slug, &p.Name, &p.Family, &p.Version, &p.Digest, &p.SpecDigest, &created, &published)
	p.CreatedAt, p.PublishedAt = clock(created), clock(published)
	return p, err
}

func (db *DB) packAt(ctx context.Context, row int64) (Pack, error) {
	p, err := scanPack(db.r.QueryRowContext(ctx, "SELECT "+packColumns+" FROM packs p WHERE p.id = ?", row).Scan)
	if err != nil {
		return Pack{}, db.fail("read pack", err)
	}
	return p, nil
}

// Packs lists the workspace's pack versions: slugs in order, the newest number
// first, and of one number the published content, then the newest snapshot.
func (db *DB) Packs(ctx context.Context, ws string) ([]Pack, error) {
	var packs []Pack
	rows, err := db.r.QueryContext(ctx, "SELECT "+packColumns+` FROM packs p WHERE p.workspace = ?
		ORDER BY p.slug, p.version DESC, p.published_at IS NULL, p.created_at DESC, p.id DESC`, workspace(ws))
	err = each(rows, err, func(rows *sql.Rows) error {
		p, err := scanPack(rows.Scan)
		packs = append(packs, p)
		return err
	})
	if err != nil {
		return nil, db.fail("list packs", err)
	}
	return packs, nil
}

// Pack finds a pack version. A selector is a slug (the newest published
// version, else the newest snapshot), slug@N (the published version N, else its
// newest snapshot), slug@N+digest (six or more digits of the digest's start),
// an id or its end.
func (db *DB) Pack(ctx context.Context, ws, selector string) (Pack, error) {
	row, err := db.selectPack(ctx, workspace(ws), selector)
	if err != nil {
		return Pack{}, db.fail(fmt.Sprintf("find pack %q", selector), err)
	}
	return db.packAt(ctx, row)
}

func (db *DB) selectPack(ctx context.Context, ws, selector string) (int64, error) {
	var c candidates
	slug, rest, numbered := strings.Cut(selector, "@")
	number, digest, exact := strings.Cut(rest, "+")
	var err error
	switch {
	case exact:
		if len(digest) < minTail || strings.Trim(digest, "0123456789abcdef") != "" {
			return 0, ErrNotFound
		}
		err = c.gather(db.r.QueryContext(ctx, `SELECT id, uid, slug || '@' || version || '+' || digest FROM packs
			WHERE workspace = ?1 AND slug = ?2 AND CAST(version AS TEXT) = ?3 AND substr(digest, 1, length(?4)) = ?4`,
			ws, slug, number, digest))
	case numbered:
		err = c.gather(db.r.QueryContext(ctx, `SELECT id, uid, slug FROM packs
			WHERE workspace = ? AND slug = ? AND CAST(version AS TEXT) = ?
			ORDER BY published_at IS NULL, created_at DESC, id DESC LIMIT 1`, ws, slug, number))
	default:
		err = c.gather(db.r.QueryContext(ctx, `SELECT id, uid, slug FROM packs WHERE workspace = ? AND slug = ?
			ORDER BY published_at IS NULL, CASE WHEN published_at IS NULL THEN created_at ELSE version END DESC, id DESC LIMIT 1`, ws, slug))
	}
	if err == nil && len(c.rows) == 0 && !numbered {
		err = c.gather(db.r.QueryContext(ctx, `SELECT id, uid, slug || '@' || version FROM packs
			WHERE uid = ?1 OR workspace = ?2 AND `+tailMatches("uid", "?3")+` ORDER BY id DESC`, selector, ws, tail(selector)))
	}
	if err != nil {
		return 0, err
	}
	return c.pick("pack", selector)
}

// Snapshot reads back the whole content of a stored pack version.
func (db *DB) Snapshot(ctx context.Context, packID string) (PackSnapshot, error) {
	doing := fmt.Sprintf("read pack %q", packID)
	var row, manifest int64
	err := one(db.r.QueryRowContext(ctx, "SELECT id, manifest_id FROM packs WHERE uid = ?", packID), &row, &manifest)
	if err != nil {
		return PackSnapshot{}, db.fail(doing, err)
	}
	p, err := db.packAt(ctx, row)
	if err != nil {
		return PackSnapshot{}, err
	}
	s := PackSnapshot{Workspace: p.Workspace, Slug: p.Slug, Name: p.Name, Family: p.Family,
		Version: p.Version, Digest: p.Digest, SpecDigest: p.SpecDigest, Assets: map[string][]byte{}}
	if s.Manifest, err = db.content(ctx, manifest); err != nil {
		return PackSnapshot{}, db.fail(doing, err)
	}
	blobs := map[string]int64{}
	rows, err := db.r.QueryContext(ctx, "SELECT path, blob_id FROM pack_assets WHERE pack_id = ?", row)
	err = each(rows, err, func(rows *sql.Rows) error {
		var path string
		var id int64
		err := rows.Scan(&path, &id)
		blobs[path] = id
		return err
	})
	if err != nil {
		return PackSnapshot{}, db.fail(doing, err)
	}
	for path, id := range blobs {
		if s.Assets[path], err = db.content(ctx, id); err != nil {
			return PackSnapshot{}, db.fail(fmt.Sprintf("%s: asset %q", doing, path), err)
		}
	}
	return s, nil
}
