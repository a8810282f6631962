package agents

import (
	"context"
	"fmt"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
	"github.com/charmbracelet/huh"
)

// ChooseDeployments asks for one or more of the stored deployments.
func ChooseDeployments(ctx context.Context, a *cli.App) ([]string, error) {
	list, err := StoredDeployments(ctx, a)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, cli.Usage("no agent was named and no deployment is stored").
			Hint("name a model: --model openai/gpt-4.1-mini, or agentclash deployment create")
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
	return chosen, selector.Asked(err)
}

// Deployments finds what was named: deployments and bare models.
func Deployments(ctx context.Context, a *cli.App, names, models []string) ([]plan.Deployment, error) {
	var found []plan.Deployment
	for _, name := range names {
		one, err := named(ctx, a, name)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	bare, err := UnnamedAgents(ctx, a, models, found)
	if err != nil {
		return nil, err
	}
	found = append(found, bare...)
	for i, d := range found {
		if found[i], err = ByAccount(ctx, a, d); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// named is a deployment of the repository or of the store, with all that it names
// and its files as they are now.
func named(ctx context.Context, a *cli.App, name string) (plan.Deployment, error) {
	d, err := defined(ctx, a, name)
	if err != nil {
		return plan.Deployment{}, err
	}
	whole, err := Referred(ctx, a, d.Deployment.Deployment)
	if err == nil && d.origin != originStore {
		err = CheckRepo(a, whole)
	}
	if err != nil {
		return whole, err
	}
	return WithFiles(a, whole)
}

func noDeployment(name string) error {
	return (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("there is no deployment %q", name)}).
		Hint("agentclash deployment list")
}

// Concurrency is how many trials run at once when nobody says: a sandbox costs
// memory, a provider has rate limits, a script has neither.
func Concurrency(p *pack.Pack, deployments []plan.Deployment) int {
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
