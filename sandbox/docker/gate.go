package docker

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/client"
)

var errGivenUp = errors.New("given up")

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 10 * time.Second
	// absence is how long an engine that does not answer at all is waited for: a
	// restart takes seconds. maxAbsent bounds the pauses meanwhile.
	absence   = 15 * time.Second
	maxAbsent = 2 * time.Second
)

// gate bounds how many containers an engine creates, starts and removes at
// once: beyond twice its processors only the waiting grows. An engine that
// fails at it gets half as many, and a pause; each time it has served as many as
// it may serve at once it may serve one more.
type gate struct {
	most int // at the best of times

	mu    sync.Mutex
	limit int // now
	busy  int
	well  int           // served since limit was changed
	pause time.Duration // the last; 0 when the engine is well
	until time.Time     // nobody gets in before
	away  time.Time     // since when nothing can be connected to; zero when something could
	queue []*turn       // first come, first served, but for those that can wait
}

// turn is somebody's place in the queue.
type turn struct {
	can  chan struct{} // closed when it has come
	late bool          // everyone else goes first
}

func newGate(most int) *gate { return &gate{most: most, limit: most} }

// enter waits for a turn. What came of it is told to leave, once. One that is late
// lets those go first that are not, also when they come later.
func (g *gate) enter(ctx context.Context, late bool) (leave func(error), err error) {
	t := &turn{can: make(chan struct{}), late: late}
	g.mu.Lock()
	at := len(g.queue)
	if !late {
		if i := slices.IndexFunc(g.queue, func(t *turn) bool { return t.late }); i >= 0 {
			at = i
		}
	}
	g.queue = slices.Insert(g.queue, at, t)
	g.admit()
	g.mu.Unlock()
	select {
	case <-t.can:
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		if i := slices.Index(g.queue, t); i >= 0 {
			g.queue = slices.Delete(g.queue, i, i+1)
			return nil, ctx.Err()
		}
		g.busy--
		g.admit()
		return nil, ctx.Err()
	}
	return func(err error) {
		if err != nil && ctx.Err() != nil {
			err = errGivenUp // that says nothing of the engine
		}
		g.left(err)
	}, nil
}

// admit lets in whoever can go in. The lock is held.
func (g *gate) admit() {
	if wait := time.Until(g.until); wait > 0 {
		return // the end of the pause admits
	}
	for len(g.queue) > 0 && g.busy < g.limit {
		close(g.queue[0].can)
		g.queue = slices.Delete(g.queue, 0, 1)
		g.busy++
	}
}

func (g *gate) left(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	switch {
	case client.IsErrConnectionFailed(err):
		if g.away.IsZero() {
			g.away = time.Now()
		}
		if time.Since(g.away) < absence { // else there is nobody to spare
			g.slow(maxAbsent)
		}
	case unwell(err):
		g.away = time.Time{}
		g.slow(maxPause)
	case err == nil:
		g.pause, g.away = 0, time.Time{}
		if g.well++; g.well >= g.limit && g.limit < g.most {
			g.limit, g.well = g.limit+1, 0
		}
	}
	g.admit()
}

// slow takes an engine's failure into account. Those that fail during a pause
// were let in before it, and are the same failure.
func (g *gate) slow(most time.Duration) {
	if time.Now().Before(g.until) {
		return
	}
	g.limit, g.well = max(g.limit/2, 1), 0
	g.pause = min(max(2*g.pause, firstPause), most)
	pause := g.pause/2 + rand.N(g.pause/2) //nolint:gosec // no secret: so that two processes do not come back at once
	g.until = time.Now().Add(pause)
	time.AfterFunc(pause, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.admit()
	})
}

// absent tells whether the engine has been waited for as long as is sensible.
func (g *gate) absent() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.away.IsZero() && time.Since(g.away) >= absence
}

// unwell tells whether an error is the engine's own, or its silence: what may
// go well a moment later.
func unwell(err error) bool {
	return err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, errNoGuest) && !errors.Is(err, errDiskFull) &&
		(cerrdefs.IsInternal(err) || cerrdefs.IsUnavailable(err) || unanswered(err))
}
