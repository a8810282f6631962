package steer

import (
	"context"
	"errors"
	"sync"
)

// ErrShut is why a gate lets nobody in any more.
var ErrShut = errors.New("no other trial begins")

// Gate lets in as many as its limit says, and nobody while it is paused. It is safe
// for concurrent use.
type Gate struct {
	share int // of the limit that one who is let in takes

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	limit   int
	inside  int
	paused  bool
	shut    bool
}

// NewGate has a limit, of which each who is let in takes a share. One is let in
// whatever its share is. Both are at least 1.
func NewGate(limit, share int) *Gate {
	return &Gate{limit: max(limit, 1), share: max(share, 1), changed: make(chan struct{})}
}

// Enter waits for a place, which Leave gives back. Its error is the context's end
// or [ErrShut].
func (g *Gate) Enter(ctx context.Context) error {
	return g.wait(ctx, func() bool {
		if g.paused || g.inside >= max(g.limit/g.share, 1) {
			return false
		}
		g.inside++
		return true
	})
}

// Hold waits while the gate is paused. Its errors are those of Enter.
func (g *Gate) Hold(ctx context.Context) error {
	return g.wait(ctx, func() bool { return !g.paused })
}

// wait returns when ready says so, which is asked with the lock held.
func (g *Gate) wait(ctx context.Context, ready func() bool) error {
	for {
		g.mu.Lock()
		changed := g.changed
		switch {
		case ctx.Err() != nil:
			g.mu.Unlock()
			return context.Cause(ctx)
		case g.shut:
			g.mu.Unlock()
			return ErrShut
		case ready():
			g.mu.Unlock()
			return nil
		}
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// change wakes everybody who waits. The lock is held.
func (g *Gate) change() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Leave gives a place back.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.change()
}

// Pause keeps everybody out, or lets them in again; it says whether that is new.
func (g *Gate) Pause(paused bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paused == paused {
		return false
	}
	g.paused = paused
	g.change()
	return true
}

// Resize changes the limit, which is at least 1; it says whether that is new.
// Nobody is put out.
func (g *Gate) Resize(limit int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limit == limit {
		return false
	}
	g.limit = limit
	g.change()
	return true
}

// Shut lets nobody in any more, for good.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	g.change()
}

// Changed is closed when anything about the gate next changes.
func (g *Gate) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

// Standing is how a gate stands.
type Standing struct {
	Limit  int
	Inside int
	Paused bool
}

// Standing says how the gate stands now.
func (g *Gate) Standing() Standing {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Standing{Limit: g.limit, Inside: g.inside, Paused: g.paused}
}
