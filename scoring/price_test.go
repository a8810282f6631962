package scoring_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
)

// priced is a scorer of a spec with these price rows.
func priced(t *testing.T, rows ...scoring.Price) *scoring.Scorer {
	t.Helper()
	spec := oneValidator()
	spec.Pricing.Models = rows
	s, problems := scoring.Compile(spec)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

func TestPriceVectors(t *testing.T) {
	t.Parallel()
	ids := []string{"gpt-4.1-mini", "claude-haiku-4-5", "a", "x-y", "dated", "dated-2025-01-01"}
	var rows []scoring.Price
	for i, id := range ids {
		rows = append(rows, scoring.Price{ProviderKey: "p", ProviderModelID: id, InputCostPerMillionTokens: float64(i + 1)})
	}
	s := priced(t, rows...)
	for _, b := range readBlocks(t, "testdata/prices.txt") {
		b.only(t, "case", "provider", "model", "list", "want")
		provider, scorer := b["provider"], s
		if provider == "" {
			provider = "p"
		}
		if b["list"] != "" {
			var list scoring.ListPrices
			if err := json.Unmarshal([]byte(b["list"]), &list); err != nil {
				t.Fatalf("%s: %v", b["case"], err)
			}
			scorer = s.WithPrices(list)
		}
		got := "(none)"
		if usd, ok := scorer.Cost(provider, b["model"], 1e6, 0); ok {
			got = show(&usd)
			if int(usd) >= 1 && int(usd) <= len(ids) && provider == "p" {
				got = ids[int(usd)-1]
			}
		}
		if got != b["want"] {
			t.Errorf("%s: %s is priced as %s, want %s", b["case"], b["model"], got, b["want"])
		}
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	s := priced(t, scoring.Price{ProviderKey: "p", ProviderModelID: "m", InputCostPerMillionTokens: 1, OutputCostPerMillionTokens: 3})
	if usd, ok := s.Cost("p", "m", 1000, 500); !ok || usd != 0.0025 {
		t.Errorf("row 316: got %v, %v, want 0.0025", usd, ok)
	}
	if usd, ok := s.Cost("p", "m", -5, 0); !ok || usd != 0 {
		t.Errorf("negative tokens: got %v, %v, want 0", usd, ok)
	}
}

// The result says by which prices a cost was worked out.
func TestAPriceNamesItsSource(t *testing.T) {
	t.Parallel()
	list := scoring.ListPrices{AsOf: "2025-12-01", Models: []scoring.Price{{ProviderKey: "p", ProviderModelID: "listed", InputCostPerMillionTokens: 2}}}
	usage := func(ids ...string) []scoring.ModelUsage {
		var out []scoring.ModelUsage
		for _, id := range ids {
			out = append(out, scoring.ModelUsage{ProviderKey: "p", ProviderModelID: id, InputTokens: 1e6, Known: true})
		}
		return out
	}
	spec := everyMetric()
	s, problems := scoring.Compile(spec)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s = s.WithPrices(list)
	for _, c := range []struct {
		name, source, cost string
		models             []scoring.ModelUsage
		metadata           string
	}{
		{"of the pack", scoring.PricePack, "1", usage("m"),
			`{"total_usd":1,"price_source":"pack","models":[{"provider_key":"p","provider_model_id":"m","priced_as":"m","price_source":"pack","input_cost_per_million_tokens":1,"output_cost_per_million_tokens":3,"input_tokens":1000000,"output_tokens":0,"usd":1}]}`},
		{"of the list", scoring.PriceTable, "2", usage("listed-2026-01-31"),
			`{"total_usd":2,"price_source":"table","models":[{"provider_key":"p","provider_model_id":"listed-2026-01-31","priced_as":"listed","price_source":"table","as_of":"2025-12-01","input_cost_per_million_tokens":2,"output_cost_per_million_tokens":0,"input_tokens":1000000,"output_tokens":0,"usd":2}]}`},
		{"of both", scoring.PriceMixed, "3", usage("listed", "m"), ""},
		{"of neither", "", "none", usage("unheard"), ""},
	} {
		ev := answered()
		ev.Models = c.models
		var trial scoring.Trial
		s.Measure(&trial, ev)
		if got := show(trial.CostUSD); got != c.cost || trial.PriceSource != c.source {
			t.Errorf("%s: got %s by %q, want %s by %q", c.name, got, trial.PriceSource, c.cost, c.source)
		}
		for _, m := range s.Score(ev).Metrics {
			if m.Collector != scoring.CollectorCost {
				continue
			}
			if c.metadata != "" && string(m.Metadata) != c.metadata {
				t.Errorf("%s: got %s\nwant %s", c.name, m.Metadata, c.metadata)
			}
			if c.cost == "none" && (m.State != scoring.Unavailable || m.Value != nil || !strings.Contains(m.Reason, `no price is known for "p/unheard"`)) {
				t.Errorf("%s: got %+v: an unknown price is no price of 0", c.name, m)
			}
		}
	}
}

func TestAnAgentsCostNamesItsSource(t *testing.T) {
	t.Parallel()
	trial := func(key, source string) scoring.Trial {
		return scoring.Trial{CaseKey: key, Attempt: 1, Outcome: scoring.OutcomePassed, CostUSD: new(0.5), PriceSource: source}
	}
	for _, c := range []struct{ a, b, want string }{
		{scoring.PricePack, scoring.PricePack, scoring.PricePack}, {scoring.PriceTable, "", scoring.PriceTable},
		{scoring.PricePack, scoring.PriceTable, scoring.PriceMixed}, {scoring.PriceMixed, scoring.PricePack, scoring.PriceMixed},
	} {
		got := scoring.Aggregate(oneValidator(), []scoring.Trial{trial("x", c.a), trial("y", c.b)}, 1)
		if got.PriceSource != c.want {
			t.Errorf("%q and %q: got %q, want %q", c.a, c.b, got.PriceSource, c.want)
		}
	}
	unknown := trial("y", "")
	unknown.CostUSD = nil
	if got := scoring.Aggregate(oneValidator(), []scoring.Trial{trial("x", scoring.PricePack), unknown}, 1); got.CostUSD != nil || got.PriceSource != "" {
		t.Errorf("with a trial of unknown cost: got %v by %q", got.CostUSD, got.PriceSource)
	}
}

// The built-in table is sound: dated, of known providers, each model once.
func TestCurrentPrices(t *testing.T) {
	t.Parallel()
	p := scoring.CurrentPrices()
	if _, err := time.Parse(time.DateOnly, p.AsOf); err != nil {
		t.Errorf("as_of: %v", err)
	}
	if len(p.Models) < 10 {
		t.Fatalf("got %d prices, which cannot be all", len(p.Models))
	}
	spec := oneValidator()
	spec.Pricing.Models = p.Models // its rows are held against the rules for a pack's
	if problems := spec.Validate(); len(problems) > 0 {
		t.Error(problems)
	}
	for _, row := range p.Models {
		if provider, ok := scoring.ModelProvider(row.ProviderModelID); !ok || provider != row.ProviderKey {
			t.Errorf("%s is a model of %q, and is listed under %s", row.ProviderModelID, provider, row.ProviderKey)
		}
		if row.InputCostPerMillionTokens <= 0 || row.OutputCostPerMillionTokens <= row.InputCostPerMillionTokens {
			t.Errorf("%s costs %v and %v", row.ProviderModelID, row.InputCostPerMillionTokens, row.OutputCostPerMillionTokens)
		}
	}
	only := p.Of("anthropic", "none")
	if len(only.Models) == 0 || len(only.Models) == len(p.Models) || only.AsOf != p.AsOf {
		t.Errorf("of one provider: got %d of %d, as of %q", len(only.Models), len(p.Models), only.AsOf)
	}
	if diff := cmp.Diff(scoring.ListPrices{}, p.Of("none")); diff != "" {
		t.Errorf("of no provider (-want +got):\n%s", diff)
	}
}
