package sandboxtest

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func isolationChecks() []check {
	return []check{
		{"no network but lo", process, onlyLoopback},
		{"the root is read-only", process, readOnlyRoot},
		{"no process of another box is seen", process, separateProcesses},
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
