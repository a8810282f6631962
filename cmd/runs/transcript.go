package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/spf13/cobra"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
)

// NewRunTranscript is agentclash run transcript, whose Markdown is safe to paste.
func NewRunTranscript(a *cli.App) *cobra.Command {
	var o replayOptions
	var full bool
	c := &cobra.Command{
		Use: "transcript [RUN|TRIAL]", Short: "Write what was said and done in a run as Markdown",
		Long: `Write what was said and done in the trials of a run (the newest by default) as
Markdown that can be pasted into a pull request: what models, tools and packs said
is shown as it is, and can be no link, picture, HTML or mention. Trials that did
not pass come first. What went into calls and came back is left out, unless --full
asks for it: prompts, arguments, results, captures. The page is bounded to 60,000
bytes, with --full to 4 MiB, and says what it leaves out.`,
		Example: `  agentclash run transcript latest
  agentclash run transcript latest --case arithmetic --full
  agentclash run transcript latest --json --query .transcript`,
		Args: cli.UpTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.checkTrial(); err != nil {
				return err
			}
			return runTranscript(c.Context(), a, o, full, args)
		},
	}
	o.addTrialFlags(c.Flags())
	c.Flags().BoolVar(&full, "full", false, "prompts, arguments and results as well")
	return c
}

// toTranscribe is a trial of a transcript, and whose it is.
type transcribed struct {
	store.Trial
	agent *store.RunAgent // shared: there may be many trials
}

func runTranscript(ctx context.Context, a *cli.App, o replayOptions, full bool, args []string) error {
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	r, trials, err := toTranscribe(ctx, a, db, o, args)
	if err != nil {
		return err
	}
	head, err := ViewRun(ctx, a, db, r)
	if err != nil {
		return err
	}
	page := reports.NewTranscript(head, full)
	for i, t := range trials {
		d, err := ReadReplay(ctx, db, t.Trial, *t.agent, o.attempt)
		if err != nil {
			return err
		}
		if !page.Add(d) {
			page.Skip(len(trials) - i - 1)
			break
		}
	}
	shown, whole := page.Shown()
	doc := struct {
		RunID       string `json:"run_id"`
		Format      string `json:"format"`
		Trials      int    `json:"trials"`
		ShownTrials int    `json:"shown_trials"`
		Truncated   bool   `json:"truncated"`
		Transcript  string `json:"transcript"`
	}{r.ID, "markdown", len(trials), shown, !whole, page.String()}
	return a.Print(doc, func(w io.Writer, _ view.Options) error {
		if !whole {
			a.Say("! the page is cut: it has %d of %d trials; --agent and --case choose some", shown, len(trials))
		}
		_, err := io.WriteString(w, doc.Transcript)
		return err
	})
}

// toTranscribe finds the run that is meant and those of its trials, the ones that did
// not pass first. A trial that was never begun has nothing to tell.
func toTranscribe(ctx context.Context, a *cli.App, db *store.DB, o replayOptions, args []string) (store.Run, []transcribed, error) {
	r, err := selector.StoredRun(ctx, a, db, args)
	if errors.Is(err, store.ErrNotFound) && len(args) > 0 {
		return transcribedTrial(ctx, a, db, o, args[0])
	}
	if err != nil {
		return r, nil, err
	}
	agents, err := db.RunAgents(ctx, r.ID)
	if o.agent != "" && err == nil {
		var agent store.RunAgent
		agent, err = verdict.PickAgent(ctx, a, db, r, o.agent)
		agents = []store.RunAgent{agent}
	}
	if err != nil {
		return r, nil, err
	}
	var trials []transcribed
	for _, agent := range agents {
		filter := store.TrialFilter{RunAgentID: agent.ID, CaseKey: o.caseKey, Repetition: o.repetition, NoResults: true}
		err := db.Trials(ctx, filter, func(t store.Trial) error {
			if t.Attempt > 0 && o.attempt <= t.Attempt {
				trials = append(trials, transcribed{t, &agent})
			}
			return nil
		})
		if err != nil {
			return r, nil, err
		}
	}
	if len(trials) == 0 && (o.caseKey != "" || o.repetition+o.attempt > 0) {
		return r, nil, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("run %s has no such trial that was begun", r.Name)}).
			Hint("agentclash run transcript %s", cli.Short(r.ID))
	}
	slices.SortStableFunc(trials, func(x, y transcribed) int {
		switch xPassed, yPassed := x.Status == store.Passed, y.Status == store.Passed; {
		case xPassed == yPassed:
			return 0
		case yPassed:
			return -1
		}
		return 1
	})
	return r, trials, nil
}

// transcribedTrial is one trial, named by its id, and its run.
func transcribedTrial(ctx context.Context, a *cli.App, db *store.DB, o replayOptions, selector string) (store.Run, []transcribed, error) {
	t, agent, err := findReplay(ctx, a, db, o, selector)
	if err != nil {
		return store.Run{}, nil, err
	}
	r, err := db.Run(ctx, "", agent.RunID)
	return r, []transcribed{{t, &agent}}, err
}
