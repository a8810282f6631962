package engine

import (
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
)

// The APIs of OpenAI's protocol that a deployment may name.
const (
	APIChat      = "chat"
	APIResponses = "responses"

	surfaceResponses = APIResponses
)

// CheckSurface refuses settings that the deployment's provider does not have.
func (d Deployment) CheckSurface() error {
	var errs []error
	own := d.Provider == provider.Anthropic || d.Provider == provider.Gemini || d.Provider == provider.Scripted
	switch {
	case d.API == "" || d.API == APIChat && !own || d.API == APIResponses && !own:
	case d.API != APIChat && d.API != APIResponses:
		errs = append(errs, fmt.Errorf("api: %q is neither %s nor %s", d.API, APIChat, APIResponses))
	default:
		errs = append(errs, fmt.Errorf("api: %s has one API: leave it out", d.Provider))
	}
	if d.PromptCache != nil && d.Provider != provider.Anthropic {
		errs = append(errs, fmt.Errorf("prompt_cache: only anthropic is asked to cache prompts; %s does as it does: leave it out", d.Provider))
	}
	return errors.Join(errs...)
}

// checkSurface refuses agents whose provider cannot be asked as the plan's mode,
// or they themselves, want.
func (p *Plan) checkSurface() error {
	var errs []error
	for _, a := range p.Agents {
		d := a.Deployment
		if err := d.CheckSurface(); err != nil {
			errs = append(errs, fmt.Errorf("deployment %q: %w", a.Label, err))
		}
		if p.Mode != pack.Responses {
			continue
		}
		other := d.Provider == provider.Anthropic || d.Provider == provider.Gemini
		if d.Provider != provider.OpenAI && d.Provider != provider.Scripted && (d.BaseURL == "" || other) {
			errs = append(errs, fmt.Errorf("deployment %q: responses packs need OpenAI's Responses API, which %s does not have: use openai, scripted, or a deployment with the base_url of a server that has it",
				a.Label, d.Provider))
		}
		if bounded := p.spec.RuntimeLimits.MaxTotalTokens != nil || p.spec.RuntimeLimits.MaxCostUSD != nil || p.Options.BudgetUSD > 0; bounded &&
			d.Sampling.MaxOutputTokens == 0 && d.Limits.MaxOutputTokens == 0 && d.Provider != provider.Scripted {
			errs = append(errs, fmt.Errorf("deployment %q: a responses call has no output bound of its own, so that a limit or a budget cannot be kept: set limits.max_output_tokens",
				a.Label))
		}
		if d.API == APIChat {
			errs = append(errs, fmt.Errorf("deployment %q: api is chat, and the pack's execution_mode is responses: use a deployment without it", a.Label))
		}
	}
	return errors.Join(errs...)
}
