package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

func killChecks() []check {
	return []check{
		{"X12", "a timeout is a result", process, timeoutResult},
		{"X12", "a timeout kills the whole tree", process, timeoutTree},
		{"X12", "a timeout kills what has left the tree", tools, timeoutDaemon},
		{"X12", "a timeout that is not reached changes nothing", process, timeoutUnreached},
		{"X13", "a cancelled call kills its program", process, cancelKills},
		{"X14", "a child that keeps the output open does not hold up the call", process, heldOutput},
		{"Q1", "Quiesce kills what is left running", process, quiesceBackground},
		{"Q1", "Quiesce kills a daemon", tools, quiesceDaemon},
		{"Q4", "Quiesce opens a workspace that was closed", tools, quiesceClosed},
		{"Q2", "Quiesce ends a call with its program's death", process, quiesceCall},
		{"L8", "Close ends a call", process, closeDuringCall},
		{"X8", "files can be read while a program runs", process, readDuringCall},
	}
}

// spin is a script that leaves its process id in the file $1 and never ends.
// It ignores what it can be asked to end with.
const spin = `trap '' HUP INT TERM 2>/dev/null || :; echo $$ > "$1"; while :; do :; done`

// daemon is a Python program that leaves the tree of its parents: its process
// group, its session, and its parent, who then spins.
const daemon = `
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[1] + ".new", "w") as f: f.write(str(os.getpid()) + "\n")
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        while True: time.sleep(60)
    os._exit(0)
os.wait()
while len(sys.argv) < 3 or not os.path.exists(sys.argv[1]): time.sleep(0.001)
`

func timeoutResult(t *testing.T, k *contract) {
	box := k.box(t)
	c := sh(`echo out; echo err >&2; ` + spin)
	c.Argv = append(c.Argv, "spin.pid")
	k.timesOut(t, box, c, func(r sandbox.Result) bool {
		return r.Stdout.Text == "out\n" && r.Stderr.Text == "err\n"
	})
	k.wantDead(t, box, "spin.pid")
	k.wantOutput(t, box, sh(`echo fine`), "fine\n")
}

func timeoutTree(t *testing.T, k *contract) {
	box := k.box(t)
	c := sh(`/bin/sh -c "$1" child child.pid & /bin/sh -c '/bin/sh -c "$1" grandchild grandchild.pid & while :; do :; done' child "$1" & `+
		`echo $$ > parent.pid; while :; do :; done`, spin)
	pids := []string{"parent.pid", "child.pid", "grandchild.pid"}
	k.timesOut(t, box, c, func(sandbox.Result) bool { return k.written(t, box, pids...) })
	k.wantDead(t, box, pids...)
}

func timeoutDaemon(t *testing.T, k *contract) {
	box := k.box(t)
	c := sandbox.Command{Argv: []string{"python3", "-c", daemon, "daemon.pid"}}
	k.timesOut(t, box, c, func(sandbox.Result) bool { return k.written(t, box, "daemon.pid") })
	k.wantDead(t, box, "daemon.pid")
}

// timesOut runs a program that does not end by itself. How long it needs to
// get as far as the check wants is the machine's affair, so it is given more
// time until it got there.
func (k *contract) timesOut(t *testing.T, box sandbox.Session, c sandbox.Command, gotThere func(sandbox.Result) bool) {
	t.Helper()
	for c.Timeout = time.Second; ; c.Timeout *= 4 {
		r := k.ran(t, box, c)
		if !r.TimedOut || r.StartError != "" || r.ExitCode == 0 || (r.Signal != 0 && r.ExitCode != 128+r.Signal) {
			t.Fatalf("a program that never ends, with a timeout of %v: got %s, want it timed out", c.Timeout, summary(r))
		}
		if r.Elapsed < c.Timeout {
			t.Errorf("a program that ran into its timeout of %v: got an elapsed time of %v", c.Timeout, r.Elapsed)
		}
		if gotThere(r) {
			return
		}
		if c.Timeout > patience/4 {
			t.Fatalf("a program that never ends, with a timeout of %v: got %s, want what it did before", c.Timeout, summary(r))
		}
	}
}

func timeoutUnreached(t *testing.T, k *contract) {
	c := sh(`echo fine; exit 5`)
	c.Timeout = patience
	if r := k.ran(t, k.box(t), c); r.ExitCode != 5 || r.TimedOut || r.Signal != 0 || r.Stdout.Text != "fine\n" {
		t.Errorf("a program that ends before its timeout: got %s, want exit 5", summary(r))
	}
}

func cancelKills(t *testing.T, k *contract) {
	box := k.box(t)
	ctx, cancel := context.WithCancel(during(t))
	defer cancel()
	call := k.start(ctx, box, sh(spin, "spin.pid"))
	k.await(t, box, "spin.pid")
	cancel()
	if got := returns(t, "exec after its context was cancelled", call); !errors.Is(got.err, context.Canceled) {
		t.Errorf("exec after its context was cancelled: got %s, %v, want context.Canceled", summary(got.Result), got.err)
	}
	k.wantDead(t, box, "spin.pid")
	k.wantOutput(t, box, sh(`echo fine`), "fine\n")
}

func heldOutput(t *testing.T, k *contract) {
	box := k.box(t)
	call := k.start(during(t), box, k.background("held.pid", "echo started"))
	got := returns(t, "exec whose child keeps the output open", call)
	if got.err != nil || got.ExitCode != 0 || got.TimedOut || got.Stdout.Text != "started\n" {
		t.Errorf("exec whose child keeps the output open: got %s, %v, want exit 0 and its output", summary(got.Result), got.err)
	}
}

func quiesceBackground(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "kept.txt", "kept")
	k.succeed(t, box, k.background("one.pid", ""))
	k.succeed(t, box, k.background("two.pid", ""))
	k.quiesce(t, box)
	k.wantDead(t, box, "one.pid", "two.pid")
	wantRead(t, box, "kept.txt", "kept")
}

func quiesceDaemon(t *testing.T, k *contract) {
	box := k.box(t)
	k.succeed(t, box, sandbox.Command{Argv: []string{"python3", "-c", daemon, "daemon.pid", "return"}})
	k.quiesce(t, box)
	k.wantDead(t, box, "daemon.pid")
}

func quiesceClosed(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "f", "kept")
	k.succeed(t, box, sh("chmod 000 /workspace"))
	k.quiesce(t, box)
	wantRead(t, box, "f", "kept")
	k.succeed(t, box, sh("echo more > g"))
}

func quiesceCall(t *testing.T, k *contract) {
	box := k.box(t)
	call := k.start(during(t), box, sh(spin, "spin.pid"))
	k.await(t, box, "spin.pid")
	k.quiesce(t, box)
	got := returns(t, "exec whose program Quiesce killed", call)
	if got.err != nil || got.Signal == 0 || got.ExitCode != 128+got.Signal || got.TimedOut {
		t.Errorf("exec whose program Quiesce killed: got %s, %v, want a signal and no error", summary(got.Result), got.err)
	}
	k.wantDead(t, box, "spin.pid")
}

// quiesce quiesces and wants the box to go on working.
func (k *contract) quiesce(t *testing.T, box sandbox.Session) {
	t.Helper()
	if err := box.Quiesce(during(t)); err != nil {
		t.Fatalf("quiesce: got %v, want no error", err)
	}
	k.wantOutput(t, box, sh(`echo fine`), "fine\n")
}

func closeDuringCall(t *testing.T, k *contract) {
	box := openBox(t, k.provider, sandbox.Spec{})
	call := k.start(during(t), box, sh(spin, "spin.pid"))
	k.await(t, box, "spin.pid")
	if err := box.Close(during(t)); err != nil {
		t.Errorf("close while a program runs: got %v, want no error", err)
	}
	if got := returns(t, "exec in a box that was closed", call); got.err == nil && got.Signal == 0 {
		t.Errorf("exec in a box that was closed: got %s, want an error or its death", summary(got.Result))
	}
}

func readDuringCall(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "dir/given.txt", "given")
	ctx, cancel := context.WithCancel(during(t))
	defer cancel()
	call := k.start(ctx, box, sh(spin, "dir/spin.pid"))
	k.await(t, box, "dir/spin.pid")
	wantRead(t, box, "dir/given.txt", "given")
	write(t, box, "dir/given.txt", "changed")
	if l, err := box.List(during(t), "dir", true, 10); err != nil || len(l.Entries) != 2 {
		t.Errorf("list while a program runs: got %v, %v, want two files", l.Entries, err)
	}
	k.wantOutput(t, box, sh(`read -r l < dir/given.txt || :; echo "$l"`), "changed\n")
	select {
	case got := <-call:
		t.Errorf("the program: got %s, %v, want it running still", summary(got.Result), got.err)
	default:
	}
	cancel()
	returns(t, "exec after its context was cancelled", call)
}

type outcome struct {
	sandbox.Result
	err error
}

// start runs a command in a goroutine of its own.
func (k *contract) start(ctx context.Context, box sandbox.Session, c sandbox.Command) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		r, err := box.Exec(ctx, c)
		done <- outcome{r, err}
	}()
	return done
}

// background is a command that leaves a child running, with the id in a file
// and the command's output still open, and then does something else.
func (k *contract) background(pid, then string) sandbox.Command {
	return sh(`/bin/sh -c "$1" child "$2" & while [ ! -s "$2" ]; do :; done; `+then, spin, pid)
}

// written tells whether each of the files holds a process id.
func (k *contract) written(t *testing.T, box sandbox.Session, pids ...string) bool {
	t.Helper()
	for _, pid := range pids {
		f, err := box.ReadFile(during(t), pid, 100)
		if err != nil && !errors.Is(err, sandbox.ErrNotFound) {
			t.Fatalf("read %q: got %v, want its content or ErrNotFound", pid, err)
		}
		if !strings.HasSuffix(string(f.Data), "\n") {
			return false
		}
	}
	return true
}

func (k *contract) await(t *testing.T, box sandbox.Session, pid string) {
	t.Helper()
	eventually(t, fmt.Sprintf("a program has written %q", pid), func() bool { return k.written(t, box, pid) })
}

// wantDead wants the processes whose ids are in files to be gone. A killed one
// may take a moment to be reaped.
func (k *contract) wantDead(t *testing.T, box sandbox.Session, pids ...string) {
	t.Helper()
	for _, pid := range pids {
		id := strings.TrimSpace(read(t, box, pid))
		eventually(t, fmt.Sprintf("the process in %q is gone", pid), func() bool {
			r := k.succeed(t, box, sh(`if [ -e "/proc/$1" ]; then echo there; else echo gone; fi`, id))
			return r.Stdout.Text == "gone\n"
		})
	}
}
