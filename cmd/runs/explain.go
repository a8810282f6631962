package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewRunExplain is agentclash run explain: why a trial was run, or an earlier one stands
// for it.
func NewRunExplain(a *cli.App) *cobra.Command {
	var run, agent string
	c := &cobra.Command{
		Use: "explain CASE", Short: "Say why a case was run, or earlier trials stand for it",
		Long: `Say of each trial of a case why it was run, or why an earlier trial stands for it:
what is different from the newest run before it, part by part.`,
		Example: `  agentclash run explain refund-late
  agentclash run explain refund-late --run nightly --agent prod`,
		Args: cli.ExactArgs("CASE"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			return selector.WithRun(ctx, a, []string{run}, func(db *store.DB, r store.Run) error {
				d, err := explain(ctx, a, db, r, args[0], agent)
				if err != nil {
					return err
				}
				return a.Print(d, func(w io.Writer, o view.Options) error { return view.Explain(w, d, o) })
			})
		},
	}
	c.Flags().StringVar(&run, "run", store.Latest, "the run whose trials are explained")
	c.Flags().StringVar(&agent, "agent", "", "only this agent, by its label")
	return c
}

// explaining compares the trials of a run with those of the runs before it.
type explaining struct {
	*cli.App
	db      *store.DB
	plan    plan.Plan
	earlier []*candidate // newest first, read as they are needed
}

// candidate is an earlier run; plan is nil before it is read.
type candidate struct {
	run  store.Run
	plan *plan.Plan
}

func explain(ctx context.Context, a *cli.App, db *store.DB, r store.Run, caseKey, agent string) (view.ExplainDocument, error) {
	d := view.ExplainDocument{RunID: r.ID, RunName: r.Name, CaseKey: caseKey}
	x := explaining{App: a, db: db}
	var err error
	if x.plan, err = Bound(ctx, a, db, r.ID); err != nil {
		return d, err
	}
	i := slices.IndexFunc(x.plan.Cases, func(c plan.CaseRef) bool { return strings.EqualFold(c.Key, caseKey) })
	if i < 0 {
		return d, fmt.Errorf("find case %q in run %s: %w", caseKey, r.Name, store.ErrNotFound)
	}
	d.CaseKey = x.plan.Cases[i].Key
	if x.earlier, err = earlierRuns(ctx, db, r); err != nil {
		return d, err
	}
	for lane, run := range x.plan.Agents {
		if agent != "" && !strings.EqualFold(run.Label, agent) {
			continue
		}
		f := store.TrialFilter{RunAgentID: run.ID, CaseKey: d.CaseKey}
		err := db.Trials(ctx, f, func(t store.Trial) error {
			e, err := x.trial(ctx, lane, t)
			d.Trials = append(d.Trials, e)
			return err
		})
		if err != nil {
			return d, err
		}
	}
	if len(d.Trials) == 0 {
		return d, fmt.Errorf("find agent %q in run %s: %w", agent, r.Name, store.ErrNotFound)
	}
	return d, nil
}

// earlierRuns are the runs of the same pack before one, newest first.
func earlierRuns(ctx context.Context, db *store.DB, r store.Run) ([]*candidate, error) {
	runs, _, err := db.Runs(ctx, store.RunFilter{Workspace: r.Workspace, PackSlug: r.Pack.Slug})
	if err != nil {
		return nil, err
	}
	var list []*candidate
	for _, other := range runs {
		if len(list) < MaxSince && other.ID != r.ID && !other.CreatedAt.After(r.CreatedAt) {
			list = append(list, &candidate{run: other})
		}
	}
	return list, nil
}

// trial says why one trial was run, or not.
func (x *explaining) trial(ctx context.Context, lane int, t store.Trial) (view.Explained, error) {
	e := view.Explained{Agent: x.plan.Agents[lane].Label, TrialID: t.ID, Repetition: t.Repetition, Status: t.Status}
	own := plan.Trial{ID: t.ID, Agent: lane, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt}
	end, err := t.End()
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return e, err
	}
	var was plan.Trial
	var before *candidate
	if end.ReusedFrom != "" {
		e.Reused = true
		was, before, err = x.source(ctx, end.ReusedFrom)
	} else {
		was, before, err = x.before(ctx, lane, t)
	}
	if err != nil {
		return e, err
	}
	if before == nil {
		e.Reason = view.NoEarlierTrial
		if e.Reused {
			e.Reason = view.SourceGone
		}
		return e, nil
	}
	e.Than = &view.EarlierTrial{RunID: before.run.ID, RunName: before.run.Name, TrialID: was.ID}
	differences, err := x.plan.Since(own, before.plan, was)
	if err != nil {
		return e, err
	}
	for _, d := range differences {
		e.Differences = append(e.Differences, view.Difference(d))
	}
	stored, err := x.db.Trial(ctx, before.run.Workspace, was.ID)
	if err != nil {
		return e, err
	}
	e.Than.Status = stored.Status
	if o := x.plan.LoanObstacle(before.plan, t.CaseKey); o != nil {
		e.Obstacle = o.Why
	}
	e.Reason = why(e, len(x.plan.Affected) > 0, stored.Status)
	return e, nil
}

// why is the reason in a word.
func why(e view.Explained, asked bool, status string) string {
	behaves := slices.ContainsFunc(e.Differences, func(d view.Difference) bool { return !d.Scoring })
	switch {
	case e.Reused:
		return view.Unchanged
	case e.Obstacle != "":
		return view.Hindered
	case behaves:
		return view.Changed
	case status != store.Passed && status != store.Failed:
		return view.Undecided
	case !asked:
		return view.NotAsked
	}
	return view.NotLookedAt
}

// source is the trial that stands for another.
func (x *explaining) source(ctx context.Context, trialID string) (plan.Trial, *candidate, error) {
	t, err := x.db.Trial(ctx, x.plan.Workspace, trialID)
	if errors.Is(err, store.ErrNotFound) {
		return plan.Trial{}, nil, nil
	}
	if err != nil {
		return plan.Trial{}, nil, err
	}
	agent, err := x.db.RunAgent(ctx, x.plan.Workspace, "", t.RunAgentID)
	if err != nil {
		return plan.Trial{}, nil, err
	}
	r, err := x.db.Run(ctx, x.plan.Workspace, agent.RunID)
	if err != nil {
		return plan.Trial{}, nil, err
	}
	c := &candidate{run: r} // older than those that are looked through
	if i := slices.IndexFunc(x.earlier, func(c *candidate) bool { return c.run.ID == r.ID }); i >= 0 {
		c = x.earlier[i]
	}
	if err := x.read(ctx, c); err != nil {
		return plan.Trial{}, nil, err
	}
	return plan.Trial{ID: t.ID, Agent: agent.Lane, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt}, c, nil
}

// before is the newest trial of the same case, repetition and agent in an earlier
// run, or of another agent when none has this one's label.
func (x *explaining) before(ctx context.Context, lane int, t store.Trial) (plan.Trial, *candidate, error) {
	for _, sameAgent := range []bool{true, false} {
		for _, c := range x.earlier {
			if err := x.read(ctx, c); err != nil {
				return plan.Trial{}, nil, err
			}
			for i, agent := range c.plan.Agents {
				if sameAgent && !strings.EqualFold(agent.Label, x.plan.Agents[lane].Label) {
					continue
				}
				was, found, err := trialAt(ctx, x.db, agent.ID, t)
				if err != nil {
					return was, nil, err
				}
				if found {
					was.Agent = i
					return was, c, nil
				}
			}
		}
	}
	return plan.Trial{}, nil, nil
}

func (x *explaining) read(ctx context.Context, c *candidate) error {
	if c.plan != nil {
		return nil
	}
	planned, err := Bound(ctx, x.App, x.db, c.run.ID)
	c.plan = &planned
	return err
}

// trialAt is a run agent's trial of the same case and repetition.
func trialAt(ctx context.Context, db *store.DB, agentID string, like store.Trial) (was plan.Trial, found bool, err error) {
	f := store.TrialFilter{RunAgentID: agentID, CaseKey: like.CaseKey, Repetition: like.Repetition, NoResults: true}
	err = db.Trials(ctx, f, func(t store.Trial) error {
		was = plan.Trial{ID: t.ID, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt}
		found = true
		return nil
	})
	return was, found, err
}

// Bound is a stored run's plan with its pack.
func Bound(ctx context.Context, a *cli.App, db *store.DB, runID string) (plan.Plan, error) {
	r, err := db.Run(ctx, "", runID)
	if err != nil {
		return plan.Plan{}, err
	}
	planned, err := db.Plan(ctx, runID)
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := selector.PackOf(ctx, db, r.PackID)
	if err != nil {
		return plan.Plan{}, err
	}
	return planned, planned.Reopen(p, plan.Progress{})
}

// MaxSince is how many of a pack's newest runs are looked through for trials that
// stand for those of a new one.
const MaxSince = 20
