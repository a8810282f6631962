package infra

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

const policyFamily = "infra spend-policy"

func newSpendPolicy(a *cli.App) *cobra.Command {
	return cli.Group("spend-policy", "Bound what models may cost in a run, a session or a day",
		newSpendList(a), newSpendCreate(a), newSpendGet(a), newSpendDelete(a))
}

func newSpendCreate(a *cli.App) *cobra.Command {
	var p spec.SpendPolicy
	var file string
	c := &cobra.Command{
		Use: "create", Short: "Keep a limit of what models may cost",
		Long: `Keep a limit of what models may cost, for every run of the workspace that is
started, resumed or retried from then on. A run gets a budget (--budget-usd) of
what is left of the least limit, and is refused with budget_exceeded when nothing is.

The window run is one run; session is the runs of one --session, else one run; day
is the runs that were started since midnight, UTC. Runs that are going on count
with their whole budget. What has no price cannot be counted, so that a run of a
model without one is refused.`,
		Example: `  agentclash infra spend-policy create --name daily --window day --limit-usd 20
  agentclash infra spend-policy create --name each --window run --limit-usd 2
  agentclash infra spend-policy create --from-file policy.yaml`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := agents.Written(a, c, agents.Source[spec.SpendPolicy]{What: "spend policy", File: file, Parse: spec.ParsePolicy}, p)
			if err != nil {
				return err
			}
			return runSpendCreate(c.Context(), a, p)
		},
	}
	f := c.Flags()
	f.StringVar(&file, "from-file", "", "YAML or JSON file with the policy's fields")
	f.StringVar(&p.Name, "name", "", "name of the policy")
	f.StringVar(&p.Window, "window", "", "run, session or day")
	f.Float64Var(&p.LimitUSD, "limit-usd", 0, "US dollars that all model calls of the window may cost")
	return c
}

func runSpendCreate(ctx context.Context, a *cli.App, p spec.SpendPolicy) error {
	p.Name = strings.TrimSpace(p.Name)
	stored, err := agents.KeepResource(ctx, a, store.SpendPolicy, p.Name, p)
	if errors.Is(err, store.ErrConflict) {
		return cli.Classify(err).Hint("agentclash infra spend-policy delete %s, then create it anew", p.Name)
	}
	if err != nil {
		return err
	}
	v, err := viewPolicy(ctx, a, stored)
	if err != nil {
		return err
	}
	return a.Print(v, func(io.Writer, view.Options) error {
		a.Say("✓ spend policy %s: %s in a %s", p.Name, view.USD(&p.LimitUSD), p.Window)
		return nil
	})
}

func viewPolicy(ctx context.Context, a *cli.App, r store.Resource) (view.SpendPolicy, error) {
	p, err := agents.Document[spec.SpendPolicy](r)
	v := view.SpendPolicy{ID: r.ID, Name: p.Name, Window: p.Window, LimitUSD: p.LimitUSD, CreatedAt: r.CreatedAt}
	if err != nil || p.Window != spec.WindowDay {
		return v, err
	}
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok {
		return v, err
	}
	spent, err := spentSince(ctx, a, db, r.Workspace, a.Process.Now(), "", "")
	v.SpentUSD = new(math.Round(spent/dust) * dust)
	return v, err
}

func newSpendList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the spend policies, with what today has cost", Args: cli.NoArgs,
		Example: "  agentclash infra spend-policy list",
	}
	return cli.List(a, c, "no spend policies: agentclash infra spend-policy create --name daily --window day --limit-usd 20",
		func(ctx context.Context, _ []string) ([]view.SpendPolicy, error) {
			return agents.Listed(ctx, a, store.SpendPolicy, func(r store.Resource) (view.SpendPolicy, error) { return viewPolicy(ctx, a, r) })
		}, view.SpendPolicyList)
}

func newSpendGet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get POLICY", Short: "Show a spend policy", Args: cli.ExactArgs("POLICY"),
		Example: "  agentclash infra spend-policy get daily",
		RunE: func(c *cobra.Command, args []string) error {
			r, err := agents.Resource(c.Context(), a, store.SpendPolicy, policyFamily, args[0])
			if err != nil {
				return err
			}
			v, err := viewPolicy(c.Context(), a, r)
			if err != nil {
				return err
			}
			return a.Print(v, func(w io.Writer, o view.Options) error {
				return view.SpendPolicyList(w, cli.PageOf([]view.SpendPolicy{v}, cli.ListOptions{}), o)
			})
		},
	}
}

func newSpendDelete(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "delete POLICY", Short: "Lift a spend policy", Args: cli.ExactArgs("POLICY"),
		Example: "  agentclash infra spend-policy delete daily",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			r, err := agents.Resource(ctx, a, store.SpendPolicy, policyFamily, args[0])
			if err != nil {
				return err
			}
			return agents.DeleteResource(ctx, a, r, "spend_policy_id", "spend policy", nil)
		},
	}
}
