package store_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/agentclash/agentclash/store"
)

// older unpacks the store of an earlier schema, which a binary of then has made.
func older(t *testing.T, schema int) string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "upgrade", fmt.Sprintf("schema%d.db.gz", schema)))
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	raw, err := io.ReadAll(z)
	must(t, err)
	path := filepath.Join(t.TempDir(), "a.db")
	must(t, os.WriteFile(path, raw, 0o600))
	return path
}

// contents are the schema of a store, read without changing it, its runs and how many
// events each has.
func contents(t *testing.T, path string) (schema int, runs map[string]int) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
	must(t, err)
	defer db.Close()
	info, err := db.Info(t.Context())
	must(t, err)
	list, _, err := db.Runs(t.Context(), store.RunFilter{})
	must(t, err)
	runs = map[string]int{}
	for _, r := range list {
		events, _ := readEvents(t, db, store.EventFilter{RunID: r.ID})
		runs[r.Name] = len(events)
	}
	if len(runs) < 6 || runs["first"] < 40 {
		t.Fatalf("the store holds %v, which cannot be all", runs)
	}
	return info.Schema, runs
}

// A process that is killed in the middle of a migration, before any of its steps or
// before its end, leaves the schema and the data of before; the next one migrates.
func TestKilledInAMigration(t *testing.T) {
	t.Parallel()
	newest := store.Newest(t)
	for schema := 1; schema < newest; schema++ {
		for step := schema + 1; step <= newest+1; step++ {
			t.Run(fmt.Sprintf("%d before %d", schema, step), func(t *testing.T) {
				t.Parallel()
				path := older(t, schema)
				_, before := contents(t, path)
				process, lines := child(t, "migrate", path, strconv.Itoa(step))
				if got := <-lines; got != "in the middle" {
					t.Fatalf("the other process says %q", got)
				}
				must(t, process.Process.Kill())
				for range lines { // until it is gone
				}
				unbroken(t, path, before, schema)
			})
		}
	}
}

// unbroken checks that a store has one of the schemas and all that it held, and that it
// can be brought up to date.
func unbroken(t *testing.T, path string, before map[string]int, schemas ...int) {
	t.Helper()
	check := func(allowed []int) {
		t.Helper()
		schema, runs := contents(t, path)
		if fmt.Sprint(runs) != fmt.Sprint(before) {
			t.Errorf("it holds %v, before it was %v", runs, before)
		}
		for _, s := range allowed {
			if s == schema {
				return
			}
		}
		t.Errorf("its schema is %d, want one of %v", schema, allowed)
	}
	check(schemas)
	db := open(t, path)
	must(t, db.Check(t.Context()))
	must(t, db.Close())
	check([]int{store.Newest(t)})
}

// The same at moments drawn by chance, of which some are after the commit.
func TestKilledWhileOpeningAnOlderStore(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(11, 11))
	for schema := 1; schema < store.Newest(t); schema++ {
		path := older(t, schema)
		_, before := contents(t, path)
		process, lines := child(t, "migrate", path, "0")
		<-lines // it begins
		time.Sleep(time.Duration(chance.IntN(15000)) * time.Microsecond)
		_ = process.Process.Kill() // it may have ended
		for range lines {
		}
		unbroken(t, path, before, schema, store.Newest(t))
	}
}

// childMigrate brings a store up to date. It halts for good before the step whose
// number is word, or after the last one; with 0 it does not.
func childMigrate(ctx context.Context, path, word string) error {
	step, err := strconv.Atoi(word)
	if err != nil {
		return err
	}
	if step > 0 {
		return store.MigrateHalting(ctx, path, step, func() { fmt.Println("in the middle"); time.Sleep(time.Hour) })
	}
	fmt.Println("begins")
	db, err := store.Open(ctx, store.Options{Path: path})
	if err != nil {
		return err
	}
	return db.Close()
}
