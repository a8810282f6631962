package main_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agentclash/agentclash/cmd/tui/tuitest"
)

// TestUI goes through a store on a terminal, by the real program: runs, a scorecard,
// trials, a transcript, files, a comparison, and back. However it ends, the terminal
// is in the mode in which it was, with its cursor and its own screen.
func TestUI(t *testing.T) {
	t.Parallel()
	agentclash, home := exampleStore(t)
	notes := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(notes, []byte("as they were\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := agentclash("artifact", "upload", notes, "--type", "notes", "--run", "next").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before, err := os.ReadFile(filepath.Join(home, "agentclash.db"))
	if err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]struct {
		how    func(m *tuitest.Terminal, p *os.Process) error
		status int
	}{
		"a key":     {func(m *tuitest.Terminal, _ *os.Process) error { _, err := m.Person.WriteString("q"); return err }, 0},
		"ctrl-c":    {func(m *tuitest.Terminal, _ *os.Process) error { _, err := m.Person.WriteString("\x03"); return err }, 0},
		"an order":  {func(_ *tuitest.Terminal, p *os.Process) error { return p.Signal(syscall.SIGTERM) }, 0},
		"a signal":  {func(_ *tuitest.Terminal, p *os.Process) error { return p.Signal(syscall.SIGINT) }, 0},
		"a hang-up": {func(_ *tuitest.Terminal, p *os.Process) error { return p.Signal(syscall.SIGHUP) }, 0},
		"a dump":    {func(_ *tuitest.Terminal, p *os.Process) error { return p.Signal(syscall.SIGQUIT) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := tuitest.Open(t, 80, 24)
			c := agentclash("ui")
			c.Env = append(c.Env, "TERM=xterm-256color", "NO_COLOR=1")
			c.Stdin, c.Stdout, c.Stderr = m.Program, m.Program, m.Program
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			m.WaitFor(t, "runs 2")
			if name == "a key" {
				browsed(t, m)
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
	after, err := os.ReadFile(filepath.Join(home, "agentclash.db"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the store was changed by looking at it: %v", err)
	}
}

// What is deleted or replaced while it is looked at is said to be so.
func TestUISaysThatTheStoreIsAnother(t *testing.T) {
	t.Parallel()
	agentclash, home := exampleStore(t)
	m := tuitest.Open(t, 80, 24)
	c := agentclash("ui")
	c.Env = append(c.Env, "TERM=xterm-256color", "NO_COLOR=1")
	c.Stdin, c.Stdout, c.Stderr = m.Program, m.Program, m.Program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	m.WaitFor(t, "runs 2")
	store := filepath.Join(home, "agentclash.db")
	if err := os.Rename(store, store+".old"); err != nil {
		t.Fatal(err)
	}
	m.Type(t, "r")
	m.WaitFor(t, "the store was deleted")
	if err := os.WriteFile(store, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Type(t, "\r")
	m.WaitFor(t, "the store was replaced")
	m.Type(t, "q")
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %q", err, m.Text())
	}
	m.GivenBack(t)
}

// browsed hits keys and waits for what they show.
func browsed(t *testing.T, m *tuitest.Terminal) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "n")
	for _, step := range []struct{ keys, shows string }{
		{"\r", "▸ scorecard"},
		{"/Regression verd\r", "Regression verdict"},
		{"\t", "▸ trials"},
		{"/agent:=nex\r", "none matches agent:=nex"},
		{"\x1b", "of 24"},
		{"/agent:=next outcome:failed\r", "trials 8 /agent:=next"},
		{"\r", "▸ verdict"},
		{"\t", "▸ transcript"},
		{"\t", "▸ files"},
		{"\x1b", "▸ trials"},
		{"\x1b", "of 24"},
		{"\x1b", "runs 2"},
		{"jc", "base steady"},
		{"kc", "next against steady"},
		{"/comparis\r", "Baseline comparison"},
		{"\x1b", "esc back"},
		{"\x1b", "runs 2"},
		{"o", ".html"},
		{"a", "artifacts 1"},
		{"s", "save to: notes.txt"},
		{"\x15" + file + "\r", "saved to"},
		{"s\x15" + file + "\r", "not saved"},
	} {
		seen := len(m.Text())
		m.Type(t, step.keys)
		m.WaitForAfter(t, seen, step.shows)
	}
	if saved, err := os.ReadFile(file); err != nil || string(saved) != "as they were\n" {
		t.Errorf("saved %q, %v", saved, err)
	}
	m.Type(t, "\x1b")
	// the window is another one now
	m.Resize(t, 160, 48)
	m.WaitFor(t, "Execution mode") // the details, beside the list
}
