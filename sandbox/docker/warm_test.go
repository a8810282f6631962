//go:build unix

package docker_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// running are the ids of an owner's containers that run, by their trials.
func running(t testing.TB, o docker.Options) map[string]string {
	t.Helper()
	all, err := raw(t).ContainerList(context.Background(), container.ListOptions{Filters: filters.NewArgs(filters.Arg("label", guestbox.LabelOwner+"="+o.Owner))})
	if err != nil {
		t.Fatal(err)
	}
	trials := map[string]string{}
	for _, c := range all {
		trials[c.Labels[guestbox.LabelTrial]] = c.ID[:12]
	}
	return trials
}

func warmSpec(trial string) sandbox.Spec {
	return sandbox.Spec{
		Labels: sandbox.Labels{RunID: "warm", TrialID: trial}, Env: map[string]string{"TRIAL": trial},
		Lifetime: 5 * time.Minute, Limits: sandbox.Limits{MemoryBytes: 64 << 20},
	}
}

// warm has a box started, and waits until its container runs.
func warm(t testing.TB, p *docker.Provider, o docker.Options, ctx context.Context, spec sandbox.Spec) (id string) {
	t.Helper()
	p.Warm(ctx, spec)
	await(t, "the warm box's container runs", func() bool {
		id = running(t, o)[spec.Labels.TrialID]
		return id != ""
	})
	return id
}

func TestWarmBoxIsOpenedOnce(t *testing.T) {
	t.Parallel()
	o := options(t)
	p := open(t, o)
	one := warm(t, p, o, t.Context(), warmSpec("one"))
	two := warm(t, p, o, t.Context(), warmSpec("two"))
	b := box(t, p, warmSpec("two"))
	if b.ID() != two {
		t.Errorf("the trial got the box %s, want its own %s", b.ID(), two)
	}
	if r := run(t, b, sh("echo $TRIAL")); r.Stdout.Text != "two\n" {
		t.Errorf("got %q in its environment", r.Stdout.Text)
	}
	if again := box(t, p, warmSpec("two")); again.ID() == one || again.ID() == two {
		t.Errorf("the second box of the same trial is %s, want a fresh one", again.ID())
	}
	other := warmSpec("one")
	other.Limits.PIDs = 50
	if b := box(t, p, other); b.ID() == one {
		t.Error("a box was opened with other limits than were asked for")
	}
	if b := box(t, p, warmSpec("one")); b.ID() != one {
		t.Errorf("got the box %s, want %s", b.ID(), one)
	}
	c, err := raw(t).ContainerInspect(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Config.Cmd; !slices.Contains(got, "15m0s") {
		t.Errorf("it was started with %q, want its waiting added to its lifetime", got)
	}
}

// TestWarmBoxOnItsWay opens while the engine still works on it: there must be
// one container in the end, not two.
func TestWarmBoxOnItsWay(t *testing.T) {
	t.Parallel()
	o := options(t)
	var creates atomic.Int32
	began := make(chan struct{}, 10)
	o.Host = startRelay(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if is(r, "POST", "/containers/create") && r.URL.Query().Get("name") != "" {
			creates.Add(1)
			began <- struct{}{}
			time.Sleep(300 * time.Millisecond)
		}
		return false
	}).host
	p := open(t, o)
	p.Warm(t.Context(), warmSpec("one"))
	<-began
	wantFine(t, box(t, p, warmSpec("one")))
	if n := creates.Load(); n != 1 {
		t.Errorf("got %d containers, want the one that was on its way", n)
	}

	p.Warm(t.Context(), warmSpec("two"))
	<-began
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if b, err := p.Open(ctx, warmSpec("two")); err == nil {
		t.Errorf("got the box %s, want the context's error", b.ID())
	}
	await(t, "the box that nobody waits for any more is gone", func() bool { return len(owned(t, o)) == 1 })
}

func TestWarmBoxThatNobodyOpens(t *testing.T) {
	t.Parallel()
	o := options(t)
	p := open(t, o)
	ctx, stop := context.WithCancel(t.Context())
	warm(t, p, o, ctx, warmSpec("cancelled"))
	stop()
	await(t, "its box is gone", func() bool { return len(owned(t, o)) == 0 })
	warm(t, p, o, t.Context(), warmSpec("left"))
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := owned(t, o); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	p.Warm(t.Context(), warmSpec("late")) // nobody is there to start it
}

func TestWarmBoxThatDies(t *testing.T) {
	t.Parallel()
	o := options(t)
	p := open(t, o)
	id := warm(t, p, o, t.Context(), warmSpec("one"))
	removeContainer(t, id)
	b := box(t, p, warmSpec("one"))
	if b.ID() == id {
		t.Error("a dead box was handed out")
	}
	wantFine(t, b)
}

func TestWarmBoxWithNetwork(t *testing.T) {
	t.Parallel()
	o := options(t)
	if !haveStandIn(t) {
		t.Skip("there is no image with python3: make sandbox-image")
	}
	o.Image = docker.StandInImage
	p := open(t, o)
	spec := warmSpec("net")
	spec.Limits.MemoryBytes = 0
	spec.Network = func(context.Context, net.Conn) {
		t.Error("a connection was answered by the network of Warm, want Open's")
	}
	id := warm(t, p, o, t.Context(), spec)
	spec.Network = func(_ context.Context, conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwarm")
	}
	b := box(t, p, spec)
	if b.ID() != id {
		t.Errorf("got the box %s, want %s, which was started for it", b.ID(), id)
	}
	r := run(t, b, sandbox.Command{Argv: []string{"python3", "-c", "import urllib.request as u; print(u.urlopen('http://x.test/').read().decode())"}, Timeout: time.Minute})
	if r.Stdout.Text != "warm\n" {
		t.Errorf("got %+v", r)
	}
}

// TestWarmBoxIsTakenAtOnce: an Open may come while Warm is still at it. The race
// detector watches.
func TestWarmBoxIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	p, err := docker.Open(t.Context(), docker.Options{Host: socket(t, "", fakeEngine("fake"))})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { p.Warm(t.Context(), warmSpec("one")) })
		all.Go(func() {
			if b, err := p.Open(t.Context(), warmSpec("one")); err == nil {
				t.Errorf("an engine without images opened the box %s", b.ID())
			}
		})
	}
	all.Wait()
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWarmBoxesMakeRoomOnce: who waits asks again each second, and what is on its
// way back is enough.
func TestWarmBoxesMakeRoomOnce(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Memory = 200 << 20
	removed, hold := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var ready atomic.Bool // before, removals are of what delivers the guest
	o.Host = startRelay(t, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if ready.Load() && (is(r, "POST", "/wait") || r.Method == http.MethodDelete) {
			once.Do(func() { close(removed) })
			<-hold
		}
		return false
	}).host
	p := open(t, o)
	release := sync.OnceFunc(func() { close(hold) })
	defer release()
	warm(t, p, o, t.Context(), warmSpec("warm-1"))
	warm(t, p, o, t.Context(), warmSpec("warm-2"))
	warm(t, p, o, t.Context(), warmSpec("warm-3"))
	ready.Store(true)
	opened := openLater(t.Context(), p, warmSpec("1"))
	<-removed
	time.Sleep(2500 * time.Millisecond) // it asks at least twice
	if left := running(t, o); len(left) < 2 {
		t.Errorf("of three boxes %v are left, want two: one gives back the memory that is asked for", left)
	}
	release()
	if got := <-opened; got.err != nil {
		t.Error(got.err)
	}
}
