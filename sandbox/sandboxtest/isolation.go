package sandboxtest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func isolationChecks() []check {
	return []check{
		{"I1", "no network but lo", process, onlyLoopback},
		{"I2", "the root is read-only", process, readOnlyRoot},
		{"I3", "no process of another box is seen", process, separateProcesses},
		{"I4", "no capability and no way to gain privileges", process, noPrivileges},
		{"I4", "no user namespace, in which anybody is root", tools, noUserNamespace},
		{"I5", "a program that forks without end gets no further than its limit", tools, processLimit},
		{"I5", "open files have a limit", process, openFilesLimit},
	}
}

func onlyLoopback(t *testing.T, k *contract) {
	wantLoopback(t, k, k.box(t))
}

func wantLoopback(t *testing.T, k *contract, box sandbox.Session) {
	t.Helper()
	r := k.succeed(t, box, sh(`while read -r name rest; do echo "$name"; done < /proc/net/dev`))
	var found []string
	for line := range strings.Lines(r.Stdout.Text) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found = append(found, name)
		}
	}
	// Some kernels give each network namespace tunnels that are down; they lead nowhere.
	for _, name := range found {
		switch name {
		case "lo", "tunl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "sit0", "ip6tnl0", "ip6gre0":
		default:
			t.Errorf("network interfaces: got %q, want lo alone", name)
		}
	}
	if len(found) == 0 {
		t.Errorf("network interfaces: got none in %q, want lo", r.Stdout.Text)
	}
}

func readOnlyRoot(t *testing.T, k *contract) {
	r := k.succeed(t, k.box(t), sh(`for d in / /bin /etc /usr /usr/bin /lib /opt /root /home /var; do
		if (echo x > "$d/agentclash-probe") 2>/dev/null; then echo "$d"; fi
	done; echo done`))
	if r.Stdout.Text != "done\n" {
		t.Errorf("directories that can be written to: got %q, want none", r.Stdout.Text)
	}
}

func separateProcesses(t *testing.T, k *contract) {
	a, b := k.box(t), k.box(t)
	k.succeed(t, a, sh(`/bin/sh -c "$1" agentclash-probe "$2" & while [ ! -s "$2" ]; do :; done`, spin, "spin.pid"))
	// A shell keeps no NUL bytes, so a command line comes as one word.
	all := sh(`for f in /proc/[0-9]*/cmdline; do { read -r line || :; echo "$line"; } < "$f"; done`)
	if r := k.succeed(t, a, all); !strings.Contains(r.Stdout.Text, "agentclash-probe") {
		t.Errorf("processes seen from the box they run in: got %q, want the one started", r.Stdout.Text)
	}
	if r := k.succeed(t, b, all); strings.Contains(r.Stdout.Text, "agentclash-probe") {
		t.Errorf("processes seen from another box: got %q, want its own alone", r.Stdout.Text)
	}
}

func noPrivileges(t *testing.T, k *contract) {
	r := k.succeed(t, k.box(t), sh(`while read -r name value; do case "$name" in CapEff:|CapPrm:|NoNewPrivs:) echo "$name$value";; esac; done < /proc/self/status`))
	want := "CapPrm:0000000000000000\nCapEff:0000000000000000\nNoNewPrivs:1\n"
	if r.Stdout.Text != want {
		t.Errorf("what a program may do: got %q, want %q", r.Stdout.Text, want)
	}
}

func processLimit(t *testing.T, k *contract) {
	const most = 64
	box := k.boxOf(t, sandbox.Spec{Limits: sandbox.Limits{PIDs: most}})
	r := k.succeed(t, box, python(`import os, time
n = 0
try:
    while n < 1000:
        if os.fork() == 0:
            time.sleep(600)
        n += 1
except OSError:
    pass
print(n)`))
	if n, err := strconv.Atoi(strings.TrimSpace(r.Stdout.Text)); err != nil || n < 1 || n >= most {
		t.Errorf("forks until an error, with a limit of %d: got %q", most, r.Stdout.Text)
	}
	k.quiesce(t, box)
}

func openFilesLimit(t *testing.T, k *contract) {
	const most = 100
	box := k.boxOf(t, sandbox.Spec{Limits: sandbox.Limits{OpenFiles: most}})
	r := k.succeed(t, box, sh(`while read -r a b c soft hard rest; do case "$a $b $c" in "Max open files") echo "$soft $hard";; esac; done < /proc/self/limits`))
	if r.Stdout.Text != "100 100\n" {
		t.Errorf("limit of open files: got %q, want %d", r.Stdout.Text, most)
	}
}

func noUserNamespace(t *testing.T, k *contract) {
	const newUser, newNet = 0x10000000, 0x40000000
	for _, flags := range []int{newUser, newUser | newNet, newNet} {
		r := k.succeed(t, k.box(t), python(`import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(int(sys.argv[1])), ctypes.get_errno() != 0)`, strconv.Itoa(flags)))
		if r.Stdout.Text != "-1 True\n" {
			t.Errorf("unshare with the flags %#x: got %q, want it refused", flags, r.Stdout.Text)
		}
	}
}
