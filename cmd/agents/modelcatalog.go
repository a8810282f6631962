package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
	"github.com/spf13/cobra"
)

// catalogFile is the user's own list of prices, in the home directory.
const catalogFile = "model-catalog.yaml"

// modelCatalog is the list prices that runs are reckoned with: those of the user's
// file before those that are built in.
type modelCatalog struct {
	Prices scoring.ListPrices
	own    int    // how many rows are of the file
	asOf   string // of the file's rows
}

// Catalog reads the model catalog. It is never fetched.
func Catalog(a *cli.App) (modelCatalog, error) {
	c := modelCatalog{Prices: scoring.CurrentPrices()}
	home, err := a.Home()
	if err != nil {
		return c, err
	}
	path := filepath.Join(home, catalogFile)
	src, err := cli.ResourceFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, cli.Usage("read the model catalog: %w", err)
	}
	own, problems := spec.ParseCatalog(path, src)
	if problems.Err() != nil {
		return c, selector.Refusal("invalid_config", "the model catalog is not valid", problems.Errors())
	}
	c.own, c.asOf = len(own.Models), own.AsOf
	for _, row := range c.Prices.Models {
		if !slices.ContainsFunc(own.Models, func(o scoring.Price) bool {
			return o.ProviderKey == row.ProviderKey && o.ProviderModelID == row.ProviderModelID
		}) {
			own.Models = append(own.Models, row)
		}
	}
	c.Prices.Models = own.Models
	if own.AsOf != "" && c.own > 0 {
		c.Prices.AsOf = own.AsOf
	}
	return c, nil
}

func (c modelCatalog) entries() []view.CatalogModel {
	built := scoring.CurrentPrices().AsOf
	list := make([]view.CatalogModel, len(c.Prices.Models))
	for i, row := range c.Prices.Models {
		m := view.CatalogModel{ID: row.ProviderKey + "/" + row.ProviderModelID, Provider: row.ProviderKey, Model: row.ProviderModelID,
			InputUSD: row.InputCostPerMillionTokens, OutputUSD: row.OutputCostPerMillionTokens, AsOf: built, Source: "built in"}
		if i < c.own {
			m.AsOf, m.Source = c.asOf, "file"
		}
		list[i] = m
	}
	return list
}

// NewModelCatalog is agentclash infra model-catalog: list prices, which are never fetched.
func NewModelCatalog(a *cli.App) *cobra.Command {
	c := cli.Group("model-catalog", "See which prices models are reckoned with", newCatalogModelList(a), newCatalogModelGet(a))
	c.Aliases = []string{"models"}
	return c
}

func newCatalogModelList(a *cli.App) *cobra.Command {
	var of string
	c := &cobra.Command{
		Use: "list", Short: "List the models whose prices are known, with the day of the price", Args: cli.NoArgs,
		Long: `List the models whose prices are known: US dollars for a million tokens, as their
vendors listed them on the day shown. Nothing is fetched. A file model-catalog.yaml
in the home directory (AGENTCLASH_HOME) has as_of and models in the form of this
list's JSON, and its rows go before those that are built in. A run keeps the
prices that it was planned with.`,
		Example: "  agentclash infra model-catalog list\n  agentclash infra models list --provider openai",
	}
	c.Flags().StringVar(&of, "provider", "", "only the models of this provider")
	return cli.List(a, c, "", func(context.Context, []string) ([]view.CatalogModel, error) {
		if of != "" && !slices.Contains(provider.Names(), strings.ToLower(of)) {
			return nil, cli.Usage("--provider must be one of %s", strings.Join(provider.Names(), ", "))
		}
		catalog, err := Catalog(a)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(catalog.entries(), func(m view.CatalogModel) bool { return of != "" && !strings.EqualFold(m.Provider, of) }), nil
	}, view.ModelCatalogList)
}

func newCatalogModelGet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get MODEL", Short: "Show the price of one model", Args: cli.ExactArgs("MODEL"),
		Example: "  agentclash infra model-catalog get openai/gpt-4.1-mini",
		RunE: func(_ *cobra.Command, args []string) error {
			key, model, err := provider.ParseModel(args[0])
			if err != nil {
				return cli.Usage("%w", err)
			}
			catalog, err := Catalog(a)
			if err != nil {
				return err
			}
			row, ok := catalog.Prices.Find(key, model)
			i := slices.IndexFunc(catalog.entries(), func(m view.CatalogModel) bool {
				return m.Provider == row.ProviderKey && m.Model == row.ProviderModelID
			})
			if !ok || i < 0 {
				return (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("the catalog has no model %q", args[0])}).
					Hint("agentclash infra model-catalog list; a price of your own: agentclash infra model-alias create --help")
			}
			m := catalog.entries()[i]
			return a.Print(m, func(w io.Writer, o view.Options) error {
				return view.ModelCatalogList(w, cli.PageOf([]view.CatalogModel{m}, cli.ListOptions{}), o)
			})
		},
	}
}
