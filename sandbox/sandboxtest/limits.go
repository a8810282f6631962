package sandboxtest

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func limitChecks() []check {
	return []check{
		{"I6", "a limit that a program ran into is named", tools, limitsAreNamed},
		{"I7", "a box that cannot be is refused", process, boxesThatCannotBe},
	}
}

func limitsAreNamed(t *testing.T, k *contract) {
	box := k.boxOf(t, sandbox.Spec{Limits: sandbox.Limits{WorkspaceBytes: 8 << 20, OutputBytes: 1 << 20, FileBytes: 4 << 20}})
	for _, row := range []struct{ script, want string }{
		{"true", ""},
		{"exit 3", ""},
		{"while :; do echo too much of it; done", sandbox.LimitOutput},
		{"head -c 6000000 /dev/zero > /tmp/large", sandbox.LimitFile},
		{"for i in 1 2 3 4; do head -c 3000000 /dev/zero > full$i || exit 1; done", sandbox.LimitWorkspace},
		{"for i in 5 6 7; do head -c 3000000 /dev/zero > full$i; done; echo went on", sandbox.LimitWorkspace},
		{"rm full*; true", ""},
	} {
		r, err := box.Exec(during(t), sh(row.script))
		if err != nil || r.Limit != row.want {
			t.Errorf("%s: got the limit %q (%+v, %v), want %q", row.script, r.Limit, r, err, row.want)
		}
	}
}

func boxesThatCannotBe(t *testing.T, k *contract) {
	for what, spec := range map[string]sandbox.Spec{
		"less than no workspace":    {Limits: sandbox.Limits{WorkspaceBytes: -1}},
		"no room for processes":     {Limits: sandbox.Limits{PIDs: 1}},
		"a package that is no name": {Packages: []string{"-o=x; reboot"}},
	} {
		_, err := k.provider.Describe(during(t), spec)
		wantError(t, what+": describe", err, sandbox.ErrSpec)
		box, err := k.provider.Open(during(t), spec)
		wantError(t, what+": open", err, sandbox.ErrSpec)
		if err != nil && strings.Contains(err.Error(), "open a sandbox") {
			t.Errorf("%s: who opens a sandbox says so, not its provider: %v", what, err)
		}
		if err == nil {
			if err := box.Close(during(t)); err != nil {
				t.Error(err)
			}
		}
	}
}
