package main_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// schemas are the stores of testdata/upgrade by their schema. There is one of each
// schema that a migration starts from; that of the newest may be there already.
func schemas(t *testing.T) (all []int, newest int) {
	t.Helper()
	steps, err := filepath.Glob("store/migrations/*.sql")
	if err != nil || len(steps) < 6 {
		t.Fatalf("found %d migrations, which cannot be all: %v", len(steps), err)
	}
	for n := 1; n <= len(steps); n++ {
		raw, err := unpacked(n)
		if errors.Is(err, fs.ErrNotExist) && n == len(steps) {
			break
		}
		if err != nil {
			t.Fatalf("there is no store of schema %d, which %s starts from: %v; build the commit before it, and there: make fixture", n, steps[n], err)
		}
		if got := userVersion(raw); got != n {
			t.Errorf("testdata/upgrade/schema%d.db.gz is of schema %d", n, got)
		}
		all = append(all, n)
	}
	return all, len(steps)
}

// TestUpgrade works with the store of each earlier schema: read as it is, brought up to
// date, worked with, and refused when it is newer.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	all, newest := schemas(t)
	for _, n := range tried(all) {
		t.Run(fmt.Sprintf("schema%d", n), func(t *testing.T) {
			t.Parallel()
			upgrade(t, n, newest)
		})
	}
}

// tried are the schemas that a test works with: the oldest and the newest, all with
// AGENTCLASH_SLOW.
func tried(all []int) []int {
	if rounds(0, 1) == 1 || len(all) < 2 {
		return all
	}
	return []int{all[0], all[len(all)-1]}
}

func upgrade(t *testing.T, schema, newest int) {
	testscript.Run(t, testscript.Params{
		Files:         []string{"testdata/upgrade/upgrade.txtar"},
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("SCHEMA", strconv.Itoa(schema))
			e.Setenv("AGENTCLASH_SECRET_STORE", "file")
			e.Setenv("TESTDATA", mustAbs(t, "testdata"))
			e.Setenv("CI", "")
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			since, ok := strings.CutPrefix(cond, "since:")
			n, err := strconv.Atoi(since)
			if !ok || err != nil {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return schema >= n, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"fromfile": fromFile,
			"unpack":   unpackStore,
			"plain":    plain,
			"newer":    makeNewer,
			"schema": func(ts *testscript.TestScript, _ bool, args []string) {
				want := args[1]
				if want == "newest" {
					want = strconv.Itoa(newest)
				}
				if got := strconv.Itoa(userVersion([]byte(ts.ReadFile(args[0] + "/agentclash.db")))); got != want {
					ts.Fatalf("the schema is %s, want %s", got, want)
				}
			},
		},
	})
}

// unpackStore puts the store of a schema into a directory, twice: to work with and to
// compare with.
func unpackStore(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	raw, err := unpacked(n)
	ts.Check(err)
	dir := ts.MkAbs(args[1])
	ts.Check(os.Mkdir(dir, 0o700))
	for _, name := range []string{"agentclash.db", "before.db"} {
		ts.Check(os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	}
}

func unpacked(schema int) ([]byte, error) {
	f, err := os.Open(filepath.Join("testdata", "upgrade", fmt.Sprintf("schema%d.db.gz", schema)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// schemaAt is where a SQLite file keeps its user_version, four bytes.
const schemaAt = 60

func userVersion(raw []byte) int {
	if len(raw) < schemaAt+4 || !bytes.HasPrefix(raw, []byte("SQLite format 3\x00")) {
		return -1
	}
	return int(binary.BigEndian.Uint32(raw[schemaAt:]))
}

// makeNewer gives a store a schema that no binary knows yet.
func makeNewer(ts *testscript.TestScript, _ bool, args []string) {
	file := ts.MkAbs(args[0] + "/agentclash.db")
	raw, err := os.ReadFile(file)
	ts.Check(err)
	binary.BigEndian.PutUint32(raw[schemaAt:], 999)
	ts.Check(os.WriteFile(file, raw, 0o600))
}

// what differs between two stores that hold the same
var idOrDate = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// plain writes what was printed into the file plain, without ids and dates.
func plain(ts *testscript.TestScript, _ bool, _ []string) {
	text := idOrDate.ReplaceAllString(ts.ReadFile("stdout"), "*")
	ts.Check(os.WriteFile(ts.MkAbs("plain"), []byte(text), 0o600))
}
