package tuitest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// Terminal is a pseudo terminal: what a program sees of it, its other end, and what has
// been shown on it. Its methods may be called from several goroutines at once.
type Terminal struct {
	Program, Person *os.File
	Over            chan struct{} // closed once no program has it any more

	found unix.Termios
	mu    sync.Mutex
	shown bytes.Buffer
}

// Open opens a terminal of a size, or skips the test where there is none.
func Open(t *testing.T, width, height uint16) *Terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	m := &Terminal{Program: program, Person: person, Over: make(chan struct{})}
	m.Resize(t, width, height)
	m.found = m.Mode(t)
	go m.read()
	return m
}

func (m *Terminal) read() {
	defer close(m.Over)
	b := make([]byte, 4096)
	for {
		n, err := m.Person.Read(b)
		m.mu.Lock()
		m.shown.Write(b[:n])
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Resize gives the terminal another size, which tells those who have it as their own.
func (m *Terminal) Resize(t *testing.T, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(m.Person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
}

// Type hits keys.
func (m *Terminal) Type(t *testing.T, keys string) {
	t.Helper()
	if _, err := m.Person.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// Text is all that has been shown.
func (m *Terminal) Text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shown.String()
}

// WaitFor waits for what is to be shown.
func (m *Terminal) WaitFor(t *testing.T, text string) {
	t.Helper()
	m.WaitForAfter(t, 0, text)
}

// WaitForAfter waits for what is to be shown after so many bytes.
func (m *Terminal) WaitForAfter(t *testing.T, seen int, text string) {
	t.Helper()
	for start := time.Now(); !strings.Contains(m.Text()[seen:], text); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("%q was never shown; got %q", text, m.Text())
		}
	}
}

// Mode is how the terminal treats what is typed.
func (m *Terminal) Mode(t *testing.T) unix.Termios {
	t.Helper()
	mode, err := unix.IoctlGetTermios(int(m.Program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *mode
}

// GivenBack wants the terminal to be as it was found: in its mode, with its cursor and
// its own screen. No program has it any more.
func (m *Terminal) GivenBack(t *testing.T) {
	t.Helper()
	if diff := cmp.Diff(m.found, m.Mode(t)); diff != "" {
		t.Errorf("terminal mode (-before +after):\n%s", diff)
	}
	m.Program.Close()
	<-m.Over
	text := m.Text()
	if on := strings.LastIndex(text, "\x1b[?1049h"); on < 0 || strings.LastIndex(text, "\x1b[?1049l") < on ||
		strings.LastIndex(text, "\x1b[?25h") < strings.LastIndex(text, "\x1b[?25l") {
		t.Errorf("the screen was not given back: %q", text)
	}
}
