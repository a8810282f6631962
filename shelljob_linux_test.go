package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentclash/agentclash/cmd/tui/tuitest"
)

// TestScreensAreJobsOfAShell stops each screen with ctrl+z, goes on with it, and ends it
// while it is stopped and, by kill -9, while it is shown. What is typed meanwhile is the
// shell's, on a terminal as it was.
func TestScreensAreJobsOfAShell(t *testing.T) {
	t.Parallel()
	agentclash, home := exampleStore(t)
	p := newProgram(t)
	p.write(t, "pack.yaml", hundredCases("prompt_eval"))
	p.write(t, "slow.yaml", "default: [{text: done, delay_ms: 60000}]\n")
	for name, row := range map[string]struct{ args, shows, ends string }{
		"ui":     {"ui", "runs 2", "q"},
		"follow": {"eval start --pack pack.yaml --model scripted/slow.yaml --follow --sandbox scratch --concurrency 4", "4 running", "qq"},
	} {
		t.Run(name, func(t *testing.T) {
			m := tuitest.Open(t, 200, 24)
			program := agentclash()
			c := exec.Command("sh", "-i")
			c.Dir, c.Env = p.dir, append(program.Env, "PATH="+filepath.Dir(program.Path)+":/usr/bin:/bin", "TERM=xterm-256color", "NO_COLOR=1", "PS1=$ ", "ENV=", "LC_ALL=C")
			if name == "follow" { // which would be one run more in the list
				c.Env = append(c.Env, "AGENTCLASH_HOME="+filepath.Join(filepath.Dir(home), "other"))
			}
			c.Stdin, c.Stdout, c.Stderr = m.Program, m.Program, m.Program
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
			m.WaitFor(t, "$ ")
			then := func(keys, shows string) string {
				t.Helper()
				seen := len(m.Text())
				m.Type(t, keys)
				m.WaitForAfter(t, seen, shows)
				return m.Text()[seen:]
			}
			mode := regexp.MustCompile(`now ([0-9a-f:]+) is it`)
			asFound := func() string {
				t.Helper()
				found := mode.FindStringSubmatch(then("echo now $(stty -g) is \"\"it\n", " is it"))
				if found == nil {
					t.Fatalf("no mode was shown: %q", m.Text())
				}
				return found[1]
			}
			before := asFound()
			start := program.Path + " " + row.args + "\n"
			then(start, row.shows)
			for range 2 {
				then("\x1a", "Stopped")
				if shown := m.Text(); strings.LastIndex(shown, "\x1b[?1049l") < strings.LastIndex(shown, "\x1b[?1049h") {
					t.Errorf("the shell does not have its own screen: %q", shown)
				}
				if got := asFound(); got != before {
					t.Errorf("stopped: got the mode %s, want %s", got, before)
				}
				then("fg\n", row.shows)
			}
			then(row.ends, "$ ")
			if got := asFound(); got != before {
				t.Errorf("afterwards: got the mode %s, want %s", got, before)
			}
			then(start, row.shows)
			then("\x1a", "Stopped")
			then("kill %1; kill -CONT %1; while kill -0 %1; do sleep 0.1; done 2>&-; echo it is \"\"over\n", "it is over")
			if got := asFound(); got != before {
				t.Errorf("ended by a signal: got the mode %s, want %s", got, before)
			}
			then(start, row.shows)
			seen := len(m.Text())
			if err := syscall.Kill(child(t, c.Process.Pid, "agentclash"), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			m.WaitForAfter(t, seen, "\x1b[?1049l")
			m.WaitForAfter(t, seen, "\x1b[?25h")
			m.WaitForAfter(t, seen, "Killed")
			if got := asFound(); got != before {
				t.Errorf("ended by kill -9: got the mode %s, want %s", got, before)
			}
		})
	}
}

// child is the process of a name that another has started.
func child(t *testing.T, parent int, name string) int {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(children)) {
		if comm, err := os.ReadFile("/proc/" + pid + "/comm"); err == nil && strings.TrimSpace(string(comm)) == name {
			n, err := strconv.Atoi(pid)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("there is no %s among the processes %s", name, children)
	return 0
}
