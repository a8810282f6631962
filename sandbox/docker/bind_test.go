package docker_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
)

// bound opens a box of the image with tools whose agent is kept to src, for
// reading, and out.
func bound(t *testing.T) (box_ sandbox.Session, agents sandbox.Session) {
	t.Helper()
	o := options(t)
	o.Image = docker.StandInImage
	if !haveStandIn(t) {
		t.Skipf("there is no image %s (make sandbox-image)", docker.StandInImage)
	}
	roots := sandbox.Roots{Read: []string{"/workspace/src"}, Write: []string{"/workspace/deep/out", "/workspace/out"}}
	p := open(t, o)
	if _, err := p.Describe(t.Context(), sandbox.Spec{Roots: roots}); err != nil {
		t.Fatal(err)
	}
	b := box(t, p, sandbox.Spec{})
	agents, err := b.(sandbox.Binder).Bind(t.Context(), roots)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"secret": "SECRET", "src/a": "source", "hidden/x": "SECRET"} {
		if err := b.WriteFile(t.Context(), name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	return b, agents
}

// TestRootsHold tries every way out of its roots that a program has.
func TestRootsHold(t *testing.T) {
	t.Parallel()
	b, agents := bound(t)
	for name, script := range map[string]string{
		"read beside":             "cat ../secret",
		"read by its full name":   "cat /workspace/secret",
		"read by dots":            "cat /tmp/../workspace/hidden/../secret",
		"list the workspace":      "ls /workspace",
		"list what is hidden":     "ls /workspace/hidden",
		"write beside":            "echo x > /workspace/new",
		"write to what is read":   "echo x > /workspace/src/a",
		"append":                  "echo x >> /workspace/src/a",
		"new beside what is read": "echo x > /workspace/src/b",
		"remove":                  "rm -f /workspace/src/a && ! test -e /workspace/src/a",
		"make a directory":        "mkdir /workspace/src/d",
		"cut off":                 `python3 -c 'import os; os.truncate("/workspace/src/a", 0)'`,
		"a link to a file":        "ln -sf /workspace/secret l && cat l",
		"a link to write by":      "ln -sf /workspace/src/a m && echo x > m",
		"a link to a directory":   "ln -sfn /workspace d && cat d/secret",
		"a link to a link":        "ln -sfn .. e && ln -sfn e/../secret f && cat f",
		"a hard link":             "ln /workspace/secret h && cat h",
		"a hard link to write":    "ln /workspace/src/a i && echo x > i",
		"a link made elsewhere":   "ln -sf /workspace/secret /tmp/l && cat /tmp/l",
		"the root of a process":   "cat /proc/self/root/workspace/secret",
		"the root of the guest":   "cat /proc/1/root/workspace/secret",
		"a process's directory":   "cat /proc/self/cwd/../secret",
		"the guest's directory":   "cat /proc/1/cwd/secret",
		"the guest's files":       "cat /proc/1/fd/*",
		"change the directory":    "cd /workspace && cat secret",
		"move it in":              "mv /workspace/secret s && cat s",
		"move it out":             "echo x > y && mv y /workspace/y",
		"move into what is read":  "echo x > z && mv z /workspace/src/z",
		"swap":                    `python3 -c 'import os; os.rename("/workspace/src", "/workspace/out/src")'`,
		"swap the root":           "mv /workspace/out /workspace/old",
		"replace the root":        "rm -rf /workspace/deep/out && ln -s /workspace/hidden /workspace/deep/out",
		"an open directory":       `python3 -c 'import os; d = os.open("/workspace", os.O_PATH); print(os.read(os.open("secret", os.O_RDONLY, dir_fd=d), 9))'`,
		"an open file":            `python3 -c 'import os; d = os.open("/workspace/secret", os.O_PATH); print(open("/proc/self/fd/%d" % d).read())'`,
		"execute":                 "cp /bin/true t && ./t && /workspace/hidden/x",
		"in the background":       "(setsid sh -c 'cat /workspace/secret > /tmp/stolen' &) ; sleep 0.3; grep SECRET /tmp/stolen",
		"another thread":          `python3 -c 'import threading; t = threading.Thread(target=lambda: print(open("/workspace/secret").read())); t.start(); t.join(); raise SystemExit(1)'`,
		"a mount":                 "mount --bind /workspace /mnt",
		"a debugger":              `python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).ptrace(16, 1, 0, 0) != 0)'`,
		"chroot":                  "chroot /workspace /bin/true",
	} {
		c := sh(script)
		c.Dir = "/workspace/out"
		if r := run(t, agents, c); r.ExitCode == 0 || strings.Contains(r.Stdout.Text, "SECRET") {
			t.Errorf("%s: got %d, %q %q, want it refused", name, r.ExitCode, r.Stdout.Text, r.Stderr.Text)
		}
	}
	r := run(t, b, sh("cat secret src/a hidden/x; ls src hidden"))
	if r.Stdout.Text != "SECRETsourceSECRETa\nhidden:\nx\n\nsrc:\na\n" && r.Stdout.Text != "SECRETsourceSECREThidden:\nx\n\nsrc:\na\n" {
		t.Errorf("afterwards: got %q, want all as it was", r.Stdout.Text)
	}
}

// TestRootsPermit does what an agent with roots has to be able to do.
func TestRootsPermit(t *testing.T) {
	t.Parallel()
	b, agents := bound(t)
	for name, script := range map[string]string{
		"read":             "cat /workspace/src/a",
		"write":            "echo x > f && mkdir -p d/e && mv f d/e/f && ln d/e/f g && ln -s g h && cat h && rm -r d",
		"between roots":    "echo x > f && mv f /workspace/deep/out/f && cat /workspace/deep/out/f",
		"elsewhere":        "echo x > /tmp/f && echo x > /var/tmp/f && echo x > /dev/shm/f && cat /tmp/f /etc/passwd /proc/self/status >/dev/null",
		"run what it made": "cp /bin/true ./t && ./t && cp ./t /tmp/t && /tmp/t",
		"python":           "python3 -c 'import json, subprocess, tempfile; subprocess.check_call([\"true\"]); tempfile.NamedTemporaryFile()'",
		"pipes":            "yes | head -n 3 | wc -l > n && cat n",
	} {
		c := sh(script)
		c.Dir = "/workspace/out"
		if r := run(t, agents, c); r.ExitCode != 0 {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	if r := run(t, b, sh("cat secret && echo x > src/new && ls /workspace")); r.ExitCode != 0 {
		t.Errorf("the engine: got %+v, want it to be bound by nothing", r)
	}
	c := sh("echo hi")
	c.Dir, c.Argv = "/workspace/out", []string{"/workspace/hidden/x"}
	if r := run(t, agents, c); !strings.Contains(r.StartError, "permission denied") {
		t.Errorf("a program outside: got %+v", r)
	}
}

// TestRootsHoldFiles has links, which programs can make, lead the calls for
// files astray.
func TestRootsHoldFiles(t *testing.T) {
	t.Parallel()
	b, agents := bound(t)
	c := sh("ln -s /workspace/secret file; ln -s /workspace dir; ln -s /workspace/src src; ln -s /workspace/out back; mkfifo pipe; echo mine > own")
	c.Dir = "/workspace/out"
	if r := run(t, agents, c); r.ExitCode != 0 {
		t.Fatalf("got %+v", r)
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, sandbox.ErrRoots) {
			t.Errorf("%s: got %v, want ErrRoots", what, err)
		}
	}
	for _, name := range []string{"out/file", "out/dir/secret", "secret", "hidden/x", "out/../secret"} {
		_, err := agents.ReadFile(t.Context(), name, 10)
		refused("read "+name, err)
	}
	for _, name := range []string{"out/dir/new", "out/src/a", "src/a", "new", "out/dir/new/dir/f", "src/new/dir/f"} {
		refused("write "+name, agents.WriteFile(t.Context(), name, []byte("x")))
	}
	for _, name := range []string{"out/dir", "hidden", ""} {
		_, err := agents.List(t.Context(), name, true, 100)
		refused("list "+name, err)
	}
	for _, name := range []string{"out/own", "out/back/own", "src/a", "out/src/a"} {
		if _, err := agents.ReadFile(t.Context(), name, 10); err != nil {
			t.Errorf("read %s: %v", name, err)
		}
	}
	for _, name := range []string{"out/new", "out/back/more", "deep/out/d/e/f", "out/file"} { // a link is replaced
		if err := agents.WriteFile(t.Context(), name, []byte("x")); err != nil {
			t.Errorf("write %s: %v", name, err)
		}
	}
	l, err := agents.List(t.Context(), "out", true, 100)
	if err != nil || len(l.Entries) != 8 {
		t.Errorf("list: got %v, %v", l, err)
	}
	if r := run(t, b, sh("cat secret src/a hidden/x; ls /workspace")); r.Stdout.Text != "SECRETsourceSECRETdeep\nhidden\nout\nsecret\nsrc\n" {
		t.Errorf("afterwards: got %q", r.Stdout.Text)
	}
}

// A box with no process left still keeps to its roots, and works.
func TestRootsUnderABomb(t *testing.T) {
	t.Parallel()
	o := options(t)
	b := box(t, open(t, o), sandbox.Spec{Limits: sandbox.Limits{PIDs: 64}})
	agents, err := b.(sandbox.Binder).Bind(t.Context(), sandbox.Roots{Write: []string{"/workspace/out"}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, agents, sh(`/.agentclash/guest bomb >/dev/null 2>&1 & echo started`))
	for range 20 {
		if err := agents.WriteFile(t.Context(), "out/f", []byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := agents.ReadFile(t.Context(), "f", 1); !errors.Is(err, sandbox.ErrRoots) && !errors.Is(err, sandbox.ErrNotFound) {
			t.Fatalf("got %v", err)
		}
	}
	if err := b.Quiesce(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantFine(t, agents)
	if _, err := b.(sandbox.Binder).Bind(t.Context(), sandbox.Roots{Write: []string{"/workspace/out"}}); err == nil {
		t.Error("bound twice: got no error")
	}
}
