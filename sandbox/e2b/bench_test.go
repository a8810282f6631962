package e2b_test

import (
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/e2b/e2btest"
)

// BenchmarkExec is what a tool call costs beside the network between here and
// E2B: two requests' worth of encoding, the daemon's part, and the guest's.
func BenchmarkExec(b *testing.B) {
	e2btest.Need(b)
	s := e2btest.New(b)
	box, err := open(b, options(s)).Open(b.Context(), sandbox.Spec{Lifetime: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := box.Exec(b.Context(), sandbox.Command{Argv: []string{"/bin/true"}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite16MiB is the same for bulk data.
func BenchmarkWrite16MiB(b *testing.B) {
	e2btest.Need(b)
	s := e2btest.New(b)
	box, err := open(b, options(s)).Open(b.Context(), sandbox.Spec{Lifetime: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 16<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := box.WriteFile(b.Context(), "x", data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is what it takes to put the guest into a machine and start it,
// beside what E2B needs to make one.
func BenchmarkOpen(b *testing.B) {
	e2btest.Need(b)
	s := e2btest.New(b)
	p := open(b, options(s))
	for b.Loop() {
		box, err := p.Open(b.Context(), sandbox.Spec{Lifetime: time.Hour})
		if err != nil {
			b.Fatal(err)
		}
		if err := box.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
