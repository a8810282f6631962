package main_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// removals are the commands that take things out of a store, with what of two workspaces
// is left once they have ended.
var removals = []struct {
	args           string
	runs, contents int
}{
	{"run prune --keep 1", 4, 5},
	{"workspace delete other --force", 3, 4},
	{"store gc", 6, 7},
}

// TestKilledWhileRemoving kills what removes with kill -9 at moments drawn by chance.
// Whole runs are left, with all that is theirs and nothing that is nobody's, and the same
// command again does the rest.
func TestKilledWhileRemoving(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	home := filepath.Join(p.dir, "home")
	fillStore(t, p)
	chance := rand.New(rand.NewPCG(12, 12))
	for _, removal := range removals {
		q := p
		longest := time.Duration(0)
		for round := range rounds(4, 60) {
			trial := filepath.Join(p.dir, "trial")
			if err := os.CopyFS(trial, os.DirFS(home)); err != nil {
				t.Fatal(err)
			}
			q.env = append(slices.Clone(p.env), "AGENTCLASH_HOME="+trial)
			c := q.command(t.Context(), strings.Fields(removal.args)...)
			begun := time.Now()
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if round > 0 { // the first one says how long it takes
				time.Sleep(time.Duration(chance.Int64N(int64(longest))))
				_ = c.Process.Kill() // it may have ended
			}
			err := c.Wait()
			if longest = max(longest, time.Since(begun)); round == 0 && err != nil {
				t.Fatalf("%s: %v", removal.args, err)
			}
			consistent(t, trial)
			q.succeeds(t, removal.args)
			q.succeeds(t, "store gc")
			if runs, contents := consistent(t, trial); runs != removal.runs || contents != removal.contents {
				t.Errorf("%s, killed and done again: %d runs and %d contents are left, want %d and %d", removal.args, runs, contents, removal.runs, removal.contents)
			}
			pages, err := filepath.Glob(filepath.Join(trial, "reports", "*"))
			if err != nil || len(pages) != removal.runs {
				t.Errorf("%s: %d pages are left, %v", removal.args, len(pages), err)
			}
			if err := os.RemoveAll(trial); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// fillStore makes three runs in each of two workspaces, each with an artifact and a page
// of its own, and an artifact of no run.
func fillStore(t *testing.T, p program) {
	t.Helper()
	noise := rand.NewChaCha8([32]byte{})
	content := make([]byte, 300_000)
	upload := func(args string) {
		if _, err := noise.Read(content); err != nil {
			t.Fatal(err)
		}
		p.write(t, "noise", string(content))
		p.succeeds(t, "artifact upload noise --type notes --quiet "+args)
	}
	reports := filepath.Join(p.dir, "home", "reports")
	for _, workspace := range []string{"default", "other"} {
		for range 3 {
			p.succeeds(t, "eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good --repetitions 10 --quiet -w "+workspace)
			upload("--run latest -w " + workspace)
			out, err := p.command(t.Context(), "run", "get", "latest", "-w", workspace, "--json", "--query", ".run_id[-8:]").Output()
			if err != nil {
				t.Fatal(err)
			}
			p.succeeds(t, fmt.Sprintf("run report latest -w %s -o %s.html", workspace, filepath.Join(reports, string(bytes.TrimSpace(out)))))
		}
	}
	upload("")
}

func (p program) succeeds(t *testing.T, args string) {
	t.Helper()
	out, err := p.command(t.Context(), strings.Fields(args)...).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "there is no workspace") { // deleted before the kill
		t.Fatalf("%s: %v\n%s", args, err, out)
	}
}

// consistent looks at a store as SQLite does: no row refers to one that is gone, every
// content has an artifact, and the file is whole.
func consistent(t *testing.T, home string) (runs, contents int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(home, "agentclash.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var dangling, unattached int
	var whole string
	err = db.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM pragma_foreign_key_check), (SELECT integrity_check FROM pragma_integrity_check),
		(SELECT count(*) FROM contents WHERE id NOT IN (SELECT content_id FROM artifacts)),
		(SELECT count(*) FROM runs), (SELECT count(*) FROM contents)`).Scan(&dangling, &whole, &unattached, &runs, &contents)
	if err != nil || dangling > 0 || unattached > 0 || whole != "ok" {
		t.Errorf("%d rows refer to what is gone, %d contents are nobody's, the file is %s, %v", dangling, unattached, whole, err)
	}
	return runs, contents
}
