package view_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/event/diverge"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/scoring/review"
	"github.com/agentclash/agentclash/scoring/stats"
)

var noon = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

const (
	runID    = "0195a1b2-0000-7000-8000-00000000f1f1"
	agentID  = "0195a1b2-0000-7000-8000-0000000a9e17"
	agent2ID = "0195a1b2-0000-7000-8000-0000000a9e18"
	trialID  = "0195a1b2-0000-7000-8000-000000007a01"
	trial2ID = "0195a1b2-0000-7000-8000-000000007a02"
	trial3ID = "0195a1b2-0000-7000-8000-000000007a03"
)

// trials is one trial of each outcome.
func trials() []scoring.Trial {
	passed := scoring.Trial{
		TrialID: trialID, CaseKey: "fizzbuzz", Repetition: 1, Attempt: 1, Outcome: scoring.OutcomePassed,
		StopReason: "completed", FinalOutput: new("done"), CostUSD: new(0.0012), PriceSource: scoring.PriceTable, LatencyMS: new(int64(1200)),
		Usage: scoring.Usage{InputTokens: 1000, OutputTokens: 234, TotalTokens: 1234},
		Scorecard: &scoring.Scorecard{
			Status: "complete", Strategy: "weighted", OverallScore: new(1.0), Passed: new(true), Validity: "valid",
			Dimensions: []scoring.DimensionResult{
				{Key: "correctness", State: scoring.Available, Score: new(1.0)},
				{Key: "accuracy", State: scoring.Available, Score: new(0.995)},
			},
			Validators: []scoring.ValidatorResult{{Key: "exact", Type: "exact_match", State: scoring.Available,
				Verdict: scoring.VerdictPass, NormalizedScore: new(1.0), OutcomeClass: "pass"}},
			Metrics: []scoring.MetricResult{{Key: "latency", State: scoring.Available, Value: 1200.0, Unit: "ms",
				Metadata: mustJSON(map[string]string{"started_at": "2026-03-15T12:00:00Z"})}},
		},
	}
	failed := scoring.Trial{
		TrialID: trial2ID, CaseKey: "palindrome <b>", Repetition: 2, Attempt: 1, Outcome: scoring.OutcomeFailed,
		Code: "no_submit", Phase: "agent", StopReason: "no_submit",
		Scorecard: &scoring.Scorecard{
			Status: "partial", Strategy: "weighted", OverallScore: new(0.25), Passed: new(true), Validity: "valid",
			NoOutput: "the agent never submitted a final output",
			Dimensions: []scoring.DimensionResult{
				{Key: "correctness", Source: "validators", State: scoring.Available, Score: new(0.25), Event: at(6, "run.output.finalized")},
				{Key: "accuracy", Source: "validators", State: scoring.Unavailable, Reason: "no final output"},
				{Key: "conduct", Source: "behavioral", State: scoring.Available, Score: new(0.5), Event: at(5, "tool.call.failed")},
			},
			Signals: []scoring.SignalResult{
				{Key: "error_cascade", State: scoring.Available, Score: new(0.5), Weight: 1, Gate: true, PassThreshold: new(0.8), Source: at(5, "tool.call.failed"),
					Reason: "2 calls in a row failed"},
				{Key: "scope_adherence", State: scoring.Available, Score: new(1.0), Weight: 1},
			},
			Judges: []scoring.JudgeResult{{
				Key: "tone", Mode: "rubric", State: scoring.Available, NormalizedScore: new(0.5), Confidence: "low", Variance: new(0.0625), Spread: new(0.5),
				SampleCount: 4, ModelCount: 2, UnableCount: 1, Source: at(15, "judge.call.completed"),
				Warnings: []string{`"b/judge", sample 2: the reply has no score, which must be a number`, "the models disagree: they lie 0.5000 apart, more than 0.2500"},
				Models:   []scoring.JudgeModel{{Model: "a/judge", Score: new(0.75), Samples: 2}, {Model: "b/judge", Score: new(0.25), Samples: 1}},
				Calls: []scoring.JudgeCall{
					{Model: "a/judge", Sample: 1, Score: new(0.75), Confidence: "high", Reasoning: "warm \x1b[31mand\nshort", Source: at(14, "judge.call.completed")},
					{Model: "b/judge", Sample: 2, Error: "the reply has no score, which must be a number", Source: at(15, "judge.call.completed")},
				},
			}},
			Metrics: []scoring.MetricResult{
				{Key: "latency", Collector: "run_total_latency_ms", State: scoring.Available, Value: 61200.0, Unit: "ms", Source: at(12, "system.run.completed")},
				{Key: "share", State: scoring.Available, Value: 1.0 / 3}, {Key: "regular", State: scoring.Available, Value: true},
				{Key: "cost", State: scoring.Unavailable, Unit: "usd", Reason: "no price is known for ollama/x"},
			},
			Warnings: []string{"there is no final output"},
			Validators: []scoring.ValidatorResult{
				{Key: "exact", Type: "exact_match", State: scoring.Available, Verdict: scoring.VerdictFail,
					NormalizedScore: new(0.0), OutcomeClass: "fail", Reason: `expected "level", got nothing`, Source: at(6, "run.output.finalized")},
				{Key: "has-all-the-words", Type: "tool_call_assertion", State: scoring.Available, Verdict: scoring.VerdictFail,
					NormalizedScore: new(0.4), OutcomeClass: "fail", Source: at(5, "tool.call.completed")},
				{Key: "tests", Type: "code_execution", State: scoring.Unavailable, OutcomeClass: "unavailable",
					Reason: "the file /workspace/solution.py was never captured, so that its tests could not be run; write it before you submit"},
			},
		},
	}
	invalid := scoring.Trial{
		TrialID: trial3ID, CaseKey: "flaky", Repetition: 1, Attempt: 2, Outcome: scoring.OutcomeInvalid,
		Code: "rate_limit", Phase: "model", Reason: "openai: rate_limit (HTTP 429): slow down",
		Scorecard: &scoring.Scorecard{OverallScore: new(0.9), Passed: new(true), Validity: "valid"},
	}
	return []scoring.Trial{passed, failed, invalid}
}

func at(sequence int64, typ string) *scoring.Source {
	return &scoring.Source{Kind: scoring.KindRunEvent, Sequence: sequence, EventType: typ, FieldPath: "final_output"}
}

func agentCard() scoring.AgentScorecard {
	return scoring.AgentScorecard{
		OverallScore: new(0.625), PassRate: new(0.5), Validity: "degraded", Headline: "degraded",
		Trials: 3, PassedTrials: 1, FailedTrials: 1, InvalidTrials: 1,
		Dimensions: []scoring.AggregateDimension{
			{Key: "correctness", Score: new(0.625), State: scoring.Available, N: 2},
			{Key: "accuracy", Score: new(0.995), State: scoring.Available, N: 1},
		},
		Usage:   scoring.Usage{InputTokens: 1234567, OutputTokens: 890, TotalTokens: 1235457},
		CostUSD: new(0.0012), PriceSource: scoring.PriceTable, SpentUSD: new(0.0034), LatencyMS: new(61200.0),
	}
}

func scorecard() view.Scorecard {
	return view.NewScorecard(view.AgentRef{Label: "claude-fix", RunAgentID: agentID, Status: "completed", PricesAsOf: "2026-03-01"}, agentCard(), trials())
}

func startDocument() view.StartDocument {
	good := view.NewAgent(view.AgentRef{Label: "gpt", RunAgentID: agent2ID, Status: "completed"}, scoring.AgentScorecard{
		OverallScore: new(1.0), Passed: true, PassRate: new(1.0), Validity: "valid", Headline: "passed", Trials: 3, PassedTrials: 3,
	}, nil)
	return view.StartDocument{
		RunID: runID, RunName: "nightly", Status: "completed", Pack: view.Pack{Slug: "fizz", Version: 2}, InputSet: "default",
		Agents: view.List[view.Agent]{scorecard().Agent, good},
	}
}

func participant() view.Participant {
	return view.Participant{WorkspaceID: "default", RunID: runID, RunName: "nightly", RunStatus: "completed",
		RunAgentID: agentID, RunAgentLabel: "claude-fix"}
}

func bookmark() *view.Bookmark {
	return &view.Bookmark{Name: "default", Participant: participant(), SetAt: noon.Add(-49 * time.Hour)}
}

func runDocument() view.Run {
	return view.Run{
		RunID: runID, Name: "nightly", Status: "failed", Reason: "no valid trial of gpt", WorkspaceID: "default",
		Pack: view.Pack{Slug: "fizz", Version: 2}, InputSet: "default", Mode: "native", Sandbox: "docker",
		Cases: 3, Repetitions: 1, Seed: 7, CreatedAt: noon.Add(-3 * time.Minute), StartedAt: new(noon.Add(-170 * time.Second)),
		Agents: view.List[view.RunAgent]{
			{RunAgentID: agentID, Label: "claude-fix", Model: "anthropic/claude", Status: "completed", Trials: 3,
				PassedTrials: 1, FailedTrials: 1, InvalidTrials: 1, InvalidCauses: view.InvalidCauses(trials()),
				StartedAt: new(noon.Add(-160 * time.Second)), FinishedAt: new(noon.Add(-time.Second))},
			{RunAgentID: agent2ID, Label: "gpt", Model: "openai/gpt", Status: "failed", LaneIndex: 1, Reason: "openai: auth (HTTP 401): bad key"},
		},
	}
}

func ranking() view.Ranking {
	degraded, perfect := agentCard(), agentCard()
	perfect.Passed, perfect.OverallScore = true, new(1.0)
	perfect.Dimensions = []scoring.AggregateDimension{{Key: "correctness", Score: new(0.9), State: scoring.Available, N: 3}}
	contenders := []scoring.Contender{
		{RunAgentID: agentID, Scorecard: &degraded}, {RunAgentID: agent2ID, Lane: 1, Scorecard: &perfect}, {RunAgentID: trialID, Lane: 2},
	}
	standings, err := scoring.Rank(contenders, scoring.SortDefault)
	if err != nil {
		panic(err)
	}
	agents := append([]view.Agent{}, startDocument().Agents...)
	agents = append(agents, view.NewAgent(view.AgentRef{Label: "never-ran", RunAgentID: trialID, Status: "cancelled"}, scoring.AgentScorecard{}, nil))
	return view.NewRanking(runID, scoring.SortDefault, standings, scoring.Winner(contenders), agents)
}

func packs() view.Page[view.PackEntry] {
	return view.Page[view.PackEntry]{Total: 1, Limit: 20, Items: view.List[view.PackEntry]{{
		ID: runID, Slug: "fizz", Name: "Fizz buzz 数独 and friends", Versions: view.List[view.PackVersion]{
			{ID: trialID, Version: 1, Digest: "0123456789abcdef0123456789abcdef", Mode: "native", Published: true, CreatedAt: noon.Add(-90 * 24 * time.Hour)},
			{ID: trial2ID, Version: 2, Digest: "fedcba9876543210fedcba9876543210", Mode: "prompt_eval", CreatedAt: noon.Add(-2 * time.Hour)},
		}}}}
}

func problems() view.ValidateDocument {
	return view.ValidateDocument{Files: view.List[view.ValidatedFile]{
		{File: "packs/a.yaml", Valid: true},
		{File: "packs/b.yaml", Errors: view.List[view.Problem]{
			{Field: "challenges[0].key", Message: "is required", Line: 12, Column: 5},
			{Message: "the document is empty"},
		}, Warnings: view.List[view.Problem]{{Field: "input_sets[0].cases", Message: "has one case", Line: 30, Column: 3}}},
	}}
}

func doctor() view.DoctorDocument {
	return view.DoctorDocument{Workspace: "default", Checks: view.List[view.Check]{
		{Name: "install", Status: "ok", Detail: "version 1.2.3, store schema 4"},
		{Name: "docker", Status: "warn", Detail: "no engine answers at unix:///var/run/docker.sock; packs that need a shell, a build or code graders cannot run until one does",
			NextStep: "sudo systemctl start docker"},
		{Name: "baseline", Status: "info", Detail: "not configured", NextStep: "agentclash deployment create --name next --model openai/gpt-4.1-mini"},
		{Name: "terminal", Status: "info", Detail: "small", NextStep: "export " + strings.Repeat("LONGER_THAN_A_LINE=", 6)},
		{Name: "store", Status: "fail", Detail: "not writable", NextStep: "chmod u+w ~/.agentclash"},
	}, NextSteps: view.List[string]{"chmod u+w ~/.agentclash"}}
}

func plan() view.PlanDocument {
	return view.PlanDocument{
		Name: "nightly", Pack: view.Pack{Slug: "fizz", Version: 2}, Digest: "0123456789abcdef0123456789abcdef", InputSet: "default",
		Mode: "native", Sandbox: "docker", Image: "python:3.12-slim", Cases: view.List[string]{"fizzbuzz", "palindrome", "flaky"},
		Repetitions: 2, Trials: 12, Concurrency: 4, Seed: 7, RetryInvalid: 1, MinPassRate: 1,
		Agents: view.List[view.PlanAgent]{
			{Label: "gpt", Model: "openai/gpt", MaxIterations: 50, MaxToolCalls: 100, RunTimeoutSecs: 1800, MaxCostUSD: new(12.5)},
			{Label: "local", Model: "ollama/x", MaxIterations: 50, MaxToolCalls: 100, RunTimeoutSecs: 1800, CostReason: "no price is known for ollama/x"},
		},
	}
}

// facts is the life of a run with one trial that is tried twice.
func facts() []event.Event {
	var seq int64
	at := noon
	ev := func(kind event.Type, attempt int, payload any) event.Event {
		at = at.Add(250 * time.Millisecond)
		e := event.Event{ID: "e", SchemaVersion: event.SchemaVersion, RunID: runID, Type: kind, Source: event.SourceNative,
			OccurredAt: at, Payload: mustJSON(payload)}
		if attempt > 0 {
			seq++
			e.RunAgentID, e.TrialID, e.CaseKey, e.Repetition, e.Attempt, e.Sequence = agentID, trialID, "fizzbuzz", 1, attempt, seq
		} else {
			e.Source = event.SourceRun
		}
		return e
	}
	delta := ev(event.OutputDelta, 1, event.TextDelta{StreamKind: "text", TextDelta: "never stored"})
	delta.Transient = true
	lost := trials()[2]
	lost.Code, lost.Phase, lost.Reason = "infra_error", "agent", "the container is gone"
	return []event.Event{
		ev(event.RunStarted, 0, event.RunStart{Name: "nightly", Pack: event.PackRef{Slug: "fizz", Version: 2}, InputSet: "default",
			Sandbox: "docker", Agents: []event.AgentRef{{ID: agentID, Label: "claude-fix", Model: "anthropic/claude"}},
			Cases: 1, Repetitions: 2, Trials: 2, Concurrency: 1}),
		ev(event.TrialQueued, 1, event.Queue{Attempt: 1}),
		ev(event.Started, 1, event.TrialStart{ExecutionTarget: "docker"}),
		ev(event.StepStarted, 1, event.Step{StepIndex: 1}),
		ev(event.CallRefused, 1, event.RefusedCall{Code: "model_not_found", Status: 404, Model: "gpt-5", Message: `the model "gpt-5" is not permitted here: use gpt-x`, Count: 3}),
		ev(event.CallStarted, 1, event.Call{ProviderKey: "anthropic", Model: "claude", MessageCount: 2}),
		delta,
		ev(event.CallFailed, 1, event.CallError{Code: "rate_limit", Status: 429, Message: "slow down", Try: 1}),
		ev(event.CallRetried, 1, event.CallError{Code: "rate_limit", Status: 429, Message: "slow down", Try: 1, WaitMS: 1500}),
		ev(event.CallDone, 1, event.CallEnd{ProviderModelID: "claude", FinishReason: "tool_calls",
			ToolCalls: []provider.ToolCall{{Name: "exec"}}, Usage: &provider.Usage{Input: 1200, Output: 30}, Timing: event.Timing{TotalLatencyMS: 850}}),
		ev(event.ToolStarted, 1, event.Tool{ToolName: "exec", Arguments: mustJSON(map[string]string{"command": "pytest"})}),
		ev(event.ToolFailed, 1, event.Tool{ToolName: "exec", Arguments: mustJSON(map[string]string{"command": "pytest"}), DurationMS: 40,
			FailureOrigin: "primitive", Result: &event.ToolResult{Content: "exit status 1\nboom", IsError: true}}),
		ev(event.SandboxLost, 1, event.Lost{Kind: "limit", Limit: "memory", Detail: "killed at 512 MiB"}),
		ev(event.BudgetReach, 1, event.Budget{Limit: "max_cost_usd", Allowed: 0.5, Used: 0.501}),
		ev(event.Failed, 1, event.Failure{Error: "the container is gone", StopReason: "sandbox_lost", Phase: "agent"}),
		ev(event.TrialDone, 1, event.TrialEnd{Trial: lost, WillRetry: true}),
		ev(event.TrialQueued, 2, event.Queue{Attempt: 2}),
		ev(event.Started, 2, event.TrialStart{ExecutionTarget: "docker"}),
		ev(event.CallDone, 2, event.CallEnd{ProviderModelID: "claude", FinishReason: "stop", OutputText: "15"}),
		ev(event.ToolDone, 2, event.Tool{ToolName: "submit", Arguments: mustJSON(map[string]string{"answer": "15"}), DurationMS: 1}),
		ev(event.OutputFinal, 2, event.Output{FinalOutput: "15", Source: "submit"}),
		ev(event.FileCaptured, 2, scoring.CapturedFile{Key: "solution", Path: "solution.py", Exists: true, Content: "print(15)\n\tok\n", Size: 14}),
		ev(event.DirListed, 2, scoring.CapturedDirectory{Key: "tree", Path: "src", Exists: true, Entries: []scoring.DirectoryEntry{{Path: "src/a.py"}, {Path: "src/b.py"}}}),
		ev(event.CodeExecuted, 2, scoring.CodeRun{ValidatorKey: "tests", TestCommand: "pytest -q", ExitCode: new(1), Stdout: "1 failed, 2 passed\n"}),
		ev(event.CommandDone, 2, event.Command{Action: "exec", Argv: []string{"python", "-m", "pytest"}, ExitCode: 1}),
		ev(event.Completed, 2, event.End{FinalOutput: "15", StopReason: "completed", StepCount: 1, ToolCallCount: 1}),
		ev(event.ScoringStart, 2, event.ScoringStarted{EvaluationSpecID: "abc"}),
		ev(event.ScoringDone, 2, struct{}{}),
		ev(event.TrialDone, 2, event.TrialEnd{Trial: trials()[1]}),
		ev(event.RunFinished, 0, event.RunEnd{Status: "cancelled", Reason: "interrupted"}),
	}
}

func replay() view.ReplayDocument {
	var second []event.Event
	for _, e := range facts() {
		if e.Attempt == 2 {
			second = append(second, e)
		}
	}
	return view.ReplayDocument{State: "ready", RunID: runID, RunAgentID: agentID, RunAgentLabel: "claude-fix", TrialID: trialID,
		CaseKey: "fizzbuzz", Repetition: 1, Attempt: 2, Outcome: scoring.OutcomeFailed, Code: "no_submit", Phase: "agent",
		Scorecard: new(view.NewTrial(trials()[1])), Replay: event.NewReplay(second)}
}

// replayStep is the page of one step: a request that failed.
func replayStep() view.ReplayDocument {
	d := replay()
	call := event.Tool{ToolCallID: "c1", ToolName: "http_request", ToolCategory: "primitive", Arguments: mustJSON(map[string]string{"method": "GET", "url": "https://shop.example/stock?q=tea"})}
	asked := event.Event{Type: event.ToolStarted, Sequence: 7, OccurredAt: noon, Payload: mustJSON(call)}
	call.Result = &event.ToolResult{ToolCallID: "c1", IsError: true, Content: `{"error":"http_request: tls: the certificate is signed by an authority that this machine does not know"}`}
	d.Replay = event.NewReplay([]event.Event{asked, {Type: event.ToolFailed, Sequence: 9, OccurredAt: noon.Add(1500 * time.Millisecond), Payload: mustJSON(call)}})
	d.Page(0, 1)
	return d
}

func triage() view.TriageDocument {
	d := view.TriageDocument{Run: runDocument(), Scorecard: &view.Agent{Label: "claude-fix", Headline: "failed", OverallScore: new(0.25)},
		Ranking: view.RankingDocument{State: "ready"}, NextCommands: view.List[string]{"agentclash replay get 0000e1e1 --step 7"}}
	d.Agents = d.Run.Agents
	d.SelectedAgent = &d.Agents[0]
	d.Failures = view.FailuresDocument{RunID: runID, Total: 12, ClusterTotal: 1,
		Items:    view.List[review.Item]{{TrialID: trialID, Agent: "claude-fix", CaseKey: "fizzbuzz", Repetition: 1, Outcome: "failed", Severity: "blocking", Class: "malformed_output", Headline: "the answer is no JSON"}},
		Clusters: view.List[review.Cluster]{{Key: "frc_0123456789abcdef", Count: 12, Severity: "blocking", Class: "malformed_output", Headline: "the answer is no JSON", Action: "look at the schema"}}}
	r := replay()
	d.Artifacts = view.Artifacts(r)
	d.FirstFailure = new(r.Steps[r.FirstFailure(nil)].Number)
	r.Page(4, 3)
	d.Replay = &r
	d.MissingAgentGuidance = new("the run has 2 agents (claude-fix, gpt): this is claude-fix; --agent NAME shows another")
	return d
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// renderer is one human form with a value to show.
type renderer struct {
	name string
	draw func(io.Writer, view.Options, func(any)) error
}

// draws makes a renderer of a value and the function that writes it. The
// value is handed to change first, so that a test can spoil it.
func draws[T any](name string, value func() T, write func(io.Writer, T, view.Options) error) renderer {
	return renderer{name, func(w io.Writer, o view.Options, change func(any)) error {
		v := value()
		change(&v)
		return write(w, v, o)
	}}
}

func gateRecord() view.GateRecord {
	return view.GateRecord{GateResult: gate(), GateSides: view.GateSides{BaselineRunID: runID, CandidateRunID: agentID}}
}

func renderers() []renderer {
	return []renderer{
		draws("start", startDocument, view.Start),
		draws("scorecard", scorecardDocument, view.ScorecardReport),
		draws("comparison", comparison, view.Comparison),
		draws("gate", gateRecord, view.Gate),
		draws("gates", gateEntries, view.GateList),
		draws("divergence", divergence, view.Divergence),
		draws("runs", func() view.Page[view.Run] { return view.Page[view.Run]{Items: view.List[view.Run]{runDocument()}} }, view.RunList),
		draws("run", runDocument, view.RunDetails),
		draws("agents", func() view.List[view.RunAgent] { return runDocument().Agents }, view.RunAgents),
		draws("ranking", ranking, view.RankingTable),
		draws("session", sessionDocument, view.Session),
		draws("sessions", sessionPage, view.SessionList),
		draws("events", facts, emitAll(func(w io.Writer, o view.Options) event.Sink { return view.Events(w, o) })),
		draws("follow", facts, emitAll(view.Follow)),
		draws("replay", replay, view.Replay),
		draws("replaystep", replayStep, view.ReplayStep),
		draws("triage", triage, view.Triage),
		draws("baseline", func() view.BaselineDocument {
			return view.BaselineDocument{WorkspaceID: "default", Configured: true, Bookmark: bookmark()}
		}, view.Baseline),
		draws("packs", packs, view.PackList),
		draws("deployments", func() view.Page[view.Deployment] {
			return view.Page[view.Deployment]{Items: view.List[view.Deployment]{{ID: runID, Name: "gpt", Provider: "openai", Model: "gpt", Kind: "model", Target: "openai/gpt",
				Account: "env://OPENAI_API_KEY", CreatedAt: new(noon.Add(-26 * time.Hour))}}}
		}, view.DeploymentList),
		draws("doctor", doctor, view.Doctor),
		draws("plan", plan, view.Plan),
		draws("packdoctor", packDoctor, view.PackDoctor),
		draws("rescore", rescored, writeRescored),
		draws("rescorings", rescorings, view.Rescorings),
		draws("rescored", rescoredCard, view.ScorecardReport),
	}
}

// packDoctor has one finding of each form, and more of one than are listed.
func packDoctor() view.PackDoctorDocument {
	d := view.PackDoctorDocument{
		Pack: view.Pack{Slug: "sums", Version: 3}, Errors: 24, Warnings: 2, Reference: "sums.reference.yaml",
		Agents:        view.List[string]{"reference", "echo", "hardcoded"},
		MutantsJudged: 6, MutantsNoticed: 5, Notes: view.List[string]{"2 trials left too much to keep: mutants are judged on the others"},
		Cases: view.List[view.ExaminedCase]{
			{InputSet: "default", CaseKey: "small", Trials: view.List[view.ExaminedTrial]{
				{Agent: "reference", Outcome: scoring.OutcomeFailed, Reason: "the overall score 0.0000 is below the threshold of 1.0000"},
				{Agent: "echo", Outcome: scoring.OutcomePassed}, {Agent: "hardcoded", Outcome: scoring.OutcomePassed, Own: true, Right: true}}},
			{InputSet: "extra", CaseKey: "large", Trials: view.List[view.ExaminedTrial]{
				{Agent: "reference", Outcome: scoring.OutcomePassed, Right: true},
				{Agent: "echo", Outcome: scoring.OutcomeInvalid, Code: "sandbox_lost"}, {Agent: "hardcoded", Outcome: scoring.OutcomeFailed, Right: true}}},
		},
	}
	for i := range 24 {
		d.Findings = append(d.Findings, view.PackFinding{Severity: "error", Code: "cheat_passed", InputSet: "default", CaseKey: fmt.Sprintf("case-%d", i),
			Agent: "echo", Message: "an agent that repeats what it was asked passes; it is let through by \"named\""})
	}
	d.Findings = append(d.Findings,
		view.PackFinding{Severity: "warning", Code: "invalid_trial", Message: "2 trials were not judged, and not the pack's fault: sandbox_lost in the phase agent: gone"},
		view.PackFinding{Severity: "warning", Code: "unnoticed_mutant", Field: "version.evaluation_spec.validators[1]", Validator: "answer",
			Message: "no case notices when the validator \"answer\" always passes: what it would stop is stopped by something else too, or no case tests it"})
	return d
}

// manyCases is an examination that is too long for a table.
func manyCases() view.PackDoctorDocument {
	d := view.PackDoctorDocument{Clean: true, Agents: view.List[string]{"echo"}}
	for i := range 60 {
		outcome, right := scoring.OutcomeFailed, true
		if i == 7 {
			outcome, right = scoring.OutcomePassed, false
		}
		d.Cases = append(d.Cases, view.ExaminedCase{InputSet: "default", CaseKey: fmt.Sprintf("case-%d", i),
			Trials: view.List[view.ExaminedTrial]{{Agent: "echo", Outcome: outcome, Right: right}}})
	}
	return d
}

func emitAll(sink func(io.Writer, view.Options) event.Sink) func(io.Writer, []event.Event, view.Options) error {
	return func(w io.Writer, events []event.Event, o view.Options) error {
		s := sink(w, o)
		for _, e := range events {
			if err := s.Emit(context.Background(), e); err != nil {
				return err
			}
		}
		return nil
	}
}

// side is a side whose trials ended in these ways.
func side(card scoring.AgentScorecard, causes ...compare.InvalidCause) *compare.Snapshot {
	return &compare.Snapshot{Scorecard: &card, InvalidCauses: causes}
}

func comparison() view.ComparisonDocument {
	candidate := participant()
	candidate.RunID, candidate.RunName = "0195a1b2-0000-7000-8000-00000000f2f2", "tonight"
	return view.ComparisonDocument{
		WorkspaceID: "default", Baseline: *bookmark(), Candidate: candidate, ReleaseGate: new(gate()),
		BaselineSide:  side(scoring.AgentScorecard{Trials: 4, PassedTrials: 4}),
		CandidateSide: side(agentCard(), compare.InvalidCause{Code: "rate_limit", Phase: "model", Trials: 1}),
		Comparison: compare.Comparison{
			State: compare.PartialEvidence, Status: compare.Comparable,
			BaselineRunID: runID, BaselineRunAgentID: agentID, CandidateRunID: candidate.RunID, CandidateRunAgentID: agentID,
			AgentDeltas: []compare.Delta{
				{Metric: "overall_score", BaselineValue: new(1.0), CandidateValue: new(0.625), Delta: new(-0.375), BetterDirection: "higher", Outcome: "worse", State: "available"},
				{Metric: "pass_rate", BaselineValue: new(1.0), CandidateValue: new(0.5), Delta: new(-0.5), BetterDirection: "higher", Outcome: "worse", State: "available"},
				{Metric: "cost_usd_per_trial", BaselineValue: new(0.031), CandidateValue: new(0.022), Delta: new(-0.009), BetterDirection: "lower", Outcome: "better", State: "available"},
				{Metric: "latency_ms", BaselineValue: new(1200.0), CandidateValue: new(61200.0), Delta: new(60000.0), BetterDirection: "lower", Outcome: "worse", State: "available"},
				{Metric: "total_tokens_per_trial", BaselineValue: new(1234.0), CandidateValue: new(1234.0), Delta: new(0.0), BetterDirection: "lower", Outcome: "same", State: "available"},
			},
			KeyDeltas: []compare.Delta{
				{Metric: "correctness", BaselineValue: new(1.0), CandidateValue: new(0.625), Delta: new(-0.375), BetterDirection: "higher", Outcome: "worse", State: "available"},
				{Metric: "accuracy", BaselineValue: new(0.995), BetterDirection: "higher", Outcome: "unknown", State: "unavailable"},
			},
			Statistics: doubts(),
			Cases: compare.CaseComparison{
				Compared: 2, OnlyBaseline: []string{"retired"}, DigestDiffers: []string{"reworded", "rewritten"},
				Paired: []compare.CasePair{
					{CaseKey: "fizzbuzz", BaselinePassed: 1, BaselineValid: 1, CandidatePassed: 1, CandidateValid: 1, VerdictChange: compare.CaseUnchanged},
					{CaseKey: "palindrome <b>", BaselinePassed: 1, BaselineValid: 1, CandidateValid: 1, Delta: new(-0.75), VerdictChange: compare.CaseFlippedToFailing},
					{CaseKey: "flaky", BaselinePassed: 1, BaselineValid: 1, VerdictChange: compare.CaseUnmeasured},
				},
			},
			RegressionReasons: []string{"correctness fell by 0.38"},
			EvidenceQuality: compare.EvidenceQuality{MissingFields: []string{"dimension_deltas.accuracy"},
				Warnings: []string{"1 of 3 candidate trials was invalid: rate_limit in model"}},
			Summary: "worse on 2 compared cases",
		},
	}
}

// doubts tell the latency apart and nothing else.
func doubts() *compare.Statistics {
	row := func(metric, conclusion string, low, high float64) compare.Doubt {
		return compare.Doubt{Metric: metric, N: 2, Conclusion: conclusion, Interval: &stats.Interval{Low: low, High: high, Level: 0.95}}
	}
	return &compare.Statistics{Alpha: 0.05, Tail: stats.TwoSided, Correction: "Holm over 2 dimensions", FlippedToFailing: 1,
		Rows: []compare.Doubt{
			row("overall_score", "~", -0.8, 0.1), row("pass_rate", "~", -0.9, 0.12), row("cost_usd_per_trial", "~", -0.02, 0.001),
			row("latency_ms", "worse", 50000, 70000), {Metric: "total_tokens_per_trial", N: 2, Conclusion: "~"},
			{Metric: "accuracy", Conclusion: "~"}, row("correctness", "~", -0.8, 0.1),
		},
		Stability: &compare.Stability{Baseline: compare.SideStability{Always: 2}, Candidate: compare.SideStability{Always: 1, Sometimes: 1},
			Repeated: []compare.PassK{{K: 1}, {K: 2, BaselinePassAtK: 1, CandidatePassAtK: 0.75, BaselinePassPowK: 1, CandidatePassPowK: 0.5}}},
		Summary: "pass rate: cannot tell: exact McNemar, two-sided, n 2, p 1; worse: \"latency_ms\"; the other 6 cannot be told from chance at 0.05"}
}

func gateEntries() view.Page[view.GateEntry] {
	return view.Page[view.GateEntry]{Total: 2, Limit: 20, Items: view.List[view.GateEntry]{
		{ID: "0195a1b2-0000-7000-8000-0000000000aa", Verdict: "fail", PolicyKey: "release <1>", PolicyVersion: 3, ReasonCode: "regressed_pass_rate",
			GateSides: view.GateSides{BaselineRunID: runID, CandidateRunID: runID}, GeneratedAt: noon.Add(-time.Hour)},
		{ID: "0195a1b2-0000-7000-8000-0000000000ab", Verdict: "insufficient_evidence", PolicyKey: "default", PolicyVersion: 1, ReasonCode: "baseline_stale"},
	}}
}

func divergence() view.DivergenceDocument {
	return view.DivergenceDocument{CaseKey: "palindrome <b>", Repetition: 2,
		Baseline: view.DivergedTrial{TrialID: runID, Outcome: "passed"}, Candidate: view.DivergedTrial{TrialID: agentID, Outcome: "failed"},
		Point: &diverge.Point{Shared: 3, Baseline: &diverge.Mark{Sequence: 9, Type: event.ToolStarted, Tool: "read_file",
			Text: `{"path":"a"}`, Digest: "0123456789abcdef0123456789abcdef"}}}
}

func gate() compare.GateResult {
	return compare.GateResult{
		Verdict: compare.Fail, ReasonCode: "threshold_fail_correctness", Summary: "correctness worsened by 0.38, the limit is 0.05",
		EvidenceStatus: "sufficient", PolicyKey: "default", PolicyVersion: 1, PolicyFingerprint: "0123456789abcdef0123456789abcdef",
		EvaluationDetails: compare.EvaluationDetails{
			DimensionResults: map[string]compare.DimensionResult{
				"correctness": {State: "available", WorseningDelta: new(0.375), WarnThreshold: new(0.02), FailThreshold: new(0.05), Outcome: "fail"},
				"accuracy":    {State: "unavailable", FailThreshold: new(0.05), Outcome: "unavailable"},
			},
			TriggeredConditions: []string{"threshold_fail_correctness"},
			Warnings:            []string{"accuracy was not judged"},
			MissingFields:       []string{"dimension_deltas.accuracy"},
			RuleResults: []compare.RuleResult{
				{Rule: "max_cost_usd_per_trial", Observed: new(0.2), Limit: 0.1, Outcome: "fail", ReasonCode: "cost_above_maximum",
					Summary: "the candidate's cost in USD per trial is 0.2, the limit (max_cost_usd_per_trial) is 0.1"},
				{Rule: "max_tokens_increase", Limit: 0.2, Outcome: "insufficient", ReasonCode: "tokens_unavailable", Summary: "the increase of tokens per trial is not known"},
			},
			StatisticalResults: []compare.StatisticalResult{
				{Metric: "pass_rate", N: 12, Method: "exact McNemar", Tail: stats.Less, MeanDifference: new(-0.5), P: new(0.00001), AdjustedP: new(0.00002), Outcome: "regressed"},
				{Metric: "correctness", N: 2, Method: "exact sign-flip permutation", MeanDifference: new(-0.1), P: new(0.25), Outcome: "too_few_cases"},
			},
		},
	}
}

func scorecardDocument() view.ScorecardDocument {
	d := comparison()
	return view.ScorecardDocument{Candidate: participant(), Scorecard: scorecard(), Baseline: bookmark(),
		Comparison: &d.Comparison, ReleaseGate: d.ReleaseGate}
}
