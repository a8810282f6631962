package runs

import (
	"cmp"
	"context"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewRunList is agentclash run list, newest first. It marks runs whose owner died.
func NewRunList(a *cli.App) *cobra.Command {
	var page cli.ListOptions
	c := &cobra.Command{
		Use: "list", Short: "List the runs, newest first", Args: cli.NoArgs,
		Example: "  agentclash run list\n  agentclash run list --json --query '.items[].run_id'",
		RunE:    func(c *cobra.Command, _ []string) error { return runRunList(c.Context(), a, page) },
	}
	page.AddPageFlags(c.Flags())
	return c
}

// NewEvalList is run list under the noun that starts runs.
func NewEvalList(a *cli.App) *cobra.Command {
	c := NewRunList(a)
	c.Example = "  agentclash eval list"
	return c
}

func runRunList(ctx context.Context, a *cli.App, o cli.ListOptions) error {
	if err := cmp.Or(o.Check(), a.CheckWorkspace(ctx)); err != nil {
		return err
	}
	db, ok, err := sandboxes.Tidied(ctx, a)
	if err != nil {
		return err
	}
	var list []view.Run
	total := 0
	if ok {
		workspace, err := a.WorkspaceName()
		if err != nil {
			return err
		}
		var runs []store.Run
		if runs, total, err = db.Runs(ctx, store.RunFilter{Workspace: workspace, Limit: o.Rows(), Offset: o.Offset}); err != nil {
			return err
		}
		for _, r := range runs {
			v, err := ViewRun(ctx, a, db, r)
			if err != nil {
				return err
			}
			list = append(list, v)
		}
	}
	return cli.PrintPage(a, cli.PageFrom(list, total, o), "there are no runs yet: agentclash eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good", view.RunList)
}

// NewRunGet is agentclash run get.
func NewRunGet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get [RUN]", Short: "Show one run and its agents", Args: cli.UpTo(1),
		Example: "  agentclash run get latest",
		RunE: func(c *cobra.Command, args []string) error {
			return selector.WithRun(c.Context(), a, args, func(db *store.DB, r store.Run) error {
				v, err := ViewPlannedRun(c.Context(), a, db, r)
				if err != nil {
					return err
				}
				return a.Print(v, func(w io.Writer, o view.Options) error { return view.RunDetails(w, v, o) })
			})
		},
	}
}

// NewRunAgents is agentclash run agents: a run's lanes.
func NewRunAgents(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "agents [RUN]", Short: "List the agents of a run", Args: cli.UpTo(1),
		Example: "  agentclash run agents latest",
		RunE: func(c *cobra.Command, args []string) error {
			return selector.WithRun(c.Context(), a, args, func(db *store.DB, r store.Run) error {
				v, err := ViewRun(c.Context(), a, db, r)
				if err != nil {
					return err
				}
				doc := struct {
					Items view.List[view.RunAgent] `json:"items"`
				}{v.Agents}
				return a.Print(doc, func(w io.Writer, o view.Options) error { return view.RunAgents(w, v.Agents, o) })
			})
		},
	}
}

// NewRunCancel is agentclash run cancel, which asks a living owner to end and ends the run
// of a dead one.
func NewRunCancel(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN", Short: "Stop a run that is going on, for good",
		Long: `Ask the process that executes a run to stop: it ends its calls, removes its
sandboxes and marks the run cancelled. What is finished stays. A run whose
process is dead is marked interrupted instead; it can be resumed.`,
		Example: "  agentclash run cancel latest",
		Args:    cli.ExactArgs("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			db, r, err := TidiedRun(ctx, a, args)
			if err != nil {
				return err
			}
			if err := db.RequestCancel(ctx, r.ID); err != nil {
				return err
			}
			return a.Print(map[string]string{"run_id": r.ID, "action": "cancel_requested"}, func(io.Writer, view.Options) error {
				a.Say("✓ asked run %s to stop", r.Name)
				return nil
			})
		},
	}
}

// TidiedRun is a run that is to be changed, once what dead processes left is marked.
func TidiedRun(ctx context.Context, a *cli.App, args []string) (*store.DB, store.Run, error) {
	if _, err := a.Stored(ctx); err != nil {
		return nil, store.Run{}, err
	}
	db, err := a.Store(ctx)
	if err != nil {
		return nil, store.Run{}, err
	}
	if err := sandboxes.Tidy(ctx, a, db); err != nil {
		return nil, store.Run{}, err
	}
	r, err := selector.StoredRun(ctx, a, db, args)
	return db, r, err
}
