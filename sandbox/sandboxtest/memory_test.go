package sandboxtest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, func(*testing.T) sandbox.Provider { return sandboxtest.Memory() }, sandboxtest.Capabilities{})
}

func open(t *testing.T, p *sandboxtest.MemoryProvider) *sandboxtest.MemoryBox {
	t.Helper()
	s, err := p.Open(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s.(*sandboxtest.MemoryBox)
}

func TestExecIsTheHandlers(t *testing.T) {
	t.Parallel()
	p := sandboxtest.Memory()
	before := open(t, p)
	p.HandleExec(func(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
		return sandboxtest.Exited(len(c.Argv), c.Argv[0], c.Env["E"]), nil
	})
	got, err := open(t, p).Exec(t.Context(), sandbox.Command{Argv: []string{"a", "b"}, Env: map[string]string{"E": "err"}})
	if d := cmp.Diff(sandboxtest.Exited(2, "a", "err"), got); err != nil || d != "" {
		t.Errorf("exec: got %v (-want +got):\n%s", err, d)
	}
	if _, err := before.Exec(t.Context(), sandbox.Command{Argv: []string{"a"}}); !errors.Is(err, sandbox.ErrNoProcess) {
		t.Errorf("exec in a box opened before there was a handler: got %v, want ErrNoProcess", err)
	}
	mine := errors.New("mine")
	before.HandleExec(func(context.Context, sandbox.Command) (sandbox.Result, error) { return sandbox.Result{}, mine })
	if _, err := before.Exec(t.Context(), sandbox.Command{Argv: []string{"a"}}); !errors.Is(err, mine) {
		t.Errorf("exec with a handler of the box's own: got %v, want its error", err)
	}
}

// A handler that knows its box can do what a program does: write files.
func TestOnOpenGivesABoxItsHandler(t *testing.T) {
	t.Parallel()
	p := sandboxtest.Memory()
	p.OnOpen(func(b *sandboxtest.MemoryBox) {
		b.HandleExec(func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
			return sandboxtest.Exited(0, "", ""), b.WriteFile(ctx, "made-by", []byte(b.ID()))
		})
	})
	for _, box := range []*sandboxtest.MemoryBox{open(t, p), open(t, p)} {
		if _, err := box.Exec(t.Context(), sandbox.Command{Argv: []string{"make"}}); err != nil {
			t.Fatalf("exec: %v", err)
		}
		if d := cmp.Diff(map[string]string{"/workspace/made-by": box.ID()}, box.Files()); d != "" {
			t.Errorf("files (-want +got):\n%s", d)
		}
	}
}

func TestTimeoutIsAResult(t *testing.T) {
	t.Parallel()
	p := sandboxtest.Memory()
	p.HandleExec(func(ctx context.Context, _ sandbox.Command) (sandbox.Result, error) {
		<-ctx.Done()
		return sandbox.Result{}, ctx.Err()
	})
	box := open(t, p)
	got, err := box.Exec(t.Context(), sandbox.Command{Argv: []string{"sleep"}, Timeout: time.Millisecond})
	if err != nil || !got.TimedOut || got.ExitCode != 137 || got.Signal != 9 {
		t.Errorf("exec that reaches its timeout: got %+v, %v, want a result that timed out", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = box.Exec(ctx, sandbox.Command{Argv: []string{"sleep"}, Timeout: time.Hour})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("exec whose context ends: got %v, want DeadlineExceeded", err)
	}
}

func TestFailTheNthCall(t *testing.T) {
	t.Parallel()
	p := sandboxtest.Memory()
	mine := errors.New("mine")
	p.Fail(sandboxtest.OpOpen, 2, mine)
	p.Fail(sandboxtest.OpWrite, 3, mine)
	a := open(t, p)
	if _, err := p.Open(t.Context(), sandbox.Spec{}); !errors.Is(err, mine) {
		t.Errorf("the second open: got %v, want mine", err)
	}
	b := open(t, p)
	b.Fail(sandboxtest.OpRead, 0, mine)
	var failed []int
	for i, box := range []sandbox.Session{a, b, a, b} { // the provider counts over all boxes
		if err := box.WriteFile(t.Context(), "x", nil); errors.Is(err, mine) {
			failed = append(failed, i)
		} else if err != nil {
			t.Errorf("write %d: got %v", i, err)
		}
	}
	if d := cmp.Diff([]int{2}, failed); d != "" {
		t.Errorf("writes that failed (-want +got):\n%s", d)
	}
	for range 2 {
		if _, err := b.ReadFile(t.Context(), "x", 1); !errors.Is(err, mine) {
			t.Errorf("each read of b: got %v, want mine", err)
		}
		if _, err := a.ReadFile(t.Context(), "x", 1); err != nil {
			t.Errorf("each read of a: got %v, want no error", err)
		}
	}
}

func TestFailedCloseLeavesTheBoxOpen(t *testing.T) {
	t.Parallel()
	box := open(t, sandboxtest.Memory())
	mine := errors.New("mine")
	box.Fail(sandboxtest.OpClose, 1, mine)
	if err := box.Close(t.Context()); !errors.Is(err, mine) || box.Closed() {
		t.Errorf("first close: got %v, closed %v, want mine and open", err, box.Closed())
	}
	if err := box.Close(t.Context()); err != nil || !box.Closed() {
		t.Errorf("second close: got %v, closed %v, want it closed", err, box.Closed())
	}
}

func TestBoxErrorEndsTheBox(t *testing.T) {
	t.Parallel()
	ends := map[string]func(b *sandboxtest.MemoryBox, e *sandbox.BoxError){
		"fault": func(b *sandboxtest.MemoryBox, e *sandbox.BoxError) { b.Fail(sandboxtest.OpExec, 1, e) },
		"handler": func(b *sandboxtest.MemoryBox, e *sandbox.BoxError) {
			b.HandleExec(func(context.Context, sandbox.Command) (sandbox.Result, error) { return sandbox.Result{}, e })
		},
		"while the handler runs": func(b *sandboxtest.MemoryBox, e *sandbox.BoxError) {
			b.HandleExec(func(ctx context.Context, _ sandbox.Command) (sandbox.Result, error) {
				b.Break(e)
				<-ctx.Done()
				return sandboxtest.Exited(0, "too late", ""), nil
			})
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := sandboxtest.Memory()
			p.HandleExec(func(context.Context, sandbox.Command) (sandbox.Result, error) { return sandbox.Result{}, nil })
			box, other := open(t, p), open(t, p)
			want := &sandbox.BoxError{Kind: sandbox.Limit, Limit: "memory"}
			end(box, want)
			var got *sandbox.BoxError
			if _, err := box.Exec(t.Context(), sandbox.Command{Argv: []string{"x"}}); !errors.As(err, &got) || got != want {
				t.Errorf("exec: got %v, want %v", err, want)
			}
			if err := box.Quiesce(t.Context()); !errors.As(err, &got) || got != want {
				t.Errorf("quiesce afterwards: got %v, want %v", err, want)
			}
			if err := other.Quiesce(t.Context()); err != nil {
				t.Errorf("quiesce of another box: got %v, want no error", err)
			}
			if err := box.Close(t.Context()); err != nil {
				t.Errorf("close: got %v, want no error", err)
			}
			if err := box.Quiesce(t.Context()); !errors.Is(err, sandbox.ErrClosed) {
				t.Errorf("quiesce after close: got %v, want ErrClosed", err)
			}
		})
	}
}

func TestBlockUntilReleased(t *testing.T) {
	t.Parallel()
	p := sandboxtest.Memory()
	gate := p.Block(sandboxtest.OpWrite, 1)
	box := open(t, p)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := box.WriteFile(t.Context(), "x", []byte("held")); err != nil {
			t.Errorf("write that was held up: got %v, want no error", err)
		}
	})
	<-gate.Reached()
	if len(box.Files()) != 0 {
		t.Errorf("files while the write is held up: got %v, want none", box.Files())
	}
	gate.Release()
	gate.Release()
	wg.Wait()
	if got := box.Files()["/workspace/x"]; got != "held" {
		t.Errorf("file after the release: got %q, want %q", got, "held")
	}
}

func TestBlockLastsNoLongerThanContextAndBox(t *testing.T) {
	t.Parallel()
	lost := &sandbox.BoxError{Kind: sandbox.Lost}
	for name, row := range map[string]struct {
		end  func(cancel func(), b *sandboxtest.MemoryBox)
		want error
	}{
		"cancelled": {func(cancel func(), _ *sandboxtest.MemoryBox) { cancel() }, context.Canceled},
		"closed": {func(_ func(), b *sandboxtest.MemoryBox) {
			if err := b.Close(context.Background()); err != nil {
				panic(err)
			}
		}, sandbox.ErrClosed},
		"broken": {func(_ func(), b *sandboxtest.MemoryBox) { b.Break(lost) }, lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := open(t, sandboxtest.Memory())
			gate := box.Block(sandboxtest.OpList, 0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error)
			go func() {
				_, err := box.List(ctx, "", true, 1)
				done <- err
			}()
			<-gate.Reached()
			row.end(cancel, box)
			if err := <-done; !errors.Is(err, row.want) {
				t.Errorf("list that was held up: got %v, want %v", err, row.want)
			}
		})
	}
}

func TestCallsAreKept(t *testing.T) {
	t.Parallel()
	p := sandboxtest.Memory()
	box := open(t, p)
	argv := []string{"make", "test"}
	_ = box.WriteFile(t.Context(), "a.txt", nil)
	_, _ = box.Exec(t.Context(), sandbox.Command{Argv: argv})
	argv[0] = "changed"
	_, _ = box.ReadFile(t.Context(), "../outside", 1)
	_ = box.Quiesce(t.Context())
	_, _ = box.List(t.Context(), "", true, 1)
	_ = box.Close(t.Context())
	want := []sandboxtest.Call{
		{Op: sandboxtest.OpWrite, Path: "a.txt"},
		{Op: sandboxtest.OpExec, Command: sandbox.Command{Argv: []string{"make", "test"}}},
		{Op: sandboxtest.OpRead, Path: "../outside"},
		{Op: sandboxtest.OpQuiesce},
		{Op: sandboxtest.OpList},
		{Op: sandboxtest.OpClose},
	}
	if d := cmp.Diff(want, box.Calls()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	if got := p.Boxes(); len(got) != 1 || got[0] != box {
		t.Errorf("boxes: got %v, want the one", got)
	}
}
