//go:build linux

package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// home makes a store with one run of one finished trial and closes it, or
// leaves its log unmerged.
func home(t *testing.T, dir string, merged bool) string {
	t.Helper()
	path := filepath.Join(dir, "a.db")
	db := open(t, path)
	plan := createRun(t, db, makePlan(id('r', 0x1000000), 1, 1))
	r := record(t, db, plan)
	v := speak(t, r, plan, plan.Trials[0])
	v.begin()
	v.finish(scoring.OutcomePassed, false)
	must(t, r.Close())
	if merged {
		must(t, db.Close())
		return path
	}
	// As a killed process leaves it: copies of the files while it is open.
	cut := filepath.Join(dir, "cut.db")
	for _, end := range []string{"", "-wal", "-shm"} {
		content, err := os.ReadFile(path + end)
		must(t, err)
		must(t, os.WriteFile(cut+end, content, 0o644))
	}
	must(t, db.Close())
	for _, end := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(path + end)
	}
	return cut
}

// On a read-only home everything can be read, by a user who may write nothing.
func TestReadOnlyHome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		merged bool
		spoil  func(t *testing.T, path string)
		want   string
	}{
		{"closed", true, nil, "runs 1 events 3"},
		{"with the log of a killed process", false, nil, "runs 1 events 3"},
		{"with a log and no index of it", false, func(t *testing.T, path string) { must(t, os.Remove(path+"-shm")) }, "error: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("/tmp", "store-home-") // t.TempDir is closed to other users
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			path := home(t, dir, c.merged)
			if c.spoil != nil {
				c.spoil(t, path)
			}
			must(t, os.Chmod(path, 0o444))
			must(t, os.Chmod(dir, 0o555))
			t.Cleanup(func() { os.Chmod(dir, 0o755) })
			before := names(t, dir)
			lines := asNobody(t, "read", path)
			if got := <-lines; !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for range lines { // until it has ended
			}
			if after := names(t, dir); before != after {
				t.Errorf("reading left %s, before it was %s", after, before)
			}
		})
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

// asNobody runs a child that may write nothing of ours: as another user when
// this is root, whom no mode bit stops.
func asNobody(t *testing.T, role, path string) <-chan string {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c := exec.Command(self)
	if os.Getuid() == 0 {
		dir, err := os.MkdirTemp("/tmp", "store-child-")
		must(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		must(t, os.Chmod(dir, 0o755))
		c = exec.Command(filepath.Join(dir, "child"))
		copyFile(t, self, c.Path)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		c.Dir = "/"
	}
	c.Env = append(os.Environ(), childVar+"="+role+" "+path+" -")
	c.Stderr = os.Stderr
	return run(t, c)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
}

// A home that cannot be written is ErrReadOnly, so that a command may open it
// for reading instead.
func TestOpenOfAReadOnlyHome(t *testing.T) {
	t.Parallel()
	dir := mounted(t, "size=4m")
	path := home(t, dir, true)
	must(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	for _, p := range []string{path, filepath.Join(dir, "new", "b.db")} {
		if _, err := store.Open(t.Context(), store.Options{Path: p}); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: got %v, want ErrReadOnly", p, err)
		}
	}
	db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
	must(t, err)
	defer db.Close()
	if _, err := db.Run(t.Context(), "", store.Latest); err != nil {
		t.Errorf("reading: got %v", err)
	}
	must(t, db.Check(t.Context()))
}

// mounted is a small file system of its own.
func mounted(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("cannot mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// A disk that fills up stops the recorder with a clear error; what was
// acknowledged before is there, and room makes the store work again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(mounted(t, "size=3m"), "a.db")
	db := open(t, path)
	plan := createRun(t, db, makePlan(id('r', 0x1000000), 1, 400))
	ballast := filepath.Join(filepath.Dir(path), "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 1<<20), 0o600))
	r := record(t, db, plan)
	done, err := fill(t, r, func(i int) *voice { return speak(t, r, plan, plan.Trials[i]) })
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v, want ErrFull and the path", err)
	}
	if done == 0 || done == len(plan.Trials) {
		t.Fatalf("%d trials fit; the test proves nothing", done)
	}
	if closed := r.Close(); !errors.Is(closed, store.ErrFull) {
		t.Errorf("Close: got %v, want ErrFull", closed)
	}
	must(t, os.Remove(ballast))
	tally, err := db.Tally(t.Context(), plan.Agents[0].ID)
	if err != nil || tally[store.Passed] != done {
		t.Errorf("%d trials were acknowledged, the store has %v, %v", done, tally, err)
	}
	must(t, db.Check(t.Context()))
	again := record(t, db, plan)
	if _, err := db.Unfinished(t.Context(), plan.RunID, false); err != nil {
		t.Error(err)
	}
	must(t, again.Emit(t.Context(), event.Event{RunID: plan.RunID, Type: event.RunFinished, Source: event.SourceRun, Sequence: 1}))
	must(t, again.Close())
}

// fill finishes trials until one fails, and says how many did not.
func fill(t *testing.T, sink event.Sink, nth func(int) *voice) (int, error) {
	t.Helper()
	source := rand.NewChaCha8([32]byte{})
	for i := range 400 {
		junk := make([]byte, 12000)
		if _, err := source.Read(junk); err != nil {
			t.Fatal(err)
		}
		v := nth(i)
		if err := smallTrial(t.Context(), sink, v, fmt.Sprintf("%q", fmt.Sprintf("%x", junk)), ending(v.base, scoring.OutcomePassed, false)); err != nil {
			return i, err
		}
	}
	return 400, nil
}

// kill -9 at any moment loses no acknowledged trial and damages nothing.
func TestKilledWhileRecording(t *testing.T) {
	t.Parallel()
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	chance := rand.New(rand.NewPCG(9, 9))
	for range rounds {
		after, delay := 1+chance.IntN(childTrials-50), time.Duration(chance.IntN(3000))*time.Microsecond
		path := filepath.Join(t.TempDir(), "a.db")
		process, lines := child(t, "record", path, "a")
		acknowledged := map[string]bool{}
		runID := strings.TrimPrefix(<-lines, "run ")
		for line := range lines {
			acknowledged[strings.TrimPrefix(line, "done ")] = true
			if len(acknowledged) == after {
				time.AfterFunc(delay, func() { _ = process.Process.Kill() })
			}
		}
		checkKilled(t, path, runID, acknowledged)
	}
}

func checkKilled(t *testing.T, path, runID string, acknowledged map[string]bool) {
	t.Helper()
	db := open(t, path)
	must(t, db.Check(t.Context()))
	marked, err := db.MarkInterrupted(t.Context(), unseen)
	if err != nil || len(marked) != 1 {
		t.Fatalf("marked %v, %v", marked, err)
	}
	agents, err := db.RunAgents(t.Context(), runID)
	must(t, err)
	finished := 0
	for _, trial := range readTrials(t, db, store.TrialFilter{RunAgentID: agents[0].ID}) {
		events, _ := readEvents(t, db, store.EventFilter{TrialID: trial.ID})
		for i, e := range events {
			if e.Sequence != int64(i+1) {
				t.Fatalf("trial %s: event %d has sequence %d", trial.ID, i, e.Sequence)
			}
		}
		switch trial.Status {
		case store.Passed:
			finished++
			if _, err := trial.End(); err != nil || len(events) != 9 {
				t.Errorf("finished trial %s has %d events, %v", trial.ID, len(events), err)
			}
		case store.Queued, store.Interrupted:
			if acknowledged[trial.ID] {
				t.Errorf("trial %s was acknowledged and is %s", trial.ID, trial.Status)
			}
		default:
			t.Errorf("trial %s is %s", trial.ID, trial.Status)
		}
	}
	t.Logf("%d trials acknowledged, %d stored", len(acknowledged), finished)
	left, err := db.Unfinished(t.Context(), runID, false)
	if err != nil || len(left) != childTrials-finished {
		t.Errorf("%d trials are left with %d finished, %v", len(left), finished, err)
	}
	must(t, db.Close())
}

// Two processes record into one store at once; both get their turns.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	_, one := child(t, "record", path, "a")
	_, two := child(t, "record", path, "b")
	counts := [2]int{}
	for i, lines := range []<-chan string{one, two} {
		for line := range lines {
			if strings.HasPrefix(line, "error") {
				t.Errorf("process %d: %s", i, line)
			}
			counts[i]++
		}
	}
	if counts != [2]int{childTrials + 1, childTrials + 1} {
		t.Errorf("the processes said %v lines, want %d each", counts, childTrials+1)
	}
	db := open(t, path)
	must(t, db.Check(t.Context()))
	runs, _, err := db.Runs(context.Background(), store.RunFilter{})
	must(t, err)
	for _, r := range runs {
		events, cursors := readEvents(t, db, store.EventFilter{RunID: r.ID})
		if len(events) != childTrials*9+1 || cursors[len(cursors)-1] != int64(len(events)) {
			t.Errorf("run %s: %d events", r.ID, len(events))
		}
	}
}

// What lies at the path of a store that is read may become another one, or change where
// the change cannot be followed. Both are told; what a log makes seen is not.
func TestStale(t *testing.T) {
	t.Parallel()
	dir := mounted(t, "size=16m")
	path := filepath.Join(dir, "a.db")
	reading := func() *store.DB {
		t.Helper()
		db, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
		must(t, err)
		t.Cleanup(func() { db.Close() })
		return db
	}
	is := func(db *store.DB, when string, want bool) {
		t.Helper()
		if db.Stale() != want {
			t.Errorf("%s: stale is %v", when, !want)
		}
	}
	none := reading()
	is(none, "without a file", false)
	home(t, dir, true)
	is(none, "with a file that was made later", true)

	must(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	still := reading()
	is(still, "where nobody writes", false)
	must(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT, ""))
	followed := reading()
	writer := open(t, path)
	is(writer, "a writer", false)
	endedRun(t, writer, 2)
	is(still, "when somebody writes", true)
	is(followed, "when somebody writes and it is followed", false)
	if _, n, err := followed.Runs(t.Context(), store.RunFilter{}); err != nil || n != 2 {
		t.Errorf("%d runs are followed, %v", n, err)
	}

	must(t, os.Rename(path, path+".old"))
	is(followed, "removed", true)
	copyFile(t, path+".old", path)
	is(followed, "replaced", true)
}
