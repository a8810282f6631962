package engine

import (
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
)

// Plan is everything one run will do. Its JSON is what the store keeps; the
// pack itself is kept beside it as a snapshot, by Pack.Digest.
type Plan struct {
	RunID      string              `json:"run_id"`
	Name       string              `json:"name"`
	Workspace  string              `json:"workspace"`
	CreatedAt  time.Time           `json:"created_at"`
	Pack       event.PackRef       `json:"pack"`
	InputSet   string              `json:"input_set"`
	Mode       string              `json:"execution_mode"`
	SpecDigest string              `json:"evaluation_spec_digest"`
	Sandbox    sandbox.Description `json:"sandbox"` // Kind "" when the mode needs none
	Agents     []RunAgent          `json:"agents"`
	Cases      []CaseRef           `json:"cases"`
	Options    Options             `json:"options"`
	// Recording is what the run records, or plays back; nil: neither.
	Recording *Recording `json:"recording,omitempty"`
	// Cache says that replies may come from the cache of the home directory.
	Cache bool `json:"cache,omitempty"`
	// Judges are the models that the spec's judges ask.
	Judges []JudgeModel `json:"judges,omitempty"`
	// Simulators are the models that play the users of conversations.
	Simulators []SimulatorModel `json:"simulators,omitempty"`
	// Affected are the runs, newest first, whose trials may stand for this run's;
	// none when every trial is run.
	Affected []string `json:"affected_since,omitempty"`
	// RetryOf is the run whose failed trials this one runs again.
	RetryOf string `json:"retry_of,omitempty"`
	// Prices are the list prices of the day the run was planned, for models
	// that the pack does not price; costs are worked out again by these.
	Prices scoring.ListPrices `json:"prices,omitzero"`
	// Trials are in execution order. A resumed plan holds only what is
	// unfinished.
	Trials []Trial `json:"-"`

	before Progress // of a resumed run
	pack   *pack.Pack
	spec   scoring.Spec
	scorer *scoring.Scorer
	cases  map[string]pack.Case
}

// What a run does with a recording.
const (
	Recorded = "record"
	Replayed = "replay"
)

// Recording is the recording of a run.
type Recording struct {
	Mode      string `json:"mode"`             // Recorded or Replayed
	Dir       string `json:"dir"`              // absolute
	Digest    string `json:"digest,omitempty"` // of a recording that is replayed
	Overwrite bool   `json:"-"`
}

// Options are the run's own settings.
type Options struct {
	Repetitions  int     `json:"repetitions"`
	Seed         int64   `json:"seed"`
	Concurrency  int     `json:"concurrency"`
	RetryInvalid int     `json:"retry_invalid"`
	MinPassRate  float64 `json:"min_pass_rate"`
	MaxInvalid   int     `json:"max_invalid"`
	// BudgetUSD is what all the run's model calls may cost together, those of
	// judges included and those of earlier processes of the run; 0: anything.
	BudgetUSD float64 `json:"budget_usd,omitempty"`
	// Deadline is when the run ends, done or not; zero: never.
	Deadline time.Time `json:"deadline,omitzero"`
	// MaxWaitMS is how long one call may wait for its provider, in all; nil: as
	// [provider.DefaultPolicy] has it. 0 never waits.
	MaxWaitMS *int64 `json:"max_wait_ms,omitempty"`
	// HumanWait has conversations wait for people where no screen asks them.
	HumanWait bool `json:"human_wait,omitempty"`
	// PeerStandings has agents told how the others stand on the same case, at most
	// every PeerGap steps unless there is news.
	PeerStandings bool `json:"peer_standings,omitempty"`
	PeerGap       int  `json:"peer_standings_gap,omitempty"`
}

// RunAgent is one deployment's lane in a run.
type RunAgent struct {
	ID         string     `json:"run_agent_id"`
	Label      string     `json:"label"`
	Lane       int        `json:"lane_index"`
	Deployment Deployment `json:"deployment"`
}

// Deployment is a named runnable target.
type Deployment struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	BaseURL  string `json:"base_url,omitempty"`
	API      string `json:"api,omitempty"` // chat or responses, of OpenAI's protocol; "" is chat
	// Account says where the key is: env://NAME or workspace-secret://NAME; "" is
	// the provider's own variable. Stored deployments may name a provider account,
	// which a run has resolved.
	Account      string            `json:"account,omitempty"`
	System       string            `json:"system,omitempty"`
	OutputSchema map[string]any    `json:"output_schema,omitempty"`
	Sampling     provider.Sampling `json:"sampling,omitzero"`
	PromptCache  *bool             `json:"prompt_cache,omitempty"` // nil: as the adapter does by default
	Limits       Limits            `json:"limits,omitzero"`
	// ContentDigest is the SHA-256, in hex, of a script when the run was planned:
	// its path says nothing of what is in it.
	ContentDigest string `json:"content_digest,omitempty"`
	// Kind is what the agent is; "" is KindModel. Of a command, Provider and Model
	// are what it asks, both "" when it asks none that we see.
	Kind    string      `json:"kind,omitempty"`
	Command *Command    `json:"command,omitempty"`
	HTTP    *HTTPTarget `json:"http,omitempty"`
	// Tools and Sandbox change what the pack permits its agents, for this one.
	Tools   ToolOverrides    `json:"tool_overrides,omitzero"`
	Sandbox SandboxOverrides `json:"sandbox,omitzero"`
	// MaxConcurrent is how many calls its account may have under way at once; 0:
	// as many as the provider stands.
	MaxConcurrent int `json:"max_concurrent,omitempty"`
}

// ToolOverrides hide tools from an agent, the pack's own too. The pack's own
// can go on using them, and submit cannot be hidden.
type ToolOverrides struct {
	Denied []string `json:"denied,omitempty" yaml:"denied"`
}

// SandboxOverrides have precedence over the pack's tool_policy; nil leaves it to
// the pack. AllowNetwork false closes the sandbox's network too; true permits
// http_request, and opens nothing for programs.
type SandboxOverrides struct {
	AllowShell   *bool `json:"allow_shell,omitempty" yaml:"allow_shell"`
	AllowNetwork *bool `json:"allow_network,omitempty" yaml:"allow_network"`
}

// Limits bound one trial of a deployment. Zero fields take DefaultLimits'.
type Limits struct {
	MaxIterations      int   `json:"max_iterations,omitempty" yaml:"max_iterations"`
	MaxToolCalls       int   `json:"max_tool_calls,omitempty" yaml:"max_tool_calls"`
	StepTimeoutSeconds int   `json:"step_timeout_seconds,omitempty" yaml:"step_timeout_seconds"`
	RunTimeoutSeconds  int   `json:"run_timeout_seconds,omitempty" yaml:"run_timeout_seconds"`
	MaxOutputTokens    int64 `json:"max_output_tokens,omitempty" yaml:"max_output_tokens"`
	// TextReminders is how often an agent with tools that answers in text alone is
	// told that only submit counts; nil: once.
	TextReminders *int `json:"text_reminders,omitempty" yaml:"text_reminders"`
}

// MaxTextReminders is the most that Limits.TextReminders may be.
const MaxTextReminders = 5

// DefaultLimits are the limits of a deployment that sets none.
func DefaultLimits() Limits {
	return Limits{MaxIterations: 50, MaxToolCalls: 100, StepTimeoutSeconds: 120,
		RunTimeoutSeconds: 1800, MaxOutputTokens: 8192, TextReminders: new(1)}
}

// CaseRef names a planned case and what its content was.
type CaseRef struct {
	Key    string `json:"case_key"`
	Digest string `json:"digest"` // of case and challenge document and their assets
}

// Trial is one run agent on one case, one repetition.
type Trial struct {
	ID         string `json:"trial_id"`
	Agent      int    `json:"agent"` // index into Plan.Agents
	CaseKey    string `json:"case_key"`
	Repetition int    `json:"repetition"` // from 1
	Attempt    int    `json:"attempt"`    // the first attempt to make, from 1
	// Reuse is the attempt of another run's trial whose evidence stands for this
	// one's; nil runs the trial.
	Reuse *event.Reused `json:"-"`
}

// Result is how a run ended.
type Result struct {
	Status string `json:"status"` // completed, failed, cancelled or interrupted
	Reason string `json:"reason,omitempty"`
	// Code is CodeBudget or CodeDeadline for a run that one of these ended: it is
	// failed, and what it left can be resumed.
	Code   string        `json:"code,omitempty"`
	Agents []AgentResult `json:"agents"`
}

// AgentResult is how one run agent ended.
type AgentResult struct {
	RunAgentID string                 `json:"run_agent_id"`
	Label      string                 `json:"label"`
	Status     string                 `json:"status"` // completed, failed, cancelled or interrupted
	Reason     string                 `json:"reason,omitempty"`
	Cause      string                 `json:"cause,omitempty"` // the one code that explains a failure
	Scorecard  scoring.AgentScorecard `json:"scorecard"`
	// Invalid holds the invalid trials that nothing replaced, without their
	// scorecards.
	Invalid []scoring.Trial `json:"-"`
}
