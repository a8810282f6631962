package sandboxtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

// patience is how long one check may take before it is called hung. It is no
// measure of speed: nothing here fails for being slow.
const patience = 2 * time.Minute

// Capabilities are what the boxes of a provider under test can do. Checks that
// need more are skipped, and say so.
type Capabilities struct {
	// Process: Exec runs programs, isolated from network and machine, and
	// there is a POSIX shell at /bin/sh. Without it Exec must be ErrNoProcess.
	Process bool
	// Tools: there are coreutils and python3 as well. Needs Process.
	Tools bool
	// Symlink makes a symbolic link, and FIFO a named pipe, at a path relative
	// to a box's workspace. Nil: the box's own ln and mkfifo do it when there
	// are Tools, else the checks that need one are skipped.
	Symlink func(t *testing.T, box sandbox.Session, target, path string)
	FIFO    func(t *testing.T, box sandbox.Session, path string)
	// BigBytes is how large the largest file is that is written and read; 0 is
	// the 16 MiB of F8. A test may take less where the same is tried elsewhere.
	BigBytes int
}

// Run checks the contract of sandbox.Provider and sandbox.Session. It calls
// open for one provider that most checks share, at the same time, and once
// more for each check that closes a provider; it closes them all. Every check
// opens boxes of its own.
func Run(t *testing.T, open func(t *testing.T) sandbox.Provider, c Capabilities) {
	t.Helper()
	k := &contract{Capabilities: c, open: open}
	k.plant()
	k.provider = k.another(t)
	for _, ch := range allChecks() {
		if k.pointless(ch.needs) {
			continue
		}
		t.Run(ch.name, func(t *testing.T) {
			t.Parallel()
			if why := k.lacks(ch.needs); why != "" {
				t.Skip("not for this provider: " + why)
			}
			ch.run(t, k)
		})
	}
}

func allChecks() []check {
	return slices.Concat(
		lifeChecks(), readChecks(), writeChecks(), pathChecks(), listChecks(),
		execChecks(), outputChecks(), killChecks(), isolationChecks(), limitChecks(),
		rootsChecks(), stageChecks(), networkChecks(),
	)
}

// check tries one sentence of the contract, or a few.
type check struct {
	promises string // the numbers of those sentences in package sandbox's doc.go
	name     string
	needs    need
	run      func(t *testing.T, k *contract)
}

type need uint8

const (
	process need = 1 << iota
	noProcess
	tools
	symlink
	fifo
)

type contract struct {
	Capabilities
	open     func(t *testing.T) sandbox.Provider
	provider sandbox.Provider
}

// pointless tells the checks of boxes that run programs from those of boxes
// that do not: of a provider, only one kind means anything.
func (k *contract) pointless(n need) bool {
	return n&(process|tools) != 0 && !k.Process || n&noProcess != 0 && k.Process
}

// lacks says what a check would need and does not have.
func (k *contract) lacks(n need) string {
	switch {
	case n&tools != 0 && !k.Tools:
		return "its boxes have nothing but a shell"
	case n&symlink != 0 && k.Symlink == nil:
		return "there is no way to make a symbolic link in its boxes"
	case n&fifo != 0 && k.FIFO == nil:
		return "there is no way to make a named pipe in its boxes"
	}
	return ""
}

// plant makes links and pipes by the box's own tools, unless there is another
// way.
func (k *contract) plant() {
	if !k.Tools {
		return
	}
	if k.Symlink == nil {
		k.Symlink = func(t *testing.T, box sandbox.Session, target, path string) {
			t.Helper()
			k.succeed(t, box, sandbox.Command{Argv: []string{"ln", "-s", "--", target, path}})
		}
	}
	if k.FIFO == nil {
		k.FIFO = func(t *testing.T, box sandbox.Session, path string) {
			t.Helper()
			k.succeed(t, box, sandbox.Command{Argv: []string{"mkfifo", "--", path}})
		}
	}
}

// another opens a provider and closes it with the test.
func (k *contract) another(t *testing.T) sandbox.Provider {
	t.Helper()
	p := k.open(t)
	t.Cleanup(func() {
		ctx, stop := afterwards(t)
		defer stop()
		if err := p.Close(ctx); err != nil {
			t.Errorf("close the provider: got %v, want no error", err)
		}
	})
	return p
}

// box opens a box with nothing asked for, and closes it with the test.
func (k *contract) box(t *testing.T) sandbox.Session {
	t.Helper()
	return k.boxOf(t, sandbox.Spec{})
}

func (k *contract) boxOf(t *testing.T, spec sandbox.Spec) sandbox.Session {
	t.Helper()
	box := openBox(t, k.provider, spec)
	t.Cleanup(func() {
		ctx, stop := afterwards(t)
		defer stop()
		if err := box.Close(ctx); err != nil {
			t.Errorf("close the box: got %v, want no error", err)
		}
	})
	return box
}

// openBox opens a box that the caller closes.
func openBox(t *testing.T, p sandbox.Provider, spec sandbox.Spec) sandbox.Session {
	t.Helper()
	spec.Labels = sandbox.Labels{RunID: "sandboxtest", TrialID: t.Name(), Agent: "suite", Case: t.Name()}
	if spec.Lifetime == 0 {
		spec.Lifetime = 2 * patience
	}
	box, err := p.Open(during(t), spec)
	if err != nil {
		t.Fatalf("open a box: got %v, want no error", err)
	}
	return box
}

// during is a context for what a check does; afterwards one for what it cleans
// up, when the test's own has already ended.
func during(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	t.Cleanup(stop)
	return ctx
}

func afterwards(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.Context()), patience)
}

// eventually waits for what another process brings about.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	hung := time.After(patience)
	for !done() {
		select {
		case <-tick.C:
		case <-hung:
			t.Fatalf("waiting until %s: it never was", what)
		}
	}
}

// returns waits for a call that runs in a goroutine of its own.
func returns[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s: it hangs", what)
	}
	return v
}

func write(t *testing.T, box sandbox.Session, path, content string) {
	t.Helper()
	if err := box.WriteFile(during(t), path, []byte(content)); err != nil {
		t.Fatalf("write %q: got %v, want no error", path, err)
	}
}

// read returns the content of a file, at most 1 MiB of it.
func read(t *testing.T, box sandbox.Session, path string) string {
	t.Helper()
	f, err := box.ReadFile(during(t), path, 1<<20)
	if err != nil {
		t.Fatalf("read %q: got %v, want no error", path, err)
	}
	return string(f.Data)
}

func wantRead(t *testing.T, box sandbox.Session, path, want string) {
	t.Helper()
	if got := read(t, box, path); got != want {
		t.Errorf("read %q: got %.200q (%d bytes), want %.200q (%d bytes)", path, got, len(got), want, len(want))
	}
}

func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want one that is %q", what, got, want)
	}
}

// wantFileError wants an error about the file that was asked for, where the
// port does not say which: not one that means that the box is no use any more,
// so that a caller can tell a mistake from a failure of the sandbox.
func wantFileError(t *testing.T, what string, got error) {
	t.Helper()
	var box *sandbox.BoxError
	if got == nil || errors.As(got, &box) || errors.Is(got, sandbox.ErrClosed) || errors.Is(got, sandbox.ErrUnavailable) {
		t.Errorf("%s: got error %v, want one about the file", what, got)
	}
}
