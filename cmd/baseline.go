package cmd

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
)

func newBaseline(a *app) *cobra.Command {
	return group("baseline", "Keep the run that others are compared with",
		newBaselineSet(a), newBaselineShow(a), newBaselineClear(a))
}

func newBaselineSet(a *app) *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use: "set [RUN]", Short: "Make a run's agent the baseline of its pack",
		Example: "  agentclash baseline set latest\n  agentclash baseline set nightly --agent prod",
		Args:    upTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			return a.withRun(ctx, args, func(db *store.DB, r store.Run) error {
				picked, err := a.pickAgent(ctx, db, r, agent)
				if err != nil {
					return err
				}
				if c := picked.Scorecard; c != nil && c.PassedTrials+c.FailedTrials == 0 {
					return usage("no trial of %s in run %s could be judged: it is no baseline", picked.Label, r.Name).hint("agentclash run get %s", short(r.ID))
				}
				if picked.Scorecard == nil {
					return usage("run %s has not ended: a baseline needs its scorecard", r.Name).hint("agentclash run get %s", short(r.ID))
				}
				planned, err := db.Plan(ctx, r.ID)
				if err != nil {
					return err
				}
				if err := (side{run: r, plan: planned}).whole("baseline"); err != nil {
					return err
				}
				if db, err = a.store(ctx); err != nil {
					return err
				}
				mark, err := db.SetBaseline(ctx, picked.ID)
				if err != nil {
					return err
				}
				d := baselineDocument(mark, r.Status)
				return a.print(d, func(w io.Writer, o view.Options) error {
					a.say("✓ %s of run %s is the baseline of %s", mark.Label, mark.RunName, mark.PackSlug)
					return nil
				})
			})
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "run agent, by label or id")
	return c
}

func baselineDocument(m store.BaselineMark, runStatus string) view.BaselineDocument {
	mark := bookmark(m, runStatus)
	return view.BaselineDocument{WorkspaceID: m.Workspace, Configured: true, Bookmark: &mark}
}

func bookmark(m store.BaselineMark, runStatus string) view.Bookmark {
	return view.Bookmark{
		Participant: view.Participant{
			WorkspaceID: m.Workspace, RunID: m.RunID, RunName: m.RunName, RunStatus: runStatus,
			RunAgentID: m.RunAgentID, RunAgentLabel: m.Label,
		},
		SetAt: m.SetAt,
	}
}

// baselineOf is the baseline of a pack; ok is false when there is none.
func (a *app) baselineOf(ctx context.Context, db *store.DB, workspace, slug string) (side, view.Bookmark, bool, error) {
	mark, err := db.Baseline(ctx, workspace, slug)
	if errors.Is(err, store.ErrNotFound) {
		return side{}, view.Bookmark{}, false, nil
	}
	if err != nil {
		return side{}, view.Bookmark{}, false, err
	}
	s, err := a.agentSide(ctx, db, mark.RunAgentID)
	return s, bookmark(mark, s.run.Status), err == nil, err
}

func newBaselineShow(a *app) *cobra.Command {
	var slug string
	c := &cobra.Command{
		Use: "show", Short: "Show the baseline of a pack", Args: noArgs,
		Example: "  agentclash baseline show --pack support-triage",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			workspace, err := a.workspaceName()
			if err != nil {
				return err
			}
			d := view.BaselineDocument{WorkspaceID: workspace}
			db, ok, err := a.reading(ctx)
			if err != nil {
				return err
			}
			if ok {
				mark, found, err := a.pickBaseline(ctx, db, workspace, slug)
				if err != nil {
					return err
				}
				if found {
					r, err := db.Run(ctx, workspace, mark.RunID)
					if err != nil {
						return err
					}
					d = baselineDocument(mark, r.Status)
				}
			}
			return a.print(d, func(w io.Writer, o view.Options) error {
				if !d.Configured {
					a.say("! no baseline is set: agentclash baseline set RUN")
				}
				return view.Baseline(w, d, o)
			})
		},
	}
	c.Flags().StringVar(&slug, "pack", "", "slug of the pack (default: the only one with a baseline)")
	return c
}

// pickBaseline finds the baseline of the pack that was named, or the only one.
func (a *app) pickBaseline(ctx context.Context, db *store.DB, workspace, slug string) (store.BaselineMark, bool, error) {
	marks, err := db.Baselines(ctx, workspace)
	if err != nil {
		return store.BaselineMark{}, false, err
	}
	var slugs []string
	for _, m := range marks {
		if m.PackSlug == slug {
			return m, true, nil
		}
		slugs = append(slugs, m.PackSlug)
	}
	switch {
	case slug != "" || len(marks) == 0:
		return store.BaselineMark{}, false, nil
	case len(marks) > 1:
		return store.BaselineMark{}, false, usage("several packs have a baseline: %s", strings.Join(slugs, ", ")).hint("add --pack SLUG")
	}
	return marks[0], true, nil
}

func newBaselineClear(a *app) *cobra.Command {
	var slug string
	c := &cobra.Command{
		Use: "clear", Short: "Forget the baseline of a pack", Args: noArgs,
		Example: "  agentclash baseline clear --pack support-triage",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			workspace, err := a.workspaceName()
			if err != nil {
				return err
			}
			cleared, err := a.clearBaseline(ctx, workspace, slug)
			if err != nil {
				return err
			}
			doc := map[string]any{"workspace_id": workspace, "cleared": cleared}
			return a.print(doc, func(io.Writer, view.Options) error {
				if cleared {
					a.say("✓ the baseline is forgotten")
				} else {
					a.say("! no baseline was set")
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&slug, "pack", "", "slug of the pack (default: the only one with a baseline)")
	return c
}

func (a *app) clearBaseline(ctx context.Context, workspace, slug string) (bool, error) {
	db, ok, err := a.reading(ctx)
	if err != nil || !ok {
		return false, err
	}
	mark, found, err := a.pickBaseline(ctx, db, workspace, slug)
	if err != nil || !found {
		return false, err
	}
	if db, err = a.store(ctx); err != nil {
		return false, err
	}
	return db.ClearBaseline(ctx, workspace, mark.PackSlug)
}
