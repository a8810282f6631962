package evaluation

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// rescoreOptions are the flags of eval rescore.
type rescoreOptions struct {
	pack     string
	diff     bool
	all      bool
	dryRun   bool
	exitCode bool
	list     bool
	judges   bool
	yes      bool
	maxWait  agents.WaitFlag
}

func newEvalRescore(a *cli.App) *cobra.Command {
	var o rescoreOptions
	c := &cobra.Command{
		Use: "rescore RUN", Short: "Score a run's stored evidence again",
		Long: `Score the stored evidence of a run again: by the run's own pack, to see that an
upgrade of agentclash flips no verdict, or by a changed one, to see what the
change does. No model is asked and no container is opened, and what the run came
to stays as it is: a rescoring is kept beside it.

With --judges, the pack's LLM judges are asked what the evidence holds no answer
to: questions that a changed pack asks anew, and those that failed. What it can
cost is said first. The answers become part of the evidence, as later facts.

With --pack, what the agents were given must be what the run gave them. A case
whose payload, inputs, instructions, files or tools are others is left out. What
the pack captures or runs and the run did not is missing: such validators say so.

Exit status: 0, whatever flips; 1 with --exit-code when a verdict flipped, or
nothing could be scored again; 64 when the pack is wrong or another one; 66 when
there is no such run, or the pack has not its input set; 77 when the store
cannot be written.`,
		Example: `  agentclash eval rescore latest --exit-code
  agentclash eval rescore latest --pack my-pack.yaml --diff --dry-run
  agentclash eval rescore latest --pack my-pack.yaml
  agentclash eval rescore latest --pack my-pack.yaml --judges --dry-run
  agentclash eval rescore latest --list
  agentclash eval scorecard latest --rescoring latest`,
		Args: cli.ExactArgs("RUN"),
		RunE: func(c *cobra.Command, args []string) error { return runRescore(c.Context(), a, o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.pack, "pack", "", "pack file, slug of a stored pack, or builtin:NAME (default: the run's own)")
	f.BoolVar(&o.diff, "diff", false, "list each trial whose verdict flipped, and why")
	f.BoolVar(&o.all, "all", false, "list those as well that changed without a flip")
	f.BoolVar(&o.dryRun, "dry-run", false, "store nothing")
	f.BoolVar(&o.exitCode, "exit-code", false, "exit 1 when a verdict flipped")
	f.BoolVar(&o.judges, "judges", false, "ask the judges what the evidence holds no answer to")
	f.BoolVarP(&o.yes, "yes", "y", false, "with --judges: do not ask before asking them")
	o.maxWait.AddFlag(f)
	f.BoolVar(&o.list, "list", false, "list the run's rescorings")
	return c
}

func runRescore(ctx context.Context, a *cli.App, o rescoreOptions, selector string) error {
	if o.list && (o.pack != "" || o.diff || o.all || o.dryRun || o.exitCode || o.judges) {
		return cli.Usage("--list only lists: leave out the other flags")
	}
	if o.yes && !o.judges {
		return cli.Usage("--yes is for --judges")
	}
	if o.maxWait.Ms != nil && !o.judges {
		return cli.Usage("--max-wait is for --judges")
	}
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	run, err := db.Run(ctx, workspace, selector)
	if err != nil {
		return err
	}
	if o.list {
		return listRescorings(ctx, a, db, run)
	}
	r, err := planRescoring(ctx, a, db, run, o)
	if err != nil {
		return err
	}
	if o.judges {
		if err := rejudge(ctx, a, r, o); err != nil {
			return err
		}
	}
	d, err := rescore(ctx, a, r, o.dryRun)
	if err != nil {
		return err
	}
	err = a.Print(d, func(w io.Writer, v view.Options) error {
		return view.Rescore(w, d, view.RescoreOptions{Diff: o.diff || o.all, All: o.all}, v)
	})
	if err != nil {
		return err
	}
	rescoreHints(a, d, run, o)
	if o.exitCode && (d.Flipped > 0 || d.Rescored == 0) {
		return cli.Verdict(cli.StatusError)
	}
	return nil
}

// rescoreHints says what to know of a rescoring that its document has in numbers
// only.
func rescoreHints(a *cli.App, d view.RescoreDocument, run store.Run, o rescoreOptions) {
	unfinished := 0
	for _, agent := range d.Agents {
		for _, n := range agent.NotRescored {
			switch n.Status {
			case store.Queued, store.Running, store.Interrupted, store.Cancelled:
				unfinished += n.Trials
			}
		}
	}
	if unfinished > 0 {
		a.Say("! run %s is %s: %d of its %d trials have not ended, and are left out", run.Name, run.Status, unfinished, d.Trials)
	}
	if d.Rescored == 0 {
		a.Say("! nothing could be rescored, so nothing is stored")
	}
	if !o.judges && slices.ContainsFunc(d.Agents, lacksJudge) {
		a.Say("next: --judges asks what the evidence holds no answer to; with --dry-run it only says what that can cost")
	}
	if d.Flipped > 0 && !o.diff && !o.all && a.Output == "table" {
		a.Say("next: add --diff to see which verdicts flipped, and why")
	}
}

// lacksJudge says that trials of an agent have no verdict for want of a judge.
func lacksJudge(a view.RescoredAgent) bool {
	return slices.ContainsFunc(a.Undecidable, func(u view.Undecidable) bool { return u.Code == scoring.CodeJudgeError })
}

// planRescoring finds the packs of a run that is to be scored again.
func planRescoring(ctx context.Context, a *cli.App, db *store.DB, run store.Run, o rescoreOptions) (*rescoring, error) {
	plan, err := db.Plan(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	own, err := selector.PackOf(ctx, db, run.PackID)
	if err != nil {
		return nil, err
	}
	r := &rescoring{run: run, plan: plan, pack: own, ref: run.Pack, before: own.Version.EvaluationSpec.Normalize(),
		details: o.diff || o.all || a.Output != "table" || a.Query != ""}
	if o.pack != "" {
		if r.pack, err = selector.RunnablePack(ctx, a, o.pack); err != nil {
			return nil, err
		}
	}
	digest, err := r.pack.Digest()
	if err != nil {
		return nil, err
	}
	if digest == run.Pack.Digest {
		r.pack = own
	}
	r.ref.Version, r.ref.Digest = r.pack.Version.Number, digest
	r.score, err = engine.NewRescoring(plan, own, r.pack)
	if err == nil {
		return r, nil
	}
	f := cli.Usage("rescore run %s: %w", run.Name, err)
	switch {
	case errors.Is(err, engine.ErrOtherPack):
		f.Code = "other_pack"
		return nil, f.Hint("agentclash eval rescore %s scores it by the pack it was run with; --pack takes another version of %s", cli.Short(run.ID), own.Pack.Slug)
	case errors.Is(err, pack.ErrNotFound):
		f.Status, f.Code = cli.StatusNotFound, "not_found"
	}
	return nil, f
}

func listRescorings(ctx context.Context, a *cli.App, db *store.DB, run store.Run) error {
	list, err := db.Rescorings(ctx, run.ID)
	if err != nil {
		return err
	}
	doc := struct {
		Items view.List[view.Rescoring] `json:"items"`
	}{}
	for _, r := range list {
		doc.Items = append(doc.Items, verdict.ViewRescoring(r))
	}
	return a.Print(doc, func(w io.Writer, v view.Options) error {
		if len(list) == 0 {
			a.Say("! run %s has no rescorings: agentclash eval rescore %s", run.Name, cli.Short(run.ID))
		}
		return view.Rescorings(w, doc.Items, v)
	})
}
