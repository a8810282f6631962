package guest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox/guest"
)

// agentBinary builds the small guest once per test process.
var agentBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "agentclash-guest")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "agent")
	cmd := exec.Command("go", "build", "-o", bin, "./internal/agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the guest: %w\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := agentBinary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// stdio is a guest's stream, made of two pipes.
type stdio struct {
	io.Reader
	io.WriteCloser
}

// child is a guest that runs as a process of the test.
type child struct {
	bin    string
	cmd    *exec.Cmd
	stream stdio
	stderr bytes.Buffer
	exited chan struct{}
}

func startChild(t testing.TB, args ...string) *child {
	t.Helper()
	bin, err := agentBinary()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{bin: bin, cmd: exec.Command(bin, append([]string{"sandbox-agent"}, args...)...), exited: make(chan struct{})}
	c.cmd.Dir = t.TempDir()
	c.cmd.Stderr = &c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe() // StdoutPipe would be closed under the client by Wait
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdout = w
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	c.stream = stdio{out, in}
	go func() {
		_ = c.cmd.Wait()
		close(c.exited)
	}()
	t.Cleanup(func() {
		_ = in.Close()
		select {
		case <-c.exited:
		case <-time.After(10 * time.Second):
			_ = c.cmd.Process.Kill()
			t.Errorf("the guest did not end with its input")
		}
		_ = out.Close()
	})
	return c
}

func (c *child) connect(t testing.TB, cfg guest.Config) (*guest.Client, guest.Facts) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	client, facts, err := guest.Connect(ctx, c.stream, cfg)
	if err != nil {
		t.Fatalf("connect: %v (stderr %q)", err, c.stderr.String())
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, facts
}

// exitStatus waits for the guest's end.
func (c *child) exitStatus(t *testing.T) int {
	t.Helper()
	select {
	case <-c.exited:
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(10 * time.Second):
		t.Fatal("the guest goes on")
		return 0
	}
}

func open(t *testing.T) (*guest.Client, *child) {
	t.Helper()
	c := startChild(t)
	client, _ := c.connect(t, guest.Config{})
	return client, c
}

func run(t *testing.T, c *guest.Client, cmd guest.Command) guest.Result {
	t.Helper()
	if cmd.Head == 0 && cmd.Tail == 0 {
		cmd.Head, cmd.Tail = 64<<10, 64<<10
	}
	if cmd.Timeout == 0 {
		cmd.Timeout = 20 * time.Second
	}
	r, err := c.Exec(t.Context(), cmd)
	if err != nil {
		t.Fatalf("exec %q: %v", cmd.Argv, err)
	}
	return r
}

func text(o guest.Output) string { return string(o.Head) + string(o.Tail) }

// await polls until ok, for what only the kernel decides the time of.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 500 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("after 5 s still not: %s", what)
}

// pidIn is the number that a program's output tells; the program it started may
// have spoken first.
func pidIn(t *testing.T, out string) int {
	t.Helper()
	_, after, _ := strings.Cut(out, "pid ")
	number, _, _ := strings.Cut(after, "\n")
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("got %q, want the number of a process in it", out)
	}
	return pid
}

func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func TestFacts(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	_, f := c.connect(t, guest.Config{})
	st, err := os.Stat(c.bin)
	if err != nil {
		t.Fatal(err)
	}
	if f.Version != guest.Version || f.PID != c.cmd.Process.Pid || f.UID != os.Getuid() || f.GuestBytes != st.Size() {
		t.Errorf("got %+v, want version %d, pid %d, uid %d and %d bytes", f, guest.Version, c.cmd.Process.Pid, os.Getuid(), st.Size())
	}
	if !slices.Contains(f.Interfaces, "lo") {
		t.Errorf("got interfaces %q, want lo among them", f.Interfaces)
	}
}

func TestEndOfInputEndsEverything(t *testing.T) {
	t.Parallel()
	c, ch := open(t)
	r := run(t, c, guest.Command{Argv: []string{ch.bin, "daemon", "detached", "bare"}})
	pid := pidIn(t, text(r.Stdout))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if code := ch.exitStatus(t); code != guest.ExitEOF {
		t.Errorf("got exit %d, want %d", code, guest.ExitEOF)
	}
	if alive(pid) {
		t.Error("a daemon outlived the guest")
	}
	if _, err := c.Exec(t.Context(), guest.Command{Argv: []string{"true"}}); !errors.Is(err, guest.ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestGuestEndsItself(t *testing.T) {
	t.Parallel()
	t.Run("at its deadline", func(t *testing.T) {
		t.Parallel()
		ch := startChild(t, "--deadline", "200ms")
		c, _ := ch.connect(t, guest.Config{})
		if code := ch.exitStatus(t); code != guest.ExitDeadline || !strings.Contains(ch.stderr.String(), "200ms") {
			t.Errorf("got exit %d, %q; want %d", code, ch.stderr.String(), guest.ExitDeadline)
		}
		if _, err := c.Exec(t.Context(), guest.Command{Argv: []string{"true"}}); !errors.Is(err, guest.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
	})
	t.Run("when nobody greets it", func(t *testing.T) {
		t.Parallel()
		ch := startChild(t, "--hello", "100ms")
		if code := ch.exitStatus(t); code != guest.ExitNoHello {
			t.Errorf("got exit %d, want %d", code, guest.ExitNoHello)
		}
	})
	t.Run("when the host falls silent", func(t *testing.T) {
		t.Parallel()
		ch := startChild(t)
		ch.connect(t, guest.Config{Idle: 200 * time.Millisecond, PingEvery: time.Hour})
		if code := ch.exitStatus(t); code != guest.ExitIdle {
			t.Errorf("got exit %d, want %d", code, guest.ExitIdle)
		}
	})
	t.Run("but not while it is pinged", func(t *testing.T) {
		t.Parallel()
		ch := startChild(t)
		c, _ := ch.connect(t, guest.Config{Idle: 400 * time.Millisecond, PingEvery: 20 * time.Millisecond})
		if r := run(t, c, guest.Command{Argv: []string{"sleep", "1"}}); r.ExitCode != 0 {
			t.Errorf("got exit %d, want 0", r.ExitCode)
		}
	})
	t.Run("on unknown arguments", func(t *testing.T) {
		t.Parallel()
		if code := startChild(t, "--no-such-flag").exitStatus(t); code != guest.ExitUsage {
			t.Errorf("got exit %d, want %d", code, guest.ExitUsage)
		}
	})
}

func write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
