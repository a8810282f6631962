package engine

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
)

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

// isCommand says whether a program is the agent.
func (d Deployment) isCommand() bool { return d.Kind == KindCommand && d.Command != nil }

// isHTTP says whether an endpoint is.
func (d Deployment) isHTTP() bool { return d.Kind == KindHTTP }

// seen is what kind of agent a trial has, and how much of it can be seen.
func (d Deployment) seen() (kind, level string) {
	switch {
	case d.isCommand():
		return KindCommand, "hosted_structured"
	case d.isHTTP():
		return KindHTTP, "hosted_black_box"
	}
	return "native", ""
}

// asksModels says whether a deployment makes calls to a model that we see.
func (d Deployment) asksModels() bool { return !d.isCommand() || d.Model != "" }

// Target is what a deployment runs, for people.
func (d Deployment) Target() string {
	switch {
	case d.isCommand() && d.Model == "":
		return "command/" + path.Base(d.Command.Argv[0])
	case d.isCommand():
		return "command/" + path.Base(d.Command.Argv[0]) + " with " + d.Provider + "/" + d.Model
	}
	return d.Provider + "/" + d.Model
}

// checkTargets refuses agents that this pack cannot be run with.
func (p *Plan) checkTargets() error {
	var errs []error
	for _, a := range p.Agents {
		for _, why := range p.unfit(a.Deployment) {
			errs = append(errs, fmt.Errorf("deployment %q is of kind %s: %s", a.Label, a.Deployment.Kind, why))
		}
	}
	return errors.Join(errs...)
}

func (p *Plan) unfit(d Deployment) []string {
	switch {
	case d.isCommand():
		return p.unfitCommand(d)
	case d.isHTTP():
		return p.unfitHTTP()
	case d.Kind != "" && d.Kind != KindModel:
		return []string{"there is no such kind; it is model, command or http"}
	}
	return nil
}

// unfitCommand: a program works in a sandbox, and may run what it likes there.
func (p *Plan) unfitCommand(d Deployment) (whys []string) {
	if p.Mode != pack.Native {
		return []string{"a program needs a sandbox, and packs in mode " + p.Mode + " have none: only native packs can be run with it"}
	}
	allowed, _ := p.pack.Version.ToolPolicy["allow_shell"].(bool)
	if over := d.Sandbox.AllowShell; over != nil {
		allowed = *over
	}
	if !allowed {
		whys = append(whys, "the pack does not permit its agents a shell, and a program is more than one: set version.tool_policy.allow_shell, or allow_shell in the deployment's sandbox (--allow-shell)")
	}
	if s := p.pack.Security; s != nil && len(s.AdversarialPrompts) > 0 {
		whys = append(whys, "the pack goes on with the conversation when the work is done (security.adversarial_prompts), and a program has ended by then")
	}
	if len(p.pack.Told()) > 0 {
		whys = append(whys, "the pack plants secrets in the results of tools (tool-output), and a program's tools are its own")
	}
	return whys
}

// unfitHTTP: an endpoint has no sandbox, so that nothing can be put there, taken
// from there or run there.
func (p *Plan) unfitHTTP() (whys []string) {
	if p.Mode != pack.Native && p.Mode != pack.PromptEval {
		return []string{"an endpoint answers once, and packs in mode " + p.Mode + " ask otherwise"}
	}
	if p.Mode == pack.PromptEval {
		if s := p.pack.Security; s != nil && len(s.AdversarialPrompts) > 0 {
			whys = append(whys, "the pack goes on with the conversation (security.adversarial_prompts), and an endpoint answers once")
		}
		return whys
	}
	for _, v := range p.spec.Validators {
		if v.Type == scoring.CodeExecution || strings.HasPrefix(v.Target, "file:") || strings.HasPrefix(v.Target, "dir:") {
			whys = append(whys, fmt.Sprintf("validator %q (%s) looks at files of a sandbox, and an endpoint has none", v.Key, v.Type))
		}
	}
	for _, c := range p.spec.PostExecutionChecks {
		whys = append(whys, fmt.Sprintf("post_execution_checks %q takes files from a sandbox, and an endpoint has none", c.Key))
	}
	if !p.pack.Security.Empty() {
		whys = append(whys, "the pack's security block is about what agents do in a sandbox, and an endpoint has none")
	}
	for _, c := range p.Cases {
		if n := len(p.pack.WorkspaceFiles(p.cases[c.Key])); n > 0 {
			whys = append(whys, fmt.Sprintf("case %q gives its agent %d file(s) in a sandbox, and an endpoint has none", c.Key, n))
		}
	}
	return whys
}

// taskPath is where a program's task is in a box.
const taskPath = sandbox.AgentDir + "/TASK.md"

// FilesDir is the directory below sandbox.AgentDir that a program's files are in.
const FilesDir = "agent"

const filesPath = sandbox.AgentDir + "/" + FilesDir
