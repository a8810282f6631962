package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// listPrices are those of what a model alias says and, of the list that the plan was
// given, those of the providers that agents and judges use. A provider
// that one of them reaches at an address of its own has none: what is asked
// there, nobody has listed.
func (p *Plan) listPrices() scoring.ListPrices {
	elsewhere := map[string]bool{}
	for _, a := range p.Agents {
		elsewhere[a.Deployment.Provider] = elsewhere[a.Deployment.Provider] || a.Deployment.BaseURL != ""
	}
	for _, m := range p.Judges {
		elsewhere[m.Provider] = elsewhere[m.Provider] || m.BaseURL != ""
	}
	for _, m := range p.Simulators {
		elsewhere[m.Provider] = elsewhere[m.Provider] || m.BaseURL != ""
	}
	var providers []string
	for name, own := range elsewhere {
		if !own {
			providers = append(providers, name)
		}
	}
	list := p.Prices
	if len(list.Models) == 0 {
		list = scoring.CurrentPrices()
	}
	own := p.ownPrices()
	list = list.Of(providers...)
	list.Models = append(own, list.Models...)
	if len(own) > 0 && list.AsOf == "" {
		list.AsOf = p.CreatedAt.Format(time.DateOnly)
	}
	return list
}

// ownPrices are the prices that the agents' model aliases say, each once.
func (p *Plan) ownPrices() (list []scoring.Price) {
	for _, a := range p.Agents {
		if own := a.Deployment.Price; own != nil && !slices.Contains(list, *own) {
			list = append(list, *own)
		}
	}
	return list
}

// checkAliases refuses two aliases that price one model differently: a run has one
// price for it.
func (p *Plan) checkAliases() error {
	own := p.ownPrices()
	for i, row := range own {
		for _, other := range own[:i] {
			if row.ProviderKey == other.ProviderKey && row.ProviderModelID == other.ProviderModelID {
				return fmt.Errorf("two model aliases of the run price %s/%s differently: use one of them", row.ProviderKey, row.ProviderModelID)
			}
		}
	}
	return nil
}

// Price is what a model's tokens cost; one without a price costs nothing, and is
// refused beforehand where there is a limit in dollars.
func (p *Plan) Price(providerKey, model string) budget.Price {
	return func(in, out int64) float64 {
		usd, _ := p.Scorer.Cost(providerKey, model, in, out)
		return usd
	}
}

// cacheWrite is what a token costs beyond one of plain input that a provider is
// asked to keep, for the few minutes that are its default.
const cacheWrite = 0.25

// billsWrites says whether a provider bills what is written to its cache apart,
// and is asked to write.
func billsWrites(providerKey string) bool {
	return providerKey == provider.Anthropic || providerKey == provider.OpenRouter
}

// MostPrice is what the tokens of a deployment's call cost at most: all of its
// input may be written to a cache.
func (p *Plan) MostPrice(d Deployment, model string) budget.Price {
	plain := p.Price(d.Provider, model)
	asks := d.Provider == provider.Anthropic && (d.PromptCache == nil || *d.PromptCache)
	if !billsWrites(d.Provider) || !asks && !d.IsCommand() {
		return plain
	}
	return func(in, out int64) float64 { return plain(in, out) + cacheWrite*plain(in, 0) }
}

// cost is what a usage comes to, cache writes at their own price.
func (p *Plan) cost(providerKey, model string, u provider.Usage) (usd float64, priced bool) {
	usd, priced = p.Scorer.Cost(providerKey, model, u.Input, u.Output)
	if billsWrites(providerKey) && u.CacheWrite > 0 {
		written, _ := p.Scorer.Cost(providerKey, model, u.CacheWrite, 0)
		usd += cacheWrite * written
	}
	return usd, priced
}

// UseOf is what a reply says that it used. A model that the provider names
// otherwise than it was asked for, and that has no price, costs what the model
// does that was asked for.
func (p *Plan) UseOf(providerKey, asked string, res provider.Response) budget.Use {
	u := *res.Usage
	usd, ok := p.cost(providerKey, res.Model, u)
	if !ok {
		usd, _ = p.cost(providerKey, asked, u)
	}
	return budget.Use{Tokens: max(u.Total, u.Input+u.Output), USD: usd}
}

// SimulatorCharge is what a try of a user's model takes of the run's budget: what its reply
// says, or the most that it could where it says nothing and may be paid for.
func (p *Plan) SimulatorCharge(s SimulatorModel, res provider.Response, failure *provider.Error, most float64) float64 {
	switch {
	case failure != nil && !budget.MayCost(failure), res.Cached():
		return 0
	case failure != nil || res.Usage == nil:
		return most
	}
	return p.UseOf(s.Provider, s.Model, res).USD
}
