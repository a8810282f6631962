package verdict

import (
	"context"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/event/diverge"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// printDivergence shows where the two sides' trials of a case part: of the
// first repetition that ended differently, else of the first that both have.
func printDivergence(ctx context.Context, a *cli.App, db *store.DB, baseline, candidate Side, key string) error {
	for _, s := range []Side{baseline, candidate} {
		if s.Given != nil {
			return cli.Usage("the events of %s are not in the store: a baseline file has none", s.Agent.Label).Hint("compare runs --case needs two runs that are stored")
		}
	}
	var b, k scoring.Trial
	found := false
	for _, x := range decidingOf(baseline, key) {
		for _, y := range decidingOf(candidate, key) {
			if x.Repetition == y.Repetition && (!found || b.Outcome == k.Outcome && x.Outcome != y.Outcome) {
				b, k, found = x, y, true
			}
		}
	}
	if !found {
		return cli.Usage("no repetition of case %q has ended on both sides", key).Hint("agentclash run get RUN lists the cases")
	}
	d := view.DivergenceDocument{CaseKey: key, Repetition: b.Repetition,
		Baseline:  view.DivergedTrial{TrialID: b.TrialID, Outcome: string(b.Outcome)},
		Candidate: view.DivergedTrial{TrialID: k.TrialID, Outcome: string(k.Outcome)}}
	before, err := trialEvents(ctx, db, b)
	if err != nil {
		return err
	}
	after, err := trialEvents(ctx, db, k)
	if err != nil {
		return err
	}
	if len(before) == 0 || len(after) == 0 {
		return cli.Usage("the events of case %q are not in the store on both sides", key)
	}
	d.Point = diverge.First(before, after)
	return a.Print(d, func(w io.Writer, o view.Options) error { return view.Divergence(w, d, o) })
}

func decidingOf(s Side, key string) (list []scoring.Trial) {
	for _, t := range s.deciding() {
		if t.CaseKey == key {
			list = append(list, t)
		}
	}
	return list
}

// trialEvents reads the attempt that decided a trial.
func trialEvents(ctx context.Context, db *store.DB, t scoring.Trial) (list []event.Event, err error) {
	err = db.Events(ctx, store.EventFilter{TrialID: t.TrialID, Attempt: t.Attempt}, func(_ int64, e event.Event) error {
		list = append(list, e)
		return nil
	})
	return list, err
}
