package guest_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox/guest"
)

func TestExec(t *testing.T) {
	t.Parallel()
	c, ch := open(t)
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		cmd            guest.Command
		code, signal   int
		stdout, stderr string
	}{
		"output and status":  {cmd: guest.Command{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}}, code: 3, stdout: "out\n", stderr: "err\n"},
		"own signal":         {cmd: guest.Command{Argv: []string{"sh", "-c", "kill -TERM $$"}}, code: 143, signal: 15},
		"directory":          {cmd: guest.Command{Argv: []string{"pwd"}, Dir: dir}, stdout: dir + "\n"},
		"environment":        {cmd: guest.Command{Argv: []string{"sh", "-c", "echo $A-$B"}, Env: map[string]string{"A": "1", "B": "x=y z"}}, stdout: "1-x=y z\n"},
		"own PATH":           {cmd: guest.Command{Argv: []string{"agent", "exit", "7"}, Env: map[string]string{"PATH": filepath.Dir(ch.bin)}}, code: 7},
		"relative program":   {cmd: guest.Command{Argv: []string{"./agent", "exit", "8"}, Dir: filepath.Dir(ch.bin)}, code: 8},
		"words as they are":  {cmd: guest.Command{Argv: []string{ch.bin, "args", "", "a b", "$HOME", "*", "ü\xff"}}, stdout: "\"\"\n\"a b\"\n\"$HOME\"\n\"*\"\n\"ü\\xff\"\n"},
		"no input":           {cmd: guest.Command{Argv: []string{"cat"}}},
		"input":              {cmd: guest.Command{Argv: []string{"cat"}, Stdin: []byte("a\x00b\n")}, stdout: "a\x00b\n"},
		"input unread":       {cmd: guest.Command{Argv: []string{"true"}, Stdin: make([]byte, 5<<20)}},
		"no group inherited": {cmd: guest.Command{Argv: []string{"sh", "-c", `read -r _ _ _ _ pgrp sid _ </proc/$$/stat; [ $$ = $pgrp ] && [ $$ = $sid ]`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, c, tc.cmd)
			got := fmt.Sprintf("%d %d %q %q %q", r.ExitCode, r.Signal, text(r.Stdout), text(r.Stderr), r.StartError)
			want := fmt.Sprintf("%d %d %q %q %q", tc.code, tc.signal, tc.stdout, tc.stderr, "")
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestExecThatCannotStart(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	dir := t.TempDir()
	plain, script := filepath.Join(dir, "plain"), filepath.Join(dir, "script")
	write(t, plain, "x", 0o644)
	write(t, script, "#!/no/such/interpreter\n", 0o755)
	for name, tc := range map[string]struct {
		cmd  guest.Command
		want string
	}{
		"unknown name":        {guest.Command{Argv: []string{"no-such-program"}}, "not found in PATH"},
		"missing file":        {guest.Command{Argv: []string{"/no/such/file"}}, "no such file"},
		"a directory":         {guest.Command{Argv: []string{"/"}}, "is a directory"},
		"missing directory":   {guest.Command{Argv: []string{"true"}, Dir: "/no/such/dir"}, "working directory"},
		"a file as directory": {guest.Command{Argv: []string{"true"}, Dir: plain}, "working directory"},
		"not executable":      {guest.Command{Argv: []string{plain}}, "permission denied"},
		"missing interpreter": {guest.Command{Argv: []string{script}}, "interpreter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, c, tc.cmd)
			if r.ExitCode != -1 || !strings.Contains(r.StartError, tc.want) {
				t.Errorf("got exit %d, %q; want -1 and %q", r.ExitCode, r.StartError, tc.want)
			}
		})
	}
	for name, cmd := range map[string]guest.Command{
		"no words":     {},
		"NUL":          {Argv: []string{"a\x00b"}},
		"bad variable": {Argv: []string{"true"}, Env: map[string]string{"A=B": "c"}},
		"much input":   {Argv: []string{"true"}, Stdin: make([]byte, guest.MaxStdin+1)},
		"long request": {Argv: []string{"true", strings.Repeat("x", 2<<20)}},
	} {
		if _, err := c.Exec(t.Context(), cmd); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if r := run(t, c, guest.Command{Argv: []string{"true"}}); r.ExitCode != 0 {
		t.Errorf("after all that: got exit %d, want 0", r.ExitCode)
	}
}

func TestOutputKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	for _, tc := range []struct {
		head, tail int
		wantHead   string
		wantTail   string
	}{
		{10, 5, "0123456789", "vwxyz"},
		{0, 5, "", "vwxyz"},
		{10, 0, "0123456789", ""},
		{36, 36, "0123456789abcdefghijklmnopqrstuvwxyz", ""},
		{30, 6, "0123456789abcdefghijklmnopqrst", "uvwxyz"},
	} {
		r := run(t, c, guest.Command{
			Argv: []string{"sh", "-c", "for x in 0123456789 abcdefghij klmnopqrst uvwxyz; do printf $x; done"},
			Head: tc.head, Tail: tc.tail,
		})
		if string(r.Stdout.Head) != tc.wantHead || string(r.Stdout.Tail) != tc.wantTail || r.Stdout.Bytes != 36 {
			t.Errorf("head %d, tail %d: got %q %q of %d bytes, want %q %q of 36", tc.head, tc.tail, r.Stdout.Head, r.Stdout.Tail, r.Stdout.Bytes, tc.wantHead, tc.wantTail)
		}
	}
}

func TestEndlessOutputIsKilledAtTheCap(t *testing.T) {
	t.Parallel()
	c, ch := open(t)
	r := run(t, c, guest.Command{Argv: []string{ch.bin, "spew"}, Head: 4096, Tail: 4096, HardCap: 8 << 20})
	if !r.OutputCap || r.TimedOut || r.Signal != 9 {
		t.Errorf("got cap %v, timed out %v, signal %d; want killed by its cap", r.OutputCap, r.TimedOut, r.Signal)
	}
	if r.Stdout.Bytes <= 8<<20 || len(r.Stdout.Head) != 4096 || len(r.Stdout.Tail) != 4096 {
		t.Errorf("got %d bytes, %d + %d kept", r.Stdout.Bytes, len(r.Stdout.Head), len(r.Stdout.Tail))
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{
		"a program":                 {"sleep", "1000"},
		"a shell and its children":  {"sh", "-c", "sleep 1000 & sleep 1000 & wait"},
		"ignored signals":           {"AGENT", "ignore"},
		"sessions of their own":     {"AGENT", "daemon", "stay"},
		"a daemon, detached":        {"AGENT", "daemon", "detached", "stay"},
		"a daemon without its mark": {"AGENT", "daemon", "detached", "bare", "stay"},
		"no first thread":           {"AGENT", "headless"},
		"a daemon without that":     {"AGENT", "daemon", "detached", "bare", "headless", "stay"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ch := open(t)
			if argv[0] == "AGENT" {
				argv[0] = ch.bin
			}
			r := run(t, c, guest.Command{Argv: argv, Timeout: 300 * time.Millisecond})
			if !r.TimedOut || r.ExitCode != 137 || r.Signal != 9 {
				t.Errorf("got timed out %v, exit %d, signal %d; want true, 137, 9", r.TimedOut, r.ExitCode, r.Signal)
			}
			if left := descendants(t, ch.cmd.Process.Pid); len(left) > 0 {
				t.Errorf("still running: %v", left)
			}
		})
	}
}

// descendants lists the living processes below pid.
func descendants(t *testing.T, pid int) []string {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "pid=,ppid=,nlwp=,stat=,args=").Output()
	if err != nil {
		t.Skipf("ps: %v", err)
	}
	parent, line := map[string]string{}, map[string]string{}
	for l := range strings.Lines(string(out)) {
		f := strings.Fields(l)
		if !strings.HasPrefix(f[3], "Z") || f[2] != "1" {
			parent[f[0]], line[f[0]] = f[1], l
		}
	}
	var found []string
	for p := range parent {
		for at := parent[p]; at != "" && at != "0"; at = parent[at] {
			if at == strconv.Itoa(pid) {
				found = append(found, line[p])
			}
		}
	}
	return found
}

func TestBackgroundProcessOutlivesItsCommand(t *testing.T) {
	t.Parallel()
	c, ch := open(t)
	began := time.Now()
	r := run(t, c, guest.Command{Argv: []string{ch.bin, "daemon"}}) // the daemon holds the output open
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the command took %s, held up by what it left behind", took)
	}
	pid := pidIn(t, text(r.Stdout))
	if !alive(pid) {
		t.Fatalf("got %q, want the number of a living process", text(r.Stdout))
	}

	// A later command that runs out of time takes nothing with it that was there.
	if r := run(t, c, guest.Command{Argv: []string{"sleep", "1000"}, Timeout: 100 * time.Millisecond}); !r.TimedOut {
		t.Errorf("got %+v, want timed out", r)
	}
	if !alive(pid) {
		t.Error("another command's deadline killed the process")
	}
	if err := c.Quiesce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("the process outlived Quiesce")
	}
}

func TestQuiesceEndsCommands(t *testing.T) {
	t.Parallel()
	c, ch := open(t)
	got := make(chan guest.Result)
	go func() {
		r, _ := c.Exec(t.Context(), guest.Command{Argv: []string{"sleep", "1000"}, Head: 10})
		got <- r
	}()
	await(t, "the command runs", func() bool { return len(descendants(t, ch.cmd.Process.Pid)) == 1 })
	if err := c.Quiesce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-got; r.ExitCode != 137 || r.TimedOut {
		t.Errorf("got exit %d, timed out %v; want 137, false", r.ExitCode, r.TimedOut)
	}
	if r := run(t, c, guest.Command{Argv: []string{"echo", "again"}}); text(r.Stdout) != "again\n" {
		t.Errorf("after Quiesce: got %q", text(r.Stdout))
	}
}

func TestCancelledExecIsDeadWhenItReturns(t *testing.T) {
	t.Parallel()
	c, ch := open(t)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for len(descendants(t, ch.cmd.Process.Pid)) == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		cancel(cause)
	}()
	r, err := c.Exec(ctx, guest.Command{Argv: []string{"sleep", "1000"}, Head: 10})
	if !errors.Is(err, cause) || r.ExitCode != 137 {
		t.Errorf("got %+v, %v; want exit 137 and the cause", r, err)
	}
	if left := descendants(t, ch.cmd.Process.Pid); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if r := run(t, c, guest.Command{Argv: []string{"true"}}); r.ExitCode != 0 {
		t.Errorf("afterwards: got exit %d", r.ExitCode)
	}
}
