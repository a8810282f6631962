package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal: what a program sees of it, and what it has shown.
type terminal struct {
	program, person *os.File
	mu              sync.Mutex
	shown           bytes.Buffer
	over            chan struct{}
}

func openTerminal(t *testing.T, width, height uint16) *terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	term := &terminal{program: program, person: person, over: make(chan struct{})}
	go term.read()
	return term
}

func (m *terminal) read() {
	defer close(m.over)
	b := make([]byte, 4096)
	for {
		n, err := m.person.Read(b)
		m.mu.Lock()
		m.shown.Write(b[:n])
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (m *terminal) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shown.String()
}

func (m *terminal) waitFor(t *testing.T, text string) {
	t.Helper()
	m.waitForAfter(t, 0, text)
}

// waitForAfter waits for what is shown after so many bytes.
func (m *terminal) waitForAfter(t *testing.T, seen int, text string) {
	t.Helper()
	for start := time.Now(); !strings.Contains(m.text()[seen:], text); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("%q was never shown; got %q", text, m.text())
		}
	}
}

func (m *terminal) mode(t *testing.T) unix.Termios {
	t.Helper()
	mode, err := unix.IoctlGetTermios(int(m.program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *mode
}

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
		how    func(m *terminal, p *os.Process) error
		status int
	}{
		"its end":   {"quick", func(*terminal, *os.Process) error { return nil }, 0},
		"a key":     {"slow", func(m *terminal, _ *os.Process) error { _, err := m.person.WriteString("q"); return err }, 130},
		"two keys":  {"slow", func(m *terminal, _ *os.Process) error { _, err := m.person.WriteString("\x03\x03"); return err }, 130},
		"an order":  {"slow", func(_ *terminal, p *os.Process) error { return p.Signal(syscall.SIGTERM) }, 130},
		"ctrl-c":    {"slow", func(_ *terminal, p *os.Process) error { return p.Signal(syscall.SIGINT) }, 130},
		"a hang-up": {"slow", func(_ *terminal, p *os.Process) error { return p.Signal(syscall.SIGHUP) }, 130},
	} {
		t.Run(name, func(t *testing.T) {
			m := openTerminal(t, 80, 24)
			before := m.mode(t)
			c := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--model", "scripted/"+end.agent+".yaml", "--follow", "--concurrency", "4")
			c.Stdin, c.Stdout, c.Stderr = m.program, m.program, m.program
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if end.agent == "slow" {
				m.waitFor(t, "4 running")
			}
			if err := end.how(m, c.Process); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait() // the status is looked at
			if got := c.ProcessState.ExitCode(); got != end.status {
				t.Errorf("got status %d, want %d: %q", got, end.status, m.text())
			}
			if diff := cmp.Diff(before, m.mode(t)); diff != "" {
				t.Errorf("terminal mode (-before +after):\n%s", diff)
			}
			m.program.Close()
			<-m.over
			text := m.text()
			if on := strings.LastIndex(text, "\x1b[?1049h"); on < 0 || strings.LastIndex(text, "\x1b[?1049l") < on ||
				strings.LastIndex(text, "\x1b[?25h") < strings.LastIndex(text, "\x1b[?25l") {
				t.Errorf("the screen was not given back: %q", text)
			}
		})
	}
}
