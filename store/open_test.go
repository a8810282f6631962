package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/store"
)

func TestOpenMakesAPrivateStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "home #1?", "a%20b.db") // a name that needs care in a DSN
	db := open(t, path)
	createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
	for name, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(name)
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: got mode %o, want %o", name, got, want)
		}
	}
	info, err := db.Info(t.Context())
	must(t, err)
	if info.Schema != store.Newest(t) || info.Path != path || info.Bytes == 0 || info.Runs != 1 || info.ReadOnly {
		t.Errorf("info: got %+v", info)
	}
	must(t, db.Check(t.Context()))
	must(t, db.Close())
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log outlives the last Close: %v", err)
	}
	if _, total, err := open(t, path).Runs(t.Context(), store.RunFilter{}); err != nil || total != 1 {
		t.Errorf("opened again: %d runs, %v", total, err)
	}
}

// Many that open a store that does not exist yet all get it.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := store.Open(t.Context(), store.Options{Path: path})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := db.SavePack(t.Context(), snapshot("sums", 1)); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	garbage := bytes.Repeat([]byte("this is no database. "), 1000)
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want error
		text string
	}{
		{"a newer schema", func(t *testing.T, path string) {
			must(t, open(t, path).Close())
			must(t, store.MigrateWith(t.Context(), path, "CREATE TABLE future (x)"))
		}, store.ErrNewer, fmt.Sprintf("its schema is %d, this binary knows schemas up to %d", store.Newest(t)+1, store.Newest(t))},
		{"another program's database", func(t *testing.T, path string) {
			must(t, store.MakeForeign(t.Context(), path))
		}, store.ErrCorrupt, "another program"},
		{"garbage", func(t *testing.T, path string) { must(t, os.WriteFile(path, garbage, 0o600)) }, store.ErrCorrupt, "not a database"},
		{"a damaged store", func(t *testing.T, path string) {
			must(t, open(t, path).Close())
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteAt(garbage[:4000], 100) // the schema's page, after the header
			must(t, err)
			must(t, f.Close())
		}, store.ErrCorrupt, "malformed"},
		{"a directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, nil, "not a regular file"},
	} {
		for _, readOnly := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "a.db")
				c.make(t, path)
				before, _ := os.ReadFile(path) // none of a directory
				db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: readOnly})
				if err == nil {
					db.Close()
					t.Fatal("got no error")
				}
				if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), path) {
					t.Errorf("read-only %v: got %v, want %q and the path", readOnly, err, c.text)
				}
				if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
					t.Errorf("read-only %v: the refused file was changed", readOnly)
				}
			})
		}
	}
	if _, err := store.Open(t.Context(), store.Options{}); err == nil {
		t.Error("no path: got no error")
	}
}

// A migration that fails half-way leaves the store as it was.
func TestFailedMigrationChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path)
	createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
	must(t, db.Close())
	for name, steps := range map[string][]string{
		"second of two": {"CREATE TABLE extra (x); ALTER TABLE runs ADD COLUMN more TEXT; DELETE FROM trials", "ALTER TABLE nothing ADD COLUMN y"},
		"dangling":      {"DELETE FROM run_agents"},
	} {
		if err := store.MigrateWith(t.Context(), path, steps...); err == nil {
			t.Fatalf("%s: got no error", name)
		}
		db := open(t, path)
		if _, err := db.Unfinished(t.Context(), id('r', 0x1000000), false); err != nil {
			t.Errorf("%s: the store afterwards: %v", name, err)
		}
		info, err := db.Info(t.Context())
		if err != nil || info.Schema != store.Newest(t) || info.Runs != 1 {
			t.Errorf("%s: got %+v, %v", name, info, err)
		}
		must(t, db.Check(t.Context()))
		must(t, db.Close())
	}
	must(t, store.MigrateWith(t.Context(), path, "CREATE TABLE extra (x)", "DROP TABLE extra"))
}

func TestReadOnlyWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "none", "a.db")
	db, err := store.Open(t.Context(), store.Options{Path: missing, ReadOnly: true})
	must(t, err)
	defer db.Close()
	if runs, total, err := db.Runs(t.Context(), store.RunFilter{}); err != nil || total != 0 || len(runs) != 0 {
		t.Errorf("a store that is not there: got %v of %d, %v", runs, total, err)
	}
	if _, err := db.Run(t.Context(), "", store.Latest); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("its newest run: got %v, want not found", err)
	}
	if _, err := os.Stat(filepath.Dir(missing)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made a directory: %v", err)
	}
	if !db.ReadOnly() {
		t.Error("it says that it can be written")
	}
	for what, err := range map[string]error{
		"SavePack":      ignore(db.SavePack(t.Context(), snapshot("sums", 1))),
		"RequestCancel": db.RequestCancel(t.Context(), "r"),
		"Recorder":      ignore(db.Recorder(t.Context(), "r", me)),
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: got %v, want ErrReadOnly", what, err)
		}
	}
	if marked, err := db.MarkInterrupted(t.Context(), unseen); err != nil || marked != nil {
		t.Errorf("MarkInterrupted: got %v, %v", marked, err)
	}
}

func ignore[T any](_ T, err error) error { return err }

// One process writes at a time; another waits for its turn and says so when it
// does not come.
func TestLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := store.Open(t.Context(), store.Options{Path: path, Patience: 50 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	holder, lines := child(t, "hold", path, "")
	if got := <-lines; got != "held" {
		t.Fatalf("the other process says %q", got)
	}
	_, err = db.SavePack(t.Context(), snapshot("sums", 1))
	if !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("while it holds the store: got %v, want ErrLocked", err)
	}
	if _, _, err := db.Runs(t.Context(), store.RunFilter{}); err != nil {
		t.Errorf("a reader: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.RequestCancel(ctx, "r"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: got %v", err)
	}
	reading, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
	must(t, err)
	must(t, reading.Close())
	must(t, holder.Process.Kill())
	for range lines { // until it is gone
	}
	_, err = db.SavePack(t.Context(), snapshot("sums", 1))
	must(t, err)
}

// A store that may not grow any more says so, and keeps what it has.
func TestQuota(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	plan := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
	must(t, db.LimitPages(t.Context(), 1)) // no more than there are
	big := snapshot("big", 1)
	big.Assets = map[string][]byte{"noise": []byte(noise(1 << 18))}
	if _, err := db.SavePack(t.Context(), big); !errors.Is(err, store.ErrFull) {
		t.Errorf("without room: got %v, want ErrFull", err)
	}
	must(t, db.LimitPages(t.Context(), 1<<20))
	if _, err := db.Run(t.Context(), "", plan.RunID); err != nil {
		t.Errorf("what was there before: %v", err)
	}
	_, err := db.SavePack(t.Context(), big)
	must(t, err)
	must(t, db.Check(t.Context()))
}
