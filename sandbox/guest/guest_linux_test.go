package guest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	var pid int
	if _, err := fmt.Sscanf(text(r.Stdout), "pid %d", &pid); err != nil || !alive(pid) {
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

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			name := filepath.Join(dir, strconv.Itoa(i))
			if err := c.WriteFile(t.Context(), name, []byte(name), 0o600); err != nil {
				t.Error(err)
			}
			r := run(t, c, guest.Command{Argv: []string{"cat", name}})
			f, err := c.ReadFile(t.Context(), name, 1<<20)
			if text(r.Stdout) != name || string(f.Data) != name || err != nil {
				t.Errorf("file %d: got %q, %q, %v; want its name", i, text(r.Stdout), f.Data, err)
			}
		})
	}
	wg.Wait()
}

func TestFilesComeThroughUnchanged(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	data := make([]byte, 16<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(data)
	name := filepath.Join(t.TempDir(), "deep", "er", "data.bin")
	if err := c.WriteFile(t.Context(), name, data, 0o640); err != nil {
		t.Fatal(err)
	}
	f, err := c.ReadFile(t.Context(), name, 1<<30)
	if err != nil || !bytes.Equal(f.Data, data) || f.Size != int64(len(data)) || f.Mode != 0o640 {
		t.Errorf("got %d of %d bytes, equal %v, mode %o, %v", len(f.Data), f.Size, bytes.Equal(f.Data, data), f.Mode, err)
	}
	f, err = c.ReadFile(t.Context(), name, 1000)
	if err != nil || !bytes.Equal(f.Data, data[:1000]) || f.Size != int64(len(data)) {
		t.Errorf("limited: got %d of %d bytes, %v", len(f.Data), f.Size, err)
	}
	r := run(t, c, guest.Command{Argv: []string{"cat"}, Stdin: data[:guest.MaxStdin], Head: guest.MaxKeep, Tail: 0})
	if !bytes.Equal(r.Stdout.Head, data[:guest.MaxStdin]) {
		t.Errorf("through a program: got %d bytes, not what was sent", len(r.Stdout.Head))
	}
}

func TestWriteReplaces(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	dir := t.TempDir()
	script, other, link := filepath.Join(dir, "script"), filepath.Join(dir, "other"), filepath.Join(dir, "link")
	write(t, script, "old", 0o755)
	write(t, other, "other", 0o644)
	if err := os.Symlink("other", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{script, link} {
		if err := c.WriteFile(t.Context(), name, []byte("new"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(script); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("got mode %v, want the old one kept (%v)", st.Mode(), err)
	}
	if b, _ := os.ReadFile(other); string(b) != "other" {
		t.Errorf("the link's target became %q", b)
	}
	if st, err := os.Lstat(link); err != nil || !st.Mode().IsRegular() {
		t.Errorf("got %v, want a file in the link's place (%v)", st.Mode(), err)
	}
	if err := c.WriteFile(t.Context(), filepath.Join(dir, "empty"), nil, 0o644); err != nil {
		t.Error(err)
	}
	if err := c.WriteFile(t.Context(), dir, []byte("x"), 0o644); !errors.Is(err, guest.ErrNotRegular) {
		t.Errorf("onto a directory: got %v, want ErrNotRegular", err)
	}
	if err := c.WriteFile(t.Context(), filepath.Join(script, "below"), []byte("x"), 0o644); !errors.Is(err, guest.ErrNoParent) {
		t.Errorf("below a file: got %v, want ErrNoParent", err)
	}
	if names := names(t, dir); !cmp.Equal(names, []string{"empty", "link", "other", "script"}) {
		t.Errorf("got %q, want nothing left over", names)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	if err := c.WriteFile(t.Context(), "/dev/full/x", nil, 0o644); !errors.Is(err, guest.ErrNoParent) {
		t.Errorf("below a device: got %v, want ErrNoParent", err)
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	err := c.WriteFile(t.Context(), filepath.Join(dir, "big"), make([]byte, 4<<20), 0o644)
	if !errors.Is(err, guest.ErrNoSpace) {
		t.Errorf("got %v, want ErrNoSpace", err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	if err := c.WriteFile(t.Context(), filepath.Join(dir, "small"), []byte("fits"), 0o644); err != nil {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	dir := t.TempDir()
	fifo, loop, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "loop"), filepath.Join(dir, "file")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	write(t, file, "x", 0o644)
	for name, want := range map[string]error{
		filepath.Join(dir, "none"): guest.ErrNotFound,
		filepath.Join(file, "sub"): guest.ErrNotFound,
		dir:                        guest.ErrNotRegular,
		fifo:                       guest.ErrNotRegular,
		loop:                       guest.ErrNotRegular,
		"/dev/zero":                guest.ErrNotRegular,
		"/proc/self/environ":       guest.ErrNotRegular,
	} {
		if _, err := c.ReadFile(t.Context(), name, 100); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	if _, err := c.ReadFile(t.Context(), "relative", 100); err == nil {
		t.Error("a relative path: got no error")
	}
	if f, err := c.ReadFile(t.Context(), file, 0); err != nil || len(f.Data) != 0 || f.Size != 1 {
		t.Errorf("no bytes asked for: got %q of %d, %v", f.Data, f.Size, err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	dir := t.TempDir()
	for _, d := range []string{"a/b", "z"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	odd := "odd\n\xff name"
	for _, f := range []string{"a/b/deep", "a.txt", odd} {
		write(t, filepath.Join(dir, f), "12345", 0o644)
	}
	if err := os.Symlink(".", filepath.Join(dir, "z", "loop")); err != nil {
		t.Fatal(err)
	}
	all := []string{"a/", "a.txt 5", "a/b/", "a/b/deep 5", odd + " 5", "z/", "z/loop@"}
	for _, tc := range []struct {
		recursive bool
		limit     int
		want      []string
		truncated bool
	}{
		{true, 100, all, false},
		{true, 7, all, false},
		{false, 100, []string{"a/", "a.txt 5", odd + " 5", "z/"}, false},
		{false, 2, []string{"a/", "a.txt 5"}, true},
	} {
		l, err := c.List(t.Context(), dir, tc.recursive, tc.limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range l.Entries {
			s := strings.TrimPrefix(e.Path, dir+"/")
			switch {
			case e.Dir:
				s += "/"
			case e.Symlink:
				s += "@"
			case e.Regular:
				s += fmt.Sprint(" ", e.Size)
			}
			got = append(got, s)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || l.Truncated != tc.truncated {
			t.Errorf("recursive %v, limit %d: truncated %v, want %v, and (-want +got):\n%s", tc.recursive, tc.limit, l.Truncated, tc.truncated, diff)
		}
	}
	for _, name := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "a.txt")} {
		if _, err := c.List(t.Context(), name, false, 10); !errors.Is(err, guest.ErrNotFound) {
			t.Errorf("list %s: got %v, want ErrNotFound", name, err)
		}
	}
	f, err := c.ReadFile(t.Context(), filepath.Join(dir, odd), 10)
	if err != nil || string(f.Data) != "12345" {
		t.Errorf("read the odd name: got %q, %v", f.Data, err)
	}
}

func TestEndOfInputEndsEverything(t *testing.T) {
	t.Parallel()
	c, ch := open(t)
	r := run(t, c, guest.Command{Argv: []string{ch.bin, "daemon", "detached", "bare"}})
	var pid int
	if _, err := fmt.Sscanf(text(r.Stdout), "pid %d", &pid); err != nil {
		t.Fatal(err)
	}
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
