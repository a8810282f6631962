package cmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
)

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

// tidiedRun is a run that is to be changed, once what dead processes left is marked.
func (a *app) tidiedRun(ctx context.Context, args []string) (*store.DB, store.Run, error) {
	if _, err := a.stored(ctx); err != nil {
		return nil, store.Run{}, err
	}
	db, err := a.store(ctx)
	if err != nil {
		return nil, store.Run{}, err
	}
	if err := a.tidy(ctx, db); err != nil {
		return nil, store.Run{}, err
	}
	r, err := a.storedRun(ctx, db, args)
	return db, r, err
}
