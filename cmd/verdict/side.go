package verdict

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
	"github.com/charmbracelet/huh"
)

// Side is one run agent of one run, with what the store has of it.
type Side struct {
	Run      store.Run
	Agent    store.RunAgent
	plan     plan.Plan
	spec     scoring.Spec
	Card     *scoring.AgentScorecard // nil: nothing is scored yet
	attempts []scoring.Trial         // every finished attempt, in order, as far as it was read
	Given    *compare.Snapshot       // of a baseline that came in a file: the rest is not here
}

// reading is how much of a result is read.
type reading func(store.Trial) (scoring.Trial, error)

// Headlines is what is compared of results.
func Headlines(t store.Trial) (scoring.Trial, error) { return t.Headline() }

// Explained is all of them, for documents that explain scores.
func Explained(t store.Trial) (scoring.Trial, error) {
	end, err := t.End()
	return end.Trial, err
}

// FindSide finds a run and an agent of it and reads their results.
func FindSide(ctx context.Context, a *cli.App, db *store.DB, runSelector, agentSelector string, how reading) (Side, error) {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return Side{}, err
	}
	s := Side{}
	if s.Run, err = db.Run(ctx, workspace, runSelector); err != nil {
		return Side{}, err
	}
	if s.Agent, err = PickAgent(ctx, a, db, s.Run, agentSelector); err != nil {
		return Side{}, err
	}
	return s, s.read(ctx, db, how)
}

// AgentSide is side for a run agent that was named by its id alone.
func AgentSide(ctx context.Context, a *cli.App, db *store.DB, agentID string, how reading) (Side, error) {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return Side{}, err
	}
	s := Side{}
	if s.Agent, err = db.RunAgent(ctx, workspace, "", agentID); err != nil {
		return Side{}, err
	}
	if s.Run, err = db.Run(ctx, workspace, s.Agent.RunID); err != nil {
		return Side{}, err
	}
	return s, s.read(ctx, db, how)
}

func (s *Side) read(ctx context.Context, db *store.DB, how reading) error {
	var err error
	if s.plan, err = db.Plan(ctx, s.Run.ID); err != nil {
		return err
	}
	p, err := selector.PackOf(ctx, db, s.Run.PackID)
	if err != nil {
		return err
	}
	s.spec = p.Version.EvaluationSpec.Normalize()
	err = Finished(ctx, db, s.Agent.ID, how, func(t scoring.Trial) { s.attempts = append(s.attempts, t) })
	if err != nil {
		return err
	}
	s.Card = s.Agent.Scorecard
	if s.Card == nil && len(s.attempts) > 0 {
		card := scoring.Aggregate(s.spec, s.attempts, s.plan.Options.MinPassRate)
		s.Card = &card
	}
	return nil
}

// Finished reads every finished attempt of a run agent, in order.
func Finished(ctx context.Context, db *store.DB, agentID string, how reading, yield func(scoring.Trial)) error {
	return db.Trials(ctx, store.TrialFilter{RunAgentID: agentID, AllAttempts: true}, func(t store.Trial) error {
		if len(t.Result) == 0 {
			return nil // an attempt that never ended
		}
		read, err := how(t)
		if err == nil {
			yield(read)
		}
		return err
	})
}

// addAgent is what to type where a run has several agents.
const addAgent = "add --agent NAME"

// PickAgent finds the agent that was named, or the only one, or asks.
func PickAgent(ctx context.Context, a *cli.App, db *store.DB, run store.Run, named string) (store.RunAgent, error) {
	agents, err := db.RunAgents(ctx, run.ID)
	if err != nil {
		return store.RunAgent{}, err
	}
	var labels []string
	for _, agent := range agents {
		labels = append(labels, agent.Label)
	}
	if named != "" {
		agent, err := db.RunAgent(ctx, run.Workspace, run.ID, named)
		if errors.Is(err, store.ErrNotFound) {
			return agent, &cli.Failure{Status: cli.StatusNotFound, Code: "not_found",
				Err: fmt.Errorf("run %s has no agent %q, only %s", run.Name, named, strings.Join(labels, ", "))}
		}
		return agent, err
	}
	if len(agents) == 1 {
		return agents[0], nil
	}
	if !a.Interactive() {
		return store.RunAgent{}, cli.Usage("run %s has %d agents: %s", run.Name, len(agents), strings.Join(labels, ", ")).Hint(addAgent)
	}
	var options []huh.Option[int]
	for i, agent := range agents {
		options = append(options, huh.NewOption(view.SanitizeLine(agent.Label), i))
	}
	chosen := 0
	err = huh.NewSelect[int]().Title("Agent of run " + view.SanitizeLine(run.Name)).Options(options...).Value(&chosen).Run()
	return agents[chosen], selector.Asked(err)
}

// deciding are the attempts that count: the last finished one of each trial.
func (s Side) deciding() []scoring.Trial {
	at := map[string]int{}
	var last []scoring.Trial
	for _, t := range s.attempts {
		if i, ok := at[t.TrialID]; ok {
			last[i] = t
			continue
		}
		at[t.TrialID] = len(last)
		last = append(last, t)
	}
	return last
}

// Snapshot is the side as package compare reads it.
func (s Side) Snapshot() compare.Snapshot {
	if s.Given != nil {
		return *s.Given
	}
	cases := make([]compare.CaseRef, len(s.plan.Cases))
	for i, c := range s.plan.Cases {
		cases[i] = compare.CaseRef(c)
	}
	d := s.Agent.Deployment
	if d.Provider == provider.Scripted && filepath.IsAbs(d.Model) {
		d.Model = filepath.Base(d.Model) // snapshots are written into repositories, and this machine's paths are not
	}
	return compare.NewSnapshot(compare.Identity{
		RunID: s.Run.ID, RunName: s.Run.Name, RunStatus: s.Run.Status,
		RunAgentID: s.Agent.ID, RunAgentLabel: s.Agent.Label, RunAgentStatus: s.Agent.Status,
		Model: d.Target(), InputSet: s.Run.InputSet, EvaluationSpecDigest: s.Run.SpecDigest,
		Pack:        compare.PackRef{Slug: s.Run.Pack.Slug, Version: s.Run.Pack.Version, Digest: s.Run.Pack.Digest},
		MinPassRate: s.plan.Options.MinPassRate, MaxInvalid: s.plan.Options.MaxInvalid,
		RanAt: s.Run.CreatedAt,
	}, compare.Record{Spec: s.spec, Scorecard: s.Card, Cases: cases, Trials: s.attempts, Until: s.plan.Until})
}

// Regressions is how the side did on the cases of regression suites, in the order
// of the plan.
func (s Side) Regressions() []view.RegressionResult {
	var list []view.RegressionResult
	for _, result := range s.Snapshot().Cases {
		outcome := ""
		switch {
		case result.Valid == 0 && result.Invalid > 0:
			outcome = string(scoring.OutcomeInvalid)
		case result.Valid > 0 && float64(result.Passed)/float64(result.Valid) >= s.plan.Options.MinPassRate:
			outcome = string(scoring.OutcomePassed)
		case result.Valid > 0:
			outcome = string(scoring.OutcomeFailed)
		}
		for _, ref := range result.Regressions {
			list = append(list, view.RegressionResult{
				Suite: ref.Suite, CaseID: ref.CaseID, Severity: ref.Severity, CaseKey: result.CaseKey, Outcome: outcome,
				Passed: result.Passed, Failed: result.Failed, Invalid: result.Invalid,
			})
		}
	}
	return list
}

// Participant is the side as documents name it.
func (s Side) Participant() view.Participant {
	return view.Participant{
		WorkspaceID: s.Run.Workspace, RunID: s.Run.ID, RunName: s.Run.Name, RunStatus: s.Run.Status,
		RunAgentID: s.Agent.ID, RunAgentLabel: s.Agent.Label, Cache: s.plan.Cache,
		Shard: s.plan.Options.Shard.Share(),
	}
}

// Ref is the side as comparisons name it.
func (s Side) Ref() view.AgentRef {
	return view.AgentRef{Label: s.Agent.Label, RunAgentID: s.Agent.ID, Status: s.Agent.Status, PricesAsOf: s.plan.Prices.AsOf}
}

// Scorecard is the side's own document.
func (s Side) Scorecard() (view.Scorecard, error) {
	if s.Card == nil {
		return view.Scorecard{}, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found",
			Err: fmt.Errorf("run %s has no scored trial of %s yet: its status is %s", s.Run.Name, s.Agent.Label, s.Run.Status)}).
			Hint("agentclash run get %s", cli.Short(s.Run.ID))
	}
	c := view.NewScorecard(s.Ref(), *s.Card, s.deciding())
	c.Regressions = s.Regressions()
	return c, nil
}

// Part says of a side that does not stand for its agent why, and what to do
// instead: a shard, or failed trials that were run again. "" is a whole run.
func (s Side) Part() (what, next string) {
	switch {
	case s.plan.Options.Shard != nil:
		return "is only shard " + s.plan.Options.Shard.Share(), "agentclash run merge puts the shards together"
	case s.plan.RetryOf != "":
		return "has only trials that had failed before", "agentclash eval start runs all of them; --repetitions says how often each passes"
	}
	return "", ""
}

// whole refuses a side that is a part of a run.
func (s Side) whole(doing string) error {
	what, next := s.Part()
	if what == "" {
		return nil
	}
	return cli.Usage("%s: run %s %s", doing, s.Run.Name, what).Hint("%s", next)
}

// mentionPart warns that a side is a part of a run.
func mentionPart(a *cli.App, sides ...Side) {
	for _, s := range sides {
		if what, next := s.Part(); what != "" {
			a.Say("! run %s %s: %s", s.Run.Name, what, next)
		}
	}
}
