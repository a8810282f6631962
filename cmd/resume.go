package cmd

import (
	"context"
	"fmt"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

type resumeOptions struct {
	follow, exitCode, retryInvalid, humanWait bool
	limits                                    limitFlags
	gate                                      bool
	policyFile                                string
	against                                   reference
}

func newRunResume(a *app) *cobra.Command {
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
		Args:    exactArgs("RUN"),
		RunE:    func(c *cobra.Command, args []string) error { return runResume(c.Context(), a, o, args) },
	}
	c.Flags().BoolVar(&o.follow, "follow", false, "show what happens while it happens")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit 1 when an agent did not pass, 3 when too many trials were invalid")
	c.Flags().BoolVar(&o.gate, "gate", false, "compare with the baseline and exit with the verdict")
	c.Flags().StringVar(&o.against.baseline, "baseline", "", baselineUsage)
	c.Flags().StringVar(&o.policyFile, "policy", "", policyUsage)
	o.limits.addFlags(c.Flags())
	c.Flags().BoolVar(&o.retryInvalid, "retry-invalid", false, "run invalid trials again as well")
	c.Flags().BoolVar(&o.humanWait, "human-wait", false, humanWaitUsage+", as a run does that was started so")
	return c
}

func runResume(ctx context.Context, a *app, o resumeOptions, args []string) error {
	if err := o.check(a); err != nil {
		return err
	}
	db, r, err := a.tidiedRun(ctx, args)
	if err != nil {
		return err
	}
	if r.Status == store.Cancelled {
		return usage("run %s was cancelled, which is for good", r.Name).hint("agentclash eval start runs the pack again")
	}
	if r.Active() && alive(r.Owner.ID) {
		return fmt.Errorf("take over run %s: %w", r.Name, store.ErrOwned)
	}
	e, err := a.reopen(ctx, db, r, o.retryInvalid)
	if err != nil {
		return err
	}
	if e.plan.Until != nil && o.retryInvalid {
		return usage("run %s was to go on until it is decided, and other trials have taken the place of its invalid ones", r.Name).
			hint("agentclash run resume %s, without them, or eval start", short(r.ID))
	}
	// an interrupted run with nothing left is still to be given its end
	if e.plan.Done() && r.Status != store.Interrupted {
		f := usage("run %s has nothing left to run: its status is %s", r.Name, r.Status)
		if e.plan.Until != nil && o.gate {
			baseline := short(e.plan.Until.Baseline.RunID)
			if looksLikePath(o.against.baseline) {
				baseline = o.against.baseline
			}
			return f.hint("agentclash compare gate --baseline %s --candidate %s has its verdict", baseline, short(r.ID))
		}
		return f
	}
	if err := a.renew(ctx, db, e.plan, o.limits); err != nil {
		return err
	}
	if err := a.equip(ctx, &e); err != nil {
		return err
	}
	e.follow, e.humanWait = o.follow, o.humanWait || e.plan.Options.HumanWait
	result, err := a.execute(ctx, e)
	if err != nil {
		return err
	}
	return a.afterRun(ctx, e.plan, result, startOptions{follow: o.follow, exitCode: o.exitCode, gate: o.gate, against: o.against})
}

func (o *resumeOptions) check(a *app) error {
	if o.gate && o.exitCode {
		return usage("--gate and --exit-code both decide the exit status: choose one")
	}
	if !o.gate && (o.policyFile != "" || o.against.baseline != "") {
		return usage("--policy and --baseline are for --gate")
	}
	policy, err := a.policy(o.policyFile)
	o.against.policy = &policy
	return err
}

// equip gives a run that goes on what it ran with before. Whatever is not as it was
// is refused here, while the run still stands as it did.
func (a *app) equip(ctx context.Context, e *execution) (err error) {
	if err := a.sameScripts(e.plan); err != nil {
		return err
	}
	if err := checkReopen(e); err != nil {
		return err
	}
	if e.clients, err = a.clients(e.plan); err != nil {
		return err
	}
	if e.secrets, err = a.toolSecrets(e.pack); err != nil {
		return err
	}
	e.boxes, _, err = a.boxes(ctx, e.plan.Sandbox.Kind, e.plan.Sandbox.Image, plan.NeedsOf(e.pack, e.deployments()...))
	return err
}

// renew gives a run that is resumed the limits that the flags say, and counts
// what it has spent of its budget so far.
func (a *app) renew(ctx context.Context, db *store.DB, p *plan.Plan, l limitFlags) error {
	o, err := l.options(a.p.Now())
	if err != nil {
		return err
	}
	if err := p.Renew(o, a.p.Now()); err != nil {
		return usage("resume run %s: %w", p.Name, err)
	}
	charged, err := chargedSoFar(ctx, db, p)
	if err == nil {
		err = a.underPolicies(ctx, p, charged)
	}
	if err == nil && p.Options.BudgetUSD > 0 {
		p.SetCharged(charged)
	}
	return err
}

// reopen reads a stored run back as an execution of what is left of it.
func (a *app) reopen(ctx context.Context, db *store.DB, r store.Run, againInvalid bool) (execution, error) {
	planned, err := db.Plan(ctx, r.ID)
	if err != nil {
		return execution{}, err
	}
	if o := planned.Obstacle(plan.Resume); o != nil {
		return execution{}, inTheWay(r, o)
	}
	p, err := packOf(ctx, db, r.PackID)
	if err != nil {
		return execution{}, err
	}
	left, err := db.Unfinished(ctx, r.ID, againInvalid)
	if err != nil {
		return execution{}, err
	}
	prior := make([][]scoring.Trial, len(planned.Agents))
	for lane, agent := range planned.Agents {
		err := finished(ctx, db, agent.ID, explained, func(t scoring.Trial) {
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
	_, err = a.reuse(ctx, db, &planned, planned.Affected)
	return e, err
}

// inTheWay is an obstacle to what a command does with a stored run.
func inTheWay(r store.Run, o *plan.Obstacle) error {
	return usage("run %s: %w", r.Name, o).hint("%s", o.Instead)
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
