package cli_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd/cli"
)

// What a process is remembered by tells whether it still runs, also once its pid is
// another's.
func TestAlive(t *testing.T) {
	t.Parallel()
	self := cli.Owner()
	part := strings.Split(self, "/")
	if len(part) != 3 || part[1] != strconv.Itoa(os.Getpid()) || part[2] == "" {
		t.Fatalf("this process is %q, want boot/pid/start", self)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ended := exec.Command(program, "-test.run", "^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, name string
		want       bool
	}{
		{"this process", self, true},
		{"one that has ended", strings.Join([]string{part[0], strconv.Itoa(ended.Process.Pid), part[2]}, "/"), false},
		{"an earlier one of the same pid", strings.Join([]string{part[0], part[1], "1"}, "/"), false},
		{"one before the machine was started anew", strings.Join([]string{"another boot", part[1], part[2]}, "/"), false},
		{"no owner", "somebody", false},
		{"no pid", strings.Join([]string{part[0], "x", part[2]}, "/"), false},
	} {
		if got := cli.Alive(c.name); got != c.want {
			t.Errorf("%s: alive is %v", c.what, got)
		}
	}
}
