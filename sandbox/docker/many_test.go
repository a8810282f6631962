//go:build unix

package docker_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/agentclash/agentclash/sandbox"
)

// many is how much of something a test does: little always, all of it with
// AGENTCLASH_SLOW.
func many(few, all int) int {
	if os.Getenv("AGENTCLASH_SLOW") == "1" {
		return all
	}
	return few
}

// TestManyBoxesAtOnce: an engine's default address pools end after some thirty
// networks. Boxes use none of them.
func TestManyBoxesAtOnce(t *testing.T) {
	n := many(8, 200)
	o := options(t)
	p := open(t, o)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			b, err := p.Open(t.Context(), sandbox.Spec{Lifetime: 30 * time.Minute, Limits: sandbox.Limits{MemoryBytes: 64 << 20, PIDs: 32}})
			if err != nil {
				t.Errorf("box %d: %v", i, err)
				return
			}
			if r, err := b.Exec(t.Context(), sh(fmt.Sprintf("echo %d > f; while read -r l; do echo $l; done < f", i))); err != nil || r.Stdout.Text != fmt.Sprintln(i) {
				t.Errorf("box %d: got %+v, %v", i, r, err)
			}
		})
	}
	wg.Wait()
	all, err := raw(t).ContainerList(t.Context(), container.ListOptions{Filters: filters.NewArgs(filters.Arg("label", "dev.agentclash.owner="+o.Owner))})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != n {
		t.Errorf("got %d containers, want %d at once", len(all), n)
	}
	for _, c := range all {
		for name, net := range c.NetworkSettings.Networks {
			if name != "none" || net.IPAddress != "" || net.GlobalIPv6Address != "" {
				t.Fatalf("%s is in the network %q as %q", c.Names, name, net.IPAddress)
			}
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left := owned(t, o); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestManyCallsInOneBox: neither this process nor the guest keeps anything of a
// call that is over.
func TestManyCallsInOneBox(t *testing.T) {
	n := many(200, 10_000)
	b := box(t, open(t, options(t)), sandbox.Spec{Lifetime: time.Hour, Limits: sandbox.Limits{MemoryBytes: 64 << 20}})
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	// The guest's memory is that of the first process, which its programs may not
	// look at but for its size.
	guest := func() int64 {
		r := run(t, b, sh("while read -r k v u; do if [ $k = VmRSS: ]; then echo $v; fi; done < /proc/1/status"))
		kb, err := strconv.ParseInt(strings.TrimSpace(r.Stdout.Text), 10, 64)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		return kb << 10
	}
	call := func(i int) {
		text := fmt.Sprintf("%d %s", i, strings.Repeat("x", 4<<10))
		if r := run(t, b, sandbox.Command{Argv: []string{"echo", text}, Timeout: time.Minute}); r.Stdout.Text != text+"\n" {
			t.Fatalf("call %d: got %+v", i, r)
		}
		if err := b.WriteFile(t.Context(), "f", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if f, err := b.ReadFile(t.Context(), "f", 1<<20); err != nil || string(f.Data) != text {
			t.Fatalf("call %d: %d bytes, %v", i, len(f.Data), err)
		}
	}
	for i := range 200 { // what is kept for good is there by now
		call(i)
	}
	host, inside, routines := heap(), guest(), runtime.NumGoroutine()
	for i := range n {
		call(i)
	}
	hostNow, insideNow, routinesNow := heap(), guest(), runtime.NumGoroutine()
	t.Logf("after %d calls of three kinds: heap %d KiB (was %d), guest %d KiB (was %d), %d goroutines (was %d)",
		n, hostNow>>10, host>>10, insideNow>>10, inside>>10, routinesNow, routines)
	if hostNow > host+4<<20 || insideNow > inside+8<<20 || routinesNow > routines+5 {
		t.Error("memory grows with calls")
	}
}
