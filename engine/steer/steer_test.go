package steer_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/agentclash/agentclash/engine/steer"
)

// TestGate: who waits is let in by each of the changes that make room, and by no other.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := steer.NewGate(2, 1)
		var inside atomic.Int32
		for range 5 {
			go func() {
				if g.Enter(t.Context()) == nil {
					inside.Add(1)
				}
			}()
		}
		want := func(n int32, after string) {
			t.Helper()
			synctest.Wait()
			if got := inside.Load(); got != n {
				t.Errorf("%s, %d are let in, want %d", after, got, n)
			}
		}
		want(2, "with a limit of 2")
		if !g.Pause(true) || g.Pause(true) {
			t.Error("a pause is new once")
		}
		g.Leave()
		want(2, "paused, with a place free")
		g.Resize(3)
		want(2, "paused, with a higher limit")
		g.Pause(false)
		want(4, "resumed")
		g.Resize(1)
		g.Leave()
		g.Leave()
		want(4, "with one inside, and a limit of 1")
		if s := g.Standing(); s != (steer.Standing{Limit: 1, Inside: 1}) {
			t.Errorf("got %+v", s)
		}
		g.Shut()
		if err := g.Enter(t.Context()); !errors.Is(err, steer.ErrShut) {
			t.Errorf("a shut gate: %v", err)
		}
	})
}

// TestShares: places of a share each, of which there is always one.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ limit, share, places int }{{1, 1, 1}, {7, 3, 2}, {2, 3, 1}, {6, 3, 2}, {0, 0, 1}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancelCause(t.Context())
			cause := errors.New("over")
			g := steer.NewGate(c.limit, c.share)
			entered, refused := 0, 0
			var mu sync.Mutex
			for range 10 {
				go func() {
					err := g.Enter(ctx)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						entered++
					} else if errors.Is(err, cause) {
						refused++
					}
				}()
			}
			synctest.Wait()
			end(cause)
			synctest.Wait()
			if entered != c.places || refused != 10-c.places {
				t.Errorf("%+v: %d entered, and %d were told why not", c, entered, refused)
			}
		})
	}
}

// TestLine: what is added while anything goes on is done, and nothing is done twice.
func TestLine(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		first := make([]int, random.IntN(4))
		for i := range first {
			first[i] = i
		}
		l := steer.NewLine(first)
		var added atomic.Int64
		added.Store(int64(len(first)))
		var wg sync.WaitGroup
		done := map[int]int{}
		var mu sync.Mutex
		for l.Wait(t.Context()) {
			for _, n := range l.Take(func(left []int) (taken, rest []int) { return left[:1], left[1:] }) {
				wg.Go(func() {
					defer l.Done()
					mu.Lock()
					done[n]++
					mu.Unlock()
					if n >= 20 {
						return
					}
					counted := false
					if !l.Add([]int{n + 10}, func() { added.Add(1); counted = true }) || !counted {
						t.Error("one that goes on cannot add to the line")
					}
				})
			}
		}
		wg.Wait()
		if int64(len(done)) != added.Load() {
			t.Errorf("%d of %d are done", len(done), added.Load())
		}
		for n, times := range done {
			if times != 1 {
				t.Errorf("%d is done %d times", n, times)
			}
		}
		if l.Add([]int{1}, func() { t.Error("a closed line is added to") }) {
			t.Error("a closed line takes more")
		}
	}
}

// TestALineEnds with its context, and when it is closed.
func TestALineEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		l := steer.NewLine([]int{1})
		l.Take(func(left []int) (taken, rest []int) { return left, nil })
		waited := make(chan bool)
		go func() { waited <- l.Wait(ctx) }()
		synctest.Wait()
		end()
		if <-waited || l.Add(nil, func() {}) {
			t.Error("an ended line goes on")
		}
		other := steer.NewLine([]int{1})
		other.Close()
		if other.Wait(t.Context()) {
			t.Error("a closed line has something to do")
		}
	})
}
