package tui_test

import (
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/cmd/tui/tuitest"
	"github.com/agentclash/agentclash/engine/event"
)

// On a real terminal: raw while shown, resized with the window, and afterwards
// in the mode it was in, also when drawing went wrong.
func TestTheTerminalIsLeftAsItWasFound(t *testing.T) {
	t.Parallel()
	fact := event.Event{Type: event.RunFinished, Payload: []byte(`{"status":"completed"}`)}
	for name, end := range map[string]struct {
		do     func(t *testing.T, s *tui.Screen, drawing *atomic.Bool, m *tuitest.Terminal)
		broken bool
	}{
		"in good order":          {func(t *testing.T, s *tui.Screen, _ *atomic.Bool, _ *tuitest.Terminal) { _ = s.Emit(t.Context(), fact) }, false},
		"by a second key":        {func(t *testing.T, _ *tui.Screen, _ *atomic.Bool, m *tuitest.Terminal) { m.Type(t, "qq") }, true},
		"at once":                {func(t *testing.T, s *tui.Screen, _ *atomic.Bool, _ *tuitest.Terminal) { s.Leave() }, true},
		"after a panic in View":  {func(t *testing.T, _ *tui.Screen, drawing *atomic.Bool, _ *tuitest.Terminal) { drawing.Store(true) }, true},
		"after one in a key":     {func(t *testing.T, _ *tui.Screen, _ *atomic.Bool, m *tuitest.Terminal) { m.Type(t, "m") }, true},
		"after one in a command": {func(t *testing.T, _ *tui.Screen, _ *atomic.Bool, m *tuitest.Terminal) { m.Type(t, "p") }, true},
		"after one in a fold": {func(t *testing.T, s *tui.Screen, _ *atomic.Bool, _ *tuitest.Terminal) {
			s.Break()
			_ = s.Emit(t.Context(), event.Event{Type: event.TrialDone, RunAgentID: "agent0", TrialID: "t", Payload: []byte(`{"outcome":"passed"}`)})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := tuitest.Open(t, 80, 24)
			before := m.Mode(t)
			s := tui.New(tui.Options{Now: time.Now, Controls: steered{panics: true}, People: tui.People{Manual: func(bool) { panic("a bug") }}})
			var bug atomic.Bool
			s.SetDraw(func(state tui.State, f tui.Frame) string {
				if bug.Load() {
					panic("a bug")
				}
				return tui.Draw(state, f)
			})
			result := make(chan error, 1)
			go func() { result <- s.Run(t.Context(), m.Program, m.Program) }()
			m.WaitFor(t, "q stop")
			if cmp.Equal(before, m.Mode(t)) {
				t.Error("the terminal was never put into raw mode: the test sees nothing")
			}
			m.Resize(t, 30, 8)
			if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
				t.Fatal(err)
			}
			m.WaitFor(t, "q stop · ? help\x1b[K")
			end.do(t, s, &bug, m)
			if err := <-result; (err != nil) != end.broken {
				t.Errorf("got %v", err)
			}
			m.GivenBack(t)
		})
	}
}

// A program that links the screen and does not show it says nothing to the
// terminal, least of all a question that it then waits five seconds for.
func TestTheTerminalIsNotQuestionedAtStart(t *testing.T) {
	t.Parallel()
	m := tuitest.Open(t, 80, 24)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, "-test.run=^$")
	c.Env = []string{"TERM=xterm-256color"}
	c.Stdin, c.Stdout, c.Stderr = m.Program, m.Program, m.Program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	m.Program.Close()
	<-m.Over
	if said := m.Text(); !strings.Contains(said, "PASS") || strings.ContainsRune(said, '\x1b') {
		t.Errorf("got %q, want only that the tests passed", said)
	}
}

// A process that goes on after it was stopped paints its screen anew, since a shell
// has had the terminal meanwhile.
func TestTheScreenIsPaintedAnewWhenTheProcessGoesOn(t *testing.T) {
	m := tuitest.Open(t, 80, 24)
	s := tui.New(tui.Options{Now: func() time.Time { return noon }})
	result := make(chan error, 1)
	go func() { result <- s.Run(t.Context(), m.Program, m.Program) }()
	m.WaitFor(t, "q stop")
	before := len(m.Text())
	if err := syscall.Kill(os.Getpid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	m.WaitForAfter(t, before, "q stop")
	s.Close()
	if err := <-result; err != nil {
		t.Error(err)
	}
}
