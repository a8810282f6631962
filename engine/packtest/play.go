package packtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// trial is a finished trial, and what it can be scored again by.
type trial struct {
	agent    string
	of       *testCase
	result   scoring.Trial
	refused  string            // why the reference's script had no reply
	evidence *scoring.Evidence // nil when it is too much to keep
	own      bool              // passing is right: the hard-coded answer is this case's own
}

// player is an agent of the examination.
type player struct {
	name   string
	client provider.Client
}

// play runs every agent on every case of an input set. The reference agent goes
// first: the hard-coded answer is what it says.
func (s *subject) play(ctx context.Context, set pack.InputSet) ([]trial, error) {
	cases := s.casesOf(set)
	if len(cases) == 0 {
		return nil, nil
	}
	var all []trial
	source, fixed := cases[0], provider.Client(s.hardcoded(cases[0]))
	if s.options.Reference != nil {
		rec := newRecorder(s.options.Reference)
		played, err := s.run(ctx, set, []player{{Reference, rec}})
		if err != nil {
			return nil, err
		}
		for i := range played {
			played[i].refused = rec.refused[played[i].of.Key()]
		}
		if t := rec.source(played); t != nil {
			source, fixed = t.of, replay{rec.said[t.of.Key()]}
		}
		all = played
	}
	cheats := []player{{Silent, silent()}, {Echo, s.echo()}, {Reader, s.reader(set)}, {Hardcoded, fixed}}
	if s.guarded() {
		cheats = append(cheats, player{Leaker, s.leaker()})
	}
	played, err := s.run(ctx, set, cheats)
	if err != nil {
		return nil, err
	}
	s.markOwn(played, cases, source)
	return s.inOrder(append(all, played...)), nil
}

// markOwn marks the trials in which the hard-coded answer is right: of the case
// it is from, of cases that ask the same, and of cases that expect the same
// unless all do.
func (s *subject) markOwn(played []trial, cases []*testCase, source *testCase) {
	expects := s.fingerprint(source)
	all := !slices.ContainsFunc(cases, func(c *testCase) bool { return s.fingerprint(c) != expects })
	for i, t := range played {
		if t.agent == Hardcoded {
			played[i].own = t.of == source || s.sameTask(t.of, source) || !all && s.fingerprint(t.of) == expects
		}
	}
}

// fingerprint is all that the judging of a case is specific about.
func (s *subject) fingerprint(c *testCase) string {
	var parts []string
	for _, v := range s.spec.Validators {
		text, _ := c.expected(v.ExpectedFrom)
		parts = append(parts, text)
	}
	for _, g := range s.scorer.Graders() {
		parts = append(parts, c.Render(g.Config.TestCommand))
	}
	for _, f := range s.pack.GraderFiles(c.Case) {
		parts = append(parts, f.Path, string(f.Data))
	}
	return fmt.Sprintf("%q", parts)
}

func (s *subject) sameTask(a, b *testCase) bool {
	return slices.EqualFunc(s.shown(a), s.shown(b), func(p, q place) bool { return p.where == q.where && string(p.text) == string(q.text) })
}

// inOrder sorts trials by case, in the pack's order, then by agent.
func (s *subject) inOrder(trials []trial) []trial {
	at := map[*testCase]int{}
	for i, c := range s.cases {
		at[c] = i
	}
	agents := []string{Reference, Silent, Echo, Reader, Hardcoded, Leaker}
	slices.SortStableFunc(trials, func(a, b trial) int {
		return cmp.Or(cmp.Compare(at[a.of], at[b.of]), cmp.Compare(slices.Index(agents, a.agent), slices.Index(agents, b.agent)))
	})
	return trials
}

// maxToolCalls lets the reader read everything it may.
const maxToolCalls = 1000

func (s *subject) run(ctx context.Context, set pack.InputSet, players []player) ([]trial, error) {
	o := s.options
	req := plan.Request{
		Pack: s.pack, InputSet: set.Key, Name: "challenge-pack doctor", Sandbox: o.Sandbox, Now: o.Now, NewID: o.NewID,
		Options: plan.Options{Repetitions: 1, Concurrency: o.Concurrency, RetryInvalid: 1, MinPassRate: 1},
	}
	var clients []provider.Client
	for _, p := range players {
		req.Deployments = append(req.Deployments, plan.Deployment{
			Name: p.name, Provider: provider.Scripted, Model: p.name, Limits: plan.Limits{MaxToolCalls: maxToolCalls},
		})
		clients = append(clients, p.client)
	}
	planned, err := plan.New(req)
	if err != nil {
		return nil, fmt.Errorf("plan the agents' trials: %w", err)
	}
	l := s.newLedger(planned, s.casesOf(set))
	deps := engine.Deps{Sink: l, Clients: clients, Boxes: o.Boxes, Queries: o.Queries, Now: o.Now}
	for range planned.Simulators {
		deps.Simulators = append(deps.Simulators, user{o.Simulator})
	}
	if _, err := engine.Run(ctx, planned, deps); err != nil {
		return nil, err
	}
	return s.inOrder(l.done), context.Cause(ctx)
}

// maxEvidence bounds what is kept of the agents' work, in bytes.
const maxEvidence = 128 << 20

// ledger is a sink that folds facts into evidence and forgets them.
type ledger struct {
	agents map[string]string // names by run agent id
	cases  map[string]*testCase

	mu    sync.Mutex
	open  map[string]*event.Fold // by trial
	left  *int                   // of maxEvidence
	done  []trial
	ended func() // is told of every trial that is over
}

func (s *subject) newLedger(planned *plan.Plan, cases []*testCase) *ledger {
	l := &ledger{agents: map[string]string{}, cases: map[string]*testCase{}, open: map[string]*event.Fold{}, left: &s.room, ended: s.played}
	for _, a := range planned.Agents {
		l.agents[a.ID] = a.Label
	}
	for _, c := range cases {
		l.cases[c.Key()] = c
	}
	return l
}

// Emit takes a fact into account.
func (l *ledger) Emit(_ context.Context, e event.Event) error {
	if e.TrialID == "" || e.Transient {
		return nil
	}
	fold := l.fold(e)
	if e.Type != event.TrialDone {
		return fold.Apply(e)
	}
	end, err := event.Decode[event.TrialEnd](e)
	if err != nil || end.WillRetry {
		return err
	}
	l.finish(trial{agent: l.agents[e.RunAgentID], of: l.cases[e.CaseKey], result: end.Trial}, e.TrialID, fold.Evidence())
	return nil
}

// fold is the trial's, a new one for each attempt.
func (l *ledger) fold(e event.Event) *event.Fold {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Type == event.TrialQueued {
		l.open[e.TrialID] = event.NewFold(l.cases[e.CaseKey].scoring)
	}
	return l.open[e.TrialID]
}

func (l *ledger) finish(t trial, id string, ev scoring.Evidence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
	t.result.Scorecard = headline(t.result.Scorecard)
	if size := sizeOf(ev); size <= *l.left {
		*l.left -= size
		t.evidence = &ev
	}
	l.done = append(l.done, t)
	l.ended()
}

// played counts a trial that is over.
func (s *subject) played() {
	agents := 4
	if s.options.Reference != nil {
		agents++
	}
	if s.guarded() {
		agents++
	}
	s.over++
	s.tell(Step{Playing, s.over, agents * len(s.cases)})
}

// headline is what outcomes need of a scorecard.
func headline(c *scoring.Scorecard) *scoring.Scorecard {
	if c == nil {
		return nil
	}
	kept := scoring.Scorecard{OverallReason: c.OverallReason, Security: c.Security}
	for _, v := range c.Validators {
		kept.Validators = append(kept.Validators, scoring.ValidatorResult{Key: v.Key, Verdict: v.Verdict, Reason: v.Reason, State: v.State})
	}
	return &kept
}

func sizeOf(ev scoring.Evidence) int {
	n := 0
	if ev.FinalOutput != nil {
		n += len(*ev.FinalOutput)
	}
	for _, f := range ev.Files {
		n += len(f.Content)
	}
	for _, d := range ev.Directories {
		for _, e := range d.Entries {
			n += len(e.Path)
		}
	}
	for _, c := range ev.CodeRuns {
		n += len(c.Stdout) + len(c.Stderr)
	}
	for _, said := range ev.Said {
		n += len(said.Text)
	}
	for _, c := range ev.ToolCalls {
		n += len(c.Arguments) + len(c.Error)
	}
	return n
}
