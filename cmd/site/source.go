package site

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/report/page"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
)

// pageSource reads what the page of a run says.
type pageSource struct {
	a   *cli.App
	db  *store.DB
	run store.Run
	// against names what every agent is held against: a run, a baseline or a file;
	// "" is the baseline of the pack, where one is set.
	against string
	// others are the baselines in the store, by the ids of our run agents.
	others map[string]verdict.Rival
	// declared are the validators of the run's pack. They are read once.
	declared func(ctx context.Context, packID string) ([]scoring.Validator, error)
}

func pageOf(a *cli.App, db *store.DB, run store.Run, against string) *pageSource {
	return &pageSource{a: a, db: db, run: run, against: against, others: map[string]verdict.Rival{}, declared: declaredIn(db)}
}

// declaredIn reads the validators of packs, and remembers those of the last one: a
// stored pack never changes.
func declaredIn(db *store.DB) func(context.Context, string) ([]scoring.Validator, error) {
	var mu sync.Mutex
	var id string
	var last []scoring.Validator
	return func(ctx context.Context, packID string) ([]scoring.Validator, error) {
		mu.Lock()
		defer mu.Unlock()
		if id == packID {
			return last, nil
		}
		p, err := selector.PackOf(ctx, db, packID)
		if err != nil {
			return nil, err
		}
		id, last = packID, p.Version.EvaluationSpec.Validators
		return last, nil
	}
}

// report reads everything but the evidence of trials, which the report reads itself
// as it is written.
func (s *pageSource) report(ctx context.Context) (page.Report, error) {
	v, err := runs.ViewPlannedRun(ctx, s.a, s.db, s.run)
	if err != nil {
		return page.Report{}, err
	}
	r := page.Report{
		Program: cli.ReadBuildInfo().Version, GeneratedAt: s.a.Process.Now().UTC().Truncate(time.Second), Run: v, Active: s.run.Active(),
		Read: func(trialID string) (page.Evidence, error) { return s.evidence(ctx, trialID) },
	}
	if !s.run.StartedAt.IsZero() {
		end := s.run.FinishedAt
		if end.IsZero() {
			end = s.a.Process.Now()
		}
		r.DurationMS = new(end.Sub(s.run.StartedAt).Milliseconds())
	}
	agents, err := s.db.RunAgents(ctx, s.run.ID)
	if err != nil {
		return r, err
	}
	for i, agent := range agents {
		told, rows, err := s.agent(ctx, agent, i)
		if err != nil {
			return r, err
		}
		r.Agents, r.Trials = append(r.Agents, told), append(r.Trials, rows...)
	}
	return r, s.artifacts(ctx, &r)
}

// artifacts adds the files that people attached to the run. Private ones are counted
// and not shown.
func (s *pageSource) artifacts(ctx context.Context, r *page.Report) error {
	list, _, err := s.db.Artifacts(ctx, store.ArtifactFilter{Workspace: s.run.Workspace, RunID: s.run.ID})
	if err != nil {
		return err
	}
	known := map[string]store.Artifact{}
	for _, one := range list {
		if one.Visibility != selector.WorkspaceVisibility {
			r.PrivateArtifacts++
			continue
		}
		known[one.ID] = one
		r.Artifacts = append(r.Artifacts, selector.ViewArtifact(one))
	}
	r.ReadArtifact = func(id string) ([]byte, error) {
		var b bytes.Buffer
		err := s.db.ReadArtifact(ctx, known[id], &b)
		return b.Bytes(), err
	}
	return nil
}

func (s *pageSource) agent(ctx context.Context, agent store.RunAgent, place int) (page.Agent, []page.Row, error) {
	var rows []page.Row
	var invalid []scoring.Trial
	err := s.db.Trials(ctx, store.TrialFilter{RunAgentID: agent.ID}, func(t store.Trial) error {
		row, err := pageRow(t, place)
		if row.Status == store.Invalid {
			invalid = append(invalid, scoring.Trial{Outcome: scoring.OutcomeInvalid, Code: row.Code, Phase: row.Phase})
		}
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return page.Agent{}, nil, err
	}
	candidate, err := verdict.AgentSide(ctx, s.a, s.db, agent.ID, verdict.Headlines)
	if err != nil {
		return page.Agent{}, nil, err
	}
	var card scoring.AgentScorecard
	if candidate.Card != nil {
		card = *candidate.Card
	}
	ref := candidate.Ref()
	ref.Reason = agent.Reason
	told := page.Agent{Agent: view.NewAgent(ref, card, invalid), Model: agent.Deployment.Target()}
	return told, rows, s.compare(ctx, &told, candidate)
}

// pageRow is a trial as its newest attempt left it.
func pageRow(t store.Trial, agent int) (page.Row, error) {
	switch t.Status {
	case store.Passed, store.Failed, store.Invalid:
		end, err := t.End()
		return page.NewRow(agent, view.NewTrial(end.Trial)), err
	}
	return page.Row{TrialID: t.ID, Agent: agent, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt, Status: t.Status}, nil
}

// compare holds an agent against what it is to be held against, or says why not.
func (s *pageSource) compare(ctx context.Context, told *page.Agent, candidate verdict.Side) error {
	if what, _ := candidate.Part(); what != "" {
		told.NotCompared = "the run " + what
		return nil
	}
	base, why, err := verdict.Against(ctx, s.a, s.db, s.run, s.against, candidate)
	switch {
	case err != nil:
		return verdict.SideFailure("baseline", err)
	case why != "" || base.Agent.ID == "":
		told.NotCompared = why
		return nil
	case base.Agent.ID == candidate.Agent.ID:
		told.NotCompared = "it is the baseline"
		return nil
	}
	j := verdict.Judge(s.a, base.Side, candidate, compare.DefaultPolicy())
	told.Compared = &page.Compared{Baseline: base.Mark, Candidate: candidate.Participant(), Comparison: j.Comparison, Gate: j.Gate,
		Rows: view.DeltaRows(j.Comparison)}
	if base.Given == nil {
		s.others[candidate.Agent.ID] = verdict.Rival{Run: base.Run, Agent: base.Agent}
	}
	return nil
}

// evidence reads a trial's newest attempt, and the baseline's trial on that case.
func (s *pageSource) evidence(ctx context.Context, trialID string) (page.Evidence, error) {
	t, err := s.db.Trial(ctx, s.run.Workspace, trialID)
	if err != nil {
		return page.Evidence{}, err
	}
	e := page.Evidence{}
	if e.Trial, e.Checks, e.Events, err = s.attempt(ctx, t); err != nil {
		return e, err
	}
	if len(e.Checks) > 0 {
		if e.Declared, err = s.declared(ctx, s.run.PackID); err != nil {
			return e, err
		}
	}
	base, ok := s.others[t.RunAgentID]
	if !ok {
		return e, nil
	}
	filter := store.TrialFilter{RunAgentID: base.Agent.ID, CaseKey: t.CaseKey, Repetition: t.Repetition}
	return e, s.db.Trials(ctx, filter, func(was store.Trial) error {
		if len(was.Result) == 0 {
			return nil
		}
		o := page.Other{RunID: base.Run.ID, RunName: base.Run.Name, Agent: base.Agent.Label}
		o.Trial, _, o.Events, err = s.attempt(ctx, was)
		e.Baseline = &o
		return err
	})
}

// attempt reads the newest attempt of a trial: how it ended, what its checks came to,
// and its events.
func (s *pageSource) attempt(ctx context.Context, t store.Trial) (told view.Trial, checks []scoring.ValidatorResult, events []event.Event, err error) {
	told = view.Trial{TrialID: t.ID, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt}
	if len(t.Result) > 0 {
		end, err := t.End()
		if err != nil {
			return told, nil, nil, err
		}
		told = view.NewTrial(end.Trial)
		if end.Scorecard != nil {
			checks = end.Scorecard.Validators
		}
	}
	if t.Attempt == 0 {
		return told, checks, nil, nil
	}
	err = s.db.Events(ctx, store.EventFilter{TrialID: t.ID, Attempt: t.Attempt}, func(_ int64, e event.Event) error {
		events = append(events, e)
		return nil
	})
	if errors.Is(err, store.ErrNotFound) { // an attempt that has just begun
		err = nil
	}
	return told, checks, events, err
}
