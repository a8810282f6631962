package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

const aliasFamily = "infra model-alias"

// storedAlias is a model alias as it is kept.
type storedAlias struct {
	spec.ModelAlias
	// Script is where a scripted model's file is: Model, which is as the user wrote it and
	// as prices and baselines name it, says that only from where it was written.
	Script string `json:"script,omitempty"`
}

// NewModelAlias is agentclash infra model-alias: short names, looked up whenever a run is
// planned.
func NewModelAlias(a *cli.App) *cobra.Command {
	return cli.Group("model-alias", "Name models for short, with their account and price",
		newModelAliasList(a), newModelAliasCreate(a), newModelAliasGet(a), newModelAliasDelete(a))
}

func newModelAliasCreate(a *cli.App) *cobra.Command {
	var m spec.ModelAlias
	var file, entry string
	var in, out float64
	c := &cobra.Command{
		Use: "create", Short: "Keep a model under a short name",
		Long: `Keep a model under a short name, for --model and the model of a deployment. A run
looks it up when it is planned and keeps the model that it found: an alias that is
made anew changes later runs alone. The prices are those of a million tokens, and
have precedence over the catalog's, not over the pack's own.`,
		Example: `  agentclash infra model-alias create --alias-key fast --model openai/gpt-4.1-mini
  agentclash infra model-alias create --alias-key lab --model openai/llama3 --input-usd 0.1 --output-usd 0.2
  agentclash infra model-alias create --from-file alias.yaml`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f := c.LocalFlags()
			if m.Model != "" && entry != "" {
				return cli.Usage("--model and --model-catalog-entry-id say the model twice: choose one")
			}
			if entry != "" {
				m.Model = entry
			}
			if f.Changed("input-usd") {
				m.InputUSD = &in
			}
			if f.Changed("output-usd") {
				m.OutputUSD = &out
			}
			m, err := Written(a, c, Source[spec.ModelAlias]{"model alias", file, spec.ParseAlias}, m)
			if err != nil {
				return err
			}
			return runModelAliasCreate(c.Context(), a, m)
		},
	}
	f := c.Flags()
	f.StringVar(&file, "from-file", "", "YAML or JSON file with the alias's fields")
	f.StringVar(&m.AliasKey, "alias-key", "", "the short name")
	f.StringVar(&m.DisplayName, "display-name", "", "what it is called in lists")
	f.StringVar(&m.Model, "model", "", "provider/model")
	f.StringVar(&entry, "model-catalog-entry-id", "", "the same, as model-catalog list shows it")
	f.StringVar(&m.Account, "account", "", "a provider account, or where the key is: env://NAME or workspace-secret://NAME (default: the deployment's)")
	f.Float64Var(&in, "input-usd", 0, "US dollars for a million tokens of input")
	f.Float64Var(&out, "output-usd", 0, "US dollars for a million tokens of output")
	return c
}

func runModelAliasCreate(ctx context.Context, a *cli.App, m spec.ModelAlias) error {
	m.AliasKey = strings.TrimSpace(m.AliasKey)
	key, model, err := provider.ParseModel(m.Model)
	if err != nil {
		return cli.Usage("--model: %w", err)
	}
	m.Model = key + "/" + model
	kept := storedAlias{ModelAlias: m}
	if key == provider.Scripted {
		kept.Script = (&DeploymentSpec{}).scriptFile(a, model)
	}
	if strings.Contains(m.Account, "://") {
		if err := checkAccount(m.Account); err != nil {
			return cli.Usage("--account: %w", err)
		}
	}
	if _, err := ByAccount(ctx, a, plan.Deployment{Name: m.AliasKey, Provider: key, Model: model, Account: m.Account}); err != nil {
		return err
	}
	stored, err := KeepResource(ctx, a, store.ModelAlias, m.AliasKey, kept)
	if errors.Is(err, store.ErrConflict) {
		return cli.Classify(err).Hint("agentclash infra model-alias delete %s, then create it anew", m.AliasKey)
	}
	if err != nil {
		return err
	}
	v, err := viewAlias(a, stored)
	if err != nil {
		return err
	}
	return a.Print(v, func(io.Writer, view.Options) error {
		a.Say("✓ model alias %s: %s", m.AliasKey, m.Model)
		return nil
	})
}

func viewAlias(a *cli.App, r store.Resource) (view.ModelAlias, error) {
	m, err := Document[spec.ModelAlias](r)
	v := view.ModelAlias{ID: r.ID, AliasKey: m.AliasKey, DisplayName: m.DisplayName, Model: m.Model, Account: m.Account,
		InputUSD: m.InputUSD, OutputUSD: m.OutputUSD, PricingSource: "alias", CreatedAt: r.CreatedAt}
	if err != nil || m.InputUSD != nil {
		return v, err
	}
	v.PricingSource = "unknown"
	catalog, err := Catalog(a)
	if err != nil {
		return v, err
	}
	if key, model, perr := provider.ParseModel(m.Model); perr == nil {
		if row, ok := catalog.Prices.Find(key, model); ok {
			v.InputUSD, v.OutputUSD, v.PricingSource = &row.InputCostPerMillionTokens, &row.OutputCostPerMillionTokens, "catalog"
		}
	}
	return v, nil
}

func newModelAliasList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the model aliases", Args: cli.NoArgs,
		Example: "  agentclash infra model-alias list",
	}
	return cli.List(a, c, "no model aliases: agentclash infra model-alias create --alias-key NAME --model PROVIDER/MODEL",
		func(ctx context.Context, _ []string) ([]view.ModelAlias, error) {
			return Listed(ctx, a, store.ModelAlias, func(r store.Resource) (view.ModelAlias, error) { return viewAlias(a, r) })
		}, view.ModelAliasList)
}

func newModelAliasGet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get ALIAS", Short: "Show a model alias", Args: cli.ExactArgs("ALIAS"),
		Example: "  agentclash infra model-alias get fast",
		RunE: func(c *cobra.Command, args []string) error {
			r, err := Resource(c.Context(), a, store.ModelAlias, aliasFamily, args[0])
			if err != nil {
				return err
			}
			v, err := viewAlias(a, r)
			if err != nil {
				return err
			}
			return a.Print(v, func(w io.Writer, o view.Options) error {
				return view.ModelAliasList(w, cli.PageOf([]view.ModelAlias{v}, cli.ListOptions{}), o)
			})
		},
	}
}

func newModelAliasDelete(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "delete ALIAS", Short: "Forget a model alias; its runs stay as they are", Args: cli.ExactArgs("ALIAS"),
		Example: "  agentclash infra model-alias delete fast",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			r, err := Resource(ctx, a, store.ModelAlias, aliasFamily, args[0])
			if err != nil {
				return err
			}
			users, err := deploymentsThat(ctx, a, func(d view.Deployment) bool { return strings.EqualFold(d.ModelAlias, r.Name) })
			if err != nil {
				return err
			}
			return DeleteResource(ctx, a, r, "model_alias_id", "model alias", users)
		},
	}
}

// deploymentsThat are the names of deployments of which something is so. A file of
// the repository that cannot be read has none.
func deploymentsThat(ctx context.Context, a *cli.App, is func(view.Deployment) bool) (names []string, err error) {
	list, err := StoredDeployments(ctx, a)
	for _, d := range list {
		if is(d) {
			names = append(names, d.Name)
		}
	}
	return names, err
}

// DeleteResource removes a resource, and says which deployments still name it.
func DeleteResource(ctx context.Context, a *cli.App, r store.Resource, id, what string, users []string) error {
	db, err := a.Store(ctx)
	if err != nil {
		return err
	}
	if err := db.DeleteResource(ctx, r.ID); err != nil {
		return err
	}
	doc := map[string]any{id: r.ID, "name": r.Name, "action": "deleted", "deployments": view.List[string](users)}
	return a.Print(doc, func(io.Writer, view.Options) error {
		a.Say("✓ %s %s: deleted", what, r.Name)
		if len(users) > 0 {
			a.Warn("! deployments name it, and cannot run without it: %s", strings.Join(users, ", "))
		}
		return nil
	})
}

// alias finds a model alias by its whole name; ok is false when there is none.
func alias(ctx context.Context, a *cli.App, name string) (m storedAlias, ok bool, err error) {
	if strings.ContainsAny(name, "/\\") || strings.TrimSpace(name) == "" {
		return m, false, nil
	}
	rows, err := Resources(ctx, a, store.ModelAlias)
	for _, r := range rows {
		if strings.EqualFold(r.Name, strings.TrimSpace(name)) {
			m, err = Document[storedAlias](r)
			return m, err == nil, err
		}
	}
	return m, false, err
}

// ReadAlias puts the model of an alias in its place.
func ReadAlias(ctx context.Context, a *cli.App, s *DeploymentSpec) error {
	m, ok, err := alias(ctx, a, s.Model)
	if err != nil || !ok {
		return err
	}
	s.alias, s.Model, s.script = m.AliasKey, m.Model, m.Script
	return nil
}

// byAlias fills in what a deployment takes from its alias as it is now.
func byAlias(ctx context.Context, a *cli.App, d plan.Deployment) (plan.Deployment, error) {
	if d.Alias == "" {
		return d, nil
	}
	m, ok, err := alias(ctx, a, d.Alias)
	if err != nil {
		return d, err
	}
	if !ok {
		return d, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("deployment %q: there is no model alias %q", d.Name, d.Alias)}).
			Hint("agentclash infra model-alias list")
	}
	if d.Provider, d.Model, err = provider.ParseModel(m.Model); err != nil {
		return d, cli.Usage("model alias %s: %w", m.AliasKey, err)
	}
	d.Script = m.Script
	if d.Account == "" {
		d.Account = m.Account
	}
	d.Price = m.Price()
	if err := checkSettings(a, d); err != nil {
		return d, cli.Usage("deployment %q: %w", d.Name, err)
	}
	return d, nil
}

// UnnamedAgents makes the deployments of --model flags. One of an alias has its name.
func UnnamedAgents(ctx context.Context, a *cli.App, models []string, taken []plan.Deployment) ([]plan.Deployment, error) {
	var plain []string
	aliases := map[int]plan.Deployment{}
	for i, model := range models {
		m, ok, err := alias(ctx, a, model)
		if err != nil {
			return nil, err
		}
		if !ok {
			plain = append(plain, model)
			continue
		}
		if aliases[i], err = byAlias(ctx, a, plan.Deployment{Name: m.AliasKey, Alias: m.AliasKey}); err != nil {
			return nil, err
		}
		taken = append(taken, aliases[i])
	}
	bare, err := unnamed(plain, taken)
	if err != nil {
		return nil, err
	}
	list := make([]plan.Deployment, 0, len(models))
	for i := range models {
		if d, ok := aliases[i]; ok {
			list = append(list, d)
			continue
		}
		list, bare = append(list, bare[0]), bare[1:]
	}
	return list, nil
}

// Referred is a deployment with all that it names looked up: its model alias, its
// build and its runtime profile.
func Referred(ctx context.Context, a *cli.App, d plan.Deployment) (plan.Deployment, error) {
	d, err := byAlias(ctx, a, d)
	if err == nil {
		d, err = byBuild(ctx, a, d)
	}
	if err == nil {
		d, err = byProfile(ctx, a, d)
	}
	return d, err
}
