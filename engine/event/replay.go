package event

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

// ReplaySchema is the version of the replay document.
const ReplaySchema = "2026-03-16"

// Replay is the readable history of one attempt of a trial.
type Replay struct {
	SchemaVersion string         `json:"schema_version"`
	Status        string         `json:"status"` // not_started, running, completed or failed
	Headline      string         `json:"headline"`
	Counts        ReplayCounts   `json:"counts"`
	TerminalState *TerminalState `json:"terminal_state,omitempty"`
	Steps         []ReplayStep   `json:"steps"`
}

// ReplayCounts says how much there is of each.
type ReplayCounts struct {
	Events          int `json:"events"`
	ReplaySteps     int `json:"replay_steps"`
	AgentSteps      int `json:"agent_steps"`
	ModelCalls      int `json:"model_calls"`
	ToolCalls       int `json:"tool_calls"`
	JudgeCalls      int `json:"judge_calls"`
	SandboxCommands int `json:"sandbox_commands"`
	Outputs         int `json:"outputs"`
	ScoringEvents   int `json:"scoring_events"`
}

// TerminalState is the event that ended the attempt. How its scoring went does
// not change how the agent's run went.
type TerminalState struct {
	Status         string    `json:"status"`
	EventType      Type      `json:"event_type"`
	Source         string    `json:"source"`
	SequenceNumber int64     `json:"sequence_number"`
	OccurredAt     time.Time `json:"occurred_at"`
	Headline       string    `json:"headline"`
	ErrorMessage   string    `json:"error_message,omitempty"`
}

// ReplayStep is one thing that happened, from its first event to its last.
type ReplayStep struct {
	Number            int                 `json:"step_number"` // from 1 in the replay
	Type              string              `json:"type"`
	Status            string              `json:"status"` // running, completed, failed or interrupted
	Headline          string              `json:"headline"`
	Source            string              `json:"source"`
	StartedSequence   int64               `json:"started_sequence"`
	CompletedSequence int64               `json:"completed_sequence,omitempty"`
	OccurredAt        time.Time           `json:"occurred_at"`
	CompletedAt       *time.Time          `json:"completed_at,omitempty"`
	DurationMS        *int64              `json:"duration_ms,omitempty"`
	EventCount        int                 `json:"event_count"`
	EventTypes        []Type              `json:"event_types"`
	StepIndex         int                 `json:"step_index,omitempty"`
	ProviderKey       string              `json:"provider_key,omitempty"`
	ProviderModelID   string              `json:"provider_model_id,omitempty"`
	ToolName          string              `json:"tool_name,omitempty"`
	JudgeKey          string              `json:"judge_key,omitempty"`
	TurnIndex         *int                `json:"turn_index,omitempty"` // of a conversation, from 0
	PhaseID           string              `json:"phase_id,omitempty"`
	Actor             string              `json:"actor,omitempty"`
	UserMessage       string              `json:"user_message,omitempty"`
	AssistantMessage  string              `json:"assistant_message,omitempty"`
	Mismatch          *bool               `json:"mismatch,omitempty"`
	Prompt            string              `json:"prompt,omitempty"` // of a judge
	Arguments         json.RawMessage     `json:"arguments,omitempty"`
	Input             []provider.Message  `json:"input,omitempty"` // new messages of a model call
	ModelOutput       string              `json:"model_output,omitempty"`
	ModelToolCalls    []provider.ToolCall `json:"model_tool_calls,omitempty"`
	ToolResult        string              `json:"tool_result,omitempty"`
	HTTP              *HTTPCall           `json:"http,omitempty"` // of a call that was a request
	FinalOutput       string              `json:"final_output,omitempty"`
	Detail            json.RawMessage     `json:"detail,omitempty"` // a capture, a code run, a lost box
	ErrorMessage      string              `json:"error_message,omitempty"`
}

// replayKind says how an event takes part in a replay: what kind of step it
// belongs to, whether it opens or closes one, and with which status.
type replayKind struct {
	step   string
	opens  bool
	closes bool
	within bool // it belongs to the step that is open, and ends nothing
	status string
}

var replayKinds = map[Type]replayKind{
	Started:      {step: "run", opens: true},
	Completed:    {step: "run", closes: true, status: "completed"},
	Failed:       {step: "run", closes: true, status: "failed"},
	StepStarted:  {step: "agent_step", opens: true},
	StepDone:     {step: "agent_step", closes: true, status: "completed"},
	CallStarted:  {step: "model_call", opens: true},
	CallDone:     {step: "model_call", closes: true, status: "completed"},
	CallFailed:   {step: "model_call", closes: true, status: "failed"},
	CallRefused:  {step: "event", status: "failed"}, // no call was made
	ToolStarted:  {step: "tool_call", opens: true},
	ToolDone:     {step: "tool_call", closes: true, status: "completed"},
	ToolFailed:   {step: "tool_call", closes: true, status: "failed"},
	CommandStart: {step: "sandbox_command", opens: true},
	CommandDone:  {step: "sandbox_command", closes: true, status: "completed"},
	CommandFail:  {step: "sandbox_command", closes: true, status: "failed"},
	JudgeStarted: {step: "judge_call", opens: true},
	JudgeDone:    {step: "judge_call", closes: true, status: "completed"},
	ScoringStart: {step: "scoring", opens: true},
	ScoringDone:  {step: "scoring", closes: true, status: "completed"},
	ScoringFail:  {step: "scoring", closes: true, status: "failed"},
	OutputFinal:  {step: "output", status: "completed"},
	FileCaptured: {step: "capture", status: "completed"},
	DirListed:    {step: "capture", status: "completed"},
	CodeExecuted: {step: "code_execution", status: "completed"},
	TurnUser:     {step: "turn", opens: true},
	// what the agent says is in the turn
	TurnAssistant:    {step: "turn", within: true},
	TurnDone:         {step: "turn", closes: true, status: "completed"},
	TurnAsked:        {step: "simulated_user", opens: true},
	TurnSimulated:    {step: "simulated_user", closes: true, status: "completed"},
	TurnAwaiting:     {step: "human", opens: true},
	TurnExpired:      {step: "human", closes: true, status: "failed"},
	PhaseDecided:     {step: "phase", status: "completed"},
	ConversationDone: {step: "conversation", status: "completed"},
}

// StepKind is the kind of step of a replay that an event belongs to.
func StepKind(t Type) string { return cmp.Or(replayKinds[t].step, "event") }

// NewReplay tells the history of one attempt from its events, in sequence.
func NewReplay(events []Event) Replay {
	r := Replay{SchemaVersion: ReplaySchema, Status: "not_started", Headline: "not started", Steps: []ReplayStep{}}
	open := map[string][]int{} // indexes of open steps by step type, newest last
	for _, e := range events {
		if e.Type == OutputDelta || e.Type == TrialQueued || e.Type == TrialDone {
			continue
		}
		kind, known := replayKinds[e.Type]
		switch {
		case !known:
			kind = replayKind{step: "event", status: "completed"}
		case e.Type == CallFailed || e.Type == CallRetried:
			kind = failedCall(kind, e)
		case e.Type == TurnUser:
			r.answered(open, e)
		}
		r.add(open, kind, e)
	}
	r.finish(len(events))
	return r
}

// failedCall says whose call it was that failed: the agent's, a judge's or a
// simulated user's.
func failedCall(kind replayKind, e Event) replayKind {
	v, _ := Decode[CallError](e)
	switch {
	case v.PhaseID != "":
		return replayKind{step: "simulated_user", closes: true, status: "failed"}
	case e.Type == CallFailed && (v.JudgeKey != "" || e.Source == SourceScoring):
		return replayKind{step: "judge_call", within: true}
	}
	return kind
}

// answered ends the waiting for a person whose message this is.
func (r *Replay) answered(open map[string][]int, e Event) {
	stack := open["human"]
	if len(stack) == 0 {
		return
	}
	s := &r.Steps[stack[len(stack)-1]]
	at, ms := e.OccurredAt, e.OccurredAt.Sub(s.OccurredAt).Milliseconds()
	s.Status, s.CompletedSequence, s.CompletedAt, s.DurationMS = "completed", e.Sequence, &at, &ms
	open["human"] = stack[:len(stack)-1]
}

func (r *Replay) add(open map[string][]int, kind replayKind, e Event) {
	i := -1
	if stack := open[kind.step]; kind.closes && len(stack) > 0 {
		i = stack[len(stack)-1]
		open[kind.step] = stack[:len(stack)-1]
	}
	if stack := open[kind.step]; kind.within && len(stack) > 0 {
		i = stack[len(stack)-1]
	}
	if i < 0 {
		i = len(r.Steps)
		r.Steps = append(r.Steps, ReplayStep{
			Number: i + 1, Type: kind.step, Status: "running", Source: e.Source,
			StartedSequence: e.Sequence, OccurredAt: e.OccurredAt,
		})
	}
	s := &r.Steps[i]
	s.EventCount++
	s.EventTypes = append(s.EventTypes, e.Type)
	s.enrich(e)
	if kind.opens {
		open[kind.step] = append(open[kind.step], i)
		return
	}
	if kind.within {
		return
	}
	at, ms := e.OccurredAt, e.OccurredAt.Sub(s.OccurredAt).Milliseconds()
	s.Status, s.CompletedSequence, s.CompletedAt, s.DurationMS = kind.status, e.Sequence, &at, &ms
	if kind.step == "run" {
		r.TerminalState = &TerminalState{
			Status: kind.status, EventType: e.Type, Source: e.Source, SequenceNumber: e.Sequence,
			OccurredAt: at, Headline: "run " + kind.status, ErrorMessage: s.ErrorMessage,
		}
	}
}

// enrich copies what a reader wants to see of an event into its step. A
// payload that does not decode leaves the step as it is: a replay must show
// what it can of a damaged log.
func (s *ReplayStep) enrich(e Event) {
	switch e.Type {
	case StepStarted:
		v, _ := Decode[Step](e)
		s.StepIndex = v.StepIndex
	case CallStarted:
		v, _ := Decode[Call](e)
		s.ProviderKey, s.ProviderModelID, s.Input = v.ProviderKey, v.Model, v.Messages
	case CallDone:
		v, _ := Decode[CallEnd](e)
		s.ProviderModelID, s.ModelOutput, s.ModelToolCalls = v.ProviderModelID, v.OutputText, v.ToolCalls
	case CallFailed, CallRetried:
		v, _ := Decode[CallError](e)
		s.ErrorMessage = v.Code + ": " + v.Message
	case CallRefused:
		v, _ := Decode[RefusedCall](e)
		s.ProviderModelID, s.ErrorMessage, s.Detail = v.Model, v.Code+": "+v.Message, e.Payload
	case ToolStarted, ToolDone, ToolFailed:
		s.enrichTool(e)
	case JudgeStarted:
		v, _ := Decode[JudgeCall](e)
		s.JudgeKey, s.ProviderKey, s.ProviderModelID, s.Prompt = v.JudgeKey, v.ProviderKey, v.Model, v.Prompt
	case JudgeDone:
		v, _ := Decode[JudgeReply](e)
		s.JudgeKey, s.ProviderKey, s.ProviderModelID, s.ModelOutput, s.ErrorMessage = v.JudgeKey, v.ProviderKey, v.ProviderModelID, v.ResponseText, v.Reason
	case OutputFinal:
		v, _ := Decode[Output](e)
		s.FinalOutput = v.FinalOutput
	case Completed:
		v, _ := Decode[End](e)
		s.FinalOutput = v.FinalOutput
	case Failed:
		v, _ := Decode[Failure](e)
		s.ErrorMessage = v.Error
	case TurnUser, TurnAssistant, TurnDone, TurnAsked, TurnSimulated, TurnAwaiting, TurnExpired, PhaseDecided, ConversationDone:
		s.enrichTurn(e)
	case CommandStart, CommandDone, CommandFail, FileCaptured, DirListed, CodeExecuted, SandboxLost, EgressDecide, BudgetReach, ScoringFail,
		SecretPlanted, PromptPut, VaultAsked, ToolDrift:
		s.Detail = e.Payload
	}
}

// enrichTurn takes what a conversation's events have in common, and what they say.
func (s *ReplayStep) enrichTurn(e Event) {
	v, _ := Decode[struct {
		TurnIndex *int   `json:"turn_index"`
		PhaseID   string `json:"phase_id"`
		Actor     string `json:"actor"`
		Content   string `json:"content"`
		Mismatch  *bool  `json:"mismatch"`
		Provider  string `json:"provider_key"`
		Model     string `json:"provider_model_id"`
	}](e)
	if v.TurnIndex != nil {
		s.TurnIndex = v.TurnIndex
	}
	s.PhaseID, s.Actor = cmp.Or(v.PhaseID, s.PhaseID), cmp.Or(v.Actor, s.Actor)
	s.ProviderKey, s.ProviderModelID = cmp.Or(v.Provider, s.ProviderKey), cmp.Or(v.Model, s.ProviderModelID)
	switch e.Type {
	case TurnUser:
		s.UserMessage = v.Content
	case TurnAssistant:
		s.AssistantMessage = v.Content
	case TurnDone:
		s.Mismatch = v.Mismatch
	default:
		s.Detail = e.Payload
	}
}

func (s *ReplayStep) enrichTool(e Event) {
	v, _ := Decode[Tool](e)
	s.ToolName, s.Arguments = v.ToolName, v.Arguments
	if v.Result == nil {
		return
	}
	s.ToolResult, s.HTTP = v.Result.Content, NewHTTPCall(v)
	if v.Result.IsError {
		s.ErrorMessage = errorText(v.Result.Content)
	}
}

// finish names the steps, marks what never ended, and sums up.
func (r *Replay) finish(events int) {
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Headline = s.headline()
		if s.Status == "running" && r.TerminalState != nil {
			s.Status, s.Headline = "interrupted", s.Headline+", interrupted"
		}
		r.count(s.Type)
	}
	r.Counts.Events, r.Counts.ReplaySteps = events, len(r.Steps)
	switch {
	case r.TerminalState != nil:
		r.Status, r.Headline = r.TerminalState.Status, r.TerminalState.Headline
	case len(r.Steps) > 0:
		r.Status, r.Headline = "running", r.Steps[len(r.Steps)-1].Headline
	}
}

func (r *Replay) count(step string) {
	switch step {
	case "agent_step":
		r.Counts.AgentSteps++
	case "model_call":
		r.Counts.ModelCalls++
	case "tool_call":
		r.Counts.ToolCalls++
	case "judge_call":
		r.Counts.JudgeCalls++
	case "sandbox_command", "code_execution":
		r.Counts.SandboxCommands++
	case "output":
		r.Counts.Outputs++
	case "scoring":
		r.Counts.ScoringEvents++
	}
}

func (s *ReplayStep) headline() string {
	switch s.Type {
	case "agent_step":
		return fmt.Sprintf("agent step %d", s.StepIndex)
	case "model_call":
		return "model call to " + s.ProviderModelID
	case "tool_call":
		return "tool call: " + s.ToolName
	case "judge_call":
		return "judge " + s.JudgeKey + " asks " + s.ProviderModelID
	case "turn":
		return s.turnHeadline()
	case "simulated_user":
		return "user of phase " + s.PhaseID + " asks " + s.ProviderModelID
	case "human":
		return "a person is awaited in phase " + s.PhaseID
	case "output":
		return "final output"
	case "code_execution":
		return "tests run"
	case "sandbox_command":
		return "sandbox command"
	case "run", "scoring":
		return s.Type + " " + s.Status
	default:
		return string(s.EventTypes[0])
	}
}

func (s *ReplayStep) turnHeadline() string {
	at := 0
	if s.TurnIndex != nil {
		at = *s.TurnIndex
	}
	text := fmt.Sprintf("turn %d, %s", at, s.Actor)
	if s.Mismatch != nil && *s.Mismatch {
		text += ", mismatch"
	}
	return text
}
