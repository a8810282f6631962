package store

import (
	"context"
	"fmt"
)

// Info is what there is to know about the file.
type Info struct {
	Path     string
	Schema   int   // the number of the last migration
	Bytes    int64 // of the file and its log
	Runs     int
	Journal  string // wal, unless the file system cannot have one
	ReadOnly bool
}

// NewestSchema is the schema that this program makes and migrates to.
func NewestSchema() (int, error) {
	steps, err := migrations()
	return len(steps), err
}

// Info describes the store.
func (db *DB) Info(ctx context.Context) (Info, error) {
	const doing = "describe store"
	i := Info{Path: db.path, ReadOnly: db.ReadOnly()}
	err := db.r.QueryRowContext(ctx, "SELECT user_version, (SELECT count(*) FROM runs) FROM pragma_user_version").Scan(&i.Schema, &i.Runs)
	if err == nil {
		err = db.r.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&i.Journal)
	}
	if err != nil {
		return Info{}, db.fail(doing, err)
	}
	for _, name := range []string{db.path, db.path + "-wal"} {
		size, err := fileSize(name)
		if err != nil {
			return Info{}, fmt.Errorf("%s: %w", doing, err)
		}
		i.Bytes += size
	}
	return i, nil
}

// Check reads the whole file and returns ErrCorrupt with the first thing that
// is wrong with it. It takes time in proportion to the file's size.
func (db *DB) Check(ctx context.Context) error {
	const doing = "check store"
	var verdict string
	if err := db.r.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return db.fail(doing, err)
	}
	if verdict != "ok" {
		return db.fail(doing, fmt.Errorf("%w: %s", ErrCorrupt, verdict))
	}
	return nil
}
