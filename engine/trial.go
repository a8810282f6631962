package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/peers"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/timebox"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/egress"
	"github.com/agentclash/agentclash/scoring"
)

// maxAttemptWait is how long a provider may ask to be left alone before another
// attempt of a trial is not made at all.
const maxAttemptWait = time.Minute

// attempt is one try at a trial: its conversation, its box, its counters.
type attempt struct {
	run        *run
	trial      plan.Trial
	number     int // from 1
	agent      plan.RunAgent
	deployment plan.Deployment
	mode       plan.Mode    // of the lane
	network    plan.Network // likewise
	kase       pack.Case
	limits     plan.TrialLimits
	client     provider.Client
	pace       *provider.Pace
	log        *eventLog
	box        sandbox.Session // nil when the mode needs none
	bench      sandbox.Session // the box as the agent has it
	tools      *tool.Set       // likewise
	dialer     *egress.Dialer  // which permits nothing when the pack does not
	decided    decisions       // about the network, and not stated yet
	vault      *vault          // nil without secrets that it is the decoy of
	panel      *panel          // the judges
	carried    bool            // the agent's part is an earlier attempt's, which has ended
	reuse      *event.Reused   // that attempt, when it is another run's
	ranked     event.JudgeUse  // what earlier attempts used of their group's limits
	program    *program        // that is the agent; nil: the loop is

	messages []provider.Message // that were said so far
	asking   string             // the source of what judges are asked now
	users    users              // of a conversation
	watch    peers.Watch        // of the peers
	told     bool               // secrets that come with a tool's result have come

	startedAt  time.Time // of the agent's part; staging is not counted
	steps      int
	toolCalls  int
	calls      int // provider calls, retries included
	spent      spending
	failing    *provider.Error // the last try, when it failed
	firstPiece *event.TextDelta
	time       *timebox.Box  // of the agent's part; nil outside of it
	waited     time.Duration // of that part, for the provider
	waitsSince time.Time
	drifts     []event.Drift // of tools, on a replay
	again      bool          // another attempt of the trial follows this one
	wait       time.Duration // before it, as the provider asked
	phase      string        // that it is in
}

// do takes an attempt from an empty box to what can be scored: all its evidence
// is there but for rankings. The fault is faultHalt when the run ended under it:
// such a trial is unfinished. The error is non-nil only when facts could not be
// recorded.
func (a *attempt) do(ctx context.Context) (ending, error) {
	end, carried, err := a.carry(ctx)
	if err != nil {
		return end, err
	}
	if !carried {
		end = a.agentsPart(ctx)
	}
	if end.scored() {
		a.phase = scoring.PhaseScoring
		end = a.guarded(func() ending { return a.askJudges(ctx, end) })
	}
	if end.fault == faultHalt {
		a.stateDrifts()
	}
	return end, a.log.err
}

// agentsPart is all that the agent and its graders do.
func (a *attempt) agentsPart(ctx context.Context) ending {
	end := a.guarded(func() ending { return a.prepare(ctx) })
	if a.box != nil {
		defer a.closeBox(ctx)
	}
	if end.fault == faultNone {
		end = a.guarded(func() ending { return a.work(ctx) })
	}
	if end.scored() {
		a.startScoring(end)
	}
	return end
}

// startScoring states how the agent's part ended, which scoring begins with.
func (a *attempt) startScoring(end ending) {
	start := event.ScoringStarted{EvaluationSpecID: a.run.plan.SpecDigest, StopReason: end.stop, AgentCode: end.code}
	if end.err != nil {
		start.Reason = event.Clip(end.err.Error(), maxReason)
	}
	a.log.emitAs(event.SourceScoring, event.ScoringStart, start)
}

// finish scores the attempt, decides its outcome and states both. Another
// attempt follows where again allows it and it can help.
func (a *attempt) finish(end ending, again bool) (scoring.Trial, fault, error) {
	result := a.result(end)
	if end.scored() && result.Scorecard.LacksJudge() && result.Outcome == scoring.OutcomeInvalid {
		end.fault = faultInfra
		if result.Code == string(provider.Auth) || result.Code == string(provider.UnknownModel) {
			end.fault = faultFatal // the run agent's other trials have the same judges
		}
	}
	a.again = again && a.retries(end)
	a.stateDrifts()
	a.log.emitAs(event.SourceRun, event.TrialDone, event.TrialEnd{Trial: result, WillRetry: a.again})
	return result, end.fault, a.log.err
}

// guarded turns a panic, which is a bug of ours, into an invalid trial: the
// others go on.
func (a *attempt) guarded(part func() ending) (end ending) {
	defer func() {
		if r := recover(); r != nil {
			end = ending{fault: faultInfra, stop: stopInternal, code: stopInternal, phase: phaseAgent,
				err: fmt.Errorf("this is a bug in agentclash: %v", r)}
		}
	}()
	return part()
}

// retries says whether another attempt follows: after a failure of the
// infrastructure, while there are retries left and the run agent can work.
func (a *attempt) retries(end ending) bool {
	if end.call != nil {
		a.wait = end.call.RetryAfter
	}
	return end.fault == faultInfra && a.wait <= maxAttemptWait && a.number-a.trial.Attempt < a.run.plan.Options.RetryInvalid &&
		a.run.lanes[a.trial.Agent].halted.Load() == nil
}

// prepare opens the box and stages what the agent starts from.
func (a *attempt) prepare(ctx context.Context) ending {
	a.phase = phaseOpen
	if a.mode.Tools == nil {
		return ending{}
	}
	if end, over := halted(ctx); over {
		return end
	}
	a.outside()
	box, err := a.run.deps.Boxes.Open(ctx, a.spec())
	if err != nil {
		return a.lost(ctx, phaseOpen, fmt.Errorf("open a sandbox: %w", err))
	}
	a.box = box
	if err := a.canGrade(ctx); err != nil {
		return a.lost(ctx, phaseOpen, err)
	}
	if end := a.bind(ctx); end.fault != faultNone {
		return end
	}
	a.phase = phaseStage
	for _, f := range a.run.plan.Source.WorkspaceFiles(a.kase) {
		if err := box.WriteFile(ctx, f.Path, f.Data); err != nil {
			return a.staging(ctx, f.Path, err)
		}
	}
	return ending{}
}

// bind makes the box the agent's: it makes the directories that the pack names,
// and keeps the agent to them. An agent that runs no programs makes no links, so
// that paths are all there is to look at.
func (a *attempt) bind(ctx context.Context) ending {
	roots := plan.RootsOf(a.run.plan.Source)
	a.bench, a.tools = a.box, a.tools.In(roots)
	if !roots.Narrow() && roots.Dir == "" {
		return ending{}
	}
	box, can := a.box.(sandbox.Binder)
	if !can && a.mode.Programs() {
		return unbound(sandbox.ErrUnbound)
	}
	if can {
		kept := roots
		if !a.mode.Programs() {
			kept.Write = append(slices.Clone(roots.Write), sandbox.Workspace)
		}
		bound, err := box.Bind(ctx, kept)
		if errors.Is(err, sandbox.ErrUnbound) {
			return unbound(err)
		}
		if err != nil {
			return a.lost(ctx, phaseOpen, fmt.Errorf("make the pack's directories: %w", err))
		}
		a.bench = bound
	}
	home := "/tmp" // the box's own is in the workspace
	if pack := a.run.plan.Source.Version.Sandbox; pack != nil && pack.EnvVars["HOME"] != "" {
		home = ""
	}
	a.bench = tool.Within(a.bench, roots, home)
	return ending{}
}

// unbound ends a trial whose box cannot keep programs to roots: no other box of
// the same provider can.
func unbound(err error) ending {
	return ending{fault: faultFatal, stop: stopSandbox, code: "sandbox_engine", phase: phaseOpen, err: err}
}

func (a *attempt) staging(ctx context.Context, path string, err error) ending {
	err = fmt.Errorf("stage %s: %w", path, err)
	if errors.Is(err, sandbox.ErrNoSpace) || errors.Is(err, sandbox.ErrOutside) {
		return ending{fault: faultPack, stop: stopSandbox, code: scoring.CodePackError, phase: phaseStage, err: err}
	}
	return a.lost(ctx, phaseStage, err)
}

func (a *attempt) spec() sandbox.Spec {
	s := plan.BoxSpec(a.run.plan.Source, a.deployment, a.mode.Programs())
	s.Labels = sandbox.Labels{RunID: a.run.plan.RunID, TrialID: a.trial.ID, Agent: a.agent.Label, Case: a.trial.CaseKey}
	// graders come after the agent's own time
	s.Lifetime = a.limits.Trial + a.run.graderTime + 5*time.Minute
	if c := a.deployment.Command; c != nil && c.MaxOutputBytes > 0 {
		s.Limits.OutputBytes = min(s.Limits.OutputBytes, c.MaxOutputBytes)
	}
	if block := a.run.plan.Source.Security; !block.Empty() && len(block.AdversarialPrompts) > 0 {
		s.Lifetime += a.limits.Trial // and the prompts after these
	}
	s.Lifetime += a.usersTime()
	a.gateway(&s)
	return s
}

// work runs the agent, then what judges it.
func (a *attempt) work(ctx context.Context) ending {
	a.startedAt, a.phase = a.log.clock.Now(), phaseAgent
	start := event.TrialStart{
		ExecutionTarget: "none", TraceMode: "full",
		StartedAt: a.startedAt.Format(time.RFC3339Nano), ExecutionMode: a.run.plan.Mode, APISurface: a.mode.Surface,
	}
	if a.box != nil {
		start.ExecutionTarget, start.SandboxID = a.run.plan.Sandbox.Kind, a.box.ID()
	}
	start.DeploymentType, start.EvidenceLevel = a.deployment.Seen()
	a.log.emit(event.Started, start)
	a.planted()
	end := a.agentWorks(ctx)
	if end.fault == faultHalt {
		return end
	}
	if lost := a.stateVault(ctx); lost.fault != faultNone && end.scored() {
		end = lost
	}
	a.ended(end)
	if end.fault != faultNone && end.fault != faultAgent {
		return end
	}
	a.phase = phaseVerify
	verified := a.verify(ctx, end)
	a.stateEgressAs(event.SourceGrader)
	if verified.fault != faultNone {
		return verified
	}
	if end.fault == faultNone {
		if probed := a.probe(ctx); probed.fault != faultNone {
			return probed
		}
	}
	return end
}

// timed gives the agent the trial's time for a part of its work. What it waits
// for its provider is not counted.
func (a *attempt) timed(ctx context.Context, part func(context.Context) ending) ending {
	ctx, a.time = timebox.Start(ctx, a.limits.Trial, errTrialTimeout)
	defer func() { a.time.Stop(); a.time = nil }()
	a.startedAt, a.waited = a.log.clock.Now(), 0
	return part(ctx)
}

// agentWorks is the agent's part: the loop's, or a program's.
func (a *attempt) agentWorks(ctx context.Context) ending {
	if a.program != nil {
		return a.runProgram(ctx) // its box ends it when its time is up
	}
	return a.timed(ctx, a.loop)
}

// ended states how the agent's part ended.
func (a *attempt) ended(end ending) {
	a.stateEgress()
	a.stands(end)
	if end.answer != nil {
		source := "model"
		switch {
		case a.program != nil:
			source = "program"
		case a.deployment.IsHTTP():
			source = "endpoint"
		case a.mode.Tools != nil && !a.mode.Turns:
			source = "submit"
		}
		a.log.emit(event.OutputFinal, event.Output{FinalOutput: *end.answer, Source: source})
	}
	if end.fault == faultNone {
		ev := a.log.fold.Evidence()
		a.log.emit(event.Completed, event.End{
			FinalOutput: *end.answer, StopReason: end.stop, StepCount: a.steps, ToolCallCount: a.toolCalls,
			InputTokens: ev.InputTokens, OutputTokens: ev.OutputTokens, TotalTokens: ev.TotalTokens, LatencyMS: a.ownTime(),
		})
		return
	}
	f := event.Failure{
		Error: end.err.Error(), StepIndex: a.steps, StopReason: end.stop, Phase: end.phase,
		AgentFault: end.fault == faultAgent, ToolCallCount: a.toolCalls,
	}
	if end.call != nil {
		c := callError(a.deployment, end.call)
		f.ProviderFailure = &c
	}
	a.log.emit(event.Failed, f)
}

// lost ends a trial whose box failed, and states it.
func (a *attempt) lost(ctx context.Context, phase string, err error) ending {
	end := byBox(ctx, phase, err)
	var box *sandbox.BoxError
	if end.fault != faultHalt && errors.As(err, &box) {
		a.log.emit(event.SandboxLost, event.Lost{Kind: string(box.Kind), Limit: box.Limit, Detail: event.Clip(box.Detail, maxReason)})
	}
	return end
}

// closeBox removes the box. A box that cannot be removed now is the provider's
// to remove later: it keeps account of what it opened.
func (a *attempt) closeBox(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer stop()
	_ = a.box.Close(ctx)
}

// result scores the attempt and decides its outcome.
func (a *attempt) result(end ending) scoring.Trial {
	t := scoring.Trial{
		TrialID: a.trial.ID, CaseKey: a.trial.CaseKey, Repetition: a.trial.Repetition, Attempt: a.number,
		StopReason: end.stop, Calibration: a.sampled(),
	}
	if end.err != nil {
		t.Reason = event.Clip(a.run.redact.Text(end.err.Error()), maxReason)
	}
	ev := a.log.fold.Evidence()
	t.Judging, t.Carried = a.panel.judging(), a.carried
	if a.reuse != nil {
		t.ReusedFrom = a.reuse.TrialID
	}
	if end.scored() {
		a.score(&t, end, ev)
	} else {
		a.run.plan.Scorer.Measure(&t, ev)
		t.Outcome, t.Code, t.Phase = scoring.OutcomeInvalid, end.code, end.phase
	}
	return t
}

func (a *attempt) score(t *scoring.Trial, end ending, ev scoring.Evidence) {
	card := a.run.plan.Decide(t, ev, end.code)
	a.log.emitAs(event.SourceScoring, event.ScoringDone, event.ScoringEnd{
		EvaluationSpecID: a.run.plan.SpecDigest, Status: card.Status, Validity: card.Validity,
		OverallScore: card.OverallScore, Passed: card.Passed,
	})
}
