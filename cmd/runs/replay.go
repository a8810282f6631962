package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NewReplay is agentclash replay: a trial step by step, as it was stored.
func NewReplay(a *cli.App) *cobra.Command {
	return cli.Group("replay", "Read what happened in a trial", newReplayGet(a), newReplayTriage(a))
}

// NewRunReplay is replay get under the noun that it is a part of.
func NewRunReplay(a *cli.App) *cobra.Command {
	c := newReplayGet(a)
	c.Use = "replay TRIAL|RUN-AGENT|RUN"
	c.Example = "  agentclash run replay latest --case arithmetic"
	return c
}

// replayOptions say which attempt of which trial is meant, and how much of it is
// shown.
type replayOptions struct {
	agent      string
	caseKey    string
	repetition int
	attempt    int

	cursor, limit int
	all           bool
	step          int // 0: none
}

func newReplayGet(a *cli.App) *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use: "get TRIAL|RUN-AGENT|RUN", Short: "Show the steps of a trial: calls, tools, tests, scores",
		Long: `Show the steps of a trial, named by its id, or by its run agent or its run with
--agent, --case and --repetition. Where several trials are meant, they are listed
and the status is 64. Everything comes from the store.

The first column is the number of a step; EVENTS are the numbers of its events,
by which scores say what explains them. An http_request that failed says in which
phase: ` + strings.Join(event.HTTPPhases(), ", ") + `.
A table shows the beginning of long texts: --step shows all of one step.`,
		Example: `  agentclash replay get latest --case arithmetic
  agentclash replay get latest --case arithmetic --step 2
  agentclash replay get latest --case arithmetic --limit 3 --json`,
		Args: cli.ExactArgs("TRIAL|RUN-AGENT|RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(c); err != nil {
				return err
			}
			return runReplayGet(c.Context(), a, o, args[0])
		},
	}
	o.addTrialFlags(c.Flags())
	c.Flags().IntVar(&o.cursor, "cursor", 0, "how many steps to leave out: go on after a page")
	c.Flags().IntVar(&o.limit, "limit", 0, "how many steps (0 is 50, at most 200)")
	c.Flags().BoolVar(&o.all, "all", false, "every step")
	c.Flags().IntVar(&o.step, "step", 0, "show all of this step, by its number")
	return c
}

// addTrialFlags adds what names a trial of a run or of a run agent.
func (o *replayOptions) addTrialFlags(f *pflag.FlagSet) {
	f.StringVar(&o.agent, "agent", "", "run agent, by label or id")
	f.StringVar(&o.caseKey, "case", "", "case")
	f.IntVar(&o.repetition, "repetition", 0, "repetition of the case, from 1")
	f.IntVar(&o.attempt, "attempt", 0, "attempt of the trial (default: the last)")
}

// checkTrial refuses numbers that no trial has.
func (o *replayOptions) checkTrial() error {
	if o.repetition < 0 || o.attempt < 0 {
		return cli.Usage("--repetition and --attempt count from 1")
	}
	return nil
}

func (o *replayOptions) check(c *cobra.Command) error {
	paged := c.Flags().Changed("cursor") || c.Flags().Changed("limit")
	switch {
	case o.limit < 0 || o.limit > 200 || o.cursor < 0:
		return cli.Usage("--limit must be 0 to 200 and --cursor must not be negative")
	case o.all && paged:
		return cli.Usage("--all shows every step: leave --cursor and --limit out")
	case o.step < 0 || o.step == 0 && c.Flags().Changed("step"):
		return cli.Usage("--step counts from 1")
	case o.step > 0 && (o.all || paged):
		return cli.Usage("--step shows one step: leave --all, --cursor and --limit out")
	}
	o.limit = cmp.Or(o.limit, 50)
	return o.checkTrial()
}

func runReplayGet(ctx context.Context, a *cli.App, o replayOptions, selector string) error {
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	t, agent, err := findReplay(ctx, a, db, o, selector)
	if err != nil {
		return err
	}
	d, err := ReadReplay(ctx, db, t, agent, o.attempt)
	if err != nil {
		return err
	}
	total := len(d.Steps)
	switch {
	case o.step > total:
		return (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("the trial has %d steps, and no step %d", total, o.step)}).
			Hint("agentclash replay get %s", cli.Short(t.ID))
	case o.step > 0:
		d.Page(o.step-1, 1)
		return a.Print(d, func(w io.Writer, v view.Options) error { return view.ReplayStep(w, d, v) })
	case o.all:
		d.Page(0, total)
	default:
		d.Page(o.cursor, o.limit)
	}
	return a.Print(d, func(w io.Writer, v view.Options) error {
		switch p := d.Pagination; {
		case p.HasMore:
			a.Say("showing steps %d to %d of %d; next: --cursor %d", o.cursor+1, *p.NextCursor, total, *p.NextCursor)
		case len(d.Steps) == 0 && total > 0:
			a.Say("! the trial has %d steps: --cursor %d is past its end", total, o.cursor)
		}
		return view.Replay(w, d, v)
	})
}

// ReadReplay reads the history of an attempt of a trial; attempt 0 is the last.
func ReadReplay(ctx context.Context, db *store.DB, t store.Trial, agent store.RunAgent, attempt int) (view.ReplayDocument, error) {
	d := view.ReplayDocument{
		State: "ready", RunID: agent.RunID, RunAgentID: agent.ID, RunAgentLabel: agent.Label,
		TrialID: t.ID, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt, Code: t.Code, Phase: t.Phase,
	}
	if attempt > 0 {
		d.Attempt, d.Code, d.Phase = attempt, "", ""
	}
	var facts []event.Event
	err := db.Events(ctx, store.EventFilter{RunID: agent.RunID, TrialID: t.ID, Attempt: d.Attempt}, func(_ int64, e event.Event) error {
		facts = append(facts, e)
		if e.Type != event.TrialDone {
			return nil
		}
		end, err := event.Decode[event.TrialEnd](e)
		d.Outcome, d.Code, d.Phase = end.Outcome, end.Code, end.Phase
		if end.Scorecard != nil {
			d.Scorecard = new(view.NewTrial(end.Trial))
		}
		return err
	})
	if err != nil {
		return d, err
	}
	if attempt > 0 && len(facts) == 0 {
		return d, &cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("the trial has no attempt %d", attempt)}
	}
	d.Replay = event.NewReplay(facts)
	if d.Outcome == "" {
		d.State = "pending"
	}
	return d, nil
}

// findReplay finds a trial by its id, through its run agent, or through its run.
func findReplay(ctx context.Context, a *cli.App, db *store.DB, o replayOptions, named string) (store.Trial, store.RunAgent, error) {
	if o.agent == "" {
		t, agent, err := findTrial(ctx, a, db, o, named)
		if !errors.Is(err, store.ErrNotFound) {
			return t, agent, err
		}
	}
	run, err := selector.StoredRun(ctx, a, db, []string{named})
	if errors.Is(err, store.ErrNotFound) && o.agent == "" {
		err = (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("there is no trial, run agent or run %q", named)}).
			Hint("agentclash run list")
	}
	if err != nil {
		return store.Trial{}, store.RunAgent{}, err
	}
	agent, err := verdict.PickAgent(ctx, a, db, run, o.agent)
	if err != nil {
		return store.Trial{}, agent, err
	}
	return onlyTrial(ctx, db, o, agent)
}

// findTrial finds a trial by its id, or through its run agent.
func findTrial(ctx context.Context, a *cli.App, db *store.DB, o replayOptions, selector string) (store.Trial, store.RunAgent, error) {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return store.Trial{}, store.RunAgent{}, err
	}
	if o.caseKey == "" && o.repetition == 0 {
		t, err := db.Trial(ctx, workspace, selector)
		if err == nil {
			agent, err := db.RunAgent(ctx, workspace, "", t.RunAgentID)
			return t, agent, err
		}
		if !errors.Is(err, store.ErrNotFound) {
			return store.Trial{}, store.RunAgent{}, err
		}
	}
	agent, err := db.RunAgent(ctx, workspace, "", selector)
	if err != nil {
		return store.Trial{}, store.RunAgent{}, err
	}
	return onlyTrial(ctx, db, o, agent)
}

// onlyTrial is the one trial of a run agent that can be meant.
func onlyTrial(ctx context.Context, db *store.DB, o replayOptions, agent store.RunAgent) (store.Trial, store.RunAgent, error) {
	var found []store.Trial
	filter := store.TrialFilter{RunAgentID: agent.ID, CaseKey: o.caseKey, Repetition: o.repetition, NoResults: true}
	err := db.Trials(ctx, filter, func(t store.Trial) error {
		found = append(found, t)
		return nil
	})
	switch {
	case err != nil:
		return store.Trial{}, agent, err
	case len(found) == 1:
		return found[0], agent, nil
	case len(found) == 0:
		what := "such trial"
		if o.repetition == 0 {
			what = fmt.Sprintf("trial of case %q", o.caseKey)
		}
		return store.Trial{}, agent, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("%s has no %s", agent.Label, what)}).
			Hint("agentclash eval scorecard %s --agent %s", cli.Short(agent.RunID), cli.Short(agent.ID))
	}
	return store.Trial{}, agent, severalTrials(agent, found)
}

// severalTrials lists what could have been meant, without burying the screen.
func severalTrials(agent store.RunAgent, trials []store.Trial) error {
	const shown = 50
	var lines []string
	for i, t := range trials {
		if i == shown {
			lines = append(lines, fmt.Sprintf("  ... and %d more", len(trials)-shown))
			break
		}
		lines = append(lines, fmt.Sprintf("  %s  --case %s --repetition %d  %s", cli.Short(t.ID), t.CaseKey, t.Repetition, t.Status))
	}
	return cli.Usage("%s has %d trials:\n%s", agent.Label, len(trials), strings.Join(lines, "\n")).
		Hint("agentclash replay get %s", cli.Short(trials[0].ID))
}
