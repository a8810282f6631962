package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/sandbox/docker"
	"github.com/agentclash/agentclash/sandbox/scratch"
)

func newSandbox(a *app) *cobra.Command {
	return group("sandbox", "Look after sandboxes", newSandboxGC(a))
}

func newSandboxGC(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "gc", Short: "Remove sandboxes whose process is dead", Args: noArgs,
		Long: `Remove the containers and scratch directories whose process is dead. Those of
living processes are left alone. Other commands do the same in passing; this
one waits for the engine to be done.`,
		Example: "  agentclash sandbox gc",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			n, err := a.sweepScratch(ctx)
			if perr := a.pingDocker(ctx); perr == nil {
				m, derr := docker.Reap(ctx, a.dockerOptions(""))
				n, err = n+m, errors.Join(err, derr)
			}
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
	n, err := a.sweepScratch(ctx)
	ctx, stop := context.WithTimeout(ctx, probeTime)
	defer stop()
	if perr := a.pingDocker(ctx); perr != nil {
		return n, err
	}
	m, derr := docker.Reap(ctx, a.dockerOptions(""))
	return n + m, errors.Join(err, derr)
}

func (a *app) sweepScratch(ctx context.Context) (int, error) {
	home, err := a.home()
	if err != nil {
		return 0, err
	}
	p, err := scratch.New(scratch.Options{Dir: filepath.Join(home, "scratch"), Owner: owner(), Alive: alive})
	if err != nil {
		return 0, err
	}
	return p.Reap(ctx)
}
