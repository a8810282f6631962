package evaluation

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store"
)

// affected finds, for each trial of a new run, an earlier one of the same inputs:
// in the run that since names, or in the pack's newest.
func affected(ctx context.Context, a *cli.App, planned *plan.Plan, since string) error {
	db, ok, err := a.Reading(ctx)
	if err != nil {
		return err
	}
	if ok {
		if planned.Affected, err = runsSince(ctx, a, db, planned, since); err != nil {
			return err
		}
	} else if since != "" {
		return fmt.Errorf("find run %q: %w", since, store.ErrNotFound)
	}
	found, err := reuse(ctx, a, db, planned, planned.Affected)
	if err != nil {
		return err
	}
	a.Say("note: %d of %d trials are unchanged, and earlier ones stand for them; agentclash run explain CASE says why", found, len(planned.Trials))
	return nil
}

// dryAffected prints a plan with what would be reused. It takes the sandbox's own
// word for what the image is, and opens no box.
func dryAffected(ctx context.Context, a *cli.App, planned *plan.Plan, o StartOptions, needs plan.Needs) error {
	boxes, described, err := sandboxes.Boxes(ctx, a, o.sandbox, planned.Sandbox.Image, needs)
	if err != nil {
		return err
	}
	defer sandboxes.CloseBoxes(ctx, a, boxes)
	planned.Sandbox = described
	if err := affected(ctx, a, planned, o.since); err != nil {
		return err
	}
	return printPlan(a, planned)
}

// runsSince are the runs whose trials are looked through, newest first.
func runsSince(ctx context.Context, a *cli.App, db *store.DB, planned *plan.Plan, since string) ([]string, error) {
	if since != "" {
		r, err := db.Run(ctx, planned.Workspace, since)
		if err != nil {
			return nil, err
		}
		if r.Pack.Slug != planned.Pack.Slug {
			return nil, cli.Usage("--since %s: the run is of pack %q, not of %q", since, r.Pack.Slug, planned.Pack.Slug)
		}
		return []string{r.ID}, nil
	}
	runs, _, err := db.Runs(ctx, store.RunFilter{Workspace: planned.Workspace, PackSlug: planned.Pack.Slug, Limit: runs.MaxSince})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// reuse lets decided trials of the runs stand for trials of the plan. A run that
// is gone, or whose pack has not the plan's input set any more, has none.
func reuse(ctx context.Context, a *cli.App, db *store.DB, planned *plan.Plan, runIDs []string) (found int, err error) {
	if len(runIDs) == 0 {
		return 0, nil
	}
	reusing, err := planned.Reusing()
	if err != nil {
		return 0, err
	}
	for _, id := range runIDs {
		if found == len(planned.Trials) {
			break
		}
		earlier, err := runs.Bound(ctx, a, db, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return found, err
		}
		if earlier.Obstacle(plan.Lend) != nil { // so there is no need to read its trials
			continue
		}
		decided, err := decidedTrials(ctx, db, &earlier)
		if err != nil {
			return found, err
		}
		n, err := reusing.From(&earlier, decided)
		if err != nil {
			return found, err
		}
		found += n
	}
	return found, nil
}

// decidedTrials are the trials of a stored run that passed or failed.
func decidedTrials(ctx context.Context, db *store.DB, planned *plan.Plan) ([]plan.Trial, error) {
	return trialsOf(ctx, db, planned, store.Passed, store.Failed)
}

// trialsOf are the trials of a stored run that stand at one of the statuses, in
// the order of execution lane by lane, each with its newest attempt.
func trialsOf(ctx context.Context, db *store.DB, planned *plan.Plan, statuses ...string) ([]plan.Trial, error) {
	var list []plan.Trial
	for lane, agent := range planned.Agents {
		f := store.TrialFilter{RunAgentID: agent.ID, Statuses: statuses, NoResults: true}
		err := db.Trials(ctx, f, func(t store.Trial) error {
			list = append(list, plan.Trial{ID: t.ID, Agent: lane, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
