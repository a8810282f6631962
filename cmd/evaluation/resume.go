package evaluation

import (
	"context"
	"fmt"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/infra"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

type resumeOptions struct {
	follow, exitCode, retryInvalid, humanWait bool
	limits                                    agents.LimitFlags
	gate                                      bool
	policyFile                                string
	against                                   verdict.Reference
}

func newRunResume(a *cli.App) *cobra.Command {
	var o resumeOptions
	c := &cobra.Command{
		Use: "resume RUN", Short: "Run what is left of an interrupted run",
		Long: `Run what is left of a run whose process died or was interrupted. Finished trials
are kept; what had begun starts again as a new attempt. A run that its budget
or deadline ended is given another: what it has spent so far counts.

A run that was to go on until it is decided (eval start --until-decided) goes on
with the test that it was started with. --gate exits with the gate's verdict, as
eval start --gate does.`,
		Example: "  agentclash run resume latest --follow\n  agentclash run resume latest --budget-usd 20\n  agentclash run resume latest --budget-usd 20 --gate",
		Args:    cli.ExactArgs("RUN"),
		RunE:    func(c *cobra.Command, args []string) error { return runResume(c.Context(), a, o, args) },
	}
	c.Flags().BoolVar(&o.follow, "follow", false, "show what happens while it happens")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit 1 when an agent did not pass, 3 when too many trials were invalid")
	c.Flags().BoolVar(&o.gate, "gate", false, "compare with the baseline and exit with the verdict")
	c.Flags().StringVar(&o.against.Baseline, "baseline", "", verdict.BaselineUsage)
	c.Flags().StringVar(&o.policyFile, "policy", "", verdict.PolicyUsage)
	o.limits.AddFlags(c.Flags())
	c.Flags().BoolVar(&o.retryInvalid, "retry-invalid", false, "run invalid trials again as well")
	c.Flags().BoolVar(&o.humanWait, "human-wait", false, humanWaitUsage+", as a run does that was started so")
	return c
}

func runResume(ctx context.Context, a *cli.App, o resumeOptions, args []string) error {
	if err := o.check(a); err != nil {
		return err
	}
	db, r, err := runs.TidiedRun(ctx, a, args)
	if err != nil {
		return err
	}
	if r.Status == store.Cancelled {
		return cli.Usage("run %s was cancelled, which is for good", r.Name).Hint("agentclash eval start runs the pack again")
	}
	if r.Active() && cli.Alive(r.Owner.ID) {
		return fmt.Errorf("take over run %s: %w", r.Name, store.ErrOwned)
	}
	e, err := reopen(ctx, a, db, r, o.retryInvalid)
	if err != nil {
		return err
	}
	if e.plan.Until != nil && o.retryInvalid {
		return cli.Usage("run %s was to go on until it is decided, and other trials have taken the place of its invalid ones", r.Name).
			Hint("agentclash run resume %s, without them, or eval start", cli.Short(r.ID))
	}
	// an interrupted run with nothing left is still to be given its end
	if e.plan.Done() && r.Status != store.Interrupted {
		f := cli.Usage("run %s has nothing left to run: its status is %s", r.Name, r.Status)
		if e.plan.Until != nil && o.gate {
			baseline := cli.Short(e.plan.Until.Baseline.RunID)
			if cli.LooksLikePath(o.against.Baseline) {
				baseline = o.against.Baseline
			}
			return f.Hint("agentclash compare gate --baseline %s --candidate %s has its verdict", baseline, cli.Short(r.ID))
		}
		return f
	}
	if err := renew(ctx, a, db, e.plan, o.limits); err != nil {
		return err
	}
	if err := equip(ctx, a, &e); err != nil {
		return err
	}
	e.follow, e.humanWait = o.follow, o.humanWait || e.plan.Options.HumanWait
	result, err := execute(ctx, a, e)
	if err != nil {
		return err
	}
	return afterRun(ctx, a, e.plan, result, StartOptions{Follow: o.follow, exitCode: o.exitCode, Gate: o.gate, against: o.against})
}

func (o *resumeOptions) check(a *cli.App) error {
	if o.gate && o.exitCode {
		return cli.Usage("--gate and --exit-code both decide the exit status: choose one")
	}
	if !o.gate && (o.policyFile != "" || o.against.Baseline != "") {
		return cli.Usage("--policy and --baseline are for --gate")
	}
	policy, err := verdict.Policy(a, o.policyFile)
	o.against.Policy = &policy
	return err
}

// equip gives a run that goes on what it ran with before. Whatever is not as it was
// is refused here, while the run still stands as it did.
func equip(ctx context.Context, a *cli.App, e *execution) (err error) {
	if err := agents.SameScripts(a, e.plan); err != nil {
		return err
	}
	if err := checkReopen(e); err != nil {
		return err
	}
	if e.clients, err = agents.Clients(a, e.plan); err != nil {
		return err
	}
	if e.secrets, err = agents.ToolSecrets(a, e.pack); err != nil {
		return err
	}
	e.boxes, _, err = sandboxes.Boxes(ctx, a, e.plan.Sandbox.Kind, e.plan.Sandbox.Image, plan.NeedsOf(e.pack, e.deployments()...))
	return err
}

// renew gives a run that is resumed the limits that the flags say, and counts
// what it has spent of its budget so far.
func renew(ctx context.Context, a *cli.App, db *store.DB, p *plan.Plan, l agents.LimitFlags) error {
	o, err := l.Options(a.Process.Now())
	if err != nil {
		return err
	}
	if err := p.Renew(o, a.Process.Now()); err != nil {
		return cli.Usage("resume run %s: %w", p.Name, err)
	}
	charged, err := infra.ChargedSoFar(ctx, db, p)
	if err == nil {
		err = infra.UnderPolicies(ctx, a, p, charged)
	}
	if err == nil && p.Options.BudgetUSD > 0 {
		p.SetCharged(charged)
	}
	return err
}

// reopen reads a stored run back as an execution of what is left of it.
func reopen(ctx context.Context, a *cli.App, db *store.DB, r store.Run, againInvalid bool) (execution, error) {
	planned, err := db.Plan(ctx, r.ID)
	if err != nil {
		return execution{}, err
	}
	if o := planned.Obstacle(plan.Resume); o != nil {
		return execution{}, inTheWay(r, o)
	}
	p, err := selector.PackOf(ctx, db, r.PackID)
	if err != nil {
		return execution{}, err
	}
	left, err := db.Unfinished(ctx, r.ID, againInvalid)
	if err != nil {
		return execution{}, err
	}
	prior := make([][]scoring.Trial, len(planned.Agents))
	for lane, agent := range planned.Agents {
		err := verdict.Finished(ctx, db, agent.ID, verdict.Explained, func(t scoring.Trial) {
			t.FinalOutput = nil // the totals need scores, not texts
			if t.Scorecard != nil {
				t.Scorecard.Validators, t.Scorecard.Metrics = nil, nil
			}
			prior[lane] = append(prior[lane], t)
		})
		if err != nil {
			return execution{}, fmt.Errorf("resume run %s: %w", r.Name, err)
		}
	}
	said, decided, err := runFacts(ctx, db, r.ID)
	if err != nil {
		return execution{}, err
	}
	e := execution{plan: &planned, pack: p, resumed: true, from: r.Owner, finished: finishedAttempts(&planned, prior)}
	if err := planned.Reopen(p, plan.Progress{Left: left, Prior: prior, Facts: said, Decided: decided}); err != nil {
		return e, err
	}
	_, err = reuse(ctx, a, db, &planned, planned.Affected)
	return e, err
}

// inTheWay is an obstacle to what a command does with a stored run.
func inTheWay(r store.Run, o *plan.Obstacle) error {
	return cli.Usage("run %s: %w", r.Name, o).Hint("%s", o.Instead)
}

// runFacts is the number of the last fact that a run has stated of itself, and
// whether its decision was one.
func runFacts(ctx context.Context, db *store.DB, runID string) (last int64, decided bool, err error) {
	filter := store.EventFilter{RunID: runID, Types: []string{string(event.RunStarted), string(event.RunFinished), string(event.BudgetReach), string(event.Decided),
		string(event.JudgeStarted), string(event.JudgeDone), string(event.CallFailed), string(event.CallRetried),
		string(event.RunAdjusted), string(event.RunPaced)}}
	err = db.Events(ctx, filter, func(_ int64, e event.Event) error {
		if e.TrialID == "" {
			decided = decided || e.Type == event.Decided
			last = max(last, e.Sequence)
		}
		return nil
	})
	return last, decided, err
}
