package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// testTokens bounds the reply of a test: enough for a model that thinks first to
// say something, and a matter of cents at most.
const testTokens = 256

type accountTestOptions struct {
	model   string
	seconds int
}

// NewAccountTest is agentclash infra provider-account test, the one call that an account
// makes outside of runs and doctor --live.
func NewAccountTest(a *cli.App) *cobra.Command {
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
		Args:    cli.ExactArgs("ACCOUNT"),
		RunE:    func(c *cobra.Command, args []string) error { return runAccountTest(c.Context(), a, o, args[0]) },
	}
	c.Flags().StringVar(&o.model, "model", "", "model to ask, as the provider calls it (default: the cheapest that has a price)")
	c.Flags().IntVar(&o.seconds, "timeout-seconds", 20, "seconds to wait")
	return c
}

func runAccountTest(ctx context.Context, a *cli.App, o accountTestOptions, selector string) error {
	if o.seconds < 1 || o.seconds > 3600 {
		return cli.Usage("--timeout-seconds must be 1 to 3600")
	}
	found, err := Account(ctx, a, selector)
	if err != nil {
		return err
	}
	client, err := AccountClient(a, found)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(ctx, time.Duration(o.seconds)*time.Second,
		fmt.Errorf("no reply within %d s: %w", o.seconds, context.DeadlineExceeded))
	defer stop()
	t := view.AccountTest{Name: found.Name, Provider: found.Provider, Status: "passed", Passed: true}
	began := a.Process.Now()
	t.Model, err = AskAccount(ctx, client, found, o.model)
	t.DurationMS = a.Process.Now().Sub(began).Milliseconds()
	if errors.Is(ctx.Err(), context.Canceled) {
		return err // by the user
	}
	status := cli.StatusOK
	if err != nil {
		t.Passed, t.Status, t.Code, t.Message = false, "failed", string(provider.CodeOf(err)), err.Error()
		status = callStatus(err)
	}
	if err := a.Print(t, func(w io.Writer, v view.Options) error { return view.AccountTested(w, t, v) }); err != nil {
		return err
	}
	return cli.Verdict(status)
}

// AskAccount makes one small call, and says which model was asked.
func AskAccount(ctx context.Context, client provider.Client, account store.Account, model string) (string, error) {
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
		return cli.StatusError
	}
	switch e.Code {
	case provider.Auth:
		return cli.StatusNoPermission
	case provider.Unavailable:
		if e.Status == 0 {
			return cli.StatusUnavailable
		}
		return cli.StatusTryAgain
	case provider.RateLimit, provider.Timeout:
		return cli.StatusTryAgain
	case provider.InvalidRequest, provider.UnknownModel:
		return cli.StatusUsage
	case provider.MalformedResponse:
		return cli.StatusUnavailable
	}
	return cli.StatusError
}

// AccountClient makes the client of an account.
func AccountClient(a *cli.App, s store.Account) (provider.Client, error) {
	d := plan.Deployment{Name: s.Name, Provider: s.Provider, BaseURL: s.BaseURL, Account: s.Credential}
	client, _, err := client(a, Target{Deployment: d, Who: fmt.Sprintf("provider account %q", s.Name)})
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
		return "", cli.Usage("no model of this provider is known: give one with --model")
	}
	list, err := lister.Models(ctx)
	if err == nil && len(list) == 0 {
		err = cli.Usage("the provider lists no models: give one with --model")
	}
	if err != nil {
		return "", err
	}
	return list[0].ID, nil
}

// NewAccountModels is agentclash infra provider-account models, which asks the provider.
func NewAccountModels(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "models ACCOUNT", Short: "List the models that an account's provider offers, with prices",
		Long: `List the models that an account's provider offers, as it says itself, with prices
in US dollars for a million tokens: live where the provider names them, static
from the list prices that this version comes with, else unknown.`,
		Example: "  agentclash infra provider-account models openai\n  agentclash infra provider-account models openrouter --json --query '.items[].id'",
		Args:    cli.ExactArgs("ACCOUNT"),
		RunE: func(c *cobra.Command, args []string) error {
			found, err := Account(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			list, err := offered(c.Context(), a, found)
			if err != nil {
				return err
			}
			return cli.PrintPage(a, cli.PageOf(list, cli.ListOptions{}), "", view.ModelList)
		},
	}
}

// offered are the models of an account, with what they cost.
func offered(ctx context.Context, a *cli.App, s store.Account) ([]view.Model, error) {
	client, err := AccountClient(a, s)
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
			return nil, &cli.Failure{Status: callStatus(err), Code: cmp.Or(string(provider.CodeOf(err)), "request_failed"), Err: fmt.Errorf("list the models of %s: %w", s.Name, err)}
		}
	} else {
		a.Say("note: %s cannot be asked for its models: these are the ones with list prices", s.Provider)
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
