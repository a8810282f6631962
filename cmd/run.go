package cmd

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

func newRun(a *app) *cobra.Command {
	return group("run", "Look at runs, resume, export and merge them",
		newRunCreate(a), newRunList(a), newRunGet(a), newRunAgents(a), newRunRanking(a), newRunEvents(a), newRunCancel(a), newRunResume(a),
		newRunRetry(a), newRunExplain(a), newRunExport(a), newRunImport(a), newRunMerge(a), newRunPrune(a),
		newRunTurn(a), newRunFailures(a), newRunPromote(a),
		newRunScorecard(a), newRunReplay(a), newRunTranscript(a), newRunCompare(a), newRunReport(a))
}

func newRunCreate(a *app) *cobra.Command {
	var o startOptions
	var version string
	var ids []string
	c := &cobra.Command{
		Use: "create", Short: "Start a run from ids: eval start for scripts",
		Long: `Start a run from the ids of a stored pack version and of deployments. It is
eval start with ids in place of names, and has its flags and exit statuses.`,
		Example: "  agentclash run create --challenge-pack-version support-triage@1 --deployments prod --json",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.pack == "" {
				o.pack = version
			}
			o.deployments = append(o.deployments, ids...)
			return runEvalStart(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	c.Flags().StringVar(&version, "challenge-pack-version", "", "stored pack version, by id or slug@number")
	c.Flags().StringSliceVar(&ids, "deployments", nil, "deployments, by id or name; repeatable")
	return c
}

type pageOptions struct{ limit, offset int }

func (p *pageOptions) check() error {
	if p.limit < 0 || p.limit > 100 || p.offset < 0 {
		return usage("--limit must be 0 to 100 and --offset must not be negative")
	}
	if p.limit == 0 {
		p.limit = 20
	}
	return nil
}

func newRunList(a *app) *cobra.Command {
	var page pageOptions
	c := &cobra.Command{
		Use: "list", Short: "List the runs, newest first", Args: noArgs,
		Example: "  agentclash run list\n  agentclash run list --json --query '.items[].run_id'",
		RunE:    func(c *cobra.Command, _ []string) error { return runRunList(c.Context(), a, page) },
	}
	c.Flags().IntVar(&page.limit, "limit", 0, "how many (0 is 20)")
	c.Flags().IntVar(&page.offset, "offset", 0, "how many to leave out")
	return c
}

// newEvalList is run list under the noun that starts runs.
func newEvalList(a *app) *cobra.Command {
	c := newRunList(a)
	c.Example = "  agentclash eval list"
	return c
}

// sayMore says how a list goes on of which a page is shown.
func sayMore[T any](a *app, page view.Page[T]) {
	if last := page.Offset + len(page.Items); page.HasMore {
		a.say("showing %d to %d of %d; next: --offset %d", page.Offset+1, last, page.Total, last)
	}
}

func runRunList(ctx context.Context, a *app, o pageOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	page := view.Page[view.Run]{Limit: o.limit, Offset: o.offset}
	db, ok, err := a.tidied(ctx)
	if err != nil {
		return err
	}
	if ok {
		workspace, err := a.workspaceName()
		if err != nil {
			return err
		}
		runs, total, err := db.Runs(ctx, store.RunFilter{Workspace: workspace, Limit: o.limit, Offset: o.offset})
		if err != nil {
			return err
		}
		for _, r := range runs {
			v, err := a.viewRun(ctx, db, r)
			if err != nil {
				return err
			}
			page.Items = append(page.Items, v)
		}
		page.Total, page.HasMore = total, o.offset+len(runs) < total
	}
	return a.print(page, func(w io.Writer, v view.Options) error {
		if page.Total == 0 {
			a.say("! there are no runs yet: agentclash eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good")
		}
		sayMore(a, page)
		return view.RunList(w, page, v)
	})
}

// tidied opens the store, first for writing to mark what dead processes left,
// else as it is: a home that cannot be written can still be read.
func (a *app) tidied(ctx context.Context) (db *store.DB, ok bool, err error) {
	db, ok, err = a.reading(ctx)
	if err != nil || !ok {
		return db, ok, err
	}
	writable, werr := a.store(ctx)
	if werr != nil {
		return a.reading(ctx)
	}
	return writable, true, a.tidy(ctx, writable)
}

// viewPlannedRun is viewRun with what only the plan knows.
func (a *app) viewPlannedRun(ctx context.Context, db *store.DB, r store.Run) (view.Run, error) {
	v, err := a.viewRun(ctx, db, r)
	if err != nil {
		return v, err
	}
	planned, err := db.Plan(ctx, r.ID)
	if err != nil {
		return v, err
	}
	v.Sandbox, v.Cases, v.Repetitions, v.Seed = planned.Sandbox.Kind, len(planned.Cases), planned.Options.Repetitions, planned.Options.Seed
	v.Cache, v.Shard = planned.Cache, shardOf(&planned)
	s, ok, err := db.SessionOf(ctx, r.ID)
	if ok {
		v.Session = s.Name
	}
	if err == nil {
		v.Coverage, err = regressionCoverage(ctx, db, r, planned)
	}
	if err != nil {
		return v, err
	}
	for _, m := range planned.Merged {
		v.MergedFrom = append(v.MergedFrom, view.MergedRun(m))
	}
	if rec := planned.Recording; rec != nil {
		v.Recording = &view.Recording{Mode: rec.Mode, Dir: rec.Dir, Digest: rec.Digest}
	}
	return v, nil
}

// viewRun is a run with its agents and their counts.
func (a *app) viewRun(ctx context.Context, db *store.DB, r store.Run) (view.Run, error) {
	agents, err := db.RunAgents(ctx, r.ID)
	if err != nil {
		return view.Run{}, err
	}
	v := view.Run{
		RunID: r.ID, Name: r.Name, Status: r.Status, Reason: r.Reason, WorkspaceID: r.Workspace,
		Pack: view.Pack{Slug: r.Pack.Slug, Version: r.Pack.Version}, InputSet: r.InputSet, Mode: r.Mode,
		CreatedAt: r.CreatedAt, StartedAt: when(r.StartedAt), FinishedAt: when(r.FinishedAt),
	}
	for _, agent := range agents {
		lane, err := a.viewAgent(ctx, db, agent)
		if err != nil {
			return view.Run{}, err
		}
		v.Agents = append(v.Agents, lane)
	}
	return v, nil
}

func (a *app) viewAgent(ctx context.Context, db *store.DB, agent store.RunAgent) (view.RunAgent, error) {
	v := view.RunAgent{
		RunAgentID: agent.ID, Label: agent.Label, LaneIndex: agent.Lane, Model: agent.Deployment.Target(),
		Status: agent.Status, Reason: agent.Reason, StartedAt: when(agent.StartedAt), FinishedAt: when(agent.FinishedAt),
	}
	if c := agent.Scorecard; c != nil {
		v.Trials, v.PassedTrials, v.FailedTrials, v.InvalidTrials = c.Trials, c.PassedTrials, c.FailedTrials, c.InvalidTrials
	} else {
		tally, err := db.Tally(ctx, agent.ID)
		if err != nil {
			return view.RunAgent{}, err
		}
		v.PassedTrials, v.FailedTrials, v.InvalidTrials = tally[store.Passed], tally[store.Failed], tally[store.Invalid]
		for _, n := range tally {
			v.Trials += n
		}
	}
	if v.InvalidTrials == 0 {
		return v, nil
	}
	var invalid []scoring.Trial
	err := db.Trials(ctx, store.TrialFilter{RunAgentID: agent.ID, NoResults: true}, func(t store.Trial) error {
		if t.Status == store.Invalid {
			invalid = append(invalid, scoring.Trial{Outcome: scoring.OutcomeInvalid, Code: t.Code, Phase: t.Phase})
		}
		return nil
	})
	v.InvalidCauses = view.InvalidCauses(invalid)
	return v, err
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// storedRun finds a run; none named is the newest.
func (a *app) storedRun(ctx context.Context, db *store.DB, args []string) (store.Run, error) {
	selector := store.Latest
	if len(args) > 0 {
		selector = args[0]
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return store.Run{}, err
	}
	return db.Run(ctx, workspace, selector)
}

func newRunGet(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "get [RUN]", Short: "Show one run and its agents", Args: upTo(1),
		Example: "  agentclash run get latest",
		RunE: func(c *cobra.Command, args []string) error {
			return a.withRun(c.Context(), args, func(db *store.DB, r store.Run) error {
				v, err := a.viewPlannedRun(c.Context(), db, r)
				if err != nil {
					return err
				}
				return a.print(v, func(w io.Writer, o view.Options) error { return view.RunDetails(w, v, o) })
			})
		},
	}
}

// withRun opens the store for reading and finds a run in it.
func (a *app) withRun(ctx context.Context, args []string, f func(*store.DB, store.Run) error) error {
	db, err := a.stored(ctx)
	if err != nil {
		return err
	}
	r, err := a.storedRun(ctx, db, args)
	if err != nil {
		return err
	}
	return f(db, r)
}

func newRunAgents(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "agents [RUN]", Short: "List the agents of a run", Args: upTo(1),
		Example: "  agentclash run agents latest",
		RunE: func(c *cobra.Command, args []string) error {
			return a.withRun(c.Context(), args, func(db *store.DB, r store.Run) error {
				v, err := a.viewRun(c.Context(), db, r)
				if err != nil {
					return err
				}
				doc := struct {
					Items view.List[view.RunAgent] `json:"items"`
				}{v.Agents}
				return a.print(doc, func(w io.Writer, o view.Options) error { return view.RunAgents(w, v.Agents, o) })
			})
		},
	}
}

func newRunCancel(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN", Short: "Stop a run that is going on, for good",
		Long: `Ask the process that executes a run to stop: it ends its calls, removes its
sandboxes and marks the run cancelled. What is finished stays. A run whose
process is dead is marked interrupted instead; it can be resumed.`,
		Example: "  agentclash run cancel latest",
		Args:    exactArgs("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			db, r, err := a.tidiedRun(ctx, args)
			if err != nil {
				return err
			}
			if err := db.RequestCancel(ctx, r.ID); err != nil {
				return err
			}
			return a.print(map[string]string{"run_id": r.ID, "action": "cancel_requested"}, func(io.Writer, view.Options) error {
				a.say("✓ asked run %s to stop", r.Name)
				return nil
			})
		},
	}
}
