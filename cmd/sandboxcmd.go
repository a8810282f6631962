package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
)

func newSandbox(a *app) *cobra.Command {
	return group("sandbox", "Look after sandboxes", newSandboxGC(a))
}

func newSandboxGC(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "gc", Short: "Remove sandboxes whose process is dead", Args: noArgs,
		Long: `Remove the containers and scratch directories whose process is dead, and where
there is a key for E2B (E2B_API_KEY) its sandboxes too. Those of living processes
are left alone. Other commands do the same in passing; this one waits for the
engine to be done.`,
		Example: "  agentclash sandbox gc",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			n, err := a.reapScratch(ctx)
			if _, perr := a.probeDocker(ctx); perr == nil {
				m, derr := a.reapDocker(ctx)
				n, err = n+m, errors.Join(err, derr)
			}
			m, eerr := a.reapE2B(ctx)
			n, err = n+m, errors.Join(err, eerr)
			if err != nil {
				return fmt.Errorf("remove old sandboxes: %w", err)
			}
			return a.print(map[string]int{"removed": n}, func(io.Writer, view.Options) error {
				a.say("✓ removed %d sandbox(es)", n)
				return nil
			})
		},
	}
}

// sweep removes what dead processes left, in passing: half a second at most.
func (a *app) sweep(ctx context.Context) (int, error) {
	n, err := a.reapScratch(ctx)
	ctx, stop := context.WithTimeout(ctx, probeTime)
	defer stop()
	if _, perr := a.probeDocker(ctx); perr != nil {
		return n, err // no engine: nothing of ours can be in it, or the next command will see it
	}
	m, derr := a.reapDocker(ctx)
	return n + m, errors.Join(err, derr)
}
