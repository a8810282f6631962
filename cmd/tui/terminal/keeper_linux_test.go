package terminal_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentclash/agentclash/cmd/tui/terminal"
	"github.com/agentclash/agentclash/cmd/tui/tuitest"
)

// fallingProcess has a test binary show a screen on its terminal and fall.
const fallingProcess = "TERMINAL_TEST_FALLS"

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

// A panic that nobody recovers ends the process, which leaves the terminal as it was
// found and what the panic says on it, where it can be read.
func TestAPanicCanBeRead(t *testing.T) {
	t.Parallel()
	m := tuitest.Open(t, 80, 24)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = []string{"TERM=xterm-256color", "PATH=" + os.Getenv("PATH"), fallingProcess + "=1"}
	c.Stdin, c.Stdout, c.Stderr = m.Program, m.Program, m.Program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	m.WaitFor(t, "it is shown")
	m.Type(t, "x")
	if err := c.Wait(); err == nil {
		t.Fatal("the process did not fall: the test sees nothing")
	}
	m.WaitFor(t, "\x1b[?25h\x1b[?1049l")
	m.GivenBack(t)
	_, after, _ := strings.Cut(m.Text(), "\x1b[?1049l")
	if !strings.Contains(after, "panic: nobody guards this\r\n") {
		t.Errorf("what the panic says cannot be read: %q", after)
	}
}
