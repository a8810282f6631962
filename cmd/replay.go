package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/store"
)

func newReplay(a *app) *cobra.Command {
	return group("replay", "Read what happened in a trial", newReplayGet(a))
}

type replayOptions struct {
	caseKey    string
	repetition int
	attempt    int
}

func newReplayGet(a *app) *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use: "get TRIAL|RUN-AGENT", Short: "Show the steps of a trial: calls, tools, tests, scores",
		Long: `Show the steps of a trial, named by its id, or by its run agent with --case and
--repetition. A run agent with a single trial needs neither; otherwise its
trials are listed and the status is 64. Steps have the numbers of their events;
a score says by which event it is explained. Everything comes from the store.`,
		Example: "  agentclash replay get 5f3a9c21\n  agentclash replay get 1c9e02bb --case fizzbuzz --json",
		Args:    exactArgs("TRIAL|RUN-AGENT"),
		RunE:    func(c *cobra.Command, args []string) error { return runReplayGet(c.Context(), a, o, args[0]) },
	}
	c.Flags().StringVar(&o.caseKey, "case", "", "case of the run agent")
	c.Flags().IntVar(&o.repetition, "repetition", 0, "repetition of the case, from 1")
	c.Flags().IntVar(&o.attempt, "attempt", 0, "attempt of the trial (default: the last)")
	return c
}

func runReplayGet(ctx context.Context, a *app, o replayOptions, selector string) error {
	db, err := a.stored(ctx)
	if err != nil {
		return err
	}
	t, agent, err := a.findTrial(ctx, db, o, selector)
	if err != nil {
		return err
	}
	d := view.ReplayDocument{
		State: "ready", RunID: agent.RunID, RunAgentID: agent.ID, RunAgentLabel: agent.Label,
		TrialID: t.ID, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt, Code: t.Code, Phase: t.Phase,
	}
	if o.attempt > 0 {
		d.Attempt, d.Code, d.Phase = o.attempt, "", ""
	}
	var facts []event.Event
	err = db.Events(ctx, store.EventFilter{RunID: agent.RunID, TrialID: t.ID, Attempt: d.Attempt}, func(_ int64, e event.Event) error {
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
		return err
	}
	if o.attempt > 0 && len(facts) == 0 {
		return &failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("the trial has no attempt %d", o.attempt)}
	}
	d.Replay = event.NewReplay(facts)
	if d.Outcome == "" {
		d.State = "pending"
	}
	return a.print(d, func(w io.Writer, v view.Options) error { return view.Replay(w, d, v) })
}

// findTrial finds a trial by its id, or through its run agent.
func (a *app) findTrial(ctx context.Context, db *store.DB, o replayOptions, selector string) (store.Trial, store.RunAgent, error) {
	workspace, err := a.workspaceName()
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
	var found []store.Trial
	filter := store.TrialFilter{RunAgentID: agent.ID, CaseKey: o.caseKey, Repetition: o.repetition, NoResults: true}
	err = db.Trials(ctx, filter, func(t store.Trial) error {
		found = append(found, t)
		return nil
	})
	switch {
	case err != nil:
		return store.Trial{}, agent, err
	case len(found) == 1:
		return found[0], agent, nil
	case len(found) == 0:
		return store.Trial{}, agent, &failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("%s has no trial of case %q", agent.Label, o.caseKey)}
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
		lines = append(lines, fmt.Sprintf("  %s  --case %s --repetition %d  %s", short(t.ID), t.CaseKey, t.Repetition, t.Status))
	}
	return usage("%s has %d trials:\n%s", agent.Label, len(trials), strings.Join(lines, "\n")).
		hint("agentclash replay get %s", short(trials[0].ID))
}
