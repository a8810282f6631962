package browser

import (
	"context"
	"errors"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/tui/browse"
	"github.com/spf13/cobra"
)

// NewUI is the command ui.
func NewUI(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "ui [RUN]", Short: "Browse runs, scorecards and transcripts on a terminal",
		Long: `Browse what is stored: runs, their scorecards, trials with verdicts, transcripts and
captured files, comparisons and artifacts, with a search in each. With RUN that run
is opened first. Runs that go on are shown as they do. Keys are said at the bottom,
and all of them by ?.

Nothing that is stored is changed. A terminal is needed; run list, eval scorecard,
run transcript and compare show the same without one, and serve in a browser.`,
		Example: "  agentclash ui\n  agentclash ui latest",
		Args:    cli.UpTo(1),
		RunE:    func(c *cobra.Command, args []string) error { return runUI(c.Context(), a, args) },
	}
}

func runUI(ctx context.Context, a *cli.App, args []string) error {
	if !a.Interactive() {
		return cli.Usage("ui needs a terminal and a person at it: without one there are run list, eval scorecard, run transcript and compare runs").
			Hint("agentclash run list")
	}
	if _, ok, err := a.Reading(ctx); err != nil {
		return err
	} else if !ok {
		return (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: errors.New("there are no runs yet to browse")}).Hint("agentclash quickstart")
	}
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	from := stored{a, db, workspace}
	o := browse.Options{Source: from, Color: a.Color(), Now: a.Process.Now}
	if len(args) > 0 {
		r, err := db.Run(ctx, workspace, args[0])
		if err != nil {
			return err
		}
		opened, err := from.listed(ctx, r)
		if err != nil {
			return err
		}
		o.Open = &opened
	}
	o.Width, o.Height, _ = a.Process.Terminal()
	return browse.Show(ctx, o, a.Process.In, a.Process.Out)
}
