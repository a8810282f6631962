package guest_test

import (
	"os/exec"
	"testing"

	"github.com/agentclash/agentclash/sandbox/guest"
)

// BenchmarkExec compares a command through a guest with the floor beneath it,
// and with a call that runs nothing.
func BenchmarkExec(b *testing.B) {
	ch := startChild(b)
	c, _ := ch.connect(b, guest.Config{})
	b.Run("guest", func(b *testing.B) {
		for b.Loop() {
			if r, err := c.Exec(b.Context(), guest.Command{Argv: []string{"/bin/true"}}); err != nil || r.ExitCode != 0 {
				b.Fatalf("%+v, %v", r, err)
			}
		}
	})
	b.Run("host", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("no process", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.List(b.Context(), "/none", false, 1); err == nil {
				b.Fatal("found something")
			}
		}
	})
}
