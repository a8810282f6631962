package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// trial makes attempts until one counts or the retries are used up. One that
// is ranked with others waits for them, and whoever comes last finishes it.
func (r *run) trial(ctx context.Context, t plan.Trial) error {
	if t.Reuse == nil && r.lanes[t.Agent].halted.Load() != nil {
		r.allDone(t)
		return r.arrive(ctx, t, nil)
	}
	var before *attempt
	for number := t.Attempt; ; number++ {
		own, release := r.inHand(ctx, t)
		a, end, err := r.once(ctx, own, t, number, before)
		cancelled := release()
		switch {
		case err != nil:
			return err
		case ctx.Err() == nil && cancelled:
			end = a.cancelled()
		case end.fault == faultHalt:
			return cmp.Or(context.Cause(ctx), end.err)
		case r.groups != nil && end.scored() && !r.plan.Scorer.Unreached(a.log.fold.Evidence()):
			return r.arrive(ctx, t, &parked{a, end})
		}
		if err := r.settle(a, end, true); err != nil {
			return err
		}
		if !a.again {
			return r.arrive(ctx, t, nil)
		}
		before = a
	}
}

// once makes an attempt, after the time that the one before it has to wait. What
// ends own alone is the attempt's affair, and is seen there.
func (r *run) once(ctx, own context.Context, t plan.Trial, number int, before *attempt) (*attempt, ending, error) {
	calls := 0
	if before != nil {
		calls = before.calls
		_ = r.retry(0, nil).Pause(own, before.wait)
		_ = r.gate.Hold(own)
	}
	if ctx.Err() != nil {
		return nil, ending{}, context.Cause(ctx)
	}
	if reached := r.purse.Reached(); reached != nil {
		return nil, ending{}, reached
	}
	a, err := r.attempt(ctx, t, number)
	if err != nil {
		return nil, ending{}, err
	}
	a.calls = calls
	end, err := a.do(own)
	return a, end, err
}

// settle finishes an attempt and counts it.
func (r *run) settle(a *attempt, end ending, again bool) error {
	if err := a.endTape(end); err != nil {
		return err
	}
	if end.fault == faultFatal && end.call != nil && end.call.Page && r.lanes[a.trial.Agent].answered.Load() {
		end.fault = faultInfra
	}
	result, f, err := a.finish(end, again)
	if err != nil {
		return err
	}
	l := r.lanes[a.trial.Agent]
	l.add(result, !a.again)
	r.deciding.settle(result, !a.again)
	if f == faultFatal {
		l.halted.CompareAndSwap(nil, &ending{code: result.Code, err: errors.New(result.Reason)})
	}
	if !a.again {
		r.note(a.trial, result, f)
		r.allDone(a.trial)
		if r.deps.Controls == nil || result.Outcome != scoring.OutcomeInvalid { // else it may be run again
			r.forget(a.trial)
		}
	}
	return r.decided(a.log.ctx)
}

// allDone counts a trial that needs no more attempts.
func (r *run) allDone(t plan.Trial) {
	r.settled.Add(1)
	r.lanes[t.Agent].left.Add(-1)
}

func (r *run) attempt(ctx context.Context, t plan.Trial, number int) (*attempt, error) {
	agent := r.plan.Agents[t.Agent]
	kase, err := r.plan.Case(t.CaseKey)
	if err != nil {
		return nil, err
	}
	client, lane := r.deps.Clients[t.Agent], r.lanes[t.Agent]
	a := &attempt{
		run: r, mode: lane.mode, network: lane.network, trial: t, number: number, agent: agent, deployment: agent.Deployment, kase: kase,
		limits: plan.LimitsOf(r.plan.Spec, kase, agent.Deployment), client: client,
		log: &eventLog{
			ctx: context.WithoutCancel(ctx), sink: r.deps.Sink, redact: r.redact, source: lane.mode.Source,
			clock: newClock(r.deps.Now, agent.Deployment.Provider == provider.Scripted || r.deps.Tape != nil),
			fold:  event.NewFold(r.plan.Source.ScoringCase(kase)),
			base: event.Event{
				SchemaVersion: event.SchemaVersion, RunID: r.plan.RunID, RunAgentID: agent.ID,
				TrialID: t.ID, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: number,
			},
		},
	}
	a.pace = r.paces.Of(agent.Deployment.Pace(), agent.Deployment.MaxConcurrent)
	a.program = newProgram(a)
	if len(r.plan.Judges) > 0 {
		ref := provider.Ref{Agent: agent.Label, Case: t.CaseKey, Repetition: t.Repetition, Attempt: number}
		a.panel = r.panel(ref, func(typ event.Type, payload any) { a.log.emitAs(a.asking, typ, payload) })
	}
	return a, nil
}

// retry is how model calls are retried, whoever makes them.
func (r *run) retry(step time.Duration, pace *provider.Pace) provider.Retry {
	return retrying(r.plan, r.deps, step, pace)
}

// retrying goes by the plan's seed, so that the same run waits the same times.
func retrying(p *plan.Plan, deps Deps, step time.Duration, pace *provider.Pace) provider.Retry {
	policy := provider.Policy{TryTimeout: step}
	if deps.Tape != nil { // what a pace decides depends on all that goes on, and no replay could repeat it
		pace = nil
	}
	switch ms := p.Options.MaxWaitMS; {
	case ms == nil:
	case *ms == 0:
		policy.MaxWait = -1
	default:
		policy.MaxWait = time.Duration(*ms) * time.Millisecond
	}
	return provider.Retry{Policy: policy, Pace: pace, Seed: p.Options.Seed, Sleep: deps.Sleep, Verbatim: deps.Tape != nil}
}

// forget lets a scripted client drop what it keeps for a trial.
func (r *run) forget(t plan.Trial) {
	ref := provider.Ref{Agent: r.plan.Agents[t.Agent].Label, Case: t.CaseKey, Repetition: t.Repetition}
	if r.deps.Tape != nil {
		r.deps.Tape.Forget(ref)
	}
	if f, ok := r.deps.Clients[t.Agent].(provider.Forgetter); ok {
		f.Forget(ref)
	}
	for _, judge := range r.deps.Judges {
		if f, ok := judge.(provider.Forgetter); ok {
			f.Forget(ref)
		}
	}
	for _, user := range r.deps.Simulators {
		if f, ok := user.(provider.Forgetter); ok {
			f.Forget(ref)
		}
	}
}
