package sandboxtest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

func lifeChecks() []check {
	return []check{
		{"L1", "Describe", 0, describe},
		{"L2", "a box has a name of its own", 0, boxNames},
		{"L3", "a box is fresh", 0, freshBox},
		{"L4", "boxes do not share files", 0, separateBoxes},
		{"L5", "boxes opened at once", 0, openAtOnce},
		{"L6", "Open with an ended context", 0, openCancelled},
		{"L6", "calls with an ended context", 0, callsCancelled},
		{"L7", "ErrClosed after Close", 0, closedBox},
		{"L7", "Close twice", 0, closeTwice},
		{"L7", "Close with an ended context", 0, closeCancelled},
		{"L9", "Close of the provider removes every box", 0, closeProvider},
		{"L10", "a box ends with its lifetime", 0, lifetimeEnds},
		{"L10", "a lifetime ends what runs", process, lifetimeDuringCall},
		{"L4", "boxes do not share what is temporary", process, separateTemporary},
		{"L4 N2", "boxes do not share a network", tools, separateNetworks},
		{"X15", "no programs is ErrNoProcess", noProcess, noPrograms},
		{"Q3", "Quiesce leaves files alone", 0, quiesceFiles},
	}
}

func describe(t *testing.T, k *contract) {
	d, err := k.provider.Describe(during(t), sandbox.Spec{})
	if err != nil || d.Kind == "" {
		t.Fatalf("describe: got %+v, %v, want a kind and no error", d, err)
	}
	if again, err := k.provider.Describe(during(t), sandbox.Spec{}); err != nil || again != d {
		t.Errorf("describe again: got %+v, %v, want %+v", again, err, d)
	}
}

func boxNames(t *testing.T, k *contract) {
	a, b := k.box(t), k.box(t)
	if a.ID() == "" || a.ID() == b.ID() {
		t.Errorf("names of two boxes: got %q and %q, want two names", a.ID(), b.ID())
	}
	if first, again := a.ID(), a.ID(); first != again {
		t.Errorf("name of one box: got %q, then %q", first, again)
	}
}

func freshBox(t *testing.T, k *contract) {
	used := k.box(t)
	write(t, used, "left/behind.txt", "mine")
	if k.Process {
		k.succeed(t, used, sh(`echo mine > /tmp/behind.txt`))
	}
	ctx, stop := afterwards(t)
	defer stop()
	if err := used.Close(ctx); err != nil {
		t.Fatalf("close the used box: %v", err)
	}
	fresh := k.box(t)
	_, err := fresh.ReadFile(during(t), "left/behind.txt", 100)
	wantError(t, "read what another box left", err, sandbox.ErrNotFound)
	_, err = fresh.List(during(t), "left", true, 100)
	wantError(t, "list what another box left", err, sandbox.ErrNotFound)
	if k.Process {
		k.wantOutput(t, fresh, sh(`if [ -e /tmp/behind.txt ]; then echo there; else echo gone; fi`), "gone\n")
	}
}

func separateBoxes(t *testing.T, k *contract) {
	a, b := k.box(t), k.box(t)
	write(t, a, "same.txt", "of a")
	write(t, b, "same.txt", "of b")
	wantRead(t, a, "same.txt", "of a")
	wantRead(t, b, "same.txt", "of b")
}

func openAtOnce(t *testing.T, k *contract) {
	var mu sync.Mutex
	names := map[string]bool{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			box, err := k.provider.Open(during(t), sandbox.Spec{Lifetime: patience})
			if err != nil {
				t.Errorf("open: got %v, want no error", err)
				return
			}
			mu.Lock()
			names[box.ID()] = true
			mu.Unlock()
			if err := box.WriteFile(during(t), "x", []byte("x")); err != nil {
				t.Errorf("write: got %v, want no error", err)
			}
			if err := box.Close(during(t)); err != nil {
				t.Errorf("close: got %v, want no error", err)
			}
		})
	}
	wg.Wait()
	if len(names) != 4 {
		t.Errorf("four boxes: got %d names, want 4", len(names))
	}
}

func openCancelled(t *testing.T, k *contract) {
	box, err := k.provider.Open(ended(t), sandbox.Spec{Lifetime: patience})
	wantError(t, "open", err, context.Canceled)
	if err == nil {
		_ = box.Close(during(t))
	}
}

func callsCancelled(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "kept.txt", "old")
	ctx := ended(t)
	for what, call := range calls(ctx, box) {
		wantError(t, what, call(), context.Canceled)
	}
	wantRead(t, box, "kept.txt", "old")
	_, err := box.ReadFile(during(t), callPath, 1)
	wantError(t, "read what a call with an ended context was to write", err, sandbox.ErrNotFound)
}

func closedBox(t *testing.T, k *contract) {
	box := openBox(t, k.provider, sandbox.Spec{})
	write(t, box, callPath, "x")
	if err := box.Close(during(t)); err != nil {
		t.Fatalf("close: got %v, want no error", err)
	}
	for what, call := range calls(during(t), box) {
		wantError(t, what, call(), sandbox.ErrClosed)
	}
}

func closeTwice(t *testing.T, k *contract) {
	box := openBox(t, k.provider, sandbox.Spec{})
	for _, nth := range []string{"first", "second", "third"} {
		if err := box.Close(during(t)); err != nil {
			t.Errorf("%s close: got %v, want no error", nth, err)
		}
	}
}

func closeCancelled(t *testing.T, k *contract) {
	box := openBox(t, k.provider, sandbox.Spec{})
	_ = box.Close(ended(t)) // whether it says that it could not wait is its own affair
	_, err := box.ReadFile(during(t), "x", 1)
	wantError(t, "read after a close with an ended context", err, sandbox.ErrClosed)
	if err := box.Close(during(t)); err != nil {
		t.Errorf("close again: got %v, want no error", err)
	}
}

func closeProvider(t *testing.T, k *contract) {
	p := k.open(t)
	boxes := []sandbox.Session{openBox(t, p, sandbox.Spec{}), openBox(t, p, sandbox.Spec{})}
	if err := p.Close(during(t)); err != nil {
		t.Fatalf("close the provider: got %v, want no error", err)
	}
	for _, box := range boxes {
		for what, call := range calls(during(t), box) {
			wantError(t, what, call(), sandbox.ErrClosed)
		}
		if err := box.Close(during(t)); err != nil {
			t.Errorf("close a box after its provider: got %v, want no error", err)
		}
	}
	if _, err := p.Open(during(t), sandbox.Spec{}); err == nil {
		t.Error("open after close: got a box, want an error")
	}
}

func lifetimeEnds(t *testing.T, k *contract) {
	box := openBox(t, k.provider, sandbox.Spec{Lifetime: 2 * time.Second})
	var err error
	eventually(t, "the box's lifetime has ended it", func() bool {
		_, err = box.List(during(t), "", false, 1)
		return err != nil
	})
	var lost *sandbox.BoxError
	if !errors.As(err, &lost) && !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("list after the box's lifetime: got %v, want a BoxError or ErrClosed", err)
	}
	if err := box.Close(during(t)); err != nil {
		t.Errorf("close after the box's lifetime: got %v, want no error", err)
	}
}

func lifetimeDuringCall(t *testing.T, k *contract) {
	box := openBox(t, k.provider, sandbox.Spec{Lifetime: 2 * time.Second})
	got := returns(t, "exec of a program that outlives its box", k.start(during(t), box, sh(`while :; do :; done`)))
	var lost *sandbox.BoxError
	if !errors.As(got.err, &lost) && !errors.Is(got.err, sandbox.ErrClosed) {
		t.Errorf("exec of a program that outlives its box: got %s, %v, want a BoxError or ErrClosed", summary(got.Result), got.err)
	}
	if err := box.Close(during(t)); err != nil {
		t.Errorf("close: got %v, want no error", err)
	}
}

func separateTemporary(t *testing.T, k *contract) {
	a, b := k.box(t), k.box(t)
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		k.succeed(t, a, sh(`echo "of a" > "$1/agentclash-probe"`, dir))
		k.wantOutput(t, b, sh(`if [ -e "$1/agentclash-probe" ]; then echo there; else echo none; fi`, dir), "none\n")
		k.wantOutput(t, a, sh(`read -r l < "$1/agentclash-probe"; echo "$l"`, dir), "of a\n")
	}
}

func separateNetworks(t *testing.T, k *contract) {
	says := func(word string) sandbox.Spec {
		return sandbox.Spec{Network: func(_ context.Context, c net.Conn) { _, _ = io.WriteString(c, word) }}
	}
	a, b := k.boxOf(t, says("of a")), k.boxOf(t, says("of b"))
	k.wantOutput(t, a, python(connect, "x"), "of a")
	k.wantOutput(t, b, python(connect, "x"), "of b")
}

func noPrograms(t *testing.T, k *contract) {
	_, err := k.box(t).Exec(during(t), sandbox.Command{Argv: []string{"true"}})
	wantError(t, "exec", err, sandbox.ErrNoProcess)
}

func quiesceFiles(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "kept.txt", "kept")
	for range 2 {
		if err := box.Quiesce(during(t)); err != nil {
			t.Fatalf("quiesce: got %v, want no error", err)
		}
	}
	wantRead(t, box, "kept.txt", "kept")
	write(t, box, "after.txt", "after")
}

// callPath is the file that calls reads and writes.
const callPath = "call.txt"

// calls are all that can be asked of a box but to close it.
func calls(ctx context.Context, box sandbox.Session) map[string]func() error {
	return map[string]func() error{
		"exec": func() error {
			_, err := box.Exec(ctx, sandbox.Command{Argv: []string{"/bin/sh", "-c", ":"}})
			return err
		},
		"read": func() error {
			_, err := box.ReadFile(ctx, callPath, 10)
			return err
		},
		"write": func() error { return box.WriteFile(ctx, callPath, []byte("x")) },
		"list": func() error {
			_, err := box.List(ctx, "", true, 10)
			return err
		},
		"quiesce": func() error { return box.Quiesce(ctx) },
	}
}

func ended(t *testing.T) context.Context {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	return ctx
}
