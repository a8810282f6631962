package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
)

// AgentsDir is where a repository keeps its agent specs, each in a file NAME.yaml,
// NAME.yml or NAME.json: below the directory of its deployments.
const AgentsDir = ".agentclash/agents"

// Agent is an agent spec: what an agent is, whichever model it is. Its JSON is the
// one form of a content, whose hash is the version's.
type Agent struct {
	System       string                `json:"system,omitempty"`
	OutputSchema map[string]any        `json:"output_schema,omitempty"`
	Sampling     provider.Sampling     `json:"sampling,omitzero"`
	Limits       plan.Limits           `json:"limits,omitzero"`
	Tools        plan.ToolOverrides    `json:"tool_overrides,omitzero"`
	Sandbox      plan.SandboxOverrides `json:"sandbox,omitzero"`
}

// agentFile is an agent spec as files write it: the fields of a deployment that
// say what the agent is.
type agentFile struct {
	AgentKind    string                `json:"agent_kind"`
	System       string                `json:"system"`
	SystemFile   string                `json:"system_file"`
	OutputSchema map[string]any        `json:"output_schema"`
	Sampling     provider.Sampling     `json:"sampling"`
	Limits       plan.Limits           `json:"limits"`
	Tools        plan.ToolOverrides    `json:"tool_overrides"`
	Sandbox      plan.SandboxOverrides `json:"sandbox"`

	// What is written elsewhere here, or has no effect.
	Instructions    any `json:"instructions"`
	PolicySpec      any `json:"policy_spec"`
	ModelSpec       any `json:"model_spec"`
	Model           any `json:"model"`
	ToolList        any `json:"tools"`
	InterfaceSpec   any `json:"interface_spec"`
	ReasoningSpec   any `json:"reasoning_spec"`
	MemorySpec      any `json:"memory_spec"`
	WorkflowSpec    any `json:"workflow_spec"`
	GuardrailSpec   any `json:"guardrail_spec"`
	TraceContract   any `json:"trace_contract"`
	PublicationSpec any `json:"publication_spec"`
	Knowledge       any `json:"knowledge_sources"`
}

// LLMAgent is the one kind of agent that a spec can be.
const LLMAgent = "llm_agent"

// ParseAgent reads an agent spec. SystemFile is the file with the system prompt, ""
// for none, which is the caller's to read.
func ParseAgent(name string, src []byte) (agent Agent, systemFile string, problems pack.Problems) {
	var f agentFile
	d := pack.DecodeSettings(name, "agent spec", src, &f)
	if f.AgentKind != "" && f.AgentKind != LLMAgent {
		d.Fail("agent_kind", "must be %s: a program or an endpoint is a deployment of the kind command or http", LLMAgent)
	}
	for _, row := range []struct {
		field   string
		set     any
		message string
	}{
		{"instructions", f.Instructions, "is written system here, or system_file"},
		{"policy_spec", f.PolicySpec, "is not read: write its instructions as system"},
		{"model_spec", f.ModelSpec, "is not read: the deployment says the model"},
		{"model", f.Model, "is the deployment's to say: an agent spec is of no model"},
		{"tools", f.ToolList, "come with the pack: tool_overrides.denied hides some of them"},
		{"interface_spec", f.InterfaceSpec, noEffect}, {"reasoning_spec", f.ReasoningSpec, noEffect + "; sampling.reasoning_effort has one"},
		{"memory_spec", f.MemorySpec, noEffect}, {"workflow_spec", f.WorkflowSpec, noEffect}, {"guardrail_spec", f.GuardrailSpec, noEffect},
		{"trace_contract", f.TraceContract, noEffect}, {"publication_spec", f.PublicationSpec, noEffect}, {"knowledge_sources", f.Knowledge, noEffect},
	} {
		if row.set != nil {
			d.Fail(row.field, "%s", row.message)
		}
	}
	if f.System != "" && f.SystemFile != "" {
		d.Fail("system_file", "and system are two system prompts: choose one")
	}
	for i, tool := range f.Tools.Denied {
		if tool == "submit" {
			d.Fail(fmt.Sprintf("tool_overrides.denied[%d]", i), "cannot be submit: nothing else hands in the answer")
		}
	}
	for _, w := range wrongLimits(f.Limits) {
		d.Fail("limits."+w.field, "%s", w.message)
	}
	for _, w := range wrongSandbox(f.Sandbox) {
		d.Fail("sandbox."+w.field, "%s", w.message)
	}
	return Agent{f.System, f.OutputSchema, f.Sampling, f.Limits, f.Tools, f.Sandbox}, f.SystemFile, d.Problems()
}

const noEffect = "has no effect in this product: leave it out"

// Document is the one form of the content, and its SHA-256 in hex. Its white space
// is that of JSON, its keys are sorted.
func (a Agent) Document() (doc json.RawMessage, digest string, err error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, "", fmt.Errorf("write the agent spec: %w", err)
	}
	sum := sha256.Sum256(raw)
	return raw, hex.EncodeToString(sum[:]), nil
}

// ReadDocument reads what [Agent.Document] wrote.
func ReadDocument(doc json.RawMessage) (Agent, error) {
	var a Agent
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&a); err != nil {
		return a, fmt.Errorf("read the agent spec: %w", err)
	}
	return a, nil
}

// Fill gives a deployment what the agent spec says. The deployment's own limits,
// sampling and sandbox go before the spec's.
func (a Agent) Fill(d plan.Deployment) plan.Deployment {
	d.System, d.OutputSchema = a.System, a.OutputSchema
	d.Tools.Denied = append(append([]string(nil), a.Tools.Denied...), d.Tools.Denied...)
	s, own := a.Sampling, d.Sampling
	if own.Temperature != nil {
		s.Temperature = own.Temperature
	}
	if own.TopP != nil {
		s.TopP = own.TopP
	}
	if own.Seed != nil {
		s.Seed = own.Seed
	}
	if len(own.Stop) > 0 {
		s.Stop = own.Stop
	}
	if own.MaxOutputTokens != 0 {
		s.MaxOutputTokens = own.MaxOutputTokens
	}
	if own.ReasoningEffort != "" {
		s.ReasoningEffort = own.ReasoningEffort
	}
	d.Sampling = s
	return RuntimeProfile{Limits: a.Limits, SandboxOverrides: a.Sandbox}.Fill(d)
}

// CheckName refuses a build's name that could not be the name of a file, or that
// would look like a version.
func CheckName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("--name is missing")
	case strings.ContainsAny(name, "/\\@:") || strings.HasPrefix(name, ".") || len(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return errors.New("--name must be the name of a file without its extension, and hold no @: prod, code-reviewer")
	}
	return nil
}

// Template is an agent spec to begin with.
type Template struct {
	Name, Description, Source string
}

// Templates are the agent specs that come with the program.
func Templates() []Template {
	return []Template{
		{"honest-agent", "Says what it did and what it could not do", `# An agent that does not claim what it did not do.
system: |
  Do the task you are given, step by step, with the tools you have.
  Before you answer, check the result as its user would.
  Say plainly what you could not do, and do not claim what you have not checked.
limits: {max_iterations: 30}
`},
		{"code-reviewer", "Reads a change and lists what is wrong with it, as JSON", `# A reviewer whose findings a program can read.
system: |
  Review the change you are given. Report defects alone: wrong results, lost data,
  races, missing checks. Name the file and the line of each, and why it is wrong.
  When there is nothing to report, return an empty list.
output_schema:
  type: object
  required: [findings]
  properties:
    findings:
      type: array
      items:
        type: object
        required: [file, line, problem]
        properties:
          file: {type: string}
          line: {type: integer}
          problem: {type: string}
tool_overrides: {denied: [write_file]}
`},
	}
}
