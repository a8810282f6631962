package docker_test

import (
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/agentclash/agentclash/sandbox"
)

// TestRunawayPrograms runs, in boxes of their own, what agents do to them. Each
// must end as a result, and leave a box that works.
func TestRunawayPrograms(t *testing.T) {
	t.Parallel()
	p := open(t, options(t))
	late := func(t *testing.T, r sandbox.Result) {
		if !r.TimedOut || r.ExitCode != 137 {
			t.Errorf("got %+v, want timed out", r)
		}
	}
	for name, tc := range map[string]struct {
		args   []string
		limits sandbox.Limits
		check  func(t *testing.T, r sandbox.Result)
	}{
		"ignores every signal":              {args: []string{"ignore"}, check: late},
		"a daemon without its environment":  {args: []string{"daemon", "bare", "detached", "stay"}, check: late},
		"a fork bomb":                       {args: []string{"bomb"}, limits: sandbox.Limits{PIDs: 128}, check: late},
		"a fork bomb of sessions":           {args: []string{"bomb", "setsid"}, limits: sandbox.Limits{PIDs: 128}, check: late},
		"endless output":                    {args: []string{"spew"}, check: wantOutputLimit},
		"much output":                       {args: []string{"spew", "20000000"}, check: wantMuchOutput},
		"more memory than there is":         {args: []string{"hog"}, limits: sandbox.Limits{MemoryBytes: 128 << 20}, check: wantOutOfMemory},
		"every signal to the first process": {args: []string{"signals"}, check: wantClean},
		"the guest's descriptors": {
			args:  []string{"pry", "/proc/1/fd/0", "/proc/1/fd/1", "/proc/1/fd/2", "/proc/1/mem", "/proc/1/environ", "/proc/1/maps", "/proc/1/cwd"},
			check: wantClean,
		},
		"files without content": {args: []string{"files", "/workspace"}, limits: sandbox.Limits{WorkspaceBytes: 16 << 20}, check: wantClean},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.args[0] == "files" && p.Engine().Name == podman {
				t.Skip("Podman takes no limit on the number of files: the box's memory ends it")
			}
			b := box(t, p, sandbox.Spec{Limits: tc.limits})
			c := guestProgram(tc.args...)
			if tc.args[0] == "bomb" || tc.args[0] == "ignore" || tc.args[0] == "daemon" {
				c.Timeout = time.Second
			}
			tc.check(t, run(t, b, c))
			if tc.args[0] == "files" {
				if err := b.WriteFile(t.Context(), "one-more", []byte("x")); !errors.Is(err, sandbox.ErrNoSpace) {
					t.Errorf("one file more: got %v, want ErrNoSpace", err)
				}
			}
			wantFine(t, b)
			if left := processes(t, b); left != "1\n" {
				t.Errorf("still running: %q", left)
			}
		})
	}
}

// TestSignalsWhileProgramsStart sends every signal to the guest again and again while it
// starts programs: the thread that forks blocks signals, and those that have no handler
// would end a first process of which one thread blocks them.
func TestSignalsWhileProgramsStart(t *testing.T) {
	t.Parallel()
	b := box(t, open(t, options(t)), sandbox.Spec{})
	sent := make(chan error, 1)
	go func() {
		c := guestProgram("signals", "5000")
		c.Timeout = time.Minute
		_, err := b.Exec(t.Context(), c)
		sent <- err
	}()
	for done := false; !done; {
		select {
		case err := <-sent:
			if err != nil {
				t.Error(err)
			}
			done = true
		default:
			run(t, b, sh("true"))
		}
	}
	wantFine(t, b)
}

// processes lists the box's processes but the one that lists.
func processes(t *testing.T, b sandbox.Session) string {
	t.Helper()
	return run(t, b, sh(`for p in /proc/[0-9]*; do p=${p#/proc/}; if [ $p != $$ ]; then echo $p; fi; done`)).Stdout.Text
}

func wantClean(t *testing.T, r sandbox.Result) {
	t.Helper()
	if r.ExitCode != 0 || r.TimedOut || r.StartError != "" {
		t.Errorf("got %+v, want exit 0", r)
	}
}

func wantOutputLimit(t *testing.T, r sandbox.Result) {
	t.Helper()
	if !r.OutputLimit || r.TimedOut || r.ExitCode != 137 || !r.Stdout.Truncated || len(r.Stdout.Text) > 1100<<10 || r.Stdout.Bytes < 64<<20 {
		t.Errorf("got limit %v, timed out %v, exit %d, %d of %d bytes", r.OutputLimit, r.TimedOut, r.ExitCode, len(r.Stdout.Text), r.Stdout.Bytes)
	}
}

func wantMuchOutput(t *testing.T, r sandbox.Result) {
	t.Helper()
	if r.OutputLimit || r.ExitCode != 0 || !r.Stdout.Truncated || r.Stdout.Bytes < 20e6 || !strings.Contains(r.Stdout.Text, "bytes dropped") {
		t.Errorf("got limit %v, exit %d, %d of %d bytes", r.OutputLimit, r.ExitCode, len(r.Stdout.Text), r.Stdout.Bytes)
	}
}

func wantOutOfMemory(t *testing.T, r sandbox.Result) {
	t.Helper()
	if !r.OutOfMemory || r.ExitCode != 137 || r.TimedOut {
		t.Errorf("got %+v, want killed for want of memory", r)
	}
}

func TestBombInTheBackground(t *testing.T) {
	t.Parallel()
	b := box(t, open(t, options(t)), sandbox.Spec{Limits: sandbox.Limits{PIDs: 100}})
	if err := b.WriteFile(t.Context(), "kept", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	run(t, b, sh(`/.agentclash/guest bomb >/dev/null 2>&1 & echo started`))
	for range 20 { // the guest answers beside it, whatever else is left of the box
		if f, err := b.ReadFile(t.Context(), "kept", 10); err != nil || string(f.Data) != "kept" {
			t.Fatalf("read beside a bomb: got %q, %v", f.Data, err)
		}
		r := run(t, b, sh("echo fine"))
		if r.StartError == "" && r.ExitCode == 0 && r.Stdout.Text != "fine\n" {
			t.Errorf("exec beside a bomb: got %+v, want it to work or to say why not", r)
		}
	}
	if err := b.Quiesce(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantFine(t, b)
	if left := processes(t, b); left != "1\n" {
		t.Errorf("still running: %q", left)
	}
}

func TestProcessLimit(t *testing.T) {
	t.Parallel()
	b := box(t, open(t, options(t)), sandbox.Spec{Limits: sandbox.Limits{PIDs: 48}})
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = b.Exec(t.Context(), guestProgram("fill", "1000")) })
	var refused sandbox.Result
	await(t, "a program is refused", func() bool {
		refused = run(t, b, sandbox.Command{Argv: []string{"/bin/sh", "-c", ":"}, Timeout: time.Minute})
		return refused.StartError != ""
	})
	if refused.ExitCode != -1 || !strings.Contains(refused.StartError, "limit on processes") {
		t.Errorf("got %+v, want the limit named", refused)
	}
	if err := b.WriteFile(t.Context(), "f", []byte("x")); err != nil {
		t.Errorf("write with no process left: %v", err)
	}
	if err := b.Quiesce(t.Context()); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	wantFine(t, b)
}

func TestBoxThatDies(t *testing.T) {
	t.Parallel()
	p := open(t, options(t))
	for name, tc := range map[string]struct {
		limits sandbox.Limits
		die    func(t *testing.T, b sandbox.Session) error
		want   sandbox.BoxError
	}{
		"of memory that no process holds": {
			limits: sandbox.Limits{MemoryBytes: 64 << 20},
			die:    func(t *testing.T, b sandbox.Session) error { return untilGone(t, b, guestProgram("shm", "200")) },
			want:   sandbox.BoxError{Kind: sandbox.Limit, Limit: "memory", Detail: "exit status 137"},
		},
		"killed through the engine": {
			die: func(t *testing.T, b sandbox.Session) error {
				if err := raw(t).ContainerKill(t.Context(), b.ID(), "KILL"); err != nil {
					t.Fatal(err)
				}
				return untilGone(t, b, sh(":"))
			},
			want: sandbox.BoxError{Kind: sandbox.Lost, Detail: "killed through the engine"},
		},
		"of a guest that does not answer": {
			die: func(t *testing.T, b sandbox.Session) error {
				if err := raw(t).ContainerPause(t.Context(), b.ID()); err != nil {
					t.Fatal(err)
				}
				r, err := b.Exec(t.Context(), sandbox.Command{Argv: []string{"/bin/sh", "-c", ":"}, Timeout: 100 * time.Millisecond})
				if !r.TimedOut {
					t.Errorf("got %+v, want timed out", r)
				}
				return err
			},
			want: sandbox.BoxError{Kind: sandbox.Lost, Detail: "still ran"},
		},
		"removed": {
			die: func(t *testing.T, b sandbox.Session) error {
				if err := raw(t).ContainerRemove(t.Context(), b.ID(), container.RemoveOptions{Force: true}); err != nil {
					t.Fatal(err)
				}
				return untilGone(t, b, sh(":"))
			},
			want: sandbox.BoxError{Kind: sandbox.Lost},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := box(t, p, sandbox.Spec{Limits: tc.limits})
			wantBoxError(t, tc.die(t, b), tc.want)
			_, err := b.ReadFile(t.Context(), "f", 1)
			wantBoxError(t, err, tc.want)
			await(t, "its container is gone", func() bool { return !exists(t, raw(t), b.ID()) })
			if err := b.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
			if _, err := b.Exec(t.Context(), sh(":")); !errors.Is(err, sandbox.ErrClosed) {
				t.Errorf("after close: got %v, want ErrClosed", err)
			}
		})
	}
}

// untilGone runs a program over and over until the box no longer bears it.
func untilGone(t *testing.T, b sandbox.Session, c sandbox.Command) error {
	t.Helper()
	for range 50 {
		if _, err := b.Exec(t.Context(), c); err != nil {
			return err
		}
	}
	t.Fatal("the box outlived it all")
	return nil
}

// wantBoxError wants an error of that kind and limit, with the detail in its own.
func wantBoxError(t *testing.T, err error, want sandbox.BoxError) {
	t.Helper()
	box, ok := errors.AsType[*sandbox.BoxError](err)
	if !ok || box.Kind != want.Kind || box.Limit != want.Limit || !strings.Contains(box.Detail, want.Detail) {
		t.Errorf("got %v, want kind %q, limit %q, and %q in its detail", err, want.Kind, want.Limit, want.Detail)
	}
}

// TestForgedFrames gives a box a guest on whose stream another voice speaks up.
func TestForgedFrames(t *testing.T) {
	t.Parallel()
	o := options(t)
	forged := buildGuest(t, "-X main.forge=yes")
	o.Guest = func(string) ([]byte, error) { return forged, nil }
	p := open(t, o)
	removeGuest(t, forged)
	b := box(t, p, sandbox.Spec{})
	_, err := b.Exec(t.Context(), sh("echo hi"))
	wantBoxError(t, err, sandbox.BoxError{Kind: sandbox.Tampered})
	await(t, "its container is gone", func() bool { return !exists(t, raw(t), b.ID()) })
}

// buildGuest builds the test's guest with flags for the linker.
func buildGuest(t *testing.T, flags string) []byte {
	t.Helper()
	bin := t.TempDir() + "/agent"
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w "+flags, "-o", bin, "../guest/internal/agent")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}
	return read(t, bin)
}
