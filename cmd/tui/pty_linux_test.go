package tui_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/engine/event"
)

// openPTY is a terminal: what a program sees of it, and its other end.
func openPTY(t *testing.T) (program, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return program, person
}

func resize(t *testing.T, person *os.File, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
}

func mode(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

// On a real terminal: raw while shown, resized with the window, and afterwards
// in the mode it was in, also when drawing went wrong.
func TestTheTerminalIsLeftAsItWasFound(t *testing.T) {
	t.Parallel()
	fact := event.Event{Type: event.RunFinished, Payload: []byte(`{"status":"completed"}`)}
	for name, end := range map[string]struct {
		do     func(s *tui.Screen, drawing *atomic.Bool, person *os.File)
		broken bool
	}{
		"in good order":          {func(s *tui.Screen, _ *atomic.Bool, _ *os.File) { _ = s.Emit(t.Context(), fact) }, false},
		"by a second key":        {func(_ *tui.Screen, _ *atomic.Bool, person *os.File) { _, _ = person.WriteString("qq") }, true},
		"at once":                {func(s *tui.Screen, _ *atomic.Bool, _ *os.File) { s.Leave() }, true},
		"after a panic in View":  {func(_ *tui.Screen, drawing *atomic.Bool, _ *os.File) { drawing.Store(true) }, true},
		"after one in a key":     {func(_ *tui.Screen, _ *atomic.Bool, person *os.File) { _, _ = person.WriteString("m") }, true},
		"after one in a command": {func(_ *tui.Screen, _ *atomic.Bool, person *os.File) { _, _ = person.WriteString("p") }, true},
		"after one in a fold": {func(s *tui.Screen, _ *atomic.Bool, _ *os.File) {
			s.Break()
			_ = s.Emit(t.Context(), event.Event{Type: event.TrialDone, RunAgentID: "agent0", TrialID: "t", Payload: []byte(`{"outcome":"passed"}`)})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			program, person := openPTY(t)
			resize(t, person, 80, 24)
			before := mode(t, program)
			p := &page{}
			go func() { _, _ = io.Copy(p, person) }()
			s := tui.New(tui.Options{Now: time.Now, Controls: steered{panics: true}, People: tui.People{Manual: func(bool) { panic("a bug") }}})
			var bug atomic.Bool
			s.SetDraw(func(state tui.State, f tui.Frame) string {
				if bug.Load() {
					panic("a bug")
				}
				return tui.Draw(state, f)
			})
			result := make(chan error, 1)
			go func() { result <- s.Run(t.Context(), program, program) }()
			p.waitFor(t, "q stop")
			if cmp.Equal(before, mode(t, program)) {
				t.Error("the terminal was never put into raw mode: the test sees nothing")
			}
			resize(t, person, 30, 8)
			if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
				t.Fatal(err)
			}
			p.waitFor(t, "q stop · ? help\x1b[K")
			end.do(s, &bug, person)
			if err := <-result; (err != nil) != end.broken {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, mode(t, program)); diff != "" {
				t.Errorf("terminal mode (-before +after):\n%s", diff)
			}
			p.waitFor(t, "\x1b[?1049l")
			if !restored(p.String()) {
				t.Errorf("the terminal was not given back: %q", p.String())
			}
		})
	}
}

// A program that links the screen and does not show it says nothing to the
// terminal, least of all a question that it then waits five seconds for.
func TestTheTerminalIsNotQuestionedAtStart(t *testing.T) {
	t.Parallel()
	program, person := openPTY(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, "-test.run=^$")
	c.Env = []string{"TERM=xterm-256color"}
	c.Stdin, c.Stdout, c.Stderr = program, program, program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	said, err := io.ReadAll(person)
	if err != nil && !errors.Is(err, syscall.EIO) { // how the end of a terminal reads
		t.Fatal(err)
	}
	if !bytes.Contains(said, []byte("PASS")) || bytes.ContainsRune(said, '\x1b') {
		t.Errorf("got %q, want only that the tests passed", said)
	}
}

// A process that goes on after it was stopped paints its screen anew, since a shell
// has had the terminal meanwhile.
func TestTheScreenIsPaintedAnewWhenTheProcessGoesOn(t *testing.T) {
	program, person := openPTY(t)
	resize(t, person, 80, 24)
	p := &page{}
	go func() { _, _ = io.Copy(p, person) }()
	s := tui.New(tui.Options{Now: func() time.Time { return noon }})
	result := make(chan error, 1)
	go func() { result <- s.Run(t.Context(), program, program) }()
	p.waitFor(t, "q stop")
	before := len(p.String())
	if err := syscall.Kill(os.Getpid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); !bytes.Contains([]byte(p.String()[before:]), []byte("q stop")); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("it was not painted again: %q", p.String()[before:])
		}
	}
	s.Close()
	if err := <-result; err != nil {
		t.Error(err)
	}
}
