package event

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// SchemaVersion is the version of the envelope and its payloads.
const SchemaVersion = "2026-03-15"

// Event is one dated fact. Run facts have no trial fields; trial facts carry
// all of them, and Sequence counts from 1 within an attempt of a trial.
type Event struct {
	ID            string          `json:"event_id"`
	SchemaVersion string          `json:"schema_version"`
	RunID         string          `json:"run_id"`
	RunAgentID    string          `json:"run_agent_id,omitempty"`
	TrialID       string          `json:"trial_id,omitempty"`
	CaseKey       string          `json:"case_key,omitempty"`
	Repetition    int             `json:"repetition,omitempty"` // from 1
	Attempt       int             `json:"attempt,omitempty"`    // from 1
	Sequence      int64           `json:"sequence_number"`
	Type          Type            `json:"event_type"`
	Source        string          `json:"source"`
	OccurredAt    time.Time       `json:"occurred_at"`
	Payload       json.RawMessage `json:"payload"`
	// Transient events (deltas after the first of a call) go to views only
	// and are never stored.
	Transient bool `json:"-"`
}

// Type is the kind of a fact.
type Type string

// The kinds. Names up to the grader block are the published ones; run facts
// and call failures are ours.
const (
	RunStarted   Type = "run.started"
	RunFinished  Type = "run.finished"
	TrialQueued  Type = "trial.queued"
	TrialDone    Type = "trial.finished"
	BudgetReach  Type = "budget.reached"
	Decided      Type = "decision.reached"
	SandboxLost  Type = "sandbox.lost"
	EgressDecide Type = "network.egress.decided"
	CallFailed   Type = "model.call.failed"
	CallRetried  Type = "model.call.retried"
	CallRefused  Type = "model.call.refused"
	Started      Type = "system.run.started"
	Completed    Type = "system.run.completed"
	Failed       Type = "system.run.failed"
	OutputFinal  Type = "system.output.finalized"
	StepStarted  Type = "system.step.started"
	StepDone     Type = "system.step.completed"
	CallStarted  Type = "model.call.started"
	CallDone     Type = "model.call.completed"
	OutputDelta  Type = "model.output.delta"
	ToolProposed Type = "model.tool_calls.proposed"
	ToolStarted  Type = "tool.call.started"
	ToolDone     Type = "tool.call.completed"
	ToolFailed   Type = "tool.call.failed"
	ToolDrift    Type = "tool_drift"
	CommandStart Type = "sandbox.command.started"
	CommandDone  Type = "sandbox.command.completed"
	CommandFail  Type = "sandbox.command.failed"
	FileCaptured Type = "grader.verification.file_captured"
	DirListed    Type = "grader.verification.directory_listed"
	CodeExecuted Type = "grader.verification.code_executed"
	JudgeStarted Type = "judge.call.started"
	JudgeDone    Type = "judge.call.completed"
	ScoringStart Type = "scoring.started"
	ScoringDone  Type = "scoring.completed"
	ScoringFail  Type = "scoring.failed"

	// What a pack's security block has the engine do. A prompt that is put is
	// written by the pack: looking for what the agent gave away leaves it out.
	SecretPlanted Type = "security.secret.planted"
	PromptPut     Type = "security.prompt.put"
	VaultAsked    Type = "security.vault.requested"

	// A race and conversations: the fold reads them, whoever states them.
	Standings     Type = "race.standings.injected"
	TurnUser      Type = "turn.user.message"
	TurnSimulated Type = "turn.user.simulated"
	TurnAsked     Type = "turn.user.asked" // a model, and not yet heard
	TurnAssistant Type = "turn.assistant.message"
	TurnAwaiting  Type = "turn.awaiting_human"
	TurnDone      Type = "turn.completed"

	// How a conversation came to what it is.
	PhaseDecided     Type = "turn.phase.decided"
	TurnExpired      Type = "turn.human.expired"
	ConversationDone Type = "conversation.completed"
)

// The sources of events.
const (
	SourceNative     = "native_engine"
	SourcePromptEval = "prompt_eval_engine"
	SourceResponses  = "responses_engine"
	SourceMultiTurn  = "multi_turn_engine"
	SourceHosted     = "hosted_external" // an agent that is a program or an endpoint
	SourceGrader     = "grader_verification"
	SourceScoring    = "worker_scoring"
	SourceRun        = "run"
)

// Sink receives facts in order. Emit is safe for concurrent use by several
// trials; the facts of one attempt come from one goroutine, in sequence.
type Sink interface {
	Emit(ctx context.Context, e Event) error
}

// SinkFunc makes a function a Sink.
type SinkFunc func(ctx context.Context, e Event) error

// Emit calls f.
func (f SinkFunc) Emit(ctx context.Context, e Event) error { return f(ctx, e) }

// Tee hands each fact to durable first, whose error stops the run, and then to
// the views, whose errors are ignored: a broken screen never loses a fact.
// Transient facts skip durable.
func Tee(durable Sink, views ...Sink) Sink {
	return SinkFunc(func(ctx context.Context, e Event) error {
		if !e.Transient {
			if err := durable.Emit(ctx, e); err != nil {
				return err
			}
		}
		for _, v := range views {
			_ = v.Emit(ctx, e) // a view is decoration
		}
		return nil
	})
}

// NewID names a trial's event. The parts make it unique, so that a store need
// not keep it.
func NewID(trialID string, attempt int, sequence int64) string {
	return trialID + "." + strconv.Itoa(attempt) + "." + strconv.FormatInt(sequence, 10)
}

// NewRunID names a run's own event.
func NewRunID(runID string, sequence int64) string {
	return runID + "." + strconv.FormatInt(sequence, 10)
}

// Decode reads an event's payload into T.
func Decode[T any](e Event) (T, error) {
	var v T
	if len(e.Payload) == 0 {
		return v, errors.New("event " + string(e.Type) + " has no payload")
	}
	err := json.Unmarshal(e.Payload, &v)
	return v, err
}
