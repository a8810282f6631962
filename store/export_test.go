package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"testing"

	"modernc.org/sqlite"
)

// LimitPages makes the database as full as a disk with no more room.
func (db *DB) LimitPages(ctx context.Context, pages int) error {
	return db.Exec(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
}

// MigrateWith applies further migrations, as a newer binary would.
func MigrateWith(ctx context.Context, path string, more ...string) error {
	steps, err := migrations()
	if err != nil {
		return err
	}
	for i, text := range more {
		steps = append(steps, migration{name: fmt.Sprintf("more %d", i+1), sql: text})
	}
	pool, err := sql.Open("sqlite", dsn(path, map[string][]string{"_txlock": {"immediate"}}))
	if err != nil {
		return err
	}
	defer pool.Close()
	return migrate(ctx, pool, steps)
}

// MigrateHalting migrates as Open does, and calls halt before the step of that number,
// or before the commit. What was changed by then is in the log, and not only in memory.
func MigrateHalting(ctx context.Context, path string, step int, halt func()) error {
	steps, err := migrations()
	if err != nil {
		return err
	}
	if step <= len(steps) {
		steps[step-1].sql = "SELECT halt(); " + steps[step-1].sql
	} else {
		steps[len(steps)-1].sql += "; SELECT halt()"
	}
	err = sqlite.RegisterFunction("halt", &sqlite.FunctionImpl{Scalar: func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		halt()
		return nil, nil
	}})
	if err != nil {
		return err
	}
	pool := (&DB{path: path}).pool(1, url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {
		"journal_mode(WAL)", "synchronous(NORMAL)", "cache_size(2)", "cache_spill(1)"}})
	defer pool.Close()
	return migrate(ctx, pool, steps)
}

// Hold keeps the right to write while fn runs.
func (db *DB) Hold(ctx context.Context, fn func()) error {
	return db.write(ctx, "hold the store", func(*sql.Tx) error {
		fn()
		return nil
	})
}

// MakeForeign makes a SQLite database that is no store.
func MakeForeign(ctx context.Context, path string) error {
	pool, err := sql.Open("sqlite", dsn(path, nil))
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.ExecContext(ctx, "CREATE TABLE theirs (x); PRAGMA user_version = 1")
	return err
}

// Exec changes the database behind the store's back.
func (db *DB) Exec(ctx context.Context, query string) error {
	_, err := db.w.ExecContext(ctx, query)
	return err
}

// Count is how many rows a table has.
func (db *DB) Count(ctx context.Context, tb testing.TB, table string) (n int) {
	tb.Helper()
	if err := db.r.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}

// Newest is the number of the schema that this binary makes.
func Newest(t *testing.T) int {
	t.Helper()
	n, err := NewestSchema()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// RowCounts are how many rows each table has.
func RowCounts(ctx context.Context, db *DB) (map[string]int, error) {
	var tables []string
	rows, err := db.r.QueryContext(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
	err = each(rows, err, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		tables = append(tables, name)
		return err
	})
	counts := map[string]int{}
	for _, name := range tables {
		var n int
		if err == nil {
			err = db.r.QueryRowContext(ctx, "SELECT count(*) FROM "+name).Scan(&n)
		}
		counts[name] = n
	}
	return counts, err
}
