package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

const packColumns = `p.uid, (SELECT uid FROM challenge_packs WHERE id = p.challenge_pack_id), p.spec_uid, coalesce(p.bundle_uid, ''), p.workspace, p.slug, p.name, p.family, p.version, p.mode, p.digest, p.spec_digest, p.created_at, p.published_at`

func scanPack(scan func(...any) error) (Pack, error) {
	var p Pack
	var created, published sql.NullInt64
	err := scan(&p.ID, &p.ChallengePackID, &p.SpecID, &p.BundleID, &p.Workspace, &p.Slug, &p.Name, &p.Family, &p.Version, &p.Mode, &p.Digest, &p.SpecDigest, &created, &published)
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
// an id or its end. The id of a challenge pack means the newest version.
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
		err = c.gather(db.r.QueryContext(ctx, `SELECT id, uid, slug FROM packs
			WHERE workspace = ?1 AND (slug = ?2 OR challenge_pack_id = (SELECT id FROM challenge_packs WHERE uid = ?2))
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
	var reference, bundle sql.NullInt64
	err := one(db.r.QueryRowContext(ctx, "SELECT id, manifest_id, reference_id, bundle_id FROM packs WHERE uid = ?", packID),
		&row, &manifest, &reference, &bundle)
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
	for _, part := range []struct {
		to *[]byte
		id sql.NullInt64
	}{{&s.Reference, reference}, {&s.Bundle, bundle}} {
		if !part.id.Valid {
			continue
		}
		if *part.to, err = db.content(ctx, part.id.Int64); err != nil {
			return PackSnapshot{}, db.fail(doing, err)
		}
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

// InputSets lists the input sets of a stored pack version, in the pack's order.
func (db *DB) InputSets(ctx context.Context, packID string) ([]InputSet, error) {
	var sets []InputSet
	rows, err := db.r.QueryContext(ctx, `SELECT s.uid, s.key FROM pack_input_sets s JOIN packs p ON p.id = s.pack_id
		WHERE p.uid = ? ORDER BY s.position`, packID)
	err = each(rows, err, func(rows *sql.Rows) error {
		var s InputSet
		err := rows.Scan(&s.ID, &s.Key)
		sets = append(sets, s)
		return err
	})
	if err != nil {
		return nil, db.fail(fmt.Sprintf("list the input sets of pack %q", packID), err)
	}
	return sets, nil
}

// InputSetKey is the key of the input set that an id stands for.
func (db *DB) InputSetKey(ctx context.Context, id string) (string, error) {
	var key string
	if err := one(db.r.QueryRowContext(ctx, "SELECT key FROM pack_input_sets WHERE uid = ?", id), &key); err != nil {
		return "", db.fail(fmt.Sprintf("find input set %q", id), err)
	}
	return key, nil
}

// PackKey is what makes a stored pack version one of a kind in its workspace.
type PackKey struct {
	Slug    string
	Version int32
	Digest  string
}

// PackOfDigest finds the stored version that has exactly this content; found is
// false when there is none.
func (db *DB) PackOfDigest(ctx context.Context, ws string, key PackKey) (p Pack, found bool, err error) {
	var row int64
	err = db.r.QueryRowContext(ctx, "SELECT id FROM packs WHERE workspace = ? AND slug = ? AND version = ? AND digest = ?",
		workspace(ws), key.Slug, key.Version, key.Digest).Scan(&row)
	if errors.Is(err, sql.ErrNoRows) {
		return Pack{}, false, nil
	}
	if err != nil {
		return Pack{}, false, db.fail(fmt.Sprintf("find pack %q", key.Slug), err)
	}
	p, err = db.packAt(ctx, row)
	return p, err == nil, err
}
