package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// readers is how many connections read at once.
const readers = 4

// Pragmas travel in the DSN, so that every pooled connection has them.
const (
	// shortWait is how long SQLite itself waits for a lock before it writes, in
	// milliseconds; patiently does the rest.
	shortWait = "busy_timeout(20)"
	// readWait is for readers. They meet a lock only while the log is being
	// recovered or removed.
	readWait = "busy_timeout(10000)"
	// logPages is how large the write-ahead log grows before it is folded
	// into the file: 16 MiB, a quarter of the fsyncs of SQLite's default.
	logPages = "wal_autocheckpoint(4000)"
	logBytes = "journal_size_limit(16777216)"
)

func (db *DB) openWriting(ctx context.Context) error {
	doing := fmt.Sprintf("open store %q", db.path)
	if err := makeFile(db.path); err != nil {
		return db.fail(doing, err)
	}
	db.w = db.pool(1, url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {
		shortWait, logPages, logBytes, "journal_mode(WAL)", "synchronous(NORMAL)",
		"foreign_keys(1)", "cache_size(-8000)", "temp_store(MEMORY)"}})
	db.r = db.pool(readers, url.Values{"mode": {"ro"}, "_pragma": {
		readWait, "query_only(1)", "cache_size(-4000)", "temp_store(MEMORY)"}})
	err := db.prepare(ctx)
	if err == nil {
		// The writer connects now, so that it is there to fold the log at the end.
		err = db.patiently(ctx, func() error { return db.w.PingContext(ctx) })
	}
	if err != nil {
		_ = db.Close() // nothing was written through it
		return db.fail(doing, explain(db.path, err))
	}
	return nil
}

// prepare sees to it that the file is a store of this binary's schema. What is
// no store, or a newer one, is left as it is.
func (db *DB) prepare(ctx context.Context) error {
	steps, err := migrations()
	if err != nil {
		return err
	}
	version := 0
	db.schema = len(steps) // once this succeeds
	err = db.alone(ctx, url.Values{}, func(pool *sql.DB) (err error) {
		version, err = schemaVersion(ctx, pool, len(steps))
		return err
	})
	if err != nil || version == len(steps) {
		return err
	}
	// A migration may rebuild tables that others refer to, so it runs without
	// foreign keys, and checks them at the end.
	log := url.Values{"_pragma": {logPages, "journal_mode(WAL)", "synchronous(NORMAL)"}}
	return db.alone(ctx, log, func(pool *sql.DB) error { return migrate(ctx, pool, steps) })
}

// alone runs fn on a connection of its own, again while another process is in
// the way.
func (db *DB) alone(ctx context.Context, how url.Values, fn func(*sql.DB) error) error {
	how.Set("mode", "rw")
	how.Set("_txlock", "immediate")
	how.Add("_pragma", shortWait)
	return db.patiently(ctx, func() error {
		pool := db.pool(1, how)
		err := fn(pool)
		return errors.Join(err, pool.Close())
	})
}

func (db *DB) openReading(ctx context.Context) error {
	doing := fmt.Sprintf("open store %q for reading", db.path)
	size, err := fileSize(db.path)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	db.file, _ = os.Stat(db.path) // which one it is, if there is one: before it is read
	if size == 0 {
		return db.fail(doing, db.openEmpty(ctx))
	}
	err = db.openFile(ctx, url.Values{"mode": {"ro"}})
	if err != nil && noRoomForLog(err) {
		if err := db.mergedOnly(err); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		db.still = true
		err = db.openFile(ctx, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	}
	if errors.Is(err, errUnborn) {
		err = db.openEmpty(ctx)
	}
	return db.fail(doing, err)
}

// mergedOnly says whether the file alone holds everything, so that it may be
// read without the log beside it, for which there was no room. Whoever writes keeps a
// log, so nobody does.
func (db *DB) mergedOnly(noRoom error) error {
	if size, err := fileSize(db.path + "-wal"); err != nil || size == 0 {
		return err
	}
	if kind, _ := classify(noRoom); errors.Is(kind, ErrFull) {
		return fmt.Errorf("its last changes lie in %q and cannot be read without room beside it: %w", db.path+"-wal", ErrFull)
	}
	return fmt.Errorf("its last changes lie in %q and cannot be read without writing beside it: %w; make the directory writable, or copy it", db.path+"-wal", ErrReadOnly)
}

func (db *DB) openFile(ctx context.Context, how url.Values) error {
	how["_pragma"] = []string{readWait, "query_only(1)", "cache_size(-4000)", "temp_store(MEMORY)"}
	db.r = db.pool(readers, how)
	steps, err := migrations()
	if err == nil {
		db.schema, err = readable(ctx, db.r, len(steps))
	}
	if err != nil {
		_ = db.r.Close() // nothing was read through it
	}
	return err
}

// openEmpty stands in for a store that does not exist yet.
func (db *DB) openEmpty(ctx context.Context) error {
	memory, err := sql.Open("sqlite", "file::memory:?_txlock=immediate&_pragma=foreign_keys(1)")
	if err != nil {
		return err
	}
	memory.SetMaxOpenConns(1) // each connection would be a database of its own
	steps, err := migrations()
	if err == nil {
		err = migrate(ctx, memory, steps)
	}
	if err != nil {
		return errors.Join(err, memory.Close())
	}
	db.schema = len(steps)
	db.still = true
	db.r = memory
	return nil
}

// pool names the file and what every connection to it must be like.
func (db *DB) pool(connections int, how url.Values) *sql.DB {
	how.Set("_dqs", "0")
	how.Set("_error_rc", "1")
	pool, err := sql.Open("sqlite", dsn(db.path, how))
	if err != nil {
		panic("store: the SQLite driver is not linked in: " + err.Error())
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return pool
}

func dsn(path string, how url.Values) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/... on Windows
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: how.Encode()}).String()
}

// makeFile makes the directory and an empty file, both for the owner alone.
// An existing file is not opened: closing it would drop the locks that this
// process may hold on it.
func makeFile(path string) error {
	if path == "" {
		return errors.New("no path was given")
	}
	if size, err := fileSize(path); err != nil || size > 0 {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil // another process was first
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// fileSize is the size of a regular file, 0 when there is none.
func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, errors.New("it is not a regular file")
	}
	return info.Size(), nil
}

// explain finds out why SQLite could not open a file it was to write. It says
// "unable to open database file" for a directory in which no log can be made.
func explain(path string, err error) error {
	if !noRoomForLog(err) {
		return err
	}
	f, probe := os.CreateTemp(filepath.Dir(path), ".probe-*")
	if failed := (*fs.PathError)(nil); errors.As(probe, &failed) {
		return fmt.Errorf("make a file in %q: %w", filepath.Dir(path), failed.Err)
	}
	if probe != nil {
		return probe
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
