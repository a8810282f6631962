package timebox

import (
	"context"
	"sync"
	"time"
)

// Box is a time that runs out.
type Box struct {
	mu     sync.Mutex
	timer  *time.Timer
	since  time.Time // when it last began to run
	left   time.Duration
	pauses int
	end    context.CancelCauseFunc
}

// Start returns a context that ends with cause when the time is up, pauses left
// out, and the box that keeps the time. Stop must be called.
func Start(ctx context.Context, limit time.Duration, cause error) (context.Context, *Box) {
	ctx, end := context.WithCancelCause(ctx)
	b := &Box{left: limit, since: time.Now(), end: end}
	b.timer = time.AfterFunc(limit, func() { end(cause) })
	return ctx, b
}

// Pause stops the time, and lets it run again. Pauses may be nested.
func (b *Box) Pause(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if on {
		if b.pauses++; b.pauses == 1 && b.timer.Stop() {
			b.left -= time.Since(b.since)
		}
		return
	}
	if b.pauses--; b.pauses == 0 {
		b.since = time.Now()
		b.timer.Reset(max(b.left, 0))
	}
}

// Stop ends the box and its context. It may be called twice.
func (b *Box) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pauses++ // so that nothing starts the time again
	b.timer.Stop()
	b.end(context.Canceled)
}
