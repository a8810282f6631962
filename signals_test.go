package main_test

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentclash/agentclash/cmd"
	"github.com/agentclash/agentclash/cmd/cli"
)

// closing is a writer that waits until something is closed.
type closing <-chan struct{}

func (c closing) Write(p []byte) (int, error) { <-c; return len(p), nil }

// One request to end that comes as two signals, to the process and to its group,
// ends a command in order; a second one that comes later ends it at once.
func TestTwoSignals(t *testing.T) {
	t.Parallel()
	for apart, hard := range map[time.Duration]bool{time.Millisecond: false, time.Minute: true} {
		signals := make(chan os.Signal, 2)
		signals <- syscall.SIGTERM
		signals <- syscall.SIGTERM
		var looks, exits atomic.Int64
		left := make(chan struct{})
		var once sync.Once
		leave := func() { once.Do(func() { close(left) }) }
		p := cli.System()
		p.Out, p.Err, p.Dir = io.Discard, io.Discard, t.TempDir()
		if hard { // so that the command does not end before the second one is heard
			p.Err = closing(left)
		}
		home := t.TempDir()
		p.Getenv = func(name string) string { return map[string]string{"AGENTCLASH_HOME": home}[name] }
		start := time.Now()
		p.Now = func() time.Time { return start.Add(time.Duration(looks.Add(1)) * apart) }
		p.Signals = func() (<-chan os.Signal, func()) { return signals, func() {} }
		p.Exit = func(int) { exits.Add(1); leave() }
		status := cmd.Main(p, []string{"eval", "start", "--pack", "builtin:quickstart", "--model", "scripted/builtin:quickstart-good"})
		if status != 130 || (exits.Load() > 0) != hard {
			t.Errorf("signals %v apart: got status %d and %d hard exits, want 130 and a hard one %v", apart, status, exits.Load(), hard)
		}
	}
}
