package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
)

// mode is what an execution mode changes in the one loop.
type mode struct {
	source string
	tools  *tool.Set // nil: the agent has none and its text is its answer
	turns  bool      // users and the agent take turns
	open   func(*pack.Pack, pack.Case, Deployment) ([]provider.Message, error)
	// surface is the API that the mode is about, "" for modes that any will do
	// for. A call of such a mode is the whole trial: no step timeout ends it, and
	// it is not cut at the output tokens of an ordinary reply.
	surface string
	// program says that the agent is one, which works in the box by itself.
	program bool
}

func newMode(p *pack.Pack, d Deployment, queries *query.Runner) (mode, error) {
	switch p.Version.ExecutionMode {
	case pack.PromptEval:
		if d.isHTTP() {
			return mode{source: event.SourceHosted, open: promptMessages}, nil
		}
		return mode{source: event.SourcePromptEval, open: promptMessages}, nil
	case pack.Responses:
		return mode{source: event.SourceResponses, open: researchMessages, surface: surfaceResponses}, nil
	case pack.Native, "":
		set, err := toolsOf(p, d, queries)
		switch {
		case d.isHTTP():
			return mode{source: event.SourceHosted, open: endpointMessages}, nil
		case d.isCommand():
			return mode{source: event.SourceHosted, tools: set, program: true}, err
		}
		return mode{source: event.SourceNative, open: nativeMessages, tools: set}, err
	case pack.MultiTurn:
		set, err := toolsOf(p, d, queries)
		m := mode{source: event.SourceMultiTurn, open: talkMessages, tools: set, turns: true}
		if err == nil && textAlone(p) {
			m.tools, m.open = nil, textMessages
		}
		return m, err
	default:
		return mode{}, fmt.Errorf("execution mode %q does not run in this version", p.Version.ExecutionMode)
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

func (m mode) definitions() []provider.Tool {
	if m.tools == nil {
		return nil
	}
	return m.tools.Definitions()
}

// Needs says what a pack asks of the place its agents work in.
type Needs struct {
	Box     bool // a workspace
	Process bool // programs run in it: a shell for agents, graders that run code, packages
	// Spec is what each box must be, as far as the pack decides it.
	Spec sandbox.Spec
}

// NeedsOf reads the needs of a pack whose agents are of these deployments; none
// are an agent of which nothing is known but the pack.
func NeedsOf(p *pack.Pack, all ...Deployment) Needs {
	if len(all) == 0 {
		all = []Deployment{{}}
	}
	box, programs := false, false
	for _, d := range all {
		m, err := newMode(p, d, nil)
		if err != nil {
			return Needs{}
		}
		box, programs = box || m.tools != nil, programs || m.programs()
	}
	if !box {
		return Needs{}
	}
	n := Needs{Box: true, Process: programs, Spec: boxSpec(p, programs)}
	n.Process = n.Process || len(n.Spec.Packages) > 0
	for _, v := range p.Version.EvaluationSpec.Validators {
		n.Process = n.Process || v.Type == scoring.CodeExecution
	}
	return n
}

// programs says whether agents can run any.
func (m mode) programs() bool {
	return m.program || m.tools != nil && m.tools.Reaches("exec", "run_tests", "build")
}

// rootsOf are the directories that a pack keeps its agents to.
func rootsOf(p *pack.Pack) sandbox.Roots {
	var r sandbox.Roots
	r.Dir, r.Read, r.Write = p.Roots()
	return r
}

// boxSpec is what a pack says of the boxes of its trials, in which agents run
// programs or do not.
func boxSpec(p *pack.Pack, programs bool) sandbox.Spec {
	s := sandbox.Spec{Limits: sandbox.DefaultLimits(), Env: p.Environment()}
	l := p.BoxLimits()
	s.Limits.MemoryBytes = cmp.Or(l.MemoryBytes, s.Limits.MemoryBytes)
	s.Limits.WorkspaceBytes = cmp.Or(l.WorkspaceBytes, min(s.Limits.WorkspaceBytes, s.Limits.MemoryBytes/100*sandbox.WorkspaceShare))
	s.Limits.NanoCPUs = cmp.Or(l.NanoCPUs, s.Limits.NanoCPUs)
	s.Limits.PIDs = cmp.Or(l.PIDs, s.Limits.PIDs)
	s.Limits.OpenFiles = cmp.Or(l.OpenFiles, s.Limits.OpenFiles)
	s.Limits.OutputBytes = cmp.Or(l.OutputBytes, s.Limits.OutputBytes)
	s.Limits.FileBytes = l.FileBytes
	if box := p.Version.Sandbox; box != nil {
		s.Packages = box.AdditionalPackages
	}
	if programs {
		s.Roots = rootsOf(p)
	}
	return s
}
