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
	// Judges are the models that the spec's judges ask.
	Judges []JudgeModel `json:"judges,omitempty"`
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

// Options are the run's own settings.
type Options struct {
	Repetitions  int     `json:"repetitions"`
	Seed         int64   `json:"seed"`
	Concurrency  int     `json:"concurrency"`
	RetryInvalid int     `json:"retry_invalid"`
	MinPassRate  float64 `json:"min_pass_rate"`
	MaxInvalid   int     `json:"max_invalid"`
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
	Name         string            `json:"name"`
	Provider     string            `json:"provider"`
	Model        string            `json:"model"`
	BaseURL      string            `json:"base_url,omitempty"`
	Account      string            `json:"account,omitempty"` // env://NAME or workspace-secret://NAME; "" is the provider's own variable
	System       string            `json:"system,omitempty"`
	OutputSchema map[string]any    `json:"output_schema,omitempty"`
	Sampling     provider.Sampling `json:"sampling,omitzero"`
	Limits       Limits            `json:"limits,omitzero"`
	// Kind is what the agent is; "" is KindModel. Of a command, Provider and Model
	// are what it asks, both "" when it asks none that we see.
	Kind    string      `json:"kind,omitempty"`
	Command *Command    `json:"command,omitempty"`
	HTTP    *HTTPTarget `json:"http,omitempty"`
	// Tools and Sandbox change what the pack permits its agents, for this one.
	Tools   ToolOverrides    `json:"tool_overrides,omitzero"`
	Sandbox SandboxOverrides `json:"sandbox,omitzero"`
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
}

// DefaultLimits are the limits of a deployment that sets none.
func DefaultLimits() Limits {
	return Limits{MaxIterations: 50, MaxToolCalls: 100, StepTimeoutSeconds: 120,
		RunTimeoutSeconds: 1800, MaxOutputTokens: 8192}
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
}

// Result is how a run ended.
type Result struct {
	Status string        `json:"status"` // completed, failed, cancelled or interrupted
	Reason string        `json:"reason,omitempty"`
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
