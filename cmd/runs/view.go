package runs

import (
	"context"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// ViewPlannedRun is viewRun with what only the plan knows.
func ViewPlannedRun(ctx context.Context, a *cli.App, db *store.DB, r store.Run) (view.Run, error) {
	v, err := ViewRun(ctx, a, db, r)
	if err != nil {
		return v, err
	}
	planned, err := db.Plan(ctx, r.ID)
	if err != nil {
		return v, err
	}
	v.Sandbox, v.Cases, v.Repetitions, v.Seed = planned.Sandbox.Kind, len(planned.Cases), planned.Options.Repetitions, planned.Options.Seed
	v.Cache, v.Shard = planned.Cache, planned.Options.Shard.Share()
	s, ok, err := db.SessionOf(ctx, r.ID)
	if ok {
		v.Session = s.Name
	}
	if err == nil {
		v.Coverage, err = regressionCoverage(ctx, db, r, planned)
	}
	if err != nil {
		return v, err
	}
	for _, m := range planned.Merged {
		v.MergedFrom = append(v.MergedFrom, view.MergedRun(m))
	}
	if rec := planned.Recording; rec != nil {
		v.Recording = &view.Recording{Mode: rec.Mode, Dir: rec.Dir, Digest: rec.Digest}
	}
	return v, nil
}

// ViewRun is a run with its agents and their counts.
func ViewRun(ctx context.Context, a *cli.App, db *store.DB, r store.Run) (view.Run, error) {
	agents, err := db.RunAgents(ctx, r.ID)
	if err != nil {
		return view.Run{}, err
	}
	v := viewHead(r)
	for _, agent := range agents {
		lane, err := viewAgent(ctx, a, db, agent)
		if err != nil {
			return view.Run{}, err
		}
		v.Agents = append(v.Agents, lane)
	}
	return v, nil
}

// ListedRun is ViewRun with its agents read already, and without what made trials
// invalid: finding out takes reading all of them.
func ListedRun(ctx context.Context, db *store.DB, r store.Run, agents []store.RunAgent) (view.Run, error) {
	v := viewHead(r)
	for _, agent := range agents {
		lane, err := countedAgent(ctx, db, agent)
		if err != nil {
			return view.Run{}, err
		}
		v.Agents = append(v.Agents, lane)
	}
	return v, nil
}

func viewHead(r store.Run) view.Run {
	return view.Run{
		RunID: r.ID, Name: r.Name, Status: r.Status, Reason: r.Reason, WorkspaceID: r.Workspace,
		Pack: view.Pack{Slug: r.Pack.Slug, Version: r.Pack.Version}, InputSet: r.InputSet, Mode: r.Mode,
		CreatedAt: r.CreatedAt, StartedAt: selector.When(r.StartedAt), FinishedAt: selector.When(r.FinishedAt),
	}
}

// countedAgent is a run agent with its trials counted.
func countedAgent(ctx context.Context, db *store.DB, agent store.RunAgent) (view.RunAgent, error) {
	v := view.RunAgent{
		RunAgentID: agent.ID, Label: agent.Label, LaneIndex: agent.Lane, Model: agent.Deployment.Target(),
		Status: agent.Status, Reason: agent.Reason, StartedAt: selector.When(agent.StartedAt), FinishedAt: selector.When(agent.FinishedAt),
	}
	if c := agent.Scorecard; c != nil {
		v.Trials, v.PassedTrials, v.FailedTrials, v.InvalidTrials = c.Trials, c.PassedTrials, c.FailedTrials, c.InvalidTrials
	} else {
		tally, err := db.Tally(ctx, agent.ID)
		if err != nil {
			return view.RunAgent{}, err
		}
		v.PassedTrials, v.FailedTrials, v.InvalidTrials = tally[store.Passed], tally[store.Failed], tally[store.Invalid]
		for _, n := range tally {
			v.Trials += n
		}
	}
	return v, nil
}

// viewAgent adds what made trials invalid.
func viewAgent(ctx context.Context, _ *cli.App, db *store.DB, agent store.RunAgent) (view.RunAgent, error) {
	v, err := countedAgent(ctx, db, agent)
	if err != nil || v.InvalidTrials == 0 {
		return v, err
	}
	var invalid []scoring.Trial
	err = db.Trials(ctx, store.TrialFilter{RunAgentID: agent.ID, NoResults: true}, func(t store.Trial) error {
		if t.Status == store.Invalid {
			invalid = append(invalid, scoring.Trial{Outcome: scoring.OutcomeInvalid, Code: t.Code, Phase: t.Phase})
		}
		return nil
	})
	v.InvalidCauses = view.InvalidCauses(invalid)
	return v, err
}
