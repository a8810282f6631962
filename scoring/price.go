package scoring

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// The sources of a price.
const (
	PricePack  = "pack"  // a row of the spec's pricing
	PriceTable = "table" // a row of the list prices
	PriceMixed = "mixed" // of several models, both
	// PriceReported is no price: the agent, which is an endpoint, said what it cost.
	PriceReported = "reported"
)

// ListPrices are what vendors asked on a date, before discounts: for packs
// that price no models of their own.
type ListPrices struct {
	AsOf   string  `json:"as_of"` // a day
	Models []Price `json:"models"`
}

//go:embed prices.json
var listPrices []byte

// CurrentPrices are the list prices that this version comes with. A run keeps
// those that it was planned with, so that its costs stay what they were.
func CurrentPrices() ListPrices {
	var p ListPrices
	if err := json.Unmarshal(listPrices, &p); err != nil {
		panic(fmt.Sprintf("prices.json: %v", err)) // it is built in
	}
	return p
}

// Of are the prices of the models of these providers.
func (p ListPrices) Of(providers ...string) ListPrices {
	out := ListPrices{}
	for _, row := range p.Models {
		if slices.Contains(providers, row.ProviderKey) {
			out.AsOf, out.Models = p.AsOf, append(out.Models, row)
		}
	}
	return out
}

// Find is the price of a model, by the rules of [Scorer.Cost].
func (p ListPrices) Find(provider, model string) (Price, bool) {
	return findPrice(p.Models, provider, model)
}

// WithPrices is the scorer with other list prices; none at all when they are
// empty.
func (s *Scorer) WithPrices(p ListPrices) *Scorer {
	out := *s
	out.prices = p
	return &out
}

var datedModel = regexp.MustCompile(`^(.+)-\d{4}-\d{2}-\d{2}$`)

// findPrice is the row of a model: of its exact id, else of the id without a
// date at its end (gpt-4.1-mini-2025-04-14 is priced as gpt-4.1-mini).
func findPrice(rows []Price, provider, model string) (Price, bool) {
	ids := []string{model}
	if m := datedModel.FindStringSubmatch(model); m != nil {
		ids = append(ids, m[1])
	}
	for _, id := range ids {
		for _, row := range rows {
			if row.ProviderKey == provider && row.ProviderModelID == id {
				return row, true
			}
		}
	}
	return Price{}, false
}

// Cost is what tokens of a model cost in US dollars: by the spec's pricing,
// else by the list prices; ok is false when neither prices the model. Negative
// counts are taken as 0.
func (s *Scorer) Cost(provider, model string, input, output int64) (usd float64, ok bool) {
	b, ok := s.bill(ModelUsage{ProviderKey: provider, ProviderModelID: model, InputTokens: input, OutputTokens: output})
	return b.USD, ok
}

// bill is what a trial's model calls cost, and by which prices.
type bill struct {
	USD    float64  `json:"total_usd"`
	Source string   `json:"price_source"`
	Models []billed `json:"models"`
}

// billed is a bill's row for one model.
type billed struct {
	ProviderKey     string  `json:"provider_key"`
	ProviderModelID string  `json:"provider_model_id"`
	PricedAs        string  `json:"priced_as"`
	PriceSource     string  `json:"price_source"`
	AsOf            string  `json:"as_of,omitempty"` // of a list price
	InputPrice      float64 `json:"input_cost_per_million_tokens"`
	OutputPrice     float64 `json:"output_cost_per_million_tokens"`
	InputTokens     int64   `json:"input_tokens"`
	OutputTokens    int64   `json:"output_tokens"`
	USD             float64 `json:"usd"`
}

// bill prices the usage of one model.
func (s *Scorer) bill(m ModelUsage) (billed, bool) {
	b := billed{ProviderKey: m.ProviderKey, ProviderModelID: m.ProviderModelID, PriceSource: PricePack,
		InputTokens: max(m.InputTokens, 0), OutputTokens: max(m.OutputTokens, 0)}
	row, ok := findPrice(s.spec.Pricing.Models, m.ProviderKey, m.ProviderModelID)
	if !ok {
		b.PriceSource, b.AsOf = PriceTable, s.prices.AsOf
		row, ok = findPrice(s.prices.Models, m.ProviderKey, m.ProviderModelID)
	}
	b.PricedAs, b.InputPrice, b.OutputPrice = row.ProviderModelID, row.InputCostPerMillionTokens, row.OutputCostPerMillionTokens
	b.USD = float64(float64(b.InputTokens)/1e6*b.InputPrice) + float64(float64(b.OutputTokens)/1e6*b.OutputPrice)
	return b, ok && finite(b.USD)
}

// cost is what the trial's model calls cost, or why that is unknown. A model
// that reported no usage is taken at the run's totals when it is the only one.
func (t *trial) cost(s *Scorer) (bill, string) {
	if len(t.ev.Models) == 0 {
		return bill{}, "no model call was seen"
	}
	var total bill
	for _, m := range t.ev.Models {
		if _, priced := s.bill(m); m.ReportedUSD != nil && (!priced || !m.Known) && finite(*m.ReportedUSD) {
			total.add(billed{ProviderKey: m.ProviderKey, ProviderModelID: m.ProviderModelID, PriceSource: PriceReported,
				InputTokens: max(m.InputTokens, 0), OutputTokens: max(m.OutputTokens, 0), USD: *m.ReportedUSD})
			continue
		}
		if !m.Known {
			if len(t.ev.Models) > 1 || t.ev.InputTokens == nil || t.ev.OutputTokens == nil {
				return bill{}, fmt.Sprintf("the provider did not report the usage of %s", quoted(m.ProviderKey+"/"+m.ProviderModelID))
			}
			m.InputTokens, m.OutputTokens = *t.ev.InputTokens, *t.ev.OutputTokens
		}
		b, ok := s.bill(m)
		if !ok {
			return bill{}, fmt.Sprintf("no price is known for %s: add a row to evaluation_spec.pricing.models", quoted(m.ProviderKey+"/"+m.ProviderModelID))
		}
		total.add(b)
	}
	if !finite(total.USD) {
		return bill{}, "the cost is out of range"
	}
	return total, ""
}

func (b *bill) add(row billed) {
	b.USD += row.USD
	b.Source = mixed(b.Source, row.PriceSource)
	b.Models = append(b.Models, row)
}

// mixed joins two price sources; "" is none.
func mixed(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	}
	return PriceMixed
}
