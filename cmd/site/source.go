package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
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
	others map[string]rival
	// declared are the validators of the run's pack. They are read once.
	declared func(ctx context.Context, packID string) ([]scoring.Validator, error)
}

// rival is a run agent in the store that another is held against.
type rival struct {
	run   store.Run
	agent store.RunAgent
}

func pageOf(a *cli.App, db *store.DB, run store.Run, against string) *pageSource {
	return &pageSource{a: a, db: db, run: run, against: against, others: map[string]rival{}, declared: declaredIn(db)}
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
	base, why, err := s.baseline(ctx, candidate)
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
		s.others[candidate.Agent.ID] = rival{base.Run, base.Agent}
	}
	return nil
}

// rivalOf is the run agent in the store that one of ours is held against, without its
// results: ok is false where there is none.
func (s *pageSource) rivalOf(ctx context.Context, agent store.RunAgent) (r rival, ok bool, err error) {
	switch {
	case cli.LooksLikePath(s.against):
		return r, false, nil
	case s.against == "" || verdict.IsBaseline(s.against):
		mark, ok, err := verdict.MarkFor(ctx, s.a, s.db, s.run.Workspace, s.run.Pack.Slug, baselineNamed(s.against))
		if err != nil || !ok || mark.Imported {
			return r, false, err
		}
		if r.agent, err = s.db.RunAgent(ctx, s.run.Workspace, "", mark.RunAgentID); err != nil {
			return r, false, err
		}
		r.run, err = s.db.Run(ctx, s.run.Workspace, r.agent.RunID)
		return r, err == nil && r.agent.ID != agent.ID, err
	}
	if r.run, err = s.db.Run(ctx, s.run.Workspace, s.against); err != nil {
		return r, false, err
	}
	agents, err := s.db.RunAgents(ctx, r.run.ID)
	for _, other := range agents {
		if len(agents) == 1 || strings.EqualFold(other.Label, agent.Label) {
			r.agent = other
			return r, err == nil && r.run.ID != s.run.ID, err
		}
	}
	return r, false, err
}

// baseline is what an agent is held against: of a run with several agents the one
// that has its name.
func (s *pageSource) baseline(ctx context.Context, candidate verdict.Side) (base verdict.Comparand, why string, err error) {
	if s.against == "" || verdict.IsBaseline(s.against) || cli.LooksLikePath(s.against) {
		base, ok, err := verdict.BaselineFor(ctx, s.a, s.db, s.run.Workspace, s.run.Pack.Slug, baselineNamed(s.against))
		if err == nil && !ok && s.against != "" {
			err = verdict.NoSuchBaseline(s.against)
		}
		return base, "", err
	}
	other, ok, err := s.rivalOf(ctx, candidate.Agent)
	switch {
	case err != nil:
		return base, "", err
	case other.run.ID == s.run.ID:
		return base, "", cli.Usage("run %s cannot be compared with itself", other.run.Name).Hint("agentclash run list")
	case !ok:
		return base, fmt.Sprintf("run %s has several agents, and none of this name", other.run.Name), nil
	}
	found, err := verdict.AgentSide(ctx, s.a, s.db, other.agent.ID, verdict.Headlines)
	return verdict.Bookmarked(found), "", err
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
	filter := store.TrialFilter{RunAgentID: base.agent.ID, CaseKey: t.CaseKey, Repetition: t.Repetition}
	return e, s.db.Trials(ctx, filter, func(was store.Trial) error {
		if len(was.Result) == 0 {
			return nil
		}
		o := page.Other{RunID: base.run.ID, RunName: base.run.Name, Agent: base.agent.Label}
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

// baselineNamed is the name in a selector of baselines, "" for the default one.
func baselineNamed(selector string) string {
	if selector == store.Baseline {
		return ""
	}
	return selector
}
