package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

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
	case d.IsCommand():
		return p.unfitCommand(d)
	case d.IsHTTP():
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
	allowed, _ := p.Source.Version.ToolPolicy["allow_shell"].(bool)
	if over := d.Sandbox.AllowShell; over != nil {
		allowed = *over
	}
	if !allowed {
		whys = append(whys, "the pack does not permit its agents a shell, and a program is more than one: set version.tool_policy.allow_shell, or allow_shell in the deployment's sandbox (--allow-shell)")
	}
	if s := p.Source.Security; s != nil && len(s.AdversarialPrompts) > 0 {
		whys = append(whys, "the pack goes on with the conversation when the work is done (security.adversarial_prompts), and a program has ended by then")
	}
	if len(p.Source.Told()) > 0 {
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
		if s := p.Source.Security; s != nil && len(s.AdversarialPrompts) > 0 {
			whys = append(whys, "the pack goes on with the conversation (security.adversarial_prompts), and an endpoint answers once")
		}
		return whys
	}
	for _, v := range p.Spec.Validators {
		if v.Type == scoring.CodeExecution || strings.HasPrefix(v.Target, "file:") || strings.HasPrefix(v.Target, "dir:") {
			whys = append(whys, fmt.Sprintf("validator %q (%s) looks at files of a sandbox, and an endpoint has none", v.Key, v.Type))
		}
	}
	for _, c := range p.Spec.PostExecutionChecks {
		whys = append(whys, fmt.Sprintf("post_execution_checks %q takes files from a sandbox, and an endpoint has none", c.Key))
	}
	if !p.Source.Security.Empty() {
		whys = append(whys, "the pack's security block is about what agents do in a sandbox, and an endpoint has none")
	}
	for _, c := range p.Cases {
		if n := len(p.Source.WorkspaceFiles(p.cases[c.Key])); n > 0 {
			whys = append(whys, fmt.Sprintf("case %q gives its agent %d file(s) in a sandbox, and an endpoint has none", c.Key, n))
		}
	}
	return whys
}
