package plan

import (
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// Mode is what an execution mode changes in the one loop.
type Mode struct {
	Source string
	Tools  *tool.Set // nil: the agent has none and its text is its answer
	Turns  bool      // users and the agent take turns
	Open   func(*pack.Pack, pack.Case, Deployment) ([]provider.Message, error)
	// Surface is the API that the mode is about, "" for modes that any will do
	// for. A call of such a mode is the whole trial: no step timeout ends it, and
	// it is not cut at the output tokens of an ordinary reply.
	Surface string
	// program says that the agent is one, which works in the box by itself.
	program bool
}

// NewMode is what a pack's execution mode is for a deployment. Queries may be nil where
// no tool is called.
func NewMode(p *pack.Pack, d Deployment, queries *query.Runner) (Mode, error) {
	switch p.Version.ExecutionMode {
	case pack.PromptEval:
		if d.IsHTTP() {
			return Mode{Source: event.SourceHosted, Open: promptMessages}, nil
		}
		return Mode{Source: event.SourcePromptEval, Open: promptMessages}, nil
	case pack.Responses:
		return Mode{Source: event.SourceResponses, Open: researchMessages, Surface: surfaceResponses}, nil
	case pack.Native, "":
		set, err := toolsOf(p, d, queries)
		switch {
		case d.IsHTTP():
			return Mode{Source: event.SourceHosted, Open: endpointMessages}, nil
		case d.IsCommand():
			return Mode{Source: event.SourceHosted, Tools: set, program: true}, err
		}
		return Mode{Source: event.SourceNative, Open: nativeMessages, Tools: set}, err
	case pack.MultiTurn:
		set, err := toolsOf(p, d, queries)
		m := Mode{Source: event.SourceMultiTurn, Open: talkMessages, Tools: set, Turns: true}
		if err == nil && textAlone(p) {
			m.Tools, m.Open = nil, textMessages
		}
		return m, err
	default:
		return Mode{}, fmt.Errorf("execution mode %q does not run in this version", p.Version.ExecutionMode)
	}
}

// toolsOf are the tools that a pack gives an agent of a deployment.
func toolsOf(p *pack.Pack, d Deployment, queries *query.Runner) (*tool.Set, error) {
	policy, err := tool.ParsePolicy(p.Version.ToolPolicy, p.Tools)
	if err != nil {
		return nil, err
	}
	policy.Hidden = d.Tools.Denied
	if d.Sandbox.AllowShell != nil {
		policy.AllowShell = *d.Sandbox.AllowShell
	}
	return tool.NewSet(policy, queries)
}

// textAlone says that a conversation is one of words: the pack speaks neither of
// tools nor of anything that would be in a sandbox.
func textAlone(p *pack.Pack) bool {
	v := p.Version
	graded := len(v.EvaluationSpec.PostExecutionChecks) > 0 ||
		slices.ContainsFunc(v.EvaluationSpec.Validators, func(v scoring.Validator) bool { return v.Type == scoring.CodeExecution })
	staged := slices.ContainsFunc(p.InputSets, func(set pack.InputSet) bool {
		return slices.ContainsFunc(set.Cases, func(c pack.Case) bool { return len(p.WorkspaceFiles(c)) > 0 })
	})
	planted := p.Security != nil && len(p.Security.PlantedSecrets) > 0
	return !planted && len(v.ToolPolicy) == 0 && len(p.Tools) == 0 && v.Sandbox == nil && len(v.Filesystem) == 0 && !graded && !staged
}

// Definitions are the tools as a model is told of them.
func (m Mode) Definitions() []provider.Tool {
	if m.Tools == nil {
		return nil
	}
	return m.Tools.Definitions()
}

// Programs says whether agents can run any.
func (m Mode) Programs() bool {
	return m.program || m.Tools != nil && m.Tools.Reaches("exec", "run_tests", "build")
}
