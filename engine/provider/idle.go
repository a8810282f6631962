package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"
)

// ErrIdle is the cause of a context that [StartIdle] cancelled.
var ErrIdle = errors.New("the provider fell silent")

// Idle ends a call whose other side has gone silent. It bounds each wait for
// the provider and not the whole call, so a long answer that keeps coming is
// never cut; the caller's context bounds the whole. Time the caller takes
// between two reads does not count.
type Idle struct {
	limit time.Duration
	timer *time.Timer
	stop  context.CancelCauseFunc
	began time.Time
	heard atomic.Int64 // when the last byte came, in ns after began
}

// StartIdle returns the context to make a call with, and the watch over it. The
// first wait, for the reply to begin, starts now; those for its pieces are
// watched by the reader [Idle.Reader] makes. A limit of zero or less never
// passes. Stop must be called.
func StartIdle(ctx context.Context, limit time.Duration) (context.Context, *Idle) {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	ctx, cancel := context.WithCancelCause(ctx)
	i := &Idle{limit: limit, stop: cancel, began: time.Now()}
	i.timer = time.AfterFunc(limit, func() {
		cancel(fmt.Errorf("%w for %v", ErrIdle, limit))
	})
	return ctx, i
}

// Reader ends the wait for the reply to begin, and watches each read of body:
// one that brings nothing for the limit cancels the call.
func (i *Idle) Reader(body io.ReadCloser) io.ReadCloser {
	i.timer.Stop()
	i.hear()
	return &idleReader{idle: i, body: body}
}

func (i *Idle) hear() { i.heard.Store(int64(time.Since(i.began))) }

// Silent is how long nothing has come from the provider, in whole milliseconds:
// since the last byte, or since the watch began when there was none.
func (i *Idle) Silent() time.Duration {
	return (time.Since(i.began) - time.Duration(i.heard.Load())).Truncate(time.Millisecond)
}

// Stop ends the watch and releases the call's context. It may be called twice.
func (i *Idle) Stop() {
	i.timer.Stop()
	i.stop(context.Canceled)
}

type idleReader struct {
	idle *Idle
	body io.ReadCloser
}

func (r *idleReader) Read(p []byte) (int, error) {
	r.idle.timer.Reset(r.idle.limit)
	n, err := r.body.Read(p)
	r.idle.timer.Stop()
	if n > 0 {
		r.idle.hear()
	}
	return n, err
}

func (r *idleReader) Close() error { return r.body.Close() }

// FromContext describes a call that ended because its context did: Timeout when
// a deadline passed or the provider fell silent, Cancelled otherwise, with the
// context's cause kept. It returns nil while the context is alive.
func FromContext(ctx context.Context, provider string) *Error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	e := &Error{Provider: provider, Code: Cancelled, Message: cause.Error(), Err: cause}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, ErrIdle) {
		e.Code = Timeout
	}
	if !errors.Is(cause, err) {
		e.Err = fmt.Errorf("%w: %w", err, cause)
	}
	return e
}
