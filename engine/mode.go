package engine

import (
	"cmp"
	"fmt"

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
	open   func(*pack.Pack, pack.Case, Deployment) ([]provider.Message, error)
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
	case pack.Native, "":
		if d.isHTTP() {
			return mode{source: event.SourceHosted, open: endpointMessages}, nil
		}
		policy, err := tool.ParsePolicy(p.Version.ToolPolicy, p.Tools)
		if err != nil {
			return mode{}, err
		}
		policy.Hidden = d.Tools.Denied
		if d.Sandbox.AllowShell != nil {
			policy.AllowShell = *d.Sandbox.AllowShell
		}
		set, err := tool.NewSet(policy, queries)
		if err != nil {
			return mode{}, err
		}
		if d.isCommand() {
			return mode{source: event.SourceHosted, tools: set, program: true}, nil
		}
		return mode{source: event.SourceNative, open: nativeMessages, tools: set}, nil
	default:
		return mode{}, fmt.Errorf("execution mode %q does not run in this version", p.Version.ExecutionMode)
	}
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
