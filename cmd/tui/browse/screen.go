package browse

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/agentclash/agentclash/cmd/tui/terminal"
)

// Options are what a screen takes from the world.
type Options struct {
	Source Source
	// Open is the run that is opened first, nil for the list.
	Open  *Run
	Color bool
	// Width and Height are the terminal's until it says otherwise; 80 by 24 when they
	// are 0.
	Width, Height int
	Now           func() time.Time
}

// framesPerSecond is how often the screen is painted at most.
const framesPerSecond = 30

// Show shows the screen until a person leaves it or ctx is done, and leaves the
// terminal as it was. An error means that it could not be shown.
func Show(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	within, leave := context.WithCancel(ctx)
	defer leave() // what is still being read
	m := newModel(within, o)
	_, err := terminal.Show(within, m, in, out, framesPerSecond)
	switch {
	case m.failed != nil:
		return m.failed
	case ctx.Err() != nil:
		return nil // it was to end
	case err != nil:
		return fmt.Errorf("show the browser: %w", err)
	}
	return nil
}

func newModel(ctx context.Context, o Options) *model {
	m := &model{o: o, ctx: ctx, width: cmp.Or(o.Width, 80), height: cmp.Or(o.Height, 24), now: o.Now()}
	m.push(m.runsPage())
	if o.Open != nil {
		m.push(m.runPage(*o.Open))
	}
	return m
}
