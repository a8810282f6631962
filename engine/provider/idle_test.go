package provider_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

func TestIdleBeforeTheReply(t *testing.T) {
	t.Parallel()
	ctx, idle := provider.StartIdle(t.Context(), time.Millisecond)
	defer idle.Stop()
	<-ctx.Done()
	e := provider.FromContext(ctx, "p")
	if e == nil || e.Code != provider.Timeout || !errors.Is(e, provider.ErrIdle) {
		t.Fatalf("got %v, want a timeout because of silence", e)
	}
	if want := "p: timeout: the provider fell silent for 1ms"; e.Error() != want {
		t.Errorf("got %q, want %q", e.Error(), want)
	}
}

func TestIdleBetweenPieces(t *testing.T) {
	t.Parallel()
	ctx, idle := provider.StartIdle(t.Context(), 50*time.Millisecond)
	defer idle.Stop()
	pr, pw := io.Pipe()
	body := idle.Reader(pr)
	go func() { _, _ = pw.Write([]byte("x")) }() // ends when the byte is read
	buf := make([]byte, 8)
	if n, err := body.Read(buf); n != 1 || err != nil {
		t.Fatalf("got %d bytes, %v", n, err)
	}
	context.AfterFunc(ctx, func() { _ = pw.CloseWithError(context.Cause(ctx)) })
	if _, err := body.Read(buf); !errors.Is(err, provider.ErrIdle) {
		t.Errorf("got %v, want silence to end the read", err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
}

// Only waiting for the provider counts: a caller that is slow with what it was
// given does not lose its call.
func TestIdleWhileTheCallerWorks(t *testing.T) {
	t.Parallel()
	const limit = 200 * time.Millisecond
	ctx, idle := provider.StartIdle(t.Context(), limit)
	defer idle.Stop()
	body := idle.Reader(io.NopCloser(eternal{}))
	for range 2 {
		if _, err := body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the call was ended: %v", context.Cause(ctx))
		case <-time.After(limit + limit/2): // the work that takes too long
		}
	}
}

type eternal struct{}

func (eternal) Read(p []byte) (int, error) { return len(p), nil }

func TestIdleWithoutALimit(t *testing.T) {
	t.Parallel()
	ctx, idle := provider.StartIdle(t.Context(), 0)
	if ctx.Err() != nil {
		t.Errorf("got %v, want no limit", ctx.Err())
	}
	idle.Stop()
	idle.Stop()
	if ctx.Err() == nil {
		t.Error("the context outlives Stop")
	}
}

// How long nothing has come is counted from the last byte, a header's included, or
// from the beginning when there was none.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, idle := provider.StartIdle(t.Context(), time.Hour)
		defer idle.Stop()
		want := func(when string, d time.Duration) {
			t.Helper()
			if got := idle.Silent(); got != d {
				t.Errorf("%s: silent for %v, want %v", when, got, d)
			}
		}
		time.Sleep(3 * time.Second)
		want("before anything came", 3*time.Second)
		pr, pw := io.Pipe()
		body := idle.Reader(pr)
		want("with the headers", 0)
		time.Sleep(2 * time.Second)
		want("after the headers", 2*time.Second)
		go func() { _, _ = pw.Write([]byte("x")) }() // ends when the byte is read
		if _, err := body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second + time.Microsecond)
		want("after a byte", time.Second)
		_ = pw.Close()
		_, _ = body.Read(make([]byte, 1)) // the end, which is no byte
		want("at the end", time.Second)
	})
}

func TestFromContext(t *testing.T) {
	t.Parallel()
	if e := provider.FromContext(t.Context(), "p"); e != nil {
		t.Errorf("a living context: got %v", e)
	}
	why := errors.New("budget spent")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	e := provider.FromContext(ctx, "p")
	if e.Code != provider.Cancelled || !errors.Is(e, why) || !errors.Is(e, context.Canceled) || e.Error() != "p: cancelled: budget spent" {
		t.Errorf("a cancelled context: got %v", e)
	}
	ctx, stop := context.WithDeadlineCause(t.Context(), time.Now().Add(-time.Second), why)
	defer stop()
	e = provider.FromContext(ctx, "p")
	if e.Code != provider.Timeout || !errors.Is(e, why) || !errors.Is(e, context.DeadlineExceeded) {
		t.Errorf("a passed deadline: got %v", e)
	}
}
