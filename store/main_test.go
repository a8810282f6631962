package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// childVar makes the test binary one of the children below.
const childVar = "STORE_TEST_CHILD"

// children are what another process does in the tests; each is given a path
// and one more word.
var children = map[string]func(ctx context.Context, path, word string) error{
	"record":  childRecord,
	"rescore": childRescore,
	"hold":    childHold,
	"read":    childRead,
	"migrate": childMigrate,
}

func TestMain(m *testing.M) {
	role, rest, _ := strings.Cut(os.Getenv(childVar), " ")
	if role == "" {
		os.Exit(m.Run())
	}
	path, word, _ := strings.Cut(rest, " ")
	if err := children[role](context.Background(), path, word); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// child starts this binary as a child. Its lines arrive on the channel, which
// is closed when it ends. It does not outlive the test.
func child(t *testing.T, role, path, word string) (*exec.Cmd, <-chan string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c := exec.Command(self)
	c.Env = append(os.Environ(), childVar+"="+role+" "+path+" "+word)
	c.Stderr = os.Stderr
	return c, run(t, c)
}

func run(t *testing.T, c *exec.Cmd) <-chan string {
	t.Helper()
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	lines := make(chan string, 4096)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		s := bufio.NewScanner(out)
		for s.Scan() {
			lines <- s.Text()
		}
		_ = c.Wait() // a killed child is the point of some tests
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-done
	})
	return lines
}

// childTrials is how many trials a child records.
const childTrials = 200

// childRecord records the run named by word with four trials at a time, and
// prints the id of each trial whose end was acknowledged.
func childRecord(ctx context.Context, path, word string) error {
	db, err := store.Open(ctx, store.Options{Path: path})
	if err != nil {
		return err
	}
	owner := store.Owner{ID: word, PID: os.Getpid()}
	planned := makePlan(id('r', 0x1000000*(1+int(word[0]-'a'))), 1, childTrials)
	if _, err := db.SavePack(ctx, snapshot("sums", 1)); err != nil {
		return err
	}
	if err := db.CreateRun(ctx, planned, owner); err != nil {
		return err
	}
	r, err := db.Recorder(ctx, planned.RunID, owner)
	if err != nil {
		return err
	}
	fmt.Println("run", planned.RunID)
	trials := make(chan plan.Trial)
	failed := make(chan error, 4)
	var wg sync.WaitGroup
	for range cap(failed) {
		wg.Go(func() {
			for t := range trials {
				v := speak(nil, r, planned, t)
				size := 200
				if strings.HasSuffix(t.ID, "0") {
					size = 6000 // a blob
				}
				if err := smallTrial(ctx, r, v, `"`+strings.Repeat("p", size)+`"`, ending(v.base, scoring.OutcomePassed, false)); err != nil {
					failed <- err
					return
				}
				fmt.Println("done", t.ID)
			}
		})
	}
	for _, t := range planned.Trials {
		select {
		case trials <- t:
		case err := <-failed:
			return err
		}
	}
	close(trials)
	wg.Wait()
	if err := r.Emit(ctx, event.Event{RunID: planned.RunID, Type: event.RunFinished, Source: event.SourceRun, Sequence: 1}); err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	return db.Close()
}

// childRescore writes a rescoring of the newest run, trial by trial, says so
// after each, and never finishes it. What was never attempted has nothing to be
// rescored.
func childRescore(ctx context.Context, path, _ string) error {
	db, err := store.Open(ctx, store.Options{Path: path})
	if err != nil {
		return err
	}
	run, err := db.Run(ctx, "", store.Latest)
	if err != nil {
		return err
	}
	d, err := db.Deciding(ctx, run.ID, nil)
	if err != nil {
		return err
	}
	w, err := db.StartRescoring(ctx, store.Rescoring{RunID: run.ID, PackID: run.PackID}, store.Owner{ID: "child", PID: os.Getpid()}, everybody)
	if err != nil {
		return err
	}
	for _, s := range d.Spans(1) {
		trials, err := d.Trials(ctx, s)
		if err != nil {
			return err
		}
		if trials[0].Attempt == 0 {
			continue
		}
		if err := w.Add(ctx, []store.RescoredTrial{{Of: trials[0], Result: []byte(`{}`)}}); err != nil {
			return err
		}
		fmt.Println("added", trials[0].ID)
	}
	time.Sleep(time.Hour)
	return nil
}

// childHold takes the right to write and keeps it until it is killed.
func childHold(ctx context.Context, path, _ string) error {
	db, err := store.Open(ctx, store.Options{Path: path})
	if err != nil {
		return err
	}
	_, err = db.MarkInterrupted(ctx, func(store.Owner, time.Time) bool { return true }) // the store works
	if err != nil {
		return err
	}
	return db.Hold(ctx, func() { fmt.Println("held"); time.Sleep(time.Hour) })
}

// childRead opens the store read-only and prints how many runs and events of
// the newest run there are.
func childRead(ctx context.Context, path, _ string) error {
	db, err := store.Open(ctx, store.Options{Path: path, ReadOnly: true})
	if err != nil {
		return err
	}
	runs, total, err := db.Runs(ctx, store.RunFilter{})
	if err != nil {
		return err
	}
	events := 0
	for _, r := range runs[:min(1, len(runs))] {
		err := db.Events(ctx, store.EventFilter{RunID: r.ID}, func(int64, event.Event) error { events++; return nil })
		if err != nil {
			return err
		}
	}
	if _, err := db.MarkInterrupted(ctx, func(store.Owner, time.Time) bool { return false }); err != nil {
		return err
	}
	fmt.Println("runs", total, "events", events)
	return db.Close()
}
