package evaluation

import (
	"context"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/infra"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

type retryOptions struct {
	failed, invalid  bool
	follow, exitCode bool
}

func newRunRetry(a *cli.App) *cobra.Command {
	var o retryOptions
	c := &cobra.Command{
		Use: "retry RUN", Short: "Run the failed or the invalid trials of a run again",
		Long: `Run trials of a finished run again.

--invalid makes another attempt at each trial that infrastructure made invalid, in
the run itself: nothing was decided there. Scripts must be those of the run, and a
recording that is complete takes nothing more.

--failed runs the failed trials again as a run of its own, with the pack and the
deployments of the first and today's scripts and prices. Models are asked: it has
neither the first run's recording nor its cache. What the first run has decided
stands: a trial that fails once and passes once is not a pass.`,
		Example: `  agentclash run retry latest --invalid --follow
  agentclash run retry latest --failed --follow`,
		Args: cli.ExactArgs("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.failed == o.invalid {
				return cli.Usage("give one of --failed and --invalid").Hint("agentclash run retry --help")
			}
			if o.invalid {
				return runResume(c.Context(), a, resumeOptions{follow: o.follow, exitCode: o.exitCode, retryInvalid: true}, args)
			}
			return retryFailed(c.Context(), a, o, args)
		},
	}
	c.Flags().BoolVar(&o.failed, "failed", false, "run the failed trials again, as a new run")
	c.Flags().BoolVar(&o.invalid, "invalid", false, "make another attempt at the invalid trials, in the same run")
	c.Flags().BoolVar(&o.follow, "follow", false, "show what happens while it happens")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit 1 when an agent did not pass, 3 when too many trials were invalid")
	return c
}

func retryFailed(ctx context.Context, a *cli.App, o retryOptions, args []string) error {
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	r, err := selector.StoredRun(ctx, a, db, args)
	if err != nil {
		return err
	}
	if r.Active() {
		return cli.Usage("run %s is not over yet", r.Name).Hint("agentclash run events %s shows how far it is", cli.Short(r.ID))
	}
	e, err := failedAgain(ctx, a, db, r)
	if err != nil {
		return err
	}
	if err := infra.UnderPolicies(ctx, a, e.plan, 0); err != nil {
		return err
	}
	if err := agents.DigestScripts(a, e.plan); err != nil {
		return err
	}
	if e.clients, err = agents.Clients(a, e.plan); err != nil {
		return err
	}
	if e.secrets, err = agents.ToolSecrets(a, e.pack); err != nil {
		return err
	}
	kind, image := e.plan.Sandbox.Kind, e.plan.Sandbox.Image
	if e.boxes, e.plan.Sandbox, err = sandboxes.Boxes(ctx, a, kind, image, plan.NeedsOf(e.pack, e.deployments()...)); err != nil {
		return err
	}
	e.follow = o.follow
	result, err := execute(ctx, a, e)
	if err != nil {
		return err
	}
	return afterRun(ctx, a, e.plan, result, StartOptions{Follow: o.follow, exitCode: o.exitCode})
}

// failedAgain plans the failed trials of a run once more.
func failedAgain(ctx context.Context, a *cli.App, db *store.DB, r store.Run) (execution, error) {
	p, err := selector.PackOf(ctx, db, r.PackID)
	if err != nil {
		return execution{}, err
	}
	before, err := runs.Bound(ctx, a, db, r.ID)
	if err != nil {
		return execution{}, err
	}
	if o := before.Obstacle(plan.Retry); o != nil {
		return execution{}, inTheWay(r, o)
	}
	failed, err := trialsOf(ctx, db, &before, store.Failed)
	if err != nil {
		return execution{}, err
	}
	if len(failed) == 0 {
		return execution{}, cli.Usage("run %s has no failed trial", r.Name)
	}
	planned, err := before.Again(failed, plan.Request{Now: a.Process.Now, NewID: a.Process.NewID})
	if err != nil {
		return execution{}, selector.PlanFailure(err)
	}
	return execution{plan: planned, pack: p}, nil
}
