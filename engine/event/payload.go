package event

import (
	"encoding/json"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// The payloads, one type for each kind of fact that has one of its own. Keys
// are the published ones where such exist. Every text in here has been
// redacted and bounded before it was emitted.

// RunStart is the payload of run.started: the plan as views need it.
type RunStart struct {
	Name        string     `json:"name"`
	Pack        PackRef    `json:"pack"`
	InputSet    string     `json:"input_set"`
	Mode        string     `json:"execution_mode"`
	Sandbox     string     `json:"sandbox,omitempty"` // docker, scratch or ""
	Agents      []AgentRef `json:"agents"`
	Cases       int        `json:"cases"`
	Repetitions int        `json:"repetitions"`
	Trials      int        `json:"trials"` // in this process: a resumed run has fewer
	Concurrency int        `json:"concurrency"`
	// BudgetUSD bounds the run, 0 where nothing does; ChargedUSD is what earlier
	// processes of a resumed run have used of it.
	BudgetUSD  float64 `json:"budget_usd,omitempty"`
	ChargedUSD float64 `json:"charged_usd,omitempty"`
	// Replay is the digest of the recording that the run plays back, Cache says
	// that replies may come from the cache: durations then are not of this run.
	Replay string `json:"replay_of,omitempty"`
	Cache  bool   `json:"cache,omitempty"`
}

// PackRef names a pack version.
type PackRef struct {
	Slug    string `json:"slug"`
	Name    string `json:"name"`
	Version int32  `json:"version"`
	Digest  string `json:"digest"` // sha256 hex of manifest and assets
}

// AgentRef names a run agent.
type AgentRef struct {
	ID    string `json:"run_agent_id"`
	Label string `json:"label"`
	Model string `json:"model"` // provider/model
}

// RunEnd is the payload of run.finished.
type RunEnd struct {
	Status string `json:"status"` // completed, failed or cancelled
	Reason string `json:"reason,omitempty"`
}

// Queue is the payload of trial.queued.
type Queue struct {
	Attempt int `json:"attempt"`
	// Judging is what earlier attempts used of the judges' limits, when this one
	// goes on with their evidence.
	Judging *JudgeUse `json:"judging,omitempty"`
	// Reused is whose evidence this is, when it is another run's.
	Reused *Reused `json:"reused,omitempty"`
}

// Reused names an attempt of another run's trial.
type Reused struct {
	RunID   string `json:"run_id"`
	TrialID string `json:"trial_id"`
	Attempt int    `json:"attempt"`
}

// JudgeUse is what counts, or would at most count, against the limits of the
// judges of a trial.
type JudgeUse struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
	// Unheard says that calls without an answer are a part of it.
	Unheard bool `json:"unheard,omitempty"`
}

// Max takes the larger of two counts that only grow.
func (u JudgeUse) Max(v JudgeUse) JudgeUse {
	return JudgeUse{max(u.Tokens, v.Tokens), max(u.CostUSD, v.CostUSD), u.Unheard || v.Unheard}
}

// Plus adds up.
func (u JudgeUse) Plus(v JudgeUse) JudgeUse {
	return JudgeUse{u.Tokens + v.Tokens, u.CostUSD + v.CostUSD, u.Unheard || v.Unheard}
}

// TrialStart is the payload of system.run.started.
type TrialStart struct {
	DeploymentType  string `json:"deployment_type"`  // native, command or http
	ExecutionTarget string `json:"execution_target"` // docker, scratch or none
	TraceMode       string `json:"trace_mode"`
	StartedAt       string `json:"started_at"`
	ExecutionMode   string `json:"execution_mode"`
	APISurface      string `json:"api_surface,omitempty"` // responses: the API whose ways the mode is about
	SandboxID       string `json:"sandbox_id,omitempty"`
	// EvidenceLevel is how much of an agent that is not ours can be seen: of a
	// program its model calls, of an endpoint nothing but its answer.
	EvidenceLevel string `json:"evidence_level,omitempty"` // hosted_structured or hosted_black_box
}

// Step is the payload of system.step.started and .completed.
type Step struct {
	StepIndex int `json:"step_index"` // from 1
}

// Call is the payload of model.call.started. Messages holds only what is new
// since the last request of the attempt; MessageCount counts all of them.
type Call struct {
	// StepIndex tells the calls of an attempt apart: those of a program may be
	// under way at once. The events that end the call have the same one; 0 in what
	// was stored before they had it, and of calls that are no step.
	StepIndex           int                `json:"step_index,omitempty"`
	ProviderKey         string             `json:"provider_key"`
	Model               string             `json:"model"`
	APISurface          string             `json:"api_surface,omitempty"` // as in TrialStart
	StepTimeoutMS       int64              `json:"step_timeout_ms,omitempty"`
	MessageCount        int                `json:"message_count"`
	ToolDefinitionCount int                `json:"tool_definition_count"`
	Messages            []provider.Message `json:"messages"`
	Tools               []string           `json:"tools,omitempty"` // names, on the first call only
	// WaitedMS is how long the call waited for its pace; ReservedUSD what was set
	// aside for it of the run's budget, where there is one.
	WaitedMS    int64   `json:"waited_ms,omitempty"`
	ReservedUSD float64 `json:"reserved_usd,omitempty"`
	// MaxOutputTokens is the output bound, where a limit had it lowered.
	MaxOutputTokens int64 `json:"max_output_tokens,omitempty"`
}

// TextDelta is the payload of model.output.delta.
type TextDelta struct {
	ProviderKey     string `json:"provider_key"`
	ProviderModelID string `json:"provider_model_id"`
	StreamKind      string `json:"stream_kind"` // text or tool_call
	TextDelta       string `json:"text_delta,omitempty"`
	ToolName        string `json:"tool_name,omitempty"`
}

// CallEnd is the payload of model.call.completed.
type CallEnd struct {
	StepIndex       int                 `json:"step_index,omitempty"` // as in Call
	ProviderKey     string              `json:"provider_key"`
	ProviderModelID string              `json:"provider_model_id"`
	FinishReason    string              `json:"finish_reason"`
	OutputText      string              `json:"output_text"`
	ToolCalls       []provider.ToolCall `json:"tool_calls"`
	Usage           *provider.Usage     `json:"usage,omitempty"` // absent: unknown
	Timing          Timing              `json:"timing"`
	ChargedUSD      float64             `json:"charged_usd,omitempty"` // to the run's budget
	CacheUse
	// CostUSD is what an endpoint says that its answer cost.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// Note says what of the reply cannot be, and was left out: a negative usage.
	Note string `json:"note,omitempty"`
}

// CacheUse says, in a run with the cache, whether a reply was taken from it.
// Usage and timing of a cached reply are those of the call that was once made.
type CacheUse struct {
	Cached    bool   `json:"cached,omitempty"`
	CacheKey  string `json:"cache_key,omitempty"`
	CacheMiss string `json:"cache_miss,omitempty"` // why it was not
}

// CacheUseOf is what a cache had to do with a reply.
func CacheUseOf(u *provider.CacheUse) CacheUse {
	if u == nil {
		return CacheUse{}
	}
	return CacheUse{u.Hit, u.Key, u.Why}
}

// Timing is how long a call took.
type Timing struct {
	TTFTMS         int64 `json:"ttft_ms"`
	TotalLatencyMS int64 `json:"total_latency_ms"`
}

// CallError is the payload of model.call.failed and model.call.retried.
type CallError struct {
	StepIndex    int    `json:"step_index,omitempty"` // as in Call
	ProviderKey  string `json:"provider_key"`
	Model        string `json:"model"`
	Code         string `json:"code"`
	Status       int    `json:"status,omitempty"`
	Message      string `json:"message"`
	Retryable    bool   `json:"retryable"`
	Try          int    `json:"try"` // from 1
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
	WaitMS       int64  `json:"wait_ms,omitempty"` // on retried: how long we wait
	// SilentMS is, of a call that was ended, how long nothing had come from the
	// provider by then.
	SilentMS int64 `json:"silent_ms,omitempty"`
	// WaitedMS is how long the try had waited for its pace; ChargedUSD what it
	// counts for of the run's budget, since it may be paid for.
	WaitedMS   int64   `json:"waited_ms,omitempty"`
	ChargedUSD float64 `json:"charged_usd,omitempty"`
	// JudgeKey and JudgeUsed belong to a call to a judge: all that has been used
	// so far.
	JudgeKey  string    `json:"judge_key,omitempty"`
	JudgeUsed *JudgeUse `json:"judge_used,omitempty"`
	// PhaseID is the phase of a call to a simulated user.
	PhaseID string `json:"phase_id,omitempty"`
}

// RefusedCall is the payload of model.call.refused: a program asked its model for
// what is not let through, and no call was made.
type RefusedCall struct {
	Code    string `json:"code"`
	Status  int    `json:"status"`          // that the program was told
	Model   string `json:"model,omitempty"` // that was asked, where the request was read so far
	Key     string `json:"key,omitempty"`   // that is not let through, where one is not
	Message string `json:"message"`
	// Count is, of the last one of an attempt, how many it stands for that are not
	// stated themselves.
	Count int `json:"count,omitempty"`
}

// JudgeCall is the payload of judge.call.started: a judge is asked. The first
// of a question has the prompt; so has each of a ranking, which shows its
// candidates in another order each time.
type JudgeCall struct {
	JudgeKey        string `json:"judge_key"`
	Mode            string `json:"mode"`
	JudgeModel      string `json:"judge_model"` // as the evaluation spec names it
	SampleIndex     int    `json:"sample_index"`
	QuestionID      string `json:"question_id"`
	ProviderKey     string `json:"provider_key"`
	Model           string `json:"model"`
	TimeoutMS       int64  `json:"timeout_ms"`
	MaxOutputTokens int64  `json:"max_output_tokens"`
	Prompt          string `json:"prompt,omitempty"`
	// Reserved is the most that the call can use, WaitedMS how long it waited for
	// its pace.
	Reserved JudgeUse `json:"reserved"`
	WaitedMS int64    `json:"waited_ms,omitempty"`
	// CaseKey and Repetition say what a ranking is about: it is the run's fact.
	CaseKey    string `json:"case_key,omitempty"`
	Repetition int    `json:"repetition,omitempty"`
}

// JudgeReply is the payload of judge.call.completed: what came of one sample,
// asked or not.
type JudgeReply struct {
	JudgeKey        string          `json:"judge_key"`
	Mode            string          `json:"mode"`
	JudgeModel      string          `json:"judge_model"` // as the evaluation spec names it
	SampleIndex     int             `json:"sample_index"`
	QuestionID      string          `json:"question_id"`
	Status          string          `json:"status"` // answered, failed or unable_to_judge
	ProviderKey     string          `json:"provider_key"`
	ProviderModelID string          `json:"provider_model_id"`
	ResponseText    string          `json:"response_text,omitempty"`
	FinishReason    string          `json:"finish_reason,omitempty"`
	Code            string          `json:"code,omitempty"`   // of a failed call
	Reason          string          `json:"reason,omitempty"` // why there is no answer
	Usage           *provider.Usage `json:"usage,omitempty"`  // absent: unknown
	Timing          *Timing         `json:"timing,omitempty"`
	// Used is all that has been used so far; a call that does not say what it
	// used counts as the most it can be.
	Used       *JudgeUse `json:"used,omitempty"`
	ChargedUSD float64   `json:"charged_usd,omitempty"` // to the run's budget
	// Candidates are a ranking's, in the order in which they were shown, and
	// OwnPlace is the trial's own among them, from 0. A reply that is Shared was
	// given about several trials: usage and used are of all of them together.
	Candidates []string `json:"candidates,omitempty"`
	OwnPlace   *int     `json:"own_place,omitempty"`
	Shared     bool     `json:"shared,omitempty"`
	// Late says that some of the candidates were ranked without this trial before.
	Late       bool   `json:"late,omitempty"`
	CaseKey    string `json:"case_key,omitempty"`
	Repetition int    `json:"repetition,omitempty"`
	CacheUse
}

// Tool is the payload of tool.call.started, .completed and .failed.
type Tool struct {
	ToolCallID    string          `json:"tool_call_id"`
	ToolName      string          `json:"tool_name"`
	ToolCategory  string          `json:"tool_category"` // primitive, composed or mock, "" when unknown
	Arguments     json.RawMessage `json:"arguments"`
	Result        *ToolResult     `json:"result,omitempty"`
	FailureOrigin string          `json:"failure_origin,omitempty"` // policy, resolution, primitive, delegation, cycle or depth
	// Limit is the sandbox's limit that the call ran into: memory, pids,
	// open_files, workspace_bytes, output_bytes, file_bytes or disk.
	Limit      string `json:"limit,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	// ResolutionChain is, for a composed tool, the tools the call went through,
	// the one that was called first. The resolved one is the last of them;
	// FailureDepth is the place in the chain, from 0, of the one that failed.
	ResolutionChain      []string `json:"resolution_chain,omitempty"`
	ResolvedToolName     string   `json:"resolved_tool_name,omitempty"`
	ResolvedToolCategory string   `json:"resolved_tool_category,omitempty"`
	FailureDepth         *int     `json:"failure_depth,omitempty"`
}

// Drift is the payload of tool_drift: on a replay, a tool answered something
// else than what was recorded, which is what the model was told.
type Drift struct {
	ToolCallID string `json:"tool_call_id"`
	ToolName   string `json:"tool_name"`
	Field      string `json:"field"` // the first that differs
	Recorded   string `json:"recorded"`
	Now        string `json:"now"` // excerpts around what differs
}

// ToolResult is what the model was told.
type ToolResult struct {
	ToolCallID string `json:"tool_call_id"`
	Content    string `json:"content"`
	IsError    bool   `json:"is_error"`
}

// Command is the payload of sandbox.command.*: a program that is the agent. What
// an agent runs is a tool call.
type Command struct {
	Action   string   `json:"sandbox_action"` // exec
	Argv     []string `json:"argv"`
	ExitCode int      `json:"exit_code"`
	Error    string   `json:"error,omitempty"` // why it could not be started
	// Stdout and Stderr have a line in their middle where they are cut.
	Stdout     string `json:"stdout,omitempty"`
	Stderr     string `json:"stderr,omitempty"`
	TimedOut   bool   `json:"timed_out,omitempty"`
	Limit      string `json:"limit,omitempty"` // of the sandbox, that it ran into
	DurationMS int64  `json:"duration_ms,omitempty"`
}

// Output is the payload of system.output.finalized.
type Output struct {
	FinalOutput string `json:"final_output"`
	Source      string `json:"source"` // submit, model, program, endpoint or none
}

// End is the payload of system.run.completed.
type End struct {
	FinalOutput   string `json:"final_output"`
	StopReason    string `json:"stop_reason"`
	StepCount     int    `json:"step_count"`
	ToolCallCount int    `json:"tool_call_count"`
	InputTokens   *int64 `json:"input_tokens,omitempty"`
	OutputTokens  *int64 `json:"output_tokens,omitempty"`
	TotalTokens   *int64 `json:"total_tokens,omitempty"`
	// LatencyMS is the agent's own time, where others took some of it: users of a
	// conversation.
	LatencyMS *int64 `json:"latency_ms,omitempty"`
}

// Failure is the payload of system.run.failed.
type Failure struct {
	Error           string     `json:"error"`
	StepIndex       int        `json:"step_index"`
	StopReason      string     `json:"stop_reason"`
	Phase           string     `json:"phase"`
	AgentFault      bool       `json:"agent_fault"`
	ToolCallCount   int        `json:"tool_call_count"`
	ProviderFailure *CallError `json:"provider_failure,omitempty"`
}

// Lost is the payload of sandbox.lost.
type Lost struct {
	Kind   string `json:"kind"`
	Limit  string `json:"limit,omitempty"`
	Detail string `json:"detail"`
}

// Egress is the payload of network.egress.decided: that a trial wanted a
// connection, and whether it was let.
type Egress struct {
	Via     string `json:"via"` // http_request, or proxy for a program in the sandbox
	Host    string `json:"host"`
	Port    int    `json:"port"`
	Path    string `json:"path,omitempty"`    // of an http address that a program asked the proxy for, with its query
	Address string `json:"address,omitempty"` // that was judged, where there was one
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"`
}

// Planted is the payload of security.secret.planted: a made-up secret is where
// the agent can come across it. Its value is the pack's.
type Planted struct {
	Name     string `json:"name"`
	Location string `json:"location"`
	FilePath string `json:"file_path,omitempty"`
	// ToolCallID and ToolName are of the call whose result brought it.
	ToolCallID string `json:"tool_call_id,omitempty"`
	ToolName   string `json:"tool_name,omitempty"`
}

// Prompt is the payload of security.prompt.put: an adversarial prompt is the
// next thing that the agent is told.
type Prompt struct {
	Name     string `json:"name"`
	Index    int    `json:"prompt_index"` // from 1
	Text     string `json:"text"`
	Strategy string `json:"strategy,omitempty"`
}

// VaultRequest is the payload of security.vault.requested, and a line of the
// log in the sandbox: what a program asked of the mock vault.
type VaultRequest struct {
	Kind   string `json:"kind"` // connect, get, post or delete
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
	Client string `json:"client"`
}

// Budget is the payload of budget.reached.
type Budget struct {
	// Limit is the key of a runtime limit, of a judges' limit, or of the run's own:
	// budget_usd, or deadline_seconds after the run was planned.
	Limit   string  `json:"limit"`
	Allowed float64 `json:"allowed"`
	Used    float64 `json:"used"`
	Needed  float64 `json:"needed,omitempty"` // at most, by the call that was not made
}

// Decision is the payload of decision.reached: what the sequential test of a run
// has found, which begins no trial after it.
type Decision struct {
	Decision  string  `json:"decision"` // regressed or no_regression
	Method    string  `json:"method"`
	Trials    int     `json:"trials"` // that counted
	MaxTrials int     `json:"max_trials"`
	Failed    int     `json:"failed"` // of these
	Alpha     float64 `json:"alpha"`
	Power     float64 `json:"power"`
	Drop      float64 `json:"drop"`
}

// ScoringStarted is the payload of scoring.started: all evidence is there but
// for what judges will say.
type ScoringStarted struct {
	EvaluationSpecID string `json:"evaluation_spec_id"` // digest of the spec
	StopReason       string `json:"stop_reason"`        // how the agent's part ended
	AgentCode        string `json:"agent_code,omitempty"`
	Reason           string `json:"reason,omitempty"`
}

// TrialEnd is the payload of trial.finished, the last event of an attempt. The
// scorecard in it is recomputable from the events before it.
type TrialEnd struct {
	scoring.Trial
	// WillRetry says that another attempt of the same trial follows.
	WillRetry bool `json:"will_retry,omitempty"`
}

// ScoringEnd is the payload of scoring.completed: the headline of a scorecard
// that stands whole in trial.finished.
type ScoringEnd struct {
	EvaluationSpecID string   `json:"evaluation_spec_id"`
	Status           string   `json:"status"`
	Validity         string   `json:"validity"`
	OverallScore     *float64 `json:"overall_score"`
	Passed           *bool    `json:"passed"`
}
