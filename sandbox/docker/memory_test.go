//go:build unix

package docker_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
)

// notes are the lines that a provider says.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

// opening is an Open in the background.
type opening struct {
	b   sandbox.Session
	err error
}

func openLater(ctx context.Context, p *docker.Provider, spec sandbox.Spec) <-chan opening {
	c := make(chan opening, 1)
	go func() {
		b, err := p.Open(ctx, spec)
		c <- opening{b, err}
	}()
	return c
}

func TestBoxesWaitForMemory(t *testing.T) {
	t.Parallel()
	o := options(t)
	var said notes
	o.Memory, o.Progress = 200<<20, said.add
	p := open(t, o)
	var held []sandbox.Session
	for _, trial := range []string{"1", "2", "3"} {
		held = append(held, box(t, p, warmSpec(trial)))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	first := openLater(t.Context(), p, warmSpec("4"))
	await(t, "it says that it waits", func() bool { return len(said.all()) > 0 })
	givenUp := openLater(ctx, p, warmSpec("5"))
	time.Sleep(50 * time.Millisecond) // so that the next comes after it
	last := openLater(t.Context(), p, warmSpec("6"))
	if n := len(owned(t, o)); n != 3 {
		t.Errorf("got %d containers, want the 3 that fit", n)
	}
	stop()
	if got := <-givenUp; !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %v of the one that gave up", got.err)
	}
	_ = held[0].Close(t.Context())
	got := <-first
	if got.err != nil {
		t.Fatal(got.err)
	}
	select {
	case got := <-last:
		t.Errorf("the last came in before there was room: %v", got.err)
	default:
	}
	_ = got.b.Close(t.Context())
	if got := <-last; got.err != nil {
		t.Error(got.err)
	} else {
		wantFine(t, got.b)
	}
	lines := said.all()
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "waiting for memory: boxes may have 200 MiB of this engine, this run's hold 192 MiB") {
		t.Errorf("it said %q, want once that it waits", lines)
	}
}

func TestBoxThatNeverFits(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Memory = 100 << 20
	p := open(t, o)
	spec := warmSpec("1")
	spec.Limits.MemoryBytes = 128 << 20
	_, described := p.Describe(t.Context(), spec)
	_, opened := p.Open(t.Context(), spec)
	for _, err := range []error{described, opened} {
		if !errors.Is(err, sandbox.ErrSpec) || !strings.Contains(err.Error(), "give the engine 160 MiB") {
			t.Errorf("got %v, want what to do", err)
		}
	}
	if all := owned(t, o); len(all) > 0 {
		t.Errorf("got the containers %v", all)
	}
}

// TestWarmBoxesMakeRoom: all memory is in boxes that nobody uses yet when other
// trials want some.
func TestWarmBoxesMakeRoom(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Memory = 200 << 20
	p := open(t, o)
	for _, trial := range []string{"warm-1", "warm-2", "warm-3"} {
		warm(t, p, o, t.Context(), warmSpec(trial))
	}
	p.Warm(t.Context(), warmSpec("warm-4")) // there is no room for it
	a := box(t, p, warmSpec("1"))
	if running(t, o)["warm-1"] != "" {
		t.Error("the oldest warm box is still there")
	}
	b, c := box(t, p, warmSpec("2")), box(t, p, warmSpec("3"))
	for _, b := range []sandbox.Session{a, b, c} {
		wantFine(t, b)
	}
	await(t, "the warm ones are gone", func() bool { return len(owned(t, o)) == 3 })
	_ = a.Close(t.Context())
	wantFine(t, box(t, p, warmSpec("warm-1"))) // it is opened all the same
}

// smallEngine is the real one with little memory, on which only the boxes of
// these owners are.
func smallEngine(t *testing.T, bytes int64, owners ...string) string {
	return startRelay(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		info, list := is(r, "GET", "/info"), is(r, "GET", "/containers/json")
		if !info && !list {
			return false
		}
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		var answer any
		if info {
			all := map[string]any{}
			_ = json.Unmarshal(rec.Body.Bytes(), &all)
			all["MemTotal"] = bytes
			answer = all
		} else {
			all := []map[string]any{}
			_ = json.Unmarshal(rec.Body.Bytes(), &all)
			answer = slices.DeleteFunc(all, func(c map[string]any) bool {
				owner, _ := c["Labels"].(map[string]any)["dev.agentclash.owner"].(string)
				return !slices.Contains(owners, owner)
			})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
		return true
	}).host
}

func TestOtherProcessesCountToo(t *testing.T) {
	t.Parallel()
	mine, theirs := options(t), options(t)
	var said notes
	mine.Progress = said.add
	theirs.Owner += "/other"
	host := smallEngine(t, 250<<20, mine.Owner, theirs.Owner) // 200 MiB for boxes
	mine.Host, mine.Memory, theirs.Host, theirs.Memory = host, 0, host, 0
	p, other := open(t, mine), open(t, theirs)
	var held []sandbox.Session
	for _, trial := range []string{"1", "2", "3"} {
		held = append(held, box(t, other, warmSpec(trial)))
	}
	// It does not wait for the end of another's run.
	wantFine(t, box(t, p, warmSpec("first")))
	second := openLater(t.Context(), p, warmSpec("second"))
	await(t, "it says that it waits", func() bool { return len(said.all()) > 0 })
	if line := said.all()[0]; !strings.Contains(line, "this run's hold 64 MiB and other processes' 192 MiB") {
		t.Errorf("it said %q", line)
	}
	for _, b := range held[:2] {
		_ = b.Close(t.Context())
	}
	if got := <-second; got.err != nil {
		t.Error(got.err)
	} else {
		wantFine(t, got.b)
	}
}

// TestUnwellEngineIsSpared: an engine that fails is asked again, later and less.
func TestUnwellEngineIsSpared(t *testing.T) {
	t.Parallel()
	o := options(t)
	var failed, busy, most atomic.Int32
	o.Host = startRelay(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if !is(r, "POST", "/start") {
			return false
		}
		if failed.Add(1) <= 2 {
			time.Sleep(50 * time.Millisecond) // both are on their way
			return refuse(w, http.StatusInternalServerError, "the engine is unwell")
		}
		n := busy.Add(1)
		defer busy.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(100 * time.Millisecond)
		next.ServeHTTP(w, r)
		return true
	}).host
	p := open(t, o)
	before := 2 * p.Engine().CPUs
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			b, err := p.Open(t.Context(), warmSpec(string(rune('a'+i))))
			if err != nil {
				t.Error(err)
				return
			}
			_ = b.Close(t.Context())
		})
	}
	wg.Wait()
	if n := int(most.Load()); n > max(before/2, 1)+1 {
		t.Errorf("%d starts at once after a failure, of %d before: want half", n, before)
	}
}

// TestMemoryOfAFailedStart: what did not start holds its memory until it is gone.
func TestMemoryOfAFailedStart(t *testing.T) {
	t.Parallel()
	o := options(t)
	var said notes
	o.Memory, o.Progress = 100<<20, said.add
	wantFine(t, box(t, open(t, o), warmSpec("0"))) // the engine has the guest now
	o.Owner += "/failing"
	var once sync.Once
	hold := make(chan struct{})
	o.Host = startRelay(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		switch {
		case is(r, "POST", "/start"):
			refused := false
			once.Do(func() { refused = refuse(w, http.StatusBadRequest, "planned by the test") })
			return refused
		case r.Method == http.MethodDelete:
			<-hold
		}
		return false
	}).host
	p := open(t, o)
	release := sync.OnceFunc(func() { close(hold) })
	defer release()
	if _, err := p.Open(t.Context(), warmSpec("1")); err == nil {
		t.Fatal("got a box, want the engine's refusal")
	}
	second := openLater(t.Context(), p, warmSpec("2"))
	await(t, "it waits for memory", func() bool { return len(said.all()) > 0 })
	release()
	if got := <-second; got.err != nil {
		t.Error(got.err)
	}
}
