package terminal_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/agentclash/agentclash/cmd/tui/terminal"
	"github.com/agentclash/agentclash/cmd/tui/tuitest"
)

// fallingProcess has a test binary show a screen on its terminal and fall.
const fallingProcess = "TERMINAL_TEST_FALLS"

// cursorShown is the last thing that is done to give a terminal back.
const cursorShown = "\x1b[?25h"

func TestMain(m *testing.M) {
	if os.Getenv(fallingProcess) == "" {
		os.Exit(m.Run())
	}
	_, _ = terminal.Show(context.Background(), blank{}, os.Stdin, os.Stdout, 60)
}

// blank shows a word, and falls at a key, where nothing recovers it.
type blank struct{}

func (blank) Init() tea.Cmd { return nil }

func (blank) View() string { return "it is shown" }

func (b blank) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, is := msg.(tea.KeyMsg); is {
		go panic("nobody guards this")
	}
	return b, nil
}

// shown is a terminal and the process that shows a screen on it.
func shown(t *testing.T, path string) (*tuitest.Terminal, *exec.Cmd) {
	t.Helper()
	m := tuitest.Open(t, 80, 24)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = []string{"TERM=xterm-256color", "PATH=" + path, fallingProcess + "=1"}
	c.Stdin, c.Stdout, c.Stderr = m.Program, m.Program, m.Program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	m.WaitFor(t, "it is shown")
	return m, c
}

// A panic that nobody recovers ends the process, which leaves the terminal as it was
// found and what the panic says on it, where it can be read.
func TestAPanicCanBeRead(t *testing.T) {
	t.Parallel()
	m, c := shown(t, os.Getenv("PATH"))
	m.Type(t, "x")
	if err := c.Wait(); err == nil {
		t.Fatal("the process did not fall: the test sees nothing")
	}
	m.WaitFor(t, "\x1b[?1049l")
	m.WaitFor(t, cursorShown)
	m.GivenBack(t)
	_, after, _ := strings.Cut(m.Text(), "\x1b[?1049l")
	if !strings.Contains(after, "panic: nobody guards this\r\n") {
		t.Errorf("what the panic says cannot be read: %q", after)
	}
}

// Who kills the whole job does not kill what gives the terminal back.
func TestTheWholeJobIsKilled(t *testing.T) {
	t.Parallel()
	m, c := shown(t, os.Getenv("PATH"))
	if err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	m.WaitFor(t, cursorShown)
	m.GivenBack(t)
}

// A shell that reads a line by now has the terminal in a mode of its own, which is left to
// it. What it says is seen, since the screen's page is left before the mode is asked for.
func TestAShellIsFaster(t *testing.T) {
	t.Parallel()
	stty, err := exec.LookPath("stty")
	if err != nil {
		t.Skip(err)
	}
	bin := t.TempDir()
	says := "#!/bin/sh\n[ \"$1\" = -g ] || echo stty is asked \"$1\" >&3\nexec " + stty + ` "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "stty"), []byte(says), 0o755); err != nil {
		t.Fatal(err)
	}
	m, c := shown(t, bin)
	mode := m.Mode(t) // what zsh makes of a screen's
	mode.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(int(m.Program.Fd()), unix.TCSETS, &mode); err != nil {
		t.Fatal(err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	m.WaitFor(t, cursorShown)
	if left, asked := strings.Index(m.Text(), "\x1b[?1049l"), strings.Index(m.Text(), "stty is asked"); left < 0 || asked < left {
		t.Errorf("what a shell says meanwhile is lost: %q", m.Text())
	}
	if diff := cmp.Diff(mode, m.Mode(t)); diff != "" {
		t.Errorf("the shell's mode (-before +after):\n%s", diff)
	}
}
