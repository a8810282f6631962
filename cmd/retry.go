package cmd

import (
	"context"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/store"
)

type retryOptions struct {
	failed, invalid  bool
	follow, exitCode bool
}

func newRunRetry(a *app) *cobra.Command {
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
		Args: exactArgs("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.failed == o.invalid {
				return usage("give one of --failed and --invalid").hint("agentclash run retry --help")
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

func retryFailed(ctx context.Context, a *app, o retryOptions, args []string) error {
	db, err := a.stored(ctx)
	if err != nil {
		return err
	}
	r, err := a.storedRun(ctx, db, args)
	if err != nil {
		return err
	}
	if r.Active() {
		return usage("run %s is not over yet", r.Name).hint("agentclash run events %s shows how far it is", short(r.ID))
	}
	e, err := a.failedAgain(ctx, db, r)
	if err != nil {
		return err
	}
	if err := a.underPolicies(ctx, e.plan, 0); err != nil {
		return err
	}
	if err := a.digestScripts(e.plan); err != nil {
		return err
	}
	if e.clients, err = a.clients(e.plan); err != nil {
		return err
	}
	if e.secrets, err = a.toolSecrets(e.pack); err != nil {
		return err
	}
	kind, image := e.plan.Sandbox.Kind, e.plan.Sandbox.Image
	if e.boxes, e.plan.Sandbox, err = a.boxes(ctx, kind, image, plan.NeedsOf(e.pack, e.deployments()...)); err != nil {
		return err
	}
	e.follow = o.follow
	result, err := a.execute(ctx, e)
	if err != nil {
		return err
	}
	return a.afterRun(ctx, e.plan, result, startOptions{follow: o.follow, exitCode: o.exitCode})
}

// failedAgain plans the failed trials of a run once more.
func (a *app) failedAgain(ctx context.Context, db *store.DB, r store.Run) (execution, error) {
	p, err := packOf(ctx, db, r.PackID)
	if err != nil {
		return execution{}, err
	}
	before, err := a.bound(ctx, db, r.ID)
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
		return execution{}, usage("run %s has no failed trial", r.Name)
	}
	planned, err := before.Again(failed, plan.Request{Now: a.p.Now, NewID: a.p.NewID})
	if err != nil {
		return execution{}, planFailure(err)
	}
	return execution{plan: planned, pack: p}, nil
}
