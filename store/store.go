package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
)

// DefaultWorkspace is the workspace "" stands for.
const DefaultWorkspace = "default"

// Options say how to open a store. Only Path is required.
type Options struct {
	// Path is the database file. Its directory is made when missing (0700),
	// the file too (0600).
	Path string
	// Now is the clock rows are dated with; nil is time.Now.
	Now func() time.Time
	// NewID makes the ids of packs, gates and deployments; nil makes UUIDv7.
	NewID func() string
	// ReadOnly opens for reading alone: the store is not created, migrated or
	// repaired, and every writing call but MarkInterrupted is ErrReadOnly. A
	// store that does not exist yet reads as an empty one.
	ReadOnly bool
	// Patience is how long a write waits for its turn when another process is
	// writing; 0 is 10 seconds.
	Patience time.Duration
}

const defaultPatience = 10 * time.Second

// DB is an open store. It is safe for concurrent use.
type DB struct {
	path     string
	now      func() time.Time
	newID    func() string
	patience time.Duration
	schema   int         // the number of the last migration it has seen
	file     fs.FileInfo // of a store opened for reading, as it was then; nil: there was none
	still    bool        // what is read are the bytes of then, whoever writes
	w        *sql.DB     // one connection; nil when read-only
	r        *sql.DB     // a few connections
	zip      func() (*zstd.Encoder, error)
	unzip    func() (*zstd.Decoder, error)
}

// Open opens the store, making and migrating it as needed. A store written by
// a newer binary is ErrNewer, a file that is no store or is damaged
// ErrCorrupt, one that cannot be written ErrReadOnly (unless asked for), and
// one another process keeps locked ErrLocked.
func Open(ctx context.Context, o Options) (*DB, error) {
	db := &DB{path: o.Path, now: o.Now, newID: o.NewID, patience: o.Patience}
	if db.now == nil {
		db.now = time.Now
	}
	if db.newID == nil {
		db.newID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if db.patience <= 0 {
		db.patience = defaultPatience
	}
	db.zip = sync.OnceValues(newCompressor)
	db.unzip = sync.OnceValues(newDecompressor)
	open := db.openWriting
	if o.ReadOnly {
		open = db.openReading
	}
	if err := open(ctx); err != nil {
		return nil, err
	}
	return db, nil
}

// Path is the database file.
func (db *DB) Path() string { return db.path }

// ReadOnly says that nothing can be written through db.
func (db *DB) ReadOnly() bool { return db.w == nil }

// Stale says that what lies at the path is not what is read through db, and would be if
// it were opened again: another file, or the same one after a change that cannot be
// followed where no log can be kept beside it. A store that is written is never stale.
func (db *DB) Stale() bool {
	if !db.ReadOnly() {
		return false
	}
	now, err := os.Stat(db.path)
	if err != nil || db.file == nil {
		return (err == nil) != (db.file != nil)
	}
	if !os.SameFile(db.file, now) {
		return true
	}
	log, err := fileSize(db.path + "-wal")
	return db.still && (err != nil || log > 0 || now.Size() != db.file.Size() || !now.ModTime().Equal(db.file.ModTime()))
}

// Close closes the store; recorders must have been closed before. The last
// process to close it folds the write-ahead log into the file.
func (db *DB) Close() error {
	// The readers go first, so that the writer is the last one out and may
	// fold the log.
	err := db.r.Close()
	if db.w != nil {
		err = errors.Join(err, db.w.Close())
	}
	return db.fail("close store", err)
}

// write runs fn in one transaction that holds the right to write from its
// start. What fn returns is given its kind; anything but nil undoes it all.
func (db *DB) write(ctx context.Context, doing string, fn func(tx *sql.Tx) error) error {
	tx, err := db.begin(ctx)
	if err != nil {
		return db.fail(doing, err)
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback() // the first error is the one to tell
		return db.fail(doing, err)
	}
	return db.fail(doing, tx.Commit())
}

// begin waits for this process's turn to write.
func (db *DB) begin(ctx context.Context) (tx *sql.Tx, err error) {
	if db.w == nil {
		return nil, ErrReadOnly
	}
	err = db.patiently(ctx, func() error {
		tx, err = db.w.BeginTx(ctx, nil)
		return err
	})
	return tx, err
}

// patiently repeats fn while another process is in the way, for as long as
// Patience allows. SQLite's own waiting backs off to long sleeps, which a busy
// neighbour with short pauses outruns; asking again every few milliseconds
// gives both their share, and heeds ctx.
func (db *DB) patiently(ctx context.Context, fn func() error) error {
	wait, stop := context.WithTimeout(ctx, db.patience)
	defer stop()
	for {
		err := fn()
		if err == nil || !busy(err) {
			return err
		}
		select {
		case <-wait.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		case <-time.After(time.Millisecond):
		}
	}
}

func (db *DB) stamp() int64 { return db.now().UnixNano() }

// instant is a time as it is stored; the zero time is NULL.
func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

// clock reads a stored time; NULL is the zero time.
func clock(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return time.Unix(0, v.Int64).UTC()
}

func workspace(name string) string {
	if name == "" {
		return DefaultWorkspace
	}
	return name
}

// one reads a row that must be there: none is ErrNotFound.
func one(row *sql.Row, dest ...any) error {
	err := row.Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// each runs a query and hands its rows to scan, one at a time.
func each(rows *sql.Rows, err error, scan func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return cmp.Or(rows.Err(), rows.Close())
}
