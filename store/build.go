package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// BuildVersion is a content that a build has had.
type BuildVersion struct {
	ID        string
	Build     string // the build's name
	Number    int    // from 1, in the order of first use
	Digest    string // sha256 hex of Document
	Document  json.RawMessage
	CreatedAt time.Time
	ReadyAt   time.Time // zero: a draft, which may be changed
}

// Ref is how the version is written: NAME@N.
func (v BuildVersion) Ref() string { return v.Build + "@" + strconv.Itoa(v.Number) }

const versionColumns = `SELECT v.id, v.uid, b.name, v.number, v.digest, v.document, v.created_at, v.ready_at
	FROM build_versions v JOIN resources b ON b.id = v.build_id `

func scanVersion(scan func(...any) error) (v BuildVersion, row int64, err error) {
	var created, ready sql.NullInt64
	var document string
	if err := scan(&row, &v.ID, &v.Build, &v.Number, &v.Digest, &document, &created, &ready); err != nil {
		return v, 0, err
	}
	if !json.Valid([]byte(document)) {
		return v, 0, fmt.Errorf("build version %q: %w", v.ID, ErrCorrupt)
	}
	v.Document, v.CreatedAt, v.ReadyAt = json.RawMessage(document), clock(created), clock(ready)
	return v, row, nil
}

// SaveBuildVersion keeps a content of a build, whose id is given: as a new version,
// or as the one that has it. Ready freezes it, for good.
func (db *DB) SaveBuildVersion(ctx context.Context, buildID, digest string, doc json.RawMessage, ready bool) (BuildVersion, error) {
	var kept BuildVersion
	err := db.write(ctx, "save build version", func(tx *sql.Tx) error {
		var build int64
		err := tx.QueryRowContext(ctx, "SELECT id FROM resources WHERE uid = ? AND kind = ?", buildID, Build).Scan(&build)
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("build %q: %w", buildID, ErrNotFound)
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO build_versions (uid, build_id, number, digest, document, created_at)
			SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4, ?5 FROM build_versions WHERE build_id = ?2
			ON CONFLICT (build_id, digest) DO NOTHING`, db.newID(), build, digest, string(doc), db.stamp())
		if err != nil {
			return err
		}
		if ready {
			if _, err := tx.ExecContext(ctx, "UPDATE build_versions SET ready_at = coalesce(ready_at, ?) WHERE build_id = ? AND digest = ?", db.stamp(), build, digest); err != nil {
				return err
			}
		}
		kept, _, err = scanVersion(tx.QueryRowContext(ctx, versionColumns+"WHERE v.build_id = ? AND v.digest = ?", build, digest).Scan)
		return err
	})
	if err != nil {
		return BuildVersion{}, err
	}
	return kept, nil
}

// UpdateBuildVersion changes the content of a draft. ErrConflict: it is ready, or
// another version of the build has the content.
func (db *DB) UpdateBuildVersion(ctx context.Context, v BuildVersion, digest string, doc json.RawMessage) (BuildVersion, error) {
	err := db.write(ctx, "update build version "+v.Ref(), func(tx *sql.Tx) error {
		var build int64
		var ready sql.NullInt64
		if err := tx.QueryRowContext(ctx, "SELECT build_id, ready_at FROM build_versions WHERE uid = ?", v.ID).Scan(&build, &ready); err != nil {
			return err
		}
		if ready.Valid {
			return fmt.Errorf("%w: it is ready, and does not change any more", ErrConflict)
		}
		var other int
		err := tx.QueryRowContext(ctx, "SELECT number FROM build_versions WHERE build_id = ? AND digest = ? AND uid != ?", build, digest, v.ID).Scan(&other)
		switch {
		case err == nil:
			return fmt.Errorf("%w: version %d has this content already", ErrConflict, other)
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE build_versions SET digest = ?, document = ? WHERE uid = ?", digest, string(doc), v.ID)
		return err
	})
	if err != nil {
		return BuildVersion{}, err
	}
	v.Digest, v.Document = digest, doc
	return v, nil
}

// BuildVersions lists the versions of a build, oldest first.
func (db *DB) BuildVersions(ctx context.Context, buildID string) ([]BuildVersion, error) {
	if db.schema < resourceSchema {
		return nil, nil
	}
	var list []BuildVersion
	rows, err := db.r.QueryContext(ctx, versionColumns+"WHERE b.uid = ? ORDER BY v.number", buildID)
	err = each(rows, err, func(rows *sql.Rows) error {
		v, _, err := scanVersion(rows.Scan)
		list = append(list, v)
		return err
	})
	if err != nil {
		return nil, db.fail("list build versions", err)
	}
	return list, nil
}

// BuildVersion finds a version: by NAME@N, by its id, or by six or more digits of
// its end.
func (db *DB) BuildVersion(ctx context.Context, ws, selector string) (BuildVersion, error) {
	doing := fmt.Sprintf("find build version %q", selector)
	if db.schema < resourceSchema {
		return BuildVersion{}, fmt.Errorf("%s: %w", doing, ErrNotFound)
	}
	name, number, ok := strings.Cut(selector, "@")
	if n, err := strconv.Atoi(number); ok && err == nil {
		v, _, err := scanVersion(db.r.QueryRowContext(ctx, versionColumns+"WHERE b.workspace = ? AND b.kind = ? AND b.name_key = ? AND v.number = ?",
			workspace(ws), Build, fold(name), n).Scan)
		if errors.Is(err, sql.ErrNoRows) {
			err = ErrNotFound
		}
		return v, db.fail(doing, err)
	}
	var c candidates
	err := c.gather(db.r.QueryContext(ctx, `SELECT v.id, v.uid, b.name FROM build_versions v JOIN resources b ON b.id = v.build_id
		WHERE b.workspace = ?1 AND (v.uid = ?2 OR `+tailMatches("v.uid", "?3")+`) ORDER BY v.id DESC`, workspace(ws), selector, tail(selector)))
	if err != nil {
		return BuildVersion{}, db.fail(doing, err)
	}
	row, err := c.pick("build version", selector)
	if err != nil {
		return BuildVersion{}, db.fail(doing, err)
	}
	v, _, err := scanVersion(db.r.QueryRowContext(ctx, versionColumns+"WHERE v.id = ?", row).Scan)
	return v, db.fail(doing, err)
}
