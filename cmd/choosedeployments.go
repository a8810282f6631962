package cmd

import (
	"context"
	"fmt"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
	"github.com/charmbracelet/huh"
)

// chooseDeployments asks for one or more of the stored deployments.
func (a *app) chooseDeployments(ctx context.Context) ([]string, error) {
	list, err := a.storedDeployments(ctx)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, usage("no agent was named and no deployment is stored").
			hint("name a model: --model openai/gpt-4.1-mini, or agentclash deployment create")
	}
	var options []huh.Option[string]
	for _, d := range list {
		options = append(options, huh.NewOption(view.SanitizeLine(d.Name+" ("+d.Target+")"), d.Name))
	}
	if len(options) == 1 {
		return []string{list[0].Name}, nil
	}
	var chosen []string
	err = huh.NewMultiSelect[string]().Title("Agents").Options(options...).Value(&chosen).Run()
	return chosen, asked(err)
}

// deployments finds what was named: deployments and bare models.
func (a *app) deployments(ctx context.Context, names, models []string) ([]plan.Deployment, error) {
	var found []plan.Deployment
	for _, name := range names {
		one, err := a.named(ctx, name)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	bare, err := a.unnamedAgents(ctx, models, found)
	if err != nil {
		return nil, err
	}
	found = append(found, bare...)
	for i, d := range found {
		if found[i], err = a.byAccount(ctx, d); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// named is a deployment of the repository or of the store, with all that it names
// and its files as they are now.
func (a *app) named(ctx context.Context, name string) (plan.Deployment, error) {
	d, err := a.defined(ctx, name)
	if err != nil {
		return plan.Deployment{}, err
	}
	whole, err := a.referred(ctx, d.Deployment.Deployment)
	if err != nil {
		return whole, err
	}
	return a.withFiles(whole)
}

func noDeployment(name string) error {
	return (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("there is no deployment %q", name)}).
		hint("agentclash deployment list")
}

// concurrency is how many trials run at once when nobody says: a sandbox costs
// memory, a provider has rate limits, a script has neither.
func concurrency(p *pack.Pack, deployments []plan.Deployment) int {
	if plan.NeedsOf(p, deployments...).Box {
		return 4
	}
	for _, d := range deployments {
		if d.Provider != provider.Scripted {
			return 8
		}
	}
	return 32
}
