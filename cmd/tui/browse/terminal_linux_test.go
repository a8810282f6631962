package browse_test

import (
	"context"
	"testing"
	"time"

	"github.com/agentclash/agentclash/cmd/tui/browse"
	"github.com/agentclash/agentclash/cmd/tui/tuitest"
)

// However the screen ends, the terminal is as it was found, also when something in it
// went wrong.
func TestTheTerminalIsLeftAsItWasFound(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		of     *library
		end    func(m *tuitest.Terminal, stop context.CancelFunc)
		broken bool
	}{
		"by a key":             {&library{runs: 3}, func(m *tuitest.Terminal, _ context.CancelFunc) { m.Type(t, "q") }, false},
		"when it is to end":    {&library{runs: 3}, func(_ *tuitest.Terminal, stop context.CancelFunc) { stop() }, false},
		"after a panic in one": {&library{runs: 3, bug: true}, func(*tuitest.Terminal, context.CancelFunc) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := tuitest.Open(t, 80, 24)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			result := make(chan error, 1)
			go func() {
				result <- browse.Show(ctx, browse.Options{Source: row.of, Width: 80, Height: 24, Now: func() time.Time { return noon }}, m.Program, m.Program)
			}()
			if !row.broken {
				m.WaitFor(t, "runs 3")
			}
			row.end(m, stop)
			if err := <-result; (err != nil) != row.broken {
				t.Errorf("got %v", err)
			}
			m.GivenBack(t)
		})
	}
}
