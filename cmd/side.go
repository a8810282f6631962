package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/charmbracelet/huh"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
)

// side is one run agent of one run, with what the store has of it.
type side struct {
	run      store.Run
	agent    store.RunAgent
	plan     plan.Plan
	spec     scoring.Spec
	card     *scoring.AgentScorecard // nil: nothing is scored yet
	attempts []scoring.Trial         // every finished attempt, in order, as far as it was read
	given    *compare.Snapshot       // of a baseline that came in a file: the rest is not here
}

// reading is how much of a result is read.
type reading func(store.Trial) (scoring.Trial, error)

// headlines is what is compared of results.
func headlines(t store.Trial) (scoring.Trial, error) { return t.Headline() }

// explained is all of them, for documents that explain scores.
func explained(t store.Trial) (scoring.Trial, error) {
	end, err := t.End()
	return end.Trial, err
}

// findSide finds a run and an agent of it and reads their results.
func (a *app) findSide(ctx context.Context, db *store.DB, runSelector, agentSelector string, how reading) (side, error) {
	workspace, err := a.workspaceName()
	if err != nil {
		return side{}, err
	}
	s := side{}
	if s.run, err = db.Run(ctx, workspace, runSelector); err != nil {
		return side{}, err
	}
	if s.agent, err = a.pickAgent(ctx, db, s.run, agentSelector); err != nil {
		return side{}, err
	}
	return s, s.read(ctx, db, how)
}

// agentSide is side for a run agent that was named by its id alone.
func (a *app) agentSide(ctx context.Context, db *store.DB, agentID string, how reading) (side, error) {
	workspace, err := a.workspaceName()
	if err != nil {
		return side{}, err
	}
	s := side{}
	if s.agent, err = db.RunAgent(ctx, workspace, "", agentID); err != nil {
		return side{}, err
	}
	if s.run, err = db.Run(ctx, workspace, s.agent.RunID); err != nil {
		return side{}, err
	}
	return s, s.read(ctx, db, how)
}

func (s *side) read(ctx context.Context, db *store.DB, how reading) error {
	var err error
	if s.plan, err = db.Plan(ctx, s.run.ID); err != nil {
		return err
	}
	p, err := packOf(ctx, db, s.run.PackID)
	if err != nil {
		return err
	}
	s.spec = p.Version.EvaluationSpec.Normalize()
	err = finished(ctx, db, s.agent.ID, how, func(t scoring.Trial) { s.attempts = append(s.attempts, t) })
	if err != nil {
		return err
	}
	s.card = s.agent.Scorecard
	if s.card == nil && len(s.attempts) > 0 {
		card := scoring.Aggregate(s.spec, s.attempts, s.plan.Options.MinPassRate)
		s.card = &card
	}
	return nil
}

// finished reads every finished attempt of a run agent, in order.
func finished(ctx context.Context, db *store.DB, agentID string, how reading, yield func(scoring.Trial)) error {
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

// pickAgent finds the agent that was named, or the only one, or asks.
func (a *app) pickAgent(ctx context.Context, db *store.DB, run store.Run, named string) (store.RunAgent, error) {
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
			return agent, &failure{status: statusNotFound, code: "not_found",
				err: fmt.Errorf("run %s has no agent %q, only %s", run.Name, named, strings.Join(labels, ", "))}
		}
		return agent, err
	}
	if len(agents) == 1 {
		return agents[0], nil
	}
	if !a.interactive() {
		return store.RunAgent{}, usage("run %s has %d agents: %s", run.Name, len(agents), strings.Join(labels, ", ")).hint(addAgent)
	}
	var options []huh.Option[int]
	for i, agent := range agents {
		options = append(options, huh.NewOption(view.SanitizeLine(agent.Label), i))
	}
	chosen := 0
	err = huh.NewSelect[int]().Title("Agent of run " + view.SanitizeLine(run.Name)).Options(options...).Value(&chosen).Run()
	return agents[chosen], asked(err)
}

// deciding are the attempts that count: the last finished one of each trial.
func (s side) deciding() []scoring.Trial {
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

// snapshot is the side as package compare reads it.
func (s side) snapshot() compare.Snapshot {
	if s.given != nil {
		return *s.given
	}
	cases := make([]compare.CaseRef, len(s.plan.Cases))
	for i, c := range s.plan.Cases {
		cases[i] = compare.CaseRef(c)
	}
	d := s.agent.Deployment
	return compare.NewSnapshot(compare.Identity{
		RunID: s.run.ID, RunName: s.run.Name, RunStatus: s.run.Status,
		RunAgentID: s.agent.ID, RunAgentLabel: s.agent.Label, RunAgentStatus: s.agent.Status,
		Model: d.Target(), InputSet: s.run.InputSet, EvaluationSpecDigest: s.run.SpecDigest,
		Pack:        compare.PackRef{Slug: s.run.Pack.Slug, Version: s.run.Pack.Version, Digest: s.run.Pack.Digest},
		MinPassRate: s.plan.Options.MinPassRate, MaxInvalid: s.plan.Options.MaxInvalid,
		RanAt: s.run.CreatedAt,
	}, compare.Record{Spec: s.spec, Scorecard: s.card, Cases: cases, Trials: s.attempts, Until: s.plan.Until})
}

// regressions is how the side did on the cases of regression suites, in the order
// of the plan.
func (s side) regressions() []view.RegressionResult {
	var list []view.RegressionResult
	for _, result := range s.snapshot().Cases {
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

// participant is the side as documents name it.
func (s side) participant() view.Participant {
	return view.Participant{
		WorkspaceID: s.run.Workspace, RunID: s.run.ID, RunName: s.run.Name, RunStatus: s.run.Status,
		RunAgentID: s.agent.ID, RunAgentLabel: s.agent.Label, Cache: s.plan.Cache,
		Shard: s.plan.Options.Shard.Share(),
	}
}

func (s side) ref() view.AgentRef {
	return view.AgentRef{Label: s.agent.Label, RunAgentID: s.agent.ID, Status: s.agent.Status, PricesAsOf: s.plan.Prices.AsOf}
}

// scorecard is the side's own document.
func (s side) scorecard() (view.Scorecard, error) {
	if s.card == nil {
		return view.Scorecard{}, (&failure{status: statusNotFound, code: "not_found",
			err: fmt.Errorf("run %s has no scored trial of %s yet: its status is %s", s.run.Name, s.agent.Label, s.run.Status)}).
			hint("agentclash run get %s", short(s.run.ID))
	}
	c := view.NewScorecard(s.ref(), *s.card, s.deciding())
	c.Regressions = s.regressions()
	return c, nil
}

// part says of a side that does not stand for its agent why, and what to do
// instead: a shard, or failed trials that were run again. "" is a whole run.
func (s side) part() (what, next string) {
	switch {
	case s.plan.Options.Shard != nil:
		return "is only shard " + s.plan.Options.Shard.Share(), "agentclash run merge puts the shards together"
	case s.plan.RetryOf != "":
		return "has only trials that had failed before", "agentclash eval start runs all of them; --repetitions says how often each passes"
	}
	return "", ""
}

// whole refuses a side that is a part of a run.
func (s side) whole(doing string) error {
	what, next := s.part()
	if what == "" {
		return nil
	}
	return usage("%s: run %s %s", doing, s.run.Name, what).hint("%s", next)
}

// mentionPart warns that a side is a part of a run.
func (a *app) mentionPart(sides ...side) {
	for _, s := range sides {
		if what, next := s.part(); what != "" {
			a.say("! run %s %s: %s", s.run.Name, what, next)
		}
	}
}
