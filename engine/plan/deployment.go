package plan

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
)

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
	// Script is where a scripted model's file is, when Model, which is as the user wrote
	// it and as prices name it, does not begin where the command runs.
	Script string `json:"script,omitempty"`
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
	// Build, Profile and Alias are what a stored deployment names, to be looked up
	// when a run is planned; in a run, the version of the build (NAME@N), the runtime
	// profile and the model alias that the other fields were filled from.
	Build   string `json:"build,omitempty"`
	Profile string `json:"runtime_profile,omitempty"`
	Alias   string `json:"model_alias,omitempty"`
	// Price is what the alias says that the model costs, nil for the price that is
	// known anyway. A run keeps it among its prices.
	Price *scoring.Price `json:"-"`
	// Built is the content of Build while a run is planned.
	Built *Built `json:"-"`
}

// Built is the content of a build that a deployment is of.
type Built struct {
	Name     string          // of the build
	Digest   string          // SHA-256 of Document, in hex
	Document json.RawMessage // the agent spec
}

// ToolOverrides hide tools from an agent, the pack's own too. The pack's own
// can go on using them, and submit cannot be hidden.
type ToolOverrides struct {
	Denied []string `json:"denied,omitempty" yaml:"denied"`
}

// SandboxOverrides have precedence over the pack's tool_policy; nil leaves it to
// the pack. AllowNetwork false closes the sandbox's network too; true permits
// http_request, and opens nothing for programs. Memory and CPUs are in the words of
// version.sandbox, and have precedence over it. Image is the run's: --image has
// precedence over it, and all agents of a run must name the same.
type SandboxOverrides struct {
	AllowShell   *bool `json:"allow_shell,omitempty" yaml:"allow_shell"`
	AllowNetwork *bool `json:"allow_network,omitempty" yaml:"allow_network"`

	Image  string   `json:"image,omitempty"`
	Memory string   `json:"memory,omitempty"`
	CPUs   *float64 `json:"cpus,omitempty"`
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

// The kinds of a deployment.
const (
	KindModel   = "model"   // a model and the built-in loop; also ""
	KindCommand = "command" // a program in the trial's sandbox
	KindHTTP    = "http"    // an endpoint that is given the case and answers
)

// AnswerStdout is where a program's answer is when nothing is said.
const AnswerStdout = "stdout"

// Command is a program that is the agent. Its task comes on standard input, and is
// always in a file, too.
type Command struct {
	// Argv is the program and its arguments. In each of these, TaskText stands
	// for the task and TaskFile for the file it is in; where one of them is used,
	// standard input is empty.
	Argv    []string          `json:"argv"`
	Env     map[string]string `json:"env,omitempty"`
	Workdir string            `json:"workdir,omitempty"` // "" is the pack's
	// Answer is where the final answer is: AnswerStdout (or "") or the path of a
	// file in the workspace.
	Answer string `json:"answer,omitempty"`
	// Files is a file or directory of this machine that the program is in; a box
	// has it below sandbox.AgentDir, in FilesDir, and arguments have the placeholder AgentDir
	// for it. FilesDigest is what is in it: a run is of one content.
	Files       string `json:"files,omitempty"`
	FilesDigest string `json:"files_digest,omitempty"`
	// Models are permitted besides the deployment's, at the same provider.
	Models         []string `json:"models,omitempty"`
	MaxOutputBytes int64    `json:"max_output_bytes,omitempty"` // of what it prints; 0: what the pack says
}

// The placeholders of a Command's arguments.
const (
	TaskText = "{task}"
	TaskFile = "{task_file}"
	AgentDir = "{agent_dir}"
)

// HTTPTarget is an endpoint. Headers' values may be env://NAME,
// workspace-secret://NAME or hold ${secrets.NAME}: they are filled in when a run
// begins, and kept nowhere.
type HTTPTarget struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
}

// IsCommand says whether a program is the agent.
func (d Deployment) IsCommand() bool { return d.Kind == KindCommand && d.Command != nil }

// IsHTTP says whether an endpoint is.
func (d Deployment) IsHTTP() bool { return d.Kind == KindHTTP }

// Seen is what kind of agent a trial has, and how much of it can be seen.
func (d Deployment) Seen() (kind, level string) {
	switch {
	case d.IsCommand():
		return KindCommand, "hosted_structured"
	case d.IsHTTP():
		return KindHTTP, "hosted_black_box"
	}
	return "native", ""
}

// AsksModels says whether a deployment makes calls to a model that we see.
func (d Deployment) AsksModels() bool { return !d.IsCommand() || d.Model != "" }

// Models are those that a deployment may ask of its provider, its own first. A
// script is one, whatever it is called.
func (d Deployment) Models() []string {
	models := []string{d.Model}
	if d.IsCommand() && d.Provider != provider.Scripted {
		models = append(models, d.Command.Models...)
	}
	return models
}

// Target is what a deployment runs, for people.
func (d Deployment) Target() string {
	switch {
	case d.IsCommand() && d.Model == "":
		return "command/" + path.Base(d.Command.Argv[0])
	case d.IsCommand():
		return "command/" + path.Base(d.Command.Argv[0]) + " with " + d.Provider + "/" + d.Model
	}
	return d.Provider + "/" + d.Model
}

// AnswerFile is the file that the answer is in, "" for standard output.
func (c *Command) AnswerFile() string {
	if c.Answer == AnswerStdout {
		return ""
	}
	return c.Answer
}

// TaskPath is where a program's task is in a box.
const TaskPath = sandbox.AgentDir + "/TASK.md"

// FilesDir is the directory below sandbox.AgentDir that a program's files are in.
const FilesDir = "agent"

// FilesPath is FilesDir in a box.
const FilesPath = sandbox.AgentDir + "/" + FilesDir

// Account says how a provider is reached and where its key is found. It never
// holds the key.
type Account struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	BaseURL  string `json:"base_url,omitempty"` // "" is the provider's own
	// Credential is env://NAME or workspace-secret://NAME; "" for a server that
	// needs no key.
	Credential string `json:"credential_reference,omitempty"`
	// MaxConcurrent is how many calls may be under way at once; 0: as many as the
	// provider stands.
	MaxConcurrent int `json:"max_concurrent,omitempty"`
}

// Pace is what the calls to the deployment's model are paced by.
func (d Deployment) Pace() provider.PaceKey {
	return provider.PaceKey{Provider: d.Provider, BaseURL: d.BaseURL, Account: d.Account, Model: d.Model}
}

// inBraces is a word in braces, with what stands before it: after a dollar sign it
// is a variable of a shell.
var inBraces = regexp.MustCompile(`\$?\{[A-Za-z_-]{1,20}\}`)

// Misspelled finds what looks like a placeholder in a word of a command, and is one
// slip away from it: a letter more, less or other, or two that changed places.
func Misspelled(word string) (found, meant string) {
	known := []string{TaskText, TaskFile, AgentDir}
	for _, found := range inBraces.FindAllString(word, -1) {
		for _, meant := range known {
			if found != meant && found[0] == '{' && slipped(found, meant) {
				return found, meant
			}
		}
	}
	return "", ""
}

func slipped(a, b string) bool {
	if levenshtein.ComputeDistance(strings.ToLower(a), b) <= 1 {
		return true
	}
	for i := range len(a) - 1 {
		if a[:i]+a[i+1:i+2]+a[i:i+1]+a[i+2:] == b {
			return true
		}
	}
	return false
}
