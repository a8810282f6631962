package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
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
	for name, end := range map[string]func(m *terminal, p *os.Process) error{
		"a key":    func(m *terminal, _ *os.Process) error { _, err := m.person.WriteString("q"); return err },
		"ctrl-c":   func(m *terminal, _ *os.Process) error { _, err := m.person.WriteString("\x03"); return err },
		"an order": func(_ *terminal, p *os.Process) error { return p.Signal(syscall.SIGTERM) },
		"a signal": func(_ *terminal, p *os.Process) error { return p.Signal(syscall.SIGINT) },
	} {
		t.Run(name, func(t *testing.T) {
			m := openTerminal(t, 80, 24)
			mode := m.mode(t)
			c := agentclash("ui")
			c.Env = append(c.Env, "TERM=xterm-256color", "NO_COLOR=1")
			c.Stdin, c.Stdout, c.Stderr = m.program, m.program, m.program
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			m.waitFor(t, "runs 2")
			if name == "a key" {
				browsed(t, m)
			}
			if err := end(m, c.Process); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); err != nil {
				t.Errorf("%v: %q", err, m.text())
			}
			if diff := cmp.Diff(mode, m.mode(t)); diff != "" {
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
	after, err := os.ReadFile(filepath.Join(home, "agentclash.db"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the store was changed by looking at it: %v", err)
	}
}

// browsed hits keys and waits for what they show.
func browsed(t *testing.T, m *terminal) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "n")
	for _, step := range []struct{ keys, shows string }{
		{"\r", "▸ scorecard"},
		{"/Regression verd\r", "Regression verdict"},
		{"\t", "▸ trials"},
		{"/outcome:failed\r", "trials 8 /outcome:failed"},
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
		seen := len(m.text())
		if _, err := m.person.WriteString(step.keys); err != nil {
			t.Fatal(err)
		}
		m.waitForAfter(t, seen, step.shows)
	}
	if saved, err := os.ReadFile(file); err != nil || string(saved) != "as they were\n" {
		t.Errorf("saved %q, %v", saved, err)
	}
	if _, err := m.person.WriteString("\x1b"); err != nil {
		t.Fatal(err)
	}
	// the window is another one now
	if err := unix.IoctlSetWinsize(int(m.person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 160, Row: 48}); err != nil {
		t.Fatal(err)
	}
	m.waitFor(t, "Execution mode") // the details, beside the list
}
