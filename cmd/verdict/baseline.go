package verdict

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewBaseline is agentclash baseline: which run of a pack others are compared with.
func NewBaseline(a *cli.App) *cobra.Command {
	return cli.Group("baseline", "Keep the run that others are compared with",
		newBaselineSet(a), newBaselineShow(a), newBaselineList(a), newBaselineHistory(a), newBaselineClear(a),
		newBaselineExport(a), newBaselineImport(a))
}

// baselineOptions name a baseline that is set.
type baselineOptions struct{ name, slug string }

func (o *baselineOptions) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.name, "name", "", "name of the baseline (default \"default\")")
	c.Flags().StringVar(&o.slug, "pack", "", "slug of the pack (default: the only one with such a baseline)")
}

// addPack is what to type where several packs have such a baseline.
const addPack = "add --pack SLUG"

func newBaselineSet(a *cli.App) *cobra.Command {
	var agent, name string
	c := &cobra.Command{
		Use: "set [RUN]", Short: "Make a run's agent a baseline of its pack",
		Long: `Make a run's agent a baseline of its pack, in place of the one of that name there
was; baseline history has the earlier ones. Nothing sets a baseline by itself.`,
		Example: "  agentclash baseline set latest\n  agentclash baseline set nightly --agent prod --name main",
		Args:    cli.UpTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkBaselineName(name); err != nil {
				return err
			}
			ctx := c.Context()
			return selector.WithRun(ctx, a, args, func(db *store.DB, r store.Run) error {
				picked, err := PickAgent(ctx, a, db, r, agent)
				if err != nil {
					return err
				}
				if c := picked.Scorecard; c != nil && c.PassedTrials+c.FailedTrials == 0 {
					return cli.Usage("no trial of %s in run %s could be judged: it is no baseline", picked.Label, r.Name).Hint("agentclash run get %s", cli.Short(r.ID))
				}
				if picked.Scorecard == nil {
					return cli.Usage("run %s has not ended: a baseline needs its scorecard", r.Name).Hint("agentclash run get %s", cli.Short(r.ID))
				}
				planned, err := db.Plan(ctx, r.ID)
				if err != nil {
					return err
				}
				if err := (Side{Run: r, plan: planned}).whole("baseline"); err != nil {
					return err
				}
				if db, err = a.Store(ctx); err != nil {
					return err
				}
				mark, err := db.SetBaseline(ctx, picked.ID, name)
				if err != nil {
					return err
				}
				return printBaseline(a, mark, r.Status)
			})
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "run agent, by label or id")
	c.Flags().StringVar(&name, "name", "", "name of the baseline (default \"default\")")
	return c
}

// maxBaselineName bounds a baseline's name, in bytes.
const maxBaselineName = 100

// checkBaselineName refuses a name that --baseline would take for something else,
// or that could not be typed.
func checkBaselineName(name string) error {
	name = strings.TrimSpace(name)
	switch {
	case len(name) > maxBaselineName:
		return cli.Usage("--name: a baseline's name has at most %d bytes, not %d", maxBaselineName, len(name))
	case name != view.SanitizeLine(name) || strings.ContainsAny(name, "\n\t"):
		return cli.Usage("--name %q: a baseline's name has no control or invisible characters", name)
	case cli.LooksLikePath(name):
		return cli.Usage("--name %q: --baseline would take it for a file: leave out slashes, a dot in front and .json or .yaml behind", name)
	case strings.HasPrefix(name, baselinePrefix):
		return cli.Usage("--name %q: leave out %q, which stands before names of baselines where runs are named too", name, baselinePrefix)
	}
	return nil
}

// printBaseline says what has just become the baseline.
func printBaseline(a *cli.App, mark store.BaselineMark, runStatus string) error {
	return a.Print(baselineDocument(mark, runStatus), func(io.Writer, view.Options) error {
		called := ""
		if mark.Name != store.DefaultBaseline {
			called = " " + strconv.Quote(mark.Name)
		}
		a.Say("✓ %s of run %s is the baseline%s of %s", mark.Label, mark.RunName, called, mark.PackSlug)
		return nil
	})
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
		Name: m.Name, Imported: m.Imported, SetAt: m.SetAt, EndedAt: m.EndedAt,
	}
}

func newBaselineShow(a *cli.App) *cobra.Command {
	var o baselineOptions
	c := &cobra.Command{
		Use: "show", Short: "Show a baseline of a pack", Args: cli.NoArgs,
		Example: "  agentclash baseline show --pack support-triage",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			if err := a.CheckWorkspace(ctx); err != nil {
				return err
			}
			db, workspace, err := a.ReadingIn(ctx)
			if err != nil {
				return err
			}
			d := view.BaselineDocument{WorkspaceID: workspace}
			if db != nil {
				found, set, err := BaselineFor(ctx, a, db, workspace, o.slug, o.name)
				if err != nil {
					return err
				}
				if set {
					d.Configured, d.Bookmark = true, &found.Mark
				}
			}
			return a.Print(d, func(w io.Writer, v view.Options) error {
				if !d.Configured {
					a.Say("! %v: agentclash baseline set RUN", NoSuchBaseline(o.name))
				}
				return view.Baseline(w, d, v)
			})
		},
	}
	o.addFlags(c)
	return c
}

func newBaselineList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the baselines of all packs", Args: cli.NoArgs,
		Example: "  agentclash baseline list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			return listBaselines(c.Context(), a, func(db *store.DB, workspace string) ([]store.BaselineMark, error) {
				return db.Baselines(c.Context(), workspace)
			})
		},
	}
}

func newBaselineHistory(a *cli.App) *cobra.Command {
	var o baselineOptions
	c := &cobra.Command{
		Use: "history", Short: "List the baselines that a pack has and had", Args: cli.NoArgs,
		Example: "  agentclash baseline history --pack support-triage\n  agentclash baseline history --name main",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			return listBaselines(ctx, a, func(db *store.DB, workspace string) ([]store.BaselineMark, error) {
				slug := o.slug
				if slug == "" {
					mark, found, err := pickBaseline(ctx, a, db, workspace, "", o.name)
					if err != nil {
						return nil, err
					}
					if !found {
						return nil, NoSuchBaseline(o.name)
					}
					slug = mark.PackSlug
				}
				return db.BaselineHistory(ctx, workspace, slug, o.name)
			})
		},
	}
	o.addFlags(c)
	return c
}

func listBaselines(ctx context.Context, a *cli.App, list func(*store.DB, string) ([]store.BaselineMark, error)) error {
	if err := a.CheckWorkspace(ctx); err != nil {
		return err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	db, ok, err := a.Reading(ctx)
	if err != nil {
		return err
	}
	var marks []store.BaselineMark
	if ok {
		if marks, err = list(db, workspace); err != nil {
			return err
		}
	}
	page := view.Page[view.BaselineEntry]{Total: len(marks)}
	for _, m := range marks {
		page.Items = append(page.Items, view.BaselineEntry{PackSlug: m.PackSlug, Bookmark: bookmark(m, "")})
	}
	return cli.PrintPage(a, page, "no baseline is set: agentclash baseline set RUN", view.BaselineList)
}

// pickBaseline finds the baseline of a name of the pack that was named, or of the
// only pack that has one.
func pickBaseline(ctx context.Context, a *cli.App, db *store.DB, workspace, slug, name string) (store.BaselineMark, bool, error) {
	if slug != "" {
		mark, err := db.Baseline(ctx, workspace, slug, name)
		if errors.Is(err, store.ErrNotFound) {
			return store.BaselineMark{}, false, nil
		}
		return mark, err == nil, err
	}
	all, err := db.Baselines(ctx, workspace)
	if err != nil {
		return store.BaselineMark{}, false, err
	}
	name = cmp.Or(strings.TrimSpace(name), store.DefaultBaseline)
	marks := slices.DeleteFunc(all, func(m store.BaselineMark) bool { return !strings.EqualFold(m.Name, name) })
	switch len(marks) {
	case 0:
		return store.BaselineMark{}, false, nil
	case 1:
		return marks[0], true, nil
	}
	var slugs []string
	for _, m := range marks {
		slugs = append(slugs, m.PackSlug)
	}
	return store.BaselineMark{}, false, cli.Usage("several packs have a baseline: %s", strings.Join(slugs, ", ")).Hint(addPack)
}

func newBaselineClear(a *cli.App) *cobra.Command {
	var o baselineOptions
	c := &cobra.Command{
		Use: "clear", Short: "Forget a baseline of a pack", Args: cli.NoArgs,
		Example: "  agentclash baseline clear --pack support-triage",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			workspace, err := a.WorkspaceName()
			if err != nil {
				return err
			}
			cleared, err := clearBaseline(ctx, a, workspace, o)
			if err != nil {
				return err
			}
			doc := map[string]any{"workspace_id": workspace, "cleared": cleared}
			return a.Print(doc, func(io.Writer, view.Options) error {
				if cleared {
					a.Say("✓ the baseline is forgotten")
				} else {
					a.Say("! no baseline was set")
				}
				return nil
			})
		},
	}
	o.addFlags(c)
	return c
}

func clearBaseline(ctx context.Context, a *cli.App, workspace string, o baselineOptions) (bool, error) {
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok {
		return false, err
	}
	mark, found, err := pickBaseline(ctx, a, db, workspace, o.slug, o.name)
	if err != nil || !found {
		return false, err
	}
	if db, err = a.Store(ctx); err != nil {
		return false, err
	}
	return db.ClearBaseline(ctx, workspace, mark.PackSlug, mark.Name)
}
