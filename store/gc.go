package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Garbage is what nothing in the store refers to any more.
type Garbage struct {
	Blobs      int
	Bytes      int64 // of these blobs, as they are stored
	FreedBytes int64 // by which the file and its log have become smaller
}

// vacuumShare is the share of the file, one in so many, that must be free for it to
// be written anew.
const vacuumShare = 16

// GC removes blobs that nothing refers to, and writes the file anew when much of it
// is free. With dry it only looks. While a run or a rescoring is being recorded the
// store is ErrLocked to it.
func (db *DB) GC(ctx context.Context, dry bool) (Garbage, error) {
	const doing = "collect garbage"
	var g Garbage
	orphans, err := db.orphans(ctx)
	if err != nil {
		return g, db.fail(doing, err)
	}
	err = one(db.r.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(length(data)), 0) FROM blobs WHERE "+orphans), &g.Blobs, &g.Bytes)
	if err != nil || dry {
		return g, db.fail(doing, err)
	}
	before, err := db.fileBytes()
	if err != nil {
		return g, fmt.Errorf("%s: %w", doing, err)
	}
	err = db.unchecked(ctx, doing, func(tx *sql.Tx) error {
		var busy bool
		err := one(tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE status IN ('queued', 'running', 'scoring'))
			OR EXISTS (SELECT 1 FROM rescorings WHERE finished_at IS NULL)`), &busy)
		if err != nil {
			return err
		}
		if busy {
			return fmt.Errorf("%w when its runs are over", ErrLocked)
		}
		err = one(tx.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(length(data)), 0) FROM blobs WHERE "+orphans), &g.Blobs, &g.Bytes)
		if err != nil || g.Blobs == 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM blobs WHERE "+orphans)
		return err
	})
	if err != nil {
		return Garbage{}, err
	}
	if err := db.shrink(ctx); err != nil {
		return g, db.fail("make the store smaller", err)
	}
	after, err := db.fileBytes()
	g.FreedBytes = max(before-after, 0)
	return g, err
}

// orphans is the condition for blobs that no table refers to.
func (db *DB) orphans(ctx context.Context) (string, error) {
	var uses []string
	rows, err := db.r.QueryContext(ctx, `SELECT m.name, f."from" FROM sqlite_schema m, pragma_foreign_key_list(m.name) f
		WHERE m.type = 'table' AND f."table" = 'blobs'`)
	err = each(rows, err, func(rows *sql.Rows) error {
		var table, column string
		err := rows.Scan(&table, &column)
		uses = append(uses, fmt.Sprintf("SELECT %[2]s FROM %[1]s WHERE %[2]s IS NOT NULL", table, column))
		return err
	})
	if err == nil && len(uses) == 0 {
		err = errors.New("no table refers to blobs, which cannot be")
	}
	return "id NOT IN (" + strings.Join(uses, " UNION ") + ")", err
}

// shrink writes the file anew when much of it is free, and empties its log.
func (db *DB) shrink(ctx context.Context) error {
	var pages, free int64
	err := one(db.w.QueryRowContext(ctx, "SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count"), &pages, &free)
	if err != nil {
		return err
	}
	if free*vacuumShare >= pages && free > 0 {
		if err := db.vacuum(ctx); err != nil {
			return err
		}
	}
	_, err = db.w.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)") // what a reader still needs stays until the next time
	return err
}

// vacuum writes the file anew. The copy that SQLite makes on the way is as large as the
// store, so that one goes to a file in the directory for temporary files: memory may
// not have the room.
func (db *DB) vacuum(ctx context.Context) (err error) {
	if _, err := db.w.ExecContext(ctx, "PRAGMA temp_store = FILE"); err != nil { // it has one connection
		return err
	}
	defer func() {
		_, back := db.w.ExecContext(context.WithoutCancel(ctx), "PRAGMA temp_store = MEMORY")
		err = errors.Join(err, back)
	}()
	err = db.patiently(ctx, func() error { _, err := db.w.ExecContext(ctx, "VACUUM"); return err })
	if kind, _ := classify(err); errors.Is(kind, ErrFull) {
		return fmt.Errorf("a copy of %q needs room, beside it and in the directory for temporary files: %w", db.path, ErrFull)
	}
	return err
}

func (db *DB) fileBytes() (int64, error) {
	main, err := fileSize(db.path)
	log, lerr := fileSize(db.path + "-wal")
	return main + log, errors.Join(err, lerr)
}
