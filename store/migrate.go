package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"modernc.org/sqlite"
	sqlitecode "modernc.org/sqlite/lib"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// applicationID marks a SQLite file as ours.
const applicationID = 0x61434c68

// migration is one step of the schema; its number is its place in the list.
type migration struct {
	name string
	sql  string
}

// migrations are the steps this binary knows, in order.
func migrations() ([]migration, error) {
	entries, err := fs.ReadDir(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	steps := make([]migration, 0, len(entries))
	for i, e := range entries { // sorted by name
		if want := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(e.Name(), want) {
			return nil, fmt.Errorf("migration %q is not number %d", e.Name(), i+1)
		}
		text, err := fs.ReadFile(migrationFiles, "migrations/"+e.Name())
		if err != nil {
			return nil, err
		}
		steps = append(steps, migration{name: e.Name(), sql: string(text)})
	}
	return steps, nil
}

// migrate brings a database to the newest schema, in one transaction for all
// missing steps: a step that fails, or a process that dies, leaves the schema
// and the data as they were.
func migrate(ctx context.Context, pool *sql.DB, steps []migration) error {
	version, err := schemaVersion(ctx, pool, len(steps))
	if err != nil || version == len(steps) {
		return err
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	// Another process may have migrated while this one waited for its turn.
	version, err = schemaVersion(ctx, tx, len(steps))
	if err != nil || version == len(steps) {
		return err
	}
	for _, step := range steps[version:] {
		if _, err := tx.ExecContext(ctx, step.sql); err != nil {
			return fmt.Errorf("migrate %s: %w", step.name, err)
		}
	}
	if err := danglingReference(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(steps))); err != nil {
		return err
	}
	return tx.Commit()
}

// errUnborn: a file that a process made and could not fill, for want of room.
var errUnborn = errors.New("its schema was never made")

// readable is the schema of a store that is not to be changed. One that is
// older than this binary is read as it is: the steps it has not seen only add
// tables, which are then empty.
func readable(ctx context.Context, pool *sql.DB, newest int) (int, error) {
	version, err := schemaVersion(ctx, pool, newest)
	if err == nil && version == 0 {
		err = errUnborn
	}
	return version, err
}

// querier is a pool or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// schemaVersion reads the schema's number: 0 for an empty database. Another
// program's database is ErrCorrupt and a newer schema than newest ErrNewer.
func schemaVersion(ctx context.Context, q querier, newest int) (int, error) {
	var version, tables int
	var app int64
	err := q.QueryRowContext(ctx, `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version, pragma_application_id`).Scan(&version, &app, &tables)
	switch {
	case err != nil:
		return 0, err
	case app != applicationID && tables > 0:
		return 0, fmt.Errorf("%w: it is a database of another program", ErrCorrupt)
	case version > newest:
		return 0, fmt.Errorf("%w: its schema is %d, this binary knows schemas up to %d; use the newer agentclash", ErrNewer, version, newest)
	}
	return version, nil
}

func danglingReference(ctx context.Context, tx *sql.Tx) error {
	var table string
	err := tx.QueryRowContext(ctx, `SELECT "table" FROM pragma_foreign_key_check LIMIT 1`).Scan(&table)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("the migration left rows of %q that refer to nothing", table)
}

// noRoomForLog recognises what SQLite says when it cannot make the files it
// keeps beside a database.
func noRoomForLog(err error) bool {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return false
	}
	code := se.Code()
	return code&0xff == sqlitecode.SQLITE_CANTOPEN || code&0xff == sqlitecode.SQLITE_READONLY || code == sqlitecode.SQLITE_IOERR_SHMSIZE
}
