package sandboxtest

import (
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func stageChecks() []check {
	return []check{
		{"T1", "an agent's own program can be run, and is not in the workspace", tools, staged},
		{"T2", "nothing is staged elsewhere", process, stagedElsewhere},
	}
}

func stager(t *testing.T, k *contract) (sandbox.Session, sandbox.Stager) {
	t.Helper()
	box := k.box(t)
	s, ok := box.(sandbox.Stager)
	if !ok {
		t.Skip("not for this provider: its sessions are no Stager")
	}
	return box, s
}

func staged(t *testing.T, k *contract) {
	box, s := stager(t, k)
	if err := s.Stage(during(t), "a/run.sh", []byte("#!/bin/sh\necho \"ran $1\"\n"), 0o555); err != nil {
		t.Fatalf("stage a program: got %v, want no error", err)
	}
	r, err := box.Exec(during(t), sandbox.Command{Argv: []string{sandbox.AgentDir + "/a/run.sh", "it"}})
	if err != nil || r.Stdout.Text != "ran it\n" {
		t.Errorf("run it: got %+v, %v", r, err)
	}
	l, err := box.List(during(t), sandbox.Workspace, true, 100)
	if err != nil || len(l.Entries) > 0 {
		t.Errorf("the workspace: got %v, %v, want nothing in it", l.Entries, err)
	}
}

func stagedElsewhere(t *testing.T, k *contract) {
	_, s := stager(t, k)
	for _, name := range []string{"", ".", "..", "../x", "a/../../x", "/etc/x", "a//b", "a/"} {
		wantError(t, "stage "+name, s.Stage(during(t), name, []byte("x"), 0o644), sandbox.ErrOutside)
	}
}
