package sandboxtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func rootsChecks() []check {
	return []check{
		{"R1 R2", "an agent is kept to its roots", process, keptToRoots},
		{"R1", "no link leads out of the roots", tools, linksAndRoots},
		{"R1", "a mode is not the roots' doing", tools, modesAndRoots},
		{"R1 Q4", "what is hidden cannot be read whatever is done to its mode", tools, metadataAndRoots},
		{"R1 I7", "roots that cannot be kept are refused at once", process, rootsDescribed},
		{"R3", "roots that are not narrow bind nothing", process, wideRoots},
	}
}

// bind has a box keep an agent to roots, and skips where it cannot.
func bind(t *testing.T, box sandbox.Session, roots sandbox.Roots) sandbox.Session {
	t.Helper()
	b, ok := box.(sandbox.Binder)
	if !ok {
		t.Skip("not for this provider: its sessions are no Binder")
	}
	bound, err := b.Bind(during(t), roots)
	if errors.Is(err, sandbox.ErrUnbound) {
		t.Skipf("not on this machine: %v", err)
	}
	if err != nil {
		t.Fatalf("bind: got %v, want no error", err)
	}
	return bound
}

var someRoots = sandbox.Roots{Read: []string{"/workspace/given"}, Write: []string{"/workspace/own"}}

func keptToRoots(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "given/f", "to read")
	write(t, box, "hidden/f", "not to read")
	agent := bind(t, box, someRoots)
	wantRead(t, agent, "given/f", "to read")
	write(t, agent, "own/f", "mine")
	wantRead(t, box, "own/f", "mine")
	_, err := agent.ReadFile(during(t), "hidden/f", 10)
	wantError(t, "read what is hidden", err, sandbox.ErrRoots)
	wantError(t, "write what is given", agent.WriteFile(during(t), "given/f", nil), sandbox.ErrRoots)
	r := k.succeed(t, agent, sh(`read -r x < given/f || echo "$x"; echo "given $x"
		(read -r x < hidden/f) 2>/dev/null && echo "hidden was read"
		(echo x > given/new) 2>/dev/null && echo "given was written"
		(echo x > hidden/new) 2>/dev/null && echo "hidden was written"
		echo x > own/new && echo "own was written"`))
	if !strings.HasSuffix(r.Stdout.Text, "given to read\nown was written\n") || strings.Contains(r.Stdout.Text, "hidden") {
		t.Errorf("a bound program: got %q %q", r.Stdout.Text, r.Stderr.Text)
	}
	wantRead(t, box, "hidden/f", "not to read")
	k.succeed(t, box, sh("echo graded > given/new && echo graded > hidden/new"))
}

func linksAndRoots(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "hidden/f", "not to read")
	write(t, box, "given/f", "to read")
	agent := bind(t, box, someRoots)
	k.succeed(t, agent, sh("ln -s ../hidden own/dir; ln -s ../hidden/f own/file; ln -s ../given own/given"))
	for _, name := range []string{"own/dir/f", "own/file"} {
		_, err := agent.ReadFile(during(t), name, 10)
		wantError(t, "read "+name, err, sandbox.ErrRoots)
	}
	wantError(t, "write through a link", agent.WriteFile(during(t), "own/given/f", []byte("x")), sandbox.ErrRoots)
	r := k.succeed(t, agent, sh(`cat own/dir/f own/file; cp own/file own/copy; ln hidden/f own/hard; mv hidden/f own/moved; mv own/dir/f own/moved; echo x > own/given/f; true`))
	if r.Stdout.Text != "" {
		t.Errorf("a bound program read %q", r.Stdout.Text)
	}
	wantRead(t, box, "hidden/f", "not to read")
	wantRead(t, box, "given/f", "to read")
	for _, name := range []string{"own/copy", "own/hard", "own/moved"} {
		if f, err := box.ReadFile(during(t), name, 100); err == nil && len(f.Data) > 0 {
			t.Errorf("a bound program made %s: %q", name, f.Data)
		}
	}
}

// modesAndRoots: what an agent has made unreadable itself is denied as such.
func modesAndRoots(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "hidden/f", "not to read")
	agent := bind(t, box, someRoots)
	k.succeed(t, agent, sh("mkdir own/dir; echo x > own/f; echo x > own/dir/f; chmod 000 own/f own/dir; ln -s ../hidden own/link"))
	_, file := agent.ReadFile(during(t), "own/f", 10)
	_, list := agent.List(during(t), "own/dir", false, 10)
	for what, err := range map[string]error{
		"read a file": file, "list a directory": list, "write below a directory": agent.WriteFile(during(t), "own/dir/g", nil),
	} {
		if err == nil || errors.Is(err, sandbox.ErrRoots) || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s of mode 000: got %v, want that permission is denied", what, err)
		}
	}
	_, list = agent.List(during(t), "own/link", false, 10)
	wantError(t, "list what is hidden", list, sandbox.ErrRoots)
	wantError(t, "write to what is hidden", agent.WriteFile(during(t), "own/link/a/b", nil), sandbox.ErrRoots)
}

func metadataAndRoots(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "hidden/f", "not to read")
	agent := bind(t, box, someRoots)
	r := k.succeed(t, agent, sh("chmod 777 hidden hidden/f; cat hidden/f; ls hidden; touch -d 2001-01-01 hidden/f; chmod 000 /workspace; true"))
	if r.Stdout.Text != "" {
		t.Errorf("a bound program read %q", r.Stdout.Text)
	}
	k.quiesce(t, box)
	wantRead(t, box, "hidden/f", "not to read")
}

// rootsDescribed: what cannot be kept is refused before any box is opened for it.
func rootsDescribed(t *testing.T, k *contract) {
	b, ok := k.box(t).(sandbox.Binder)
	if !ok {
		t.Skip("not for this provider: its sessions are no Binder")
	}
	_, bound := b.Bind(during(t), someRoots)
	_, err := k.provider.Describe(during(t), sandbox.Spec{Roots: someRoots})
	if errors.Is(bound, sandbox.ErrUnbound) {
		wantError(t, "describe what cannot be bound", err, sandbox.ErrSpec)
		return
	}
	if err != nil {
		t.Errorf("describe what can be bound: got %v, want no error", err)
	}
}

func wideRoots(t *testing.T, k *contract) {
	box := k.box(t)
	agent := bind(t, box, sandbox.Roots{Dir: "/workspace/sub", Write: []string{sandbox.Workspace}})
	write(t, agent, "anywhere/f", "x")
	k.succeed(t, agent, sandbox.Command{Argv: []string{"/bin/sh", "-c", "echo y > f && echo y > ../anywhere/g"}, Dir: "/workspace/sub"})
	wantRead(t, box, "sub/f", "y\n")
}
