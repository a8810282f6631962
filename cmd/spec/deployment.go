package spec

import (
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
)

// DeploymentsFile is where a repository keeps its deployments, below the directory
// of .agentclash.yaml or the one that has .agentclash.
const DeploymentsFile = ".agentclash/deployments.yaml"

// Deployment is a deployment as flags and files write it.
type Deployment struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // model, command or http; "" is model
	// Model is provider/model, or a model alias.
	Model          string                `json:"model"`
	BaseURL        string                `json:"base_url"`
	API            string                `json:"api"`
	Account        string                `json:"account"`
	Build          string                `json:"build"`           // NAME or NAME@N
	RuntimeProfile string                `json:"runtime_profile"` // by name
	System         string                `json:"system"`
	SystemFile     string                `json:"system_file"`
	OutputSchema   map[string]any        `json:"output_schema"`
	Sampling       provider.Sampling     `json:"sampling"`
	PromptCache    *bool                 `json:"prompt_cache"`
	Limits         plan.Limits           `json:"limits"`
	Tools          plan.ToolOverrides    `json:"tool_overrides"`
	Sandbox        plan.SandboxOverrides `json:"sandbox"`

	// Of the kind command. Command is a list of words.
	Command        any               `json:"command"`
	Env            map[string]string `json:"env"`
	Workdir        string            `json:"workdir"`
	Answer         string            `json:"answer"`
	Files          string            `json:"files"`
	Models         []string          `json:"models"`
	MaxOutputBytes int64             `json:"max_output_bytes"`

	// Of the kind http.
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// ParseDeployment reads a file with one deployment over what is there already:
// fields that the file does not have stay. Name stands for the file in problems.
func ParseDeployment(name string, src []byte, over *Deployment) pack.Problems {
	return pack.DecodeSettings(name, "deployment", src, over).Problems()
}

// ParseDeployments reads a repository's file of deployments. There are none when
// there is a problem.
func ParseDeployments(name string, src []byte) ([]Deployment, pack.Problems) {
	var file struct {
		Deployments []Deployment `json:"deployments"`
	}
	d := pack.DecodeSettings(name, "list of deployments", src, &file)
	if !d.Unread() {
		if len(file.Deployments) == 0 {
			d.Fail("deployments", "is required: a list of deployments, each with a name and a model")
		}
		seen := map[string]bool{}
		for i, s := range file.Deployments {
			s.check(d, fmt.Sprintf("deployments[%d]", i), seen)
		}
	}
	if problems := d.Problems(); problems.Err() != nil {
		return nil, problems
	}
	return file.Deployments, nil
}

// check says what can be said of a deployment by itself, at the places of its
// fields. What it refers to is looked up when it is used.
func (s Deployment) check(d *pack.Document, at string, seen map[string]bool) {
	key := strings.ToLower(strings.TrimSpace(s.Name))
	switch message := NameProblem(s.Name); {
	case message != "":
		d.Fail(at+".name", "%s", message)
	case seen[key]:
		d.Fail(at+".name", "is the name of a deployment above, too: names are told apart without their capitals")
	}
	seen[key] = true
	switch s.Kind {
	case "", plan.KindModel:
		if strings.TrimSpace(s.Model) == "" {
			d.Fail(at+".model", "is required, as provider/model or a model alias")
		}
	case plan.KindCommand, plan.KindHTTP:
	default:
		d.Fail(at+".kind", "must be %s, %s or %s", plan.KindModel, plan.KindCommand, plan.KindHTTP)
	}
	if s.System != "" && s.SystemFile != "" {
		d.Fail(at+".system_file", "and system are two system prompts: choose one")
	}
	if s.Build != "" && (s.System != "" || s.SystemFile != "" || len(s.OutputSchema) > 0) {
		d.Fail(at+".build", "%s", BuildSays)
	}
}

// BuildSays is why a deployment with a build has no system prompt of its own.
const BuildSays = "has the system prompt and the output schema: leave system, system_file and output_schema out beside it, or write them into the agent spec"

// OfDeployment is a stored deployment as a file would write it.
func OfDeployment(d plan.Deployment) Deployment {
	s := Deployment{
		Name: d.Name, Kind: d.Kind, BaseURL: d.BaseURL, API: d.API, Account: d.Account, Build: d.Build, RuntimeProfile: d.Profile,
		System: d.System, OutputSchema: d.OutputSchema, Sampling: d.Sampling, PromptCache: d.PromptCache, Limits: d.Limits,
		Tools: d.Tools, Sandbox: d.Sandbox,
	}
	switch {
	case d.Alias != "":
		s.Model = d.Alias
	case d.Model != "" && !d.IsHTTP():
		s.Model = d.Provider + "/" + d.Model
	}
	if c := d.Command; c != nil {
		words := make([]any, len(c.Argv))
		for i, word := range c.Argv {
			words[i] = word
		}
		s.Command, s.Env, s.Workdir, s.Answer = words, c.Env, c.Workdir, c.Answer
		s.Files, s.Models, s.MaxOutputBytes = c.Files, c.Models, c.MaxOutputBytes
	}
	if h := d.HTTP; h != nil {
		s.URL, s.Headers = h.URL, h.Headers
	}
	return s
}
