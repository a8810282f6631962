package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"golang.org/x/sync/errgroup"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/engine/redact"
	"github.com/agentclash/agentclash/engine/steer"
	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/egress"
	"github.com/agentclash/agentclash/scoring"
)

// Deps is what a run is made with.
type Deps struct {
	// Sink receives every fact; its error ends the run.
	Sink event.Sink
	// Clients holds one client for each run agent, by lane.
	Clients []provider.Client
	// Programs are what command deployments have beside the plan, by lane; nil
	// when there are none. Such a lane's client is nil unless its model has no wire
	// of its own.
	Programs []Program
	// Judges holds one client for each judge's model, by JudgeModel.Name.
	Judges map[string]provider.Client
	// Simulators holds one client for each of Plan.Simulators.
	Simulators []provider.Client
	// Users are people who take part in conversations; nil: there is nobody.
	Users Users
	// Recall reads the stored events of an attempt, in their sequence, so that
	// what only lacks its judges need not be run again. Nil: all is run again.
	Recall func(ctx context.Context, trialID string, attempt int, yield func(event.Event) error) error
	// Boxes opens sandboxes; nil when the mode needs none.
	Boxes sandbox.Provider
	// Queries answers what agents ask of JSON and SQLite files.
	Queries *query.Runner
	// Secrets are values that must not appear in any fact.
	Secrets []string
	// Controls steer the run while it goes on; nil: nobody does.
	Controls *Controls
	// Tape keeps what is exchanged, or gives what was kept; its clients are
	// among Clients and Judges. Nil: neither.
	Tape record.Tape
	// ToolSecrets are the values of ${secrets.NAME} in a pack's own tools, by
	// name. They must not appear in any fact either.
	ToolSecrets map[string]string
	// Resolver finds the addresses of hosts that agents use; nil: this
	// machine's.
	Resolver egress.Resolver
	Now      func() time.Time
	// Sleep waits between the tries of a call; nil waits for real.
	Sleep func(context.Context, time.Duration) error
}

// run is one execution of a plan.
type run struct {
	plan       *plan.Plan
	deps       Deps
	redact     *redact.Redactor
	graderTime time.Duration // what the code_execution commands may take together, slack included
	lanes      []*lane
	groups     map[groupKey]*group
	boards     map[groupKey]*board // of peer standings; nil without
	gate       *steer.Gate         // which trials begin through
	line       *steer.Line[plan.Trial]
	ctx        context.Context // which never ends, for facts
	settled    atomic.Int64    // trials that need no more attempts
	paces      *provider.Paces
	purse      *budget.Purse // nil without a budget
	deciding   *deciding     // nil runs every trial

	steering sync.Mutex
	hands    map[string]*hand      // attempts that can be cancelled, by trial
	invalid  map[string]plan.Trial // settled so, with the attempt that would be next
	ended    map[laneKey]decided   // where trials are ranked

	facts sync.Mutex // held while one of the run's own events is stated
	seq   int64      // of the last of them
	err   error      // the first that could not be
}

// lane is one run agent's part of a run.
type lane struct {
	mode    plan.Mode    // what its agent can do
	network plan.Network // and reach
	mu      sync.Mutex
	total   *scoring.Aggregator
	invalid []scoring.Trial // that nothing replaced
	left    atomic.Int64    // trials that need more attempts
	halted  atomic.Pointer[ending]
	// answered says that its model has: then the address and the key are right,
	// and a page that a proxy puts in the way of one call says nothing of others.
	answered atomic.Bool
}

// Run executes the plan's trials, at most Options.Concurrency at once, and
// says how the run ended. Ending ctx with ErrInterrupted or ErrCancelled as
// its cause stops new trials and ends the running ones. The error is non-nil
// only when facts could not be recorded: then the run is not what the store
// says, and the store says it is unfinished.
func Run(ctx context.Context, planned *plan.Plan, deps Deps) (Result, error) {
	r, err := newRun(planned, deps)
	if err != nil {
		return Result{}, err
	}
	r.ctx = context.WithoutCancel(ctx)
	if err := r.emit(ctx, event.RunStarted, StartOf(planned)); err != nil {
		return Result{}, err
	}
	if err := r.decided(ctx); err != nil { // by what an earlier process ran
		return Result{}, err
	}
	ctx, stop := r.until(ctx)
	defer stop()
	deps.Controls.begin(r)
	defer deps.Controls.end()
	err = r.trials(ctx)
	deps.Controls.end()
	r.paces.TellLast()
	if err != nil && !errors.Is(err, context.Cause(ctx)) {
		return Result{}, err
	}
	cause := context.Cause(ctx)
	if reached := r.purse.Reached(); reached != nil && cause == nil {
		cause = reached
	}
	if r.settled.Load()+r.deciding.sparedTrials() == int64(len(planned.Trials)) || r.deciding.isWhole() && stopCode(cause) != "" {
		cause = nil // the end came after the last trial, or the decision: the run is whole
	}
	if err := r.reached(ctx, cause); err != nil {
		return Result{}, err
	}
	result := r.result(cause)
	return result, r.emit(ctx, event.RunFinished, event.RunEnd{Status: result.Status, Reason: result.Reason})
}

func newRun(planned *plan.Plan, deps Deps) (*run, error) {
	if err := CheckPlanted(planned.Source, deps.hidden()); err != nil {
		return nil, fmt.Errorf("run %s: %w", planned.Name, err)
	}
	r := &run{
		plan: planned, deps: deps, redact: redact.New(deps.hidden()), paces: &provider.Paces{Now: deps.Now},
		purse: budget.NewPurse(planned.Options.BudgetUSD, planned.Before.ChargedUSD),
		line:  steer.NewLine(planned.Trials), hands: map[string]*hand{}, invalid: map[string]plan.Trial{}, ended: map[laneKey]decided{},
	}
	r.paces.Changed = r.paced
	r.seq, r.groups, r.boards = planned.Before.Facts, newGroups(planned), newBoards(planned)
	r.gate = steer.NewGate(planned.Options.Concurrency, 1)
	if r.boards != nil {
		r.gate = steer.NewGate(planned.Options.Concurrency, len(planned.Agents)) // a group of trials enters as one
	}
	for _, g := range planned.Scorer.Graders() {
		r.graderTime += plan.GraderTimeout(g) + plan.GraderSlack
	}
	if err := r.newDeciding(); err != nil {
		return nil, err
	}
	again := map[string]bool{} // trials that this run makes another attempt at
	for _, t := range planned.Trials {
		again[t.ID] = true
	}
	for i, agent := range planned.Agents {
		r.paces.Of(agent.Deployment.Pace(), agent.Deployment.MaxConcurrent) // before anybody asks with the same account
		m, err := plan.NewMode(planned.Source, agent.Deployment, deps.Queries)
		if err != nil {
			return nil, err
		}
		if m.Tools != nil && deps.Boxes == nil {
			return nil, fmt.Errorf("run %s: %w", planned.Name, sandbox.ErrUnavailable)
		}
		net, err := plan.NetworkOf(planned.Source, agent.Deployment)
		if err != nil {
			return nil, err
		}
		l := &lane{mode: m, network: net, total: scoring.NewAggregator(planned.Spec, planned.Options.MinPassRate)}
		prior := planned.Prior(i)
		for j, t := range prior {
			followed := again[t.TrialID] || j+1 < len(prior) && prior[j+1].TrialID == t.TrialID
			l.add(t, !followed)
			r.deciding.settle(t, !followed)
			if !followed && t.Outcome == scoring.OutcomeInvalid {
				r.keepInvalid(plan.Trial{ID: t.TrialID, Agent: i, CaseKey: t.CaseKey, Repetition: t.Repetition}, t)
			}
		}
		r.lanes = append(r.lanes, l)
	}
	for _, t := range planned.Trials {
		r.lanes[t.Agent].left.Add(1)
	}
	return r, nil
}

// trials runs them all. One goroutine a running trial, no more.
func (r *run) trials(ctx context.Context) error {
	defer r.line.Close()
	if r.boards != nil {
		return r.together(ctx)
	}
	g, ctx := errgroup.WithContext(ctx)
	next := r.ahead()
	for r.line.Wait(ctx) {
		if r.gate.Enter(ctx) != nil { // before anything is asked, so that it is known of as many trials as can be
			break
		}
		r.untilKnown()
		if r.gate.Hold(ctx) != nil || r.purse.Reached() != nil {
			break
		}
		t := r.line.Take(r.deciding.next)[0]
		if r.deciding.spare(t) {
			r.gate.Leave()
			r.line.Done()
			next.over(t)
			continue
		}
		r.deciding.begin(t)
		g.Go(func() error {
			defer r.line.Done()
			defer func() { r.deciding.end(t); r.gate.Leave() }()
			defer next.over(t)
			return r.unlessReached(r.trial(ctx, t))
		})
		if err := next.expect(ctx, r.line.Left()); err != nil {
			return errors.Join(err, g.Wait())
		}
	}
	r.line.Close()
	err := g.Wait()
	for _, t := range r.line.Left() {
		if r.deciding.spare(t) {
			next.over(t)
		}
	}
	return err
}

// untilKnown waits while what is to begin next depends on trials that go on.
func (r *run) untilKnown() {
	for {
		changed, s := r.gate.Changed(), r.gate.Standing()
		if s.Inside <= 1 || !r.deciding.wait(r.line.Left(), s.Limit) {
			return
		}
		<-changed
	}
}

// unlessReached lets no other trial begin when the budget has ended one. Those that
// need no other call may finish.
func (r *run) unlessReached(err error) error {
	if reached := (*budget.Reached)(nil); errors.As(err, &reached) {
		r.gate.Shut()
		return nil
	}
	return err
}

// emit states a fact of the run's own. The first that cannot be stated sticks.
func (r *run) emit(ctx context.Context, typ event.Type, payload any) error {
	raw, err := event.Marshal(payload)
	if err != nil {
		return err
	}
	r.facts.Lock()
	defer r.facts.Unlock()
	if r.err != nil {
		return r.err
	}
	r.seq++
	r.err = r.deps.Sink.Emit(context.WithoutCancel(ctx), event.Event{
		ID: event.NewRunID(r.plan.RunID, r.seq), SchemaVersion: event.SchemaVersion, RunID: r.plan.RunID, Sequence: r.seq,
		Type: typ, Source: event.SourceRun, OccurredAt: r.deps.Now().UTC(), Payload: r.redact.JSON(raw),
	})
	return r.err
}

// add counts an attempt; last says that no other of the same trial follows.
func (l *lane) add(t scoring.Trial, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.Add(t)
	if last && t.Attempt > 1 { // it may have settled before
		l.invalid = slices.DeleteFunc(l.invalid, func(was scoring.Trial) bool { return was.TrialID == t.TrialID })
	}
	if last && t.Outcome == scoring.OutcomeInvalid {
		t.Scorecard, t.FinalOutput = nil, nil
		l.invalid = append(l.invalid, t)
	}
}

// cause is the one code that explains every invalid trial, and the last
// reason; "" when there are several.
func (l *lane) cause() (code, reason string) {
	for i, t := range l.invalid {
		if i > 0 && t.Code != code {
			return "", t.Reason
		}
		code, reason = t.Code, t.Reason
	}
	return code, reason
}

// result says how the run ended: cause is what its context was ended with, or
// nil.
func (r *run) result(cause error) Result {
	res := Result{Status: "completed", Code: stopCode(cause), Over: r.deciding.isOver()}
	if reached := (*budget.Reached)(nil); errors.As(cause, &reached) {
		res.NeedsUSD = reached.UsedUSD + reached.NeededUSD
	}
	switch {
	case res.Code != "":
		res.Status, res.Reason = "failed", cause.Error()
	case errors.Is(cause, ErrCancelled):
		res.Status, res.Reason = "cancelled", cause.Error()
	case isMiss(cause):
		res.Status, res.Reason = "failed", cause.Error()
	case cause != nil:
		res.Status, res.Reason = "interrupted", cause.Error()
	}
	for i, l := range r.lanes {
		agent := r.laneResult(r.plan.Agents[i], l, res)
		if isMiss(cause) {
			agent.Status, agent.Cause, agent.Reason = "failed", record.CodeMiss, cause.Error()
		}
		res.Agents = append(res.Agents, agent)
		if agent.Status == "failed" && res.Status == "completed" {
			res.Status, res.Reason = "failed", agent.Label+": "+agent.Reason
		}
	}
	return res
}

func (r *run) laneResult(agent plan.RunAgent, l *lane, run Result) AgentResult {
	res := AgentResult{RunAgentID: agent.ID, Label: agent.Label, Status: "completed", Scorecard: l.total.Scorecard(), Invalid: l.invalid}
	if halted := l.halted.Load(); halted != nil {
		res.Status, res.Cause, res.Reason = "failed", halted.code, halted.err.Error()
		return res
	}
	switch {
	case run.Code != "" && l.left.Load() > 0:
		res.Status, res.Cause, res.Reason = "failed", run.Code, run.Reason
	case run.Status != "completed" && run.Status != "failed":
		res.Status = run.Status
	case r.plan.Options.Shard != nil && len(r.plan.Cases) == 0: // a part that no case fell to is done
	case res.Scorecard.PassedTrials+res.Scorecard.FailedTrials == 0:
		code, reason := l.cause()
		res.Status, res.Cause, res.Reason = "failed", code, "no trial could be judged: "+reason
	}
	return res
}

// StartOf is a plan as views see it: the payload of run.started.
func StartOf(p *plan.Plan) event.RunStart {
	s := event.RunStart{
		Name: p.Name, Pack: p.Pack, InputSet: p.InputSet, Mode: p.Mode, Sandbox: p.Sandbox.Kind,
		Cases: len(p.Cases), Repetitions: p.Options.Repetitions, Trials: len(p.Trials), Concurrency: p.Options.Concurrency,
	}
	s.Cache, s.BudgetUSD, s.ChargedUSD = p.Cache, p.Options.BudgetUSD, p.Before.ChargedUSD
	if p.Recording != nil {
		s.Replay = p.Recording.Digest
	}
	for _, a := range p.Agents {
		s.Agents = append(s.Agents, event.AgentRef{ID: a.ID, Label: a.Label, Model: a.Deployment.Target()})
	}
	return s
}
