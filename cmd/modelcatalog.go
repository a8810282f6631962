package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// catalogFile is the user's own list of prices, in the home directory.
const catalogFile = "model-catalog.yaml"

// modelCatalog is the list prices that runs are reckoned with: those of the user's
// file before those that are built in.
type modelCatalog struct {
	prices scoring.ListPrices
	own    int    // how many rows are of the file
	asOf   string // of the file's rows
}

// catalog reads the model catalog. It is never fetched.
func (a *app) catalog() (modelCatalog, error) {
	c := modelCatalog{prices: scoring.CurrentPrices()}
	home, err := a.home()
	if err != nil {
		return c, err
	}
	path := filepath.Join(home, catalogFile)
	src, err := resourceFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, usage("read the model catalog: %w", err)
	}
	own, problems := spec.ParseCatalog(path, src)
	if problems.Err() != nil {
		return c, refusal("invalid_config", "the model catalog is not valid", problems.Errors())
	}
	c.own, c.asOf = len(own.Models), own.AsOf
	for _, row := range c.prices.Models {
		if !slices.ContainsFunc(own.Models, func(o scoring.Price) bool {
			return o.ProviderKey == row.ProviderKey && o.ProviderModelID == row.ProviderModelID
		}) {
			own.Models = append(own.Models, row)
		}
	}
	c.prices.Models = own.Models
	if own.AsOf != "" && c.own > 0 {
		c.prices.AsOf = own.AsOf
	}
	return c, nil
}

func (c modelCatalog) entries() []view.CatalogModel {
	built := scoring.CurrentPrices().AsOf
	list := make([]view.CatalogModel, len(c.prices.Models))
	for i, row := range c.prices.Models {
		m := view.CatalogModel{ID: row.ProviderKey + "/" + row.ProviderModelID, Provider: row.ProviderKey, Model: row.ProviderModelID,
			InputUSD: row.InputCostPerMillionTokens, OutputUSD: row.OutputCostPerMillionTokens, AsOf: built, Source: "built in"}
		if i < c.own {
			m.AsOf, m.Source = c.asOf, "file"
		}
		list[i] = m
	}
	return list
}

func newModelCatalog(a *app) *cobra.Command {
	c := group("model-catalog", "See which prices models are reckoned with", newCatalogModelList(a), newCatalogModelGet(a))
	c.Aliases = []string{"models"}
	return c
}

func newCatalogModelList(a *app) *cobra.Command {
	var page listOptions
	var of string
	c := &cobra.Command{
		Use: "list", Short: "List the models whose prices are known, with the day of the price", Args: noArgs,
		Long: `List the models whose prices are known: US dollars for a million tokens, as their
vendors listed them on the day shown. Nothing is fetched. A file model-catalog.yaml
in the home directory (AGENTCLASH_HOME) has as_of and models in the form of this
list's JSON, and its rows go before those that are built in. A run keeps the
prices that it was planned with.`,
		Example: "  agentclash infra model-catalog list\n  agentclash infra models list --provider openai",
		RunE: func(_ *cobra.Command, _ []string) error {
			if err := page.check(); err != nil {
				return err
			}
			if of != "" && !slices.Contains(provider.Names(), strings.ToLower(of)) {
				return usage("--provider must be one of %s", strings.Join(provider.Names(), ", "))
			}
			catalog, err := a.catalog()
			if err != nil {
				return err
			}
			list := slices.DeleteFunc(catalog.entries(), func(m view.CatalogModel) bool { return of != "" && !strings.EqualFold(m.Provider, of) })
			shown := pageOf(list, page)
			return a.print(shown, func(w io.Writer, o view.Options) error {
				sayMore(a, shown)
				return view.ModelCatalogList(w, shown, o)
			})
		},
	}
	page.addFlags(c.Flags())
	c.Flags().StringVar(&of, "provider", "", "only the models of this provider")
	return c
}

func newCatalogModelGet(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "get MODEL", Short: "Show the price of one model", Args: exactArgs("MODEL"),
		Example: "  agentclash infra model-catalog get openai/gpt-4.1-mini",
		RunE: func(_ *cobra.Command, args []string) error {
			key, model, err := provider.ParseModel(args[0])
			if err != nil {
				return usage("%w", err)
			}
			catalog, err := a.catalog()
			if err != nil {
				return err
			}
			row, ok := catalog.prices.Find(key, model)
			i := slices.IndexFunc(catalog.entries(), func(m view.CatalogModel) bool {
				return m.Provider == row.ProviderKey && m.Model == row.ProviderModelID
			})
			if !ok || i < 0 {
				return (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("the catalog has no model %q", args[0])}).
					hint("agentclash infra model-catalog list; a price of your own: agentclash infra model-alias create --help")
			}
			m := catalog.entries()[i]
			return a.print(m, func(w io.Writer, o view.Options) error {
				return view.ModelCatalogList(w, pageOf([]view.CatalogModel{m}, listOptions{}), o)
			})
		},
	}
}
