package runs

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// pruneOptions are the flags of run prune.
type pruneOptions struct {
	olderThan string
	keep      int
	dryRun    bool
}

// NewRunPrune is agentclash run prune: old runs leave the store.
func NewRunPrune(a *cli.App) *cobra.Command {
	o := pruneOptions{keep: -1}
	c := &cobra.Command{
		Use: "prune", Short: "Remove old runs", Args: cli.NoArgs,
		Long: `Remove runs of this workspace with their trials, events and scorecards: those
older than --older-than, but never the newest --keep of a pack. Runs that are
baselines, in a named session or not over are kept, and so are all of a pack of
which a run is going on, since it may reuse their trials. Regression cases do
not need the runs they were made of. Each run goes at once or not at all;
agentclash store gc then gives the room back.`,
		Example: "  agentclash run prune --older-than 90d --dry-run\n  agentclash run prune --keep 20\n  agentclash run prune --older-than 4w --keep 5 --json",
		RunE:    func(c *cobra.Command, _ []string) error { return runPrune(c.Context(), a, o) },
	}
	c.Flags().StringVar(&o.olderThan, "older-than", "", "age of runs that may go, such as 12h, 90d or 8w (default: any)")
	c.Flags().IntVar(&o.keep, "keep", -1, "runs of each pack that stay, the newest (default: none)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what would be removed, and remove nothing")
	return c
}

// rules are what the flags say.
func (o pruneOptions) rules(a *cli.App) (r store.PruneRules, err error) {
	if o.keep < -1 {
		return r, cli.Usage("--keep must be 0 or more, not %d", o.keep)
	}
	if o.olderThan == "" && o.keep < 0 {
		return r, cli.Usage("run prune needs --older-than or --keep: it does not guess what may go").Hint("agentclash run prune --older-than 90d --dry-run")
	}
	r.Keep = max(o.keep, 0)
	if o.olderThan != "" {
		age, err := parseAge(o.olderThan)
		if err != nil {
			return r, err
		}
		r.Before = a.Process.Now().Add(-age)
	}
	r.Workspace, err = a.WorkspaceName()
	return r, err
}

// parseAge reads a time such as 12h, 90d or 8w.
func parseAge(text string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			if n, err := strconv.ParseUint(digits, 10, 31); err == nil && n <= uint64(36500*24*time.Hour/length) {
				return time.Duration(n) * length, nil
			}
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	return 0, cli.Usage("--older-than must be a time such as 12h, 90d or 8w, not %q", text)
}

// pruneDocument is what run prune prints.
type pruneDocument struct {
	DryRun  bool        `json:"dry_run"`
	Removed []prunedRun `json:"removed"` // with DryRun: what would be
	Kept    []prunedRun `json:"kept"`
}

type prunedRun struct {
	RunID     string    `json:"run_id"`
	Name      string    `json:"name"`
	Pack      string    `json:"challenge_pack"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
	Reason    string    `json:"reason,omitempty"` // why it is kept
}

func runPrune(ctx context.Context, a *cli.App, o pruneOptions) error {
	rules, err := o.rules(a)
	if err == nil {
		err = a.CheckWorkspace(ctx)
	}
	if err != nil {
		return err
	}
	doc := pruneDocument{DryRun: o.dryRun, Removed: []prunedRun{}, Kept: []prunedRun{}}
	db, ok, err := a.Reading(ctx)
	if ok && !o.dryRun {
		if db, err = a.Store(ctx); err == nil {
			err = sandboxes.Tidy(ctx, a, db)
		}
	}
	if err == nil && ok {
		err = prune(ctx, a, db, rules, &doc)
	}
	if err == nil && ok && !o.dryRun {
		err = a.RemovePages(ctx, db)
	}
	if err != nil {
		return err
	}
	return a.Print(doc, func(w io.Writer, v view.Options) error { return showPruned(a, w, v, doc) })
}

func prune(ctx context.Context, a *cli.App, db *store.DB, rules store.PruneRules, doc *pruneDocument) error {
	runs, err := db.Prunable(ctx, rules)
	if err != nil {
		return err
	}
	for _, r := range runs {
		item := prunedRun{r.ID, r.Name, r.Slug, r.Status, r.CreatedAt, r.Kept}
		if r.Kept == "" && !doc.DryRun {
			switch err := db.RemoveRun(ctx, r.ID); {
			case errors.Is(err, store.ErrConflict): // it has become needed meanwhile
				item.Reason = err.Error()
			case err != nil && len(doc.Removed) > 0:
				a.Warn("! %d run(s) are removed, the rest is as it was", len(doc.Removed))
				return err
			case err != nil:
				return err
			}
		}
		if item.Reason == "" {
			doc.Removed = append(doc.Removed, item)
		} else {
			doc.Kept = append(doc.Kept, item)
		}
	}
	return nil
}

func showPruned(a *cli.App, w io.Writer, o view.Options, doc pruneDocument) error {
	t := view.Table{Columns: []view.Column{{Title: "RUN", Keep: true}, {Title: "NAME"}, {Title: "PACK"}, {Title: "STATUS", Keep: true}, {Title: "CREATED", Keep: true}, {Title: "WHAT"}}}
	what := "removed"
	if doc.DryRun {
		what = "would be removed"
	}
	for _, r := range doc.Removed {
		t.Add(view.Text(cli.Short(r.RunID)), view.Text(r.Name), view.Text(r.Pack), view.Status(r.Status), view.Text(o.Time(r.CreatedAt)), view.Text(what))
	}
	for _, r := range doc.Kept {
		t.Add(view.Text(cli.Short(r.RunID)), view.Text(r.Name), view.Text(r.Pack), view.Status(r.Status), view.Text(o.Time(r.CreatedAt)), view.Text("kept: "+r.Reason))
	}
	err := t.Write(w, o)
	switch {
	case doc.DryRun:
		a.Say("%d run(s) would be removed, %d kept", len(doc.Removed), len(doc.Kept))
	case len(doc.Removed) == 0:
		a.Say("nothing to remove: %d run(s) are kept", len(doc.Kept))
	default:
		a.Say("✓ removed %d run(s), kept %d; agentclash store gc gives the room back", len(doc.Removed), len(doc.Kept))
	}
	return err
}
