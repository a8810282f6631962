package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/store"
)

// maxSince is how many of a pack's newest runs are looked through for trials that
// stand for those of a new one.
const maxSince = 20

// affected finds, for each trial of a new run, an earlier one of the same inputs:
// in the run that since names, or in the pack's newest.
func (a *app) affected(ctx context.Context, plan *engine.Plan, since string) error {
	db, ok, err := a.reading(ctx)
	if err != nil {
		return err
	}
	if ok {
		if plan.Affected, err = a.runsSince(ctx, db, plan, since); err != nil {
			return err
		}
	} else if since != "" {
		return fmt.Errorf("find run %q: %w", since, store.ErrNotFound)
	}
	found, err := a.reuse(ctx, db, plan, plan.Affected)
	if err != nil {
		return err
	}
	a.say("note: %d of %d trials are unchanged, and earlier ones stand for them; agentclash run explain CASE says why", found, len(plan.Trials))
	return nil
}

// dryAffected prints a plan with what would be reused. It takes the sandbox's own
// word for what the image is, and opens no box.
func (a *app) dryAffected(ctx context.Context, plan *engine.Plan, o startOptions, needs engine.Needs) error {
	boxes, described, err := a.boxes(ctx, o.sandbox, plan.Sandbox.Image, needs)
	if err != nil {
		return err
	}
	defer a.closeBoxes(ctx, boxes)
	plan.Sandbox = described
	if err := a.affected(ctx, plan, o.since); err != nil {
		return err
	}
	return a.printPlan(plan)
}

// runsSince are the runs whose trials are looked through, newest first.
func (a *app) runsSince(ctx context.Context, db *store.DB, plan *engine.Plan, since string) ([]string, error) {
	if since != "" {
		r, err := db.Run(ctx, plan.Workspace, since)
		if err != nil {
			return nil, err
		}
		if r.Pack.Slug != plan.Pack.Slug {
			return nil, usage("--since %s: the run is of pack %q, not of %q", since, r.Pack.Slug, plan.Pack.Slug)
		}
		return []string{r.ID}, nil
	}
	runs, _, err := db.Runs(ctx, store.RunFilter{Workspace: plan.Workspace, PackSlug: plan.Pack.Slug, Limit: maxSince})
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
func (a *app) reuse(ctx context.Context, db *store.DB, plan *engine.Plan, runIDs []string) (found int, err error) {
	if len(runIDs) == 0 {
		return 0, nil
	}
	reusing, err := plan.Reusing()
	if err != nil {
		return 0, err
	}
	for _, id := range runIDs {
		if found == len(plan.Trials) {
			break
		}
		earlier, err := a.bound(ctx, db, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return found, err
		}
		if earlier.Recording != nil && earlier.Recording.Mode == engine.Replayed || earlier.Cache {
			continue // nothing was measured there
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

// bound is a stored run's plan with its pack.
func (a *app) bound(ctx context.Context, db *store.DB, runID string) (engine.Plan, error) {
	r, err := db.Run(ctx, "", runID)
	if err != nil {
		return engine.Plan{}, err
	}
	plan, err := db.Plan(ctx, runID)
	if err != nil {
		return engine.Plan{}, err
	}
	p, err := packOf(ctx, db, r.PackID)
	if err != nil {
		return engine.Plan{}, err
	}
	return plan, plan.Reopen(p, engine.Progress{})
}

// decidedTrials are the trials of a stored run that passed or failed.
func decidedTrials(ctx context.Context, db *store.DB, plan *engine.Plan) ([]engine.Trial, error) {
	return trialsOf(ctx, db, plan, store.Passed, store.Failed)
}

// trialsOf are the trials of a stored run that stand at one of the statuses, in
// the order of execution lane by lane, each with its newest attempt.
func trialsOf(ctx context.Context, db *store.DB, plan *engine.Plan, statuses ...string) ([]engine.Trial, error) {
	var list []engine.Trial
	for lane, agent := range plan.Agents {
		f := store.TrialFilter{RunAgentID: agent.ID, Statuses: statuses, NoResults: true}
		err := db.Trials(ctx, f, func(t store.Trial) error {
			list = append(list, engine.Trial{ID: t.ID, Agent: lane, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
