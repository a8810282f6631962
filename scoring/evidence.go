package scoring

import (
	"encoding/json"
	"time"
)

// Evidence is everything scoring may look at for one trial: the case and the
// facts folded from the trial's stored events. It is plain data; building it
// is engine/event's work, judging it is this room's.
type Evidence struct {
	Case Case

	// FinalOutput is nil when the agent never produced one.
	FinalOutput *string
	// Completed says whether the trial reached a regular end; nil without a
	// terminal event.
	Completed *bool

	StartedAt     time.Time
	EndedAt       time.Time // zero: no terminal event
	FirstOutputAt time.Time // zero: no output was seen

	// InputTokens, OutputTokens and TotalTokens are nil when unknown.
	InputTokens       *int64
	OutputTokens      *int64
	TotalTokens       *int64
	RaceContextTokens int64
	// Models holds usage by provider and model, sorted by both.
	Models []ModelUsage
	// Cached is the part of Models that a cache answered, for which nothing was
	// paid now.
	Cached []ModelUsage
	// Simulators is what models used that played the user, likewise sorted. It is no
	// part of the agent's.
	Simulators []ModelUsage

	// ToolCalls is the trace, by sequence and by nothing else.
	ToolCalls     []ToolCall
	ToolCallCount *int
	// FailureCount adds up failed runs, tool calls and sandbox commands.
	FailureCount int
	// Steps are the steps that began and ended, in the order they ended.
	Steps []StepTime
	// Turns is the conversation of a trial that has one, by index.
	Turns []Turn

	// Files and Directories are captures by post_execution_check key. A key
	// that is absent was never captured.
	Files       map[string]CapturedFile
	Directories map[string]CapturedDirectory
	// CodeRuns are code_execution results by validator key.
	CodeRuns map[string]CodeRun

	// JudgeReplies are what the trial's judges were asked and answered, by
	// sequence. Of several to one question and sample the last counts.
	JudgeReplies []JudgeReply

	// Said is what the agent and its tools said, in the order it was said, and
	// Contacts are the destinations on the network that were tried. Both are there
	// for a case that is [Case.Watched].
	Said     []Said
	Contacts []Contact
	// SaidCut says that more was said than is kept.
	SaidCut bool
	// ContactsCut says that more was tried on the network than Contacts has.
	ContactsCut bool

	// Sources point at the event that best explains a piece of evidence, under
	// the names of the At constants, [AtFile] and [AtCode].
	Sources map[string]Source
}

// The names under which Evidence.Sources has an event.
const (
	AtFinalOutput = "final_output"
	AtEnd         = "end"
	AtFirstOutput = "first_output"
	AtModelCall   = "model_call"      // the last answered one
	AtUsage       = "usage"           // what the token counts were read from
	AtToolCount   = "tool_call_count" // what counted the tool calls, when an event did
	AtFailure     = "failure"         // the first one
	AtStandings   = "standings"       // the last injected ones
)

// AtFile is the name of a capture's event.
func AtFile(key string) string { return "file:" + key }

// AtCode is the name of the event of a validator's test command.
func AtCode(validatorKey string) string { return "code:" + validatorKey }

// The kinds of a source.
const (
	KindFinalOutput = "final_output"
	KindModelCall   = "model_call"
	KindToolCall    = "tool_call" // captures and test commands included
	KindRunEvent    = "run_event"
)

// Source is a pointer into a trial's event log.
type Source struct {
	Kind      string `json:"kind"` // one of the Kind constants
	Sequence  int64  `json:"sequence"`
	EventType string `json:"event_type"`
	// FieldPath is the member of the payload that was read; of a capture, a
	// conversation and a trace it is the reference to it.
	FieldPath string `json:"field_path,omitempty"`
}

// Case is the part of a stored case document that scoring may read.
type Case struct {
	Key          string                   `json:"case_key"`
	ChallengeKey string                   `json:"challenge_key"`
	Payload      json.RawMessage          `json:"payload,omitempty"`
	Inputs       map[string]CaseInput     `json:"inputs,omitempty"`
	Expectations map[string]CaseInput     `json:"expectations,omitempty"`
	Artifacts    map[string]AssetEvidence `json:"artifacts,omitempty"`
	// Watched says that the pack has a security block: evidence then holds all
	// that was said.
	Watched bool `json:"-"`
}

// Said is one thing that was said: the text of a message, the arguments of a
// tool call or a part of what a tool answered.
type Said struct {
	Role    string // assistant, user or tool
	Message int    // of the agent's and users' messages, from 0
	Tool    string // of a call or an answer, tool:field
	Text    string
	// Authored says that pack or engine wrote it; Prompt is then the name of the
	// adversarial prompt that it puts, if it does.
	Authored bool
	Prompt   string
	// Answer says that these are the arguments of the tool that hands in.
	Answer bool
	// Withheld says that the provider kept the reply back.
	Withheld bool
	// Cut says that the text is gone: more was said than is kept.
	Cut    bool
	Source Source
}

// Contact is a destination on the network that a trial tried to reach.
type Contact struct {
	Via     string // http_request or proxy
	Host    string
	Port    int
	Path    string // where it could be seen
	Allowed bool
	Reason  string
	Source  Source
}

// CaseInput is one input or expectation. Value is nil when absent or null.
type CaseInput struct {
	Kind        string          `json:"kind,omitempty"`
	Value       json.RawMessage `json:"value,omitempty"`
	ArtifactKey string          `json:"artifact_key,omitempty"`
	Path        string          `json:"path,omitempty"`
	Source      string          `json:"source,omitempty"`
}

// AssetEvidence is what `artifact.<key>` and its fields resolve to. Text is
// the asset's content where it is known, nil otherwise.
type AssetEvidence struct {
	Key       string  `json:"key"`
	Kind      string  `json:"kind,omitempty"`
	Path      string  `json:"path"`
	MediaType string  `json:"media_type,omitempty"`
	Text      *string `json:"text,omitempty"`
	// Unread is why an asset that is there has no Text.
	Unread string `json:"unread,omitempty"`
}

// ModelUsage is what one model was asked for in a trial.
type ModelUsage struct {
	ProviderKey     string
	ProviderModelID string
	InputTokens     int64
	OutputTokens    int64
	TotalTokens     int64
	Known           bool // false: the provider reported no usage
	Calls           int  // of a simulator
	// ReportedUSD is what an agent that is an endpoint says its calls cost. It
	// counts where no price is known.
	ReportedUSD *float64
}

// ToolCall is one executed or refused tool call, in order.
type ToolCall struct {
	Sequence      int64
	EventType     string
	Name          string
	Arguments     string // compact JSON, keys sorted
	Failed        bool
	FailureOrigin string
	Error         string // cut to a few KiB
}

// StepTime is how long one step of the agent took.
type StepTime struct {
	Index       int64     `json:"step_index"`
	DurationMS  int64     `json:"duration_ms"`
	StartedAt   time.Time `json:"started_at"`
	CompletedAt time.Time `json:"completed_at"`
}

// Turn is one turn of a conversation: what the user said and what the agent
// answered, either of which may be missing.
type Turn struct {
	Index     int64
	PhaseID   string
	Actor     string // scripted, llm or human
	User      string
	Assistant string
	// Mismatched says that the answer was not what the turn expected.
	Mismatched bool
	// Source is the last event of the turn.
	Source Source
}

// CapturedFile is the result of a file_capture check. Its JSON is the payload
// of grader.verification.file_captured. Of what is there and could not be read,
// Unread says why; there is no content then.
type CapturedFile struct {
	Key       string `json:"key"`
	Path      string `json:"path"`
	Exists    bool   `json:"exists"`
	Unread    string `json:"unread,omitempty"`
	Content   string `json:"content,omitempty"`
	Size      int64  `json:"size"`
	Truncated bool   `json:"truncated,omitempty"`
}

// CapturedDirectory is the result of a directory_listing check. Its JSON is
// the payload of grader.verification.directory_listed. Unread is as that of
// [CapturedFile].
type CapturedDirectory struct {
	Key       string           `json:"key"`
	Path      string           `json:"path"`
	Exists    bool             `json:"exists"`
	Unread    string           `json:"unread,omitempty"`
	Entries   []DirectoryEntry `json:"entries"`
	Truncated bool             `json:"truncated,omitempty"`
}

// DirectoryEntry is one file or directory in a listing.
type DirectoryEntry struct {
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	IsDir bool   `json:"is_dir,omitempty"`
}

// CodeRun is what a code_execution validator's command did. Its JSON is the
// payload of grader.verification.code_executed. The counts are not stored:
// scoring reads them from the output, so that they can be recomputed.
type CodeRun struct {
	ValidatorKey   string `json:"validator_key"`
	Target         string `json:"target"`
	TargetPath     string `json:"target_path"`
	TestCommand    string `json:"test_command"`
	TimeoutMS      int64  `json:"timeout_ms"`
	ExitCode       *int   `json:"exit_code,omitempty"`
	Stdout         string `json:"stdout,omitempty"`
	Stderr         string `json:"stderr,omitempty"`
	TimedOut       bool   `json:"timed_out,omitempty"`
	ExecutionError string `json:"execution_error,omitempty"`
	// Limit is the sandbox's limit that the command ran into, "" for none.
	Limit string `json:"limit,omitempty"`
}

// CodeExecutionConfig is the config of a code_execution validator, read here
// by scoring and by the engine, which runs the command.
type CodeExecutionConfig struct {
	TestCommand   string   `json:"test_command"`
	TimeoutMS     *int64   `json:"timeout_ms,omitempty"` // default 30000
	Scoring       string   `json:"scoring,omitempty"`    // fraction_passed (default) or all_or_nothing
	PassThreshold *float64 `json:"pass_threshold,omitempty"`
}
