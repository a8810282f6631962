package main_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/agentclash/agentclash/cmd/tui/tuitest"
)

// Whatever ends a run that is shown live, the terminal is in the mode in which it
// was, with its cursor and its own screen.
func TestFollowGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.env = append(p.env, "CI=", "TERM=xterm-256color", "NO_COLOR=1")
	p.write(t, "pack.yaml", hundredCases("prompt_eval"))
	p.write(t, "slow.yaml", "default: [{text: done, delay_ms: 60000}]\n")
	p.write(t, "quick.yaml", "default: [{text: done}]\n")
	for name, end := range map[string]struct {
		agent  string
		how    func(m *tuitest.Terminal, p *os.Process) error
		status int
	}{
		"its end":   {"quick", func(*tuitest.Terminal, *os.Process) error { return nil }, 0},
		"a key":     {"slow", func(m *tuitest.Terminal, _ *os.Process) error { _, err := m.Person.WriteString("q"); return err }, 130},
		"two keys":  {"slow", func(m *tuitest.Terminal, _ *os.Process) error { _, err := m.Person.WriteString("\x03\x03"); return err }, 130},
		"an order":  {"slow", func(_ *tuitest.Terminal, p *os.Process) error { return p.Signal(syscall.SIGTERM) }, 130},
		"ctrl-c":    {"slow", func(_ *tuitest.Terminal, p *os.Process) error { return p.Signal(syscall.SIGINT) }, 130},
		"a hang-up": {"slow", func(_ *tuitest.Terminal, p *os.Process) error { return p.Signal(syscall.SIGHUP) }, 130},
		"a dump":    {"slow", func(_ *tuitest.Terminal, p *os.Process) error { return p.Signal(syscall.SIGQUIT) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := tuitest.Open(t, 80, 24)
			c := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--model", "scripted/"+end.agent+".yaml", "--follow", "--concurrency", "4")
			c.Stdin, c.Stdout, c.Stderr = m.Program, m.Program, m.Program
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if end.agent == "slow" {
				m.WaitFor(t, "4 running")
			}
			if err := end.how(m, c.Process); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait() // the status is looked at
			if got := c.ProcessState.ExitCode(); got != end.status {
				t.Errorf("got status %d, want %d: %q", got, end.status, m.Text())
			}
			m.GivenBack(t)
		})
	}
}
