package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlitecode "modernc.org/sqlite/lib"
)

// The kinds of failure a caller may act on. Errors of this package wrap at
// most one of them; their text says what was being done.
var (
	// ErrNotFound: no row answers to the id or selector.
	ErrNotFound = errors.New("not found")
	// ErrConflict: what is stored already says otherwise.
	ErrConflict = errors.New("conflict")
	// ErrLocked: another process kept the store to itself for longer than
	// Options.Patience. Trying again may help.
	ErrLocked = errors.New("the store is in use by another process; try again")
	// ErrNewer: a newer agentclash has written this store.
	ErrNewer = errors.New("the store was written by a newer agentclash")
	// ErrReadOnly: the store was opened for reading, or cannot be written.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrFull: the disk, or a quota, has no room left.
	ErrFull = errors.New("no space left for the store")
	// ErrCorrupt: the file is damaged or is no store at all.
	ErrCorrupt = errors.New("the store is damaged")
	// ErrOwned: a run belongs to another process.
	ErrOwned = errors.New("the run belongs to another process")
	// ErrClosed: the recorder or the store has been closed.
	ErrClosed = errors.New("closed")
)

// AmbiguousError says that a selector means several things. It is no
// ErrNotFound: there is too much rather than nothing.
type AmbiguousError struct {
	What       string   // run, run agent, trial, pack
	Selector   string   // as it was typed
	Candidates []string // what it may mean, newest first, at most maxCandidates
	More       int      // how many candidates are left out
}

// maxCandidates bounds what an AmbiguousError lists.
const maxCandidates = 10

// Error lists the candidates.
func (e *AmbiguousError) Error() string {
	text := fmt.Sprintf("%q means more than one %s: %s", e.Selector, e.What, strings.Join(e.Candidates, ", "))
	if e.More > 0 {
		text += fmt.Sprintf(" or %d more", e.More)
	}
	return text
}

// fail gives a database error its kind and says what was being done. SQLite's
// own words are kept only where the kind does not say it all.
func (db *DB) fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	kind, cause := classify(err)
	if kind == nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if where := strconv.Quote(db.path); !strings.Contains(doing, where) {
		doing += ": store " + where
	}
	if !cause {
		return fmt.Errorf("%s: %w", doing, kind)
	}
	return fmt.Errorf("%s: %w: %w", doing, kind, err)
}

// classify finds the kind of a database or file error, and whether its own
// text adds to it.
func classify(err error) (kind error, cause bool) {
	for _, known := range []error{ErrNotFound, ErrConflict, ErrLocked, ErrNewer, ErrReadOnly, ErrFull, ErrCorrupt, ErrOwned} {
		if errors.Is(err, known) {
			return nil, true // it has its kind already
		}
	}
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return classifyFile(err), true
	}
	switch se.Code() {
	case sqlitecode.SQLITE_IOERR_SHMSIZE:
		return ErrFull, false // no room for the shared index of the log
	case sqlitecode.SQLITE_CONSTRAINT_UNIQUE, sqlitecode.SQLITE_CONSTRAINT_PRIMARYKEY:
		return ErrConflict, true
	}
	switch se.Code() & 0xff {
	case sqlitecode.SQLITE_BUSY, sqlitecode.SQLITE_LOCKED:
		return ErrLocked, false
	case sqlitecode.SQLITE_FULL:
		return ErrFull, false
	case sqlitecode.SQLITE_READONLY:
		return ErrReadOnly, false
	case sqlitecode.SQLITE_CORRUPT, sqlitecode.SQLITE_NOTADB:
		return ErrCorrupt, true
	}
	return nil, true
}

func classifyFile(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ErrReadOnly
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ErrFull
	}
	return nil
}

// busy says that another process holds what we need, for now.
func busy(err error) bool {
	kind, _ := classify(err)
	return errors.Is(kind, ErrLocked) || errors.Is(err, ErrLocked)
}
