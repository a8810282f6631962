package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// testTokens bounds the reply of a test: enough for a model that thinks first to
// say something, and a matter of cents at most.
const testTokens = 256

type accountTestOptions struct {
	model   string
	seconds int
}

func newAccountTest(a *app) *cobra.Command {
	var o accountTestOptions
	c := &cobra.Command{
		Use: "test ACCOUNT", Short: "Make one small call, and say what came of it",
		Long: `Make one small call with a provider account and say what came of it. Nothing
else is asked, and nothing is tried again.

Exit status: 0 the provider answered; 64 it refused the request or does not know
the model; 66 there is no such account; 69 it could not be reached, or what
answers is no such provider; 75 it is overloaded, failing or too slow; 77 the
key is missing or was refused; 1 anything else.`,
		Example: "  agentclash infra provider-account test openai\n  agentclash infra provider-account test lab --model llama3 --timeout-seconds 60",
		Args:    exactArgs("ACCOUNT"),
		RunE:    func(c *cobra.Command, args []string) error { return runAccountTest(c.Context(), a, o, args[0]) },
	}
	c.Flags().StringVar(&o.model, "model", "", "model to ask, as the provider calls it (default: the cheapest that has a price)")
	c.Flags().IntVar(&o.seconds, "timeout-seconds", 20, "seconds to wait")
	return c
}

func runAccountTest(ctx context.Context, a *app, o accountTestOptions, selector string) error {
	if o.seconds < 1 || o.seconds > 3600 {
		return usage("--timeout-seconds must be 1 to 3600")
	}
	found, err := a.account(ctx, selector)
	if err != nil {
		return err
	}
	client, err := a.accountClient(found)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(ctx, time.Duration(o.seconds)*time.Second,
		fmt.Errorf("no reply within %d s: %w", o.seconds, context.DeadlineExceeded))
	defer stop()
	t := view.AccountTest{Name: found.Name, Provider: found.Provider, Status: "passed", Passed: true}
	began := a.p.Now()
	t.Model, err = askAccount(ctx, client, found, o.model)
	t.DurationMS = a.p.Now().Sub(began).Milliseconds()
	if errors.Is(ctx.Err(), context.Canceled) {
		return err // by the user
	}
	status := statusOK
	if err != nil {
		t.Passed, t.Status, t.Code, t.Message = false, "failed", string(provider.CodeOf(err)), err.Error()
		status = callStatus(err)
	}
	if err := a.print(t, func(w io.Writer, v view.Options) error { return view.AccountTested(w, t, v) }); err != nil {
		return err
	}
	return verdict(status)
}

// askAccount makes one small call, and says which model was asked.
func askAccount(ctx context.Context, client provider.Client, account store.Account, model string) (string, error) {
	if model = cmp.Or(model, cheapest(account)); model == "" {
		first, err := firstModel(ctx, client)
		if err != nil {
			return "", err
		}
		model = first
	}
	_, err := client.Complete(ctx, provider.Request{
		Model: model, Messages: []provider.Message{{Role: provider.User, Content: "Say OK."}},
		Sampling: provider.Sampling{MaxOutputTokens: testTokens},
	}, nil)
	return model, err
}

// callStatus is the status that a call that failed stands for.
func callStatus(err error) int {
	var e *provider.Error
	if !errors.As(err, &e) {
		return statusError
	}
	switch e.Code {
	case provider.Auth:
		return statusNoPermission
	case provider.Unavailable:
		if e.Status == 0 {
			return statusUnavailable
		}
		return statusTryAgain
	case provider.RateLimit, provider.Timeout:
		return statusTryAgain
	case provider.InvalidRequest, provider.UnknownModel:
		return statusUsage
	case provider.MalformedResponse:
		return statusUnavailable
	}
	return statusError
}

// accountClient makes the client of an account.
func (a *app) accountClient(s store.Account) (provider.Client, error) {
	d := plan.Deployment{Name: s.Name, Provider: s.Provider, BaseURL: s.BaseURL, Account: s.Credential}
	client, _, err := a.client(target{Deployment: d, who: fmt.Sprintf("provider account %q", s.Name)})
	return client, err
}

// cheapest is the model of an account's provider with the lowest list price, ""
// when there is none, or the address is not the provider's own.
func cheapest(s store.Account) string {
	best, usd := "", 0.0
	if s.BaseURL != "" {
		return ""
	}
	for _, row := range scoring.CurrentPrices().Of(s.Provider).Models {
		if each := row.InputCostPerMillionTokens + row.OutputCostPerMillionTokens; best == "" || each < usd {
			best, usd = row.ProviderModelID, each
		}
	}
	return best
}

// firstModel is one that the provider says it has.
func firstModel(ctx context.Context, client provider.Client) (string, error) {
	lister, ok := client.(provider.Lister)
	if !ok {
		return "", usage("no model of this provider is known: give one with --model")
	}
	list, err := lister.Models(ctx)
	if err == nil && len(list) == 0 {
		err = usage("the provider lists no models: give one with --model")
	}
	if err != nil {
		return "", err
	}
	return list[0].ID, nil
}

func newAccountModels(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "models ACCOUNT", Short: "List the models that an account's provider offers, with prices",
		Long: `List the models that an account's provider offers, as it says itself, with prices
in US dollars for a million tokens: live where the provider names them, static
from the list prices that this version comes with, else unknown.`,
		Example: "  agentclash infra provider-account models openai\n  agentclash infra provider-account models openrouter --json --query '.items[].id'",
		Args:    exactArgs("ACCOUNT"),
		RunE: func(c *cobra.Command, args []string) error {
			found, err := a.account(c.Context(), args[0])
			if err != nil {
				return err
			}
			list, err := a.offered(c.Context(), found)
			if err != nil {
				return err
			}
			page := view.Page[view.Model]{Items: list, Total: len(list), Limit: len(list)}
			return a.print(page, func(w io.Writer, o view.Options) error { return view.ModelList(w, page, o) })
		},
	}
}

// offered are the models of an account, with what they cost.
func (a *app) offered(ctx context.Context, s store.Account) ([]view.Model, error) {
	client, err := a.accountClient(s)
	if err != nil {
		return nil, err
	}
	prices := scoring.CurrentPrices()
	if s.BaseURL != "" {
		prices = scoring.ListPrices{} // what is asked elsewhere, nobody has listed
	}
	var list []provider.ModelInfo
	if lister, ok := client.(provider.Lister); ok {
		if list, err = lister.Models(ctx); err != nil {
			return nil, &failure{status: callStatus(err), code: cmp.Or(string(provider.CodeOf(err)), "request_failed"), err: fmt.Errorf("list the models of %s: %w", s.Name, err)}
		}
	} else {
		a.say("note: %s cannot be asked for its models: these are the ones with list prices", s.Provider)
		for _, row := range prices.Of(s.Provider).Models {
			list = append(list, provider.ModelInfo{ID: row.ProviderModelID})
		}
	}
	models := make([]view.Model, 0, len(list))
	for _, m := range list {
		v := view.Model{ID: m.ID, DisplayName: m.DisplayName, InputUSD: m.InputUSD, OutputUSD: m.OutputUSD, PricingSource: "unknown"}
		row, priced := prices.Find(s.Provider, m.ID)
		switch {
		case m.InputUSD != nil || m.OutputUSD != nil:
			v.PricingSource = "live"
		case priced:
			v.PricingSource, v.InputUSD, v.OutputUSD = "static", &row.InputCostPerMillionTokens, &row.OutputCostPerMillionTokens
		}
		models = append(models, v)
	}
	return models, nil
}
