package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/egress"
	"github.com/agentclash/agentclash/scoring"
)

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
		m, err := NewMode(p, d, nil)
		if err != nil {
			return Needs{}
		}
		box, programs = box || m.Tools != nil, programs || m.Programs()
	}
	if !box {
		return Needs{}
	}
	n := Needs{Box: true, Process: programs, Spec: BoxSpec(p, all[0], programs)}
	n.Process = n.Process || len(n.Spec.Packages) > 0
	for _, v := range p.Version.EvaluationSpec.Validators {
		n.Process = n.Process || v.Type == scoring.CodeExecution
	}
	return n
}

// RootsOf are the directories that a pack keeps its agents to.
func RootsOf(p *pack.Pack) sandbox.Roots {
	var r sandbox.Roots
	r.Dir, r.Read, r.Write = p.Roots()
	return r
}

// BoxSpec is what a pack, and a deployment that changes it, say of the boxes of
// their trials, in which agents run programs or do not.
func BoxSpec(p *pack.Pack, d Deployment, programs bool) sandbox.Spec {
	s := sandbox.Spec{Limits: sandbox.DefaultLimits(), Env: p.Environment()}
	l := p.BoxLimits()
	if n, _ := pack.ByteSize(d.Sandbox.Memory); n > 0 {
		l.MemoryBytes = n
	}
	if d.Sandbox.CPUs != nil {
		l.NanoCPUs = int64(math.Round(*d.Sandbox.CPUs * 1e9))
	}
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
		s.Roots = RootsOf(p)
	}
	return s
}

// Network is what a pack permits its trials of the network.
type Network struct {
	Policy   egress.Policy
	Tools    bool // http_request
	Programs bool // those in the box
	Watched  bool // those in the box are refused, and each attempt is a fact
	Vault    bool // those in the box have the mock vault instead
}

// NetworkOf reads a pack's rules, and what a deployment makes of them. The
// sandbox's network is the tools' too; the tool policy can permit them alone.
func NetworkOf(p *pack.Pack, d Deployment) (Network, error) {
	var n Network
	var list []string
	if box := p.Version.Sandbox; box != nil {
		n.Programs, list = box.NetworkAccess, box.NetworkAllowlist
	}
	allowed, _ := p.Version.ToolPolicy["allow_network"].(bool)
	n.Tools = n.Programs || allowed
	if over := d.Sandbox.AllowNetwork; over != nil {
		n.Tools, n.Programs = *over, n.Programs && *over
	}
	process := NeedsOf(p, d).Process
	n.Vault = hasVault(p) && process
	n.Watched = p.Security != nil && len(p.Security.ForbiddenEgress) > 0 && process && !n.Programs && !n.Vault
	n.Programs = n.Programs && process && !n.Vault
	if !n.Tools {
		return n, nil
	}
	var err error
	if n.Policy, err = egress.NewPolicy(list, egress.MachineAddrs()); err != nil {
		return Network{}, fmt.Errorf("version.sandbox: %w", err)
	}
	return n, nil
}

func hasVault(p *pack.Pack) bool { return len(p.Planted(scoring.PlantVault)) > 0 }

// checkBoxes refuses boxes that a deployment would make too small for the pack.
func (p *Plan) checkBoxes() error {
	var errs []error
	for _, a := range p.Agents {
		l := BoxSpec(p.Source, a.Deployment, false).Limits
		if a.Deployment.Sandbox.Memory != "" && l.WorkspaceBytes > l.MemoryBytes/100*sandbox.WorkspaceShare {
			errs = append(errs, fmt.Errorf("deployment %q: sandbox.memory %s is too little for the workspace of %d bytes that the pack asks for, which is part of it",
				a.Label, a.Deployment.Sandbox.Memory, l.WorkspaceBytes))
		}
	}
	return errors.Join(errs...)
}
