package timebox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentclash/agentclash/engine/timebox"
)

var errUp = errors.New("time is up")

// Pauses do not count, nested ones once.
func TestPausesDoNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, box := timebox.Start(t.Context(), 10*time.Second, errUp)
		defer box.Stop()
		for range 3 {
			time.Sleep(3 * time.Second)
			box.Pause(true)
			time.Sleep(time.Minute)
			box.Pause(true)
			time.Sleep(time.Minute)
			box.Pause(false)
			time.Sleep(time.Minute)
			box.Pause(false)
			if ctx.Err() != nil {
				t.Fatalf("over after %v", time.Since(began))
			}
		}
		<-ctx.Done()
		if took := time.Since(began); took != 9*time.Minute+10*time.Second || !errors.Is(context.Cause(ctx), errUp) {
			t.Errorf("over after %v with %v", took, context.Cause(ctx))
		}
	})
}

// A box that is stopped, or whose context ends otherwise, says so.
func TestOtherEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, box := timebox.Start(t.Context(), time.Second, errUp)
		box.Pause(true)
		box.Stop()
		box.Pause(false)
		time.Sleep(time.Minute)
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("stopped: got %v", context.Cause(ctx))
		}
		outer, cancel := context.WithCancelCause(t.Context())
		ctx, box = timebox.Start(outer, time.Second, errUp)
		defer box.Stop()
		cancel(errors.ErrUnsupported)
		if !errors.Is(context.Cause(ctx), errors.ErrUnsupported) {
			t.Errorf("ended from outside: got %v", context.Cause(ctx))
		}
	})
}
