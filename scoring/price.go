package scoring

import (
	"fmt"
	"regexp"
)

var datedModel = regexp.MustCompile(`^(.+)-\d{4}-\d{2}-\d{2}$`)

// find is the price row of a model: of its exact id, else of the id without a
// date at its end (gpt-4.1-mini-2025-04-14 is priced as gpt-4.1-mini).
func (p Pricing) find(provider, model string) (Price, bool) {
	for _, row := range p.Models {
		if row.ProviderKey == provider && row.ProviderModelID == model {
			return row, true
		}
	}
	if m := datedModel.FindStringSubmatch(model); m != nil {
		for _, row := range p.Models {
			if row.ProviderKey == provider && row.ProviderModelID == m[1] {
				return row, true
			}
		}
	}
	return Price{}, false
}

// Cost is what tokens of a model cost in US dollars by these price rows; ok is
// false when no row prices the model. Negative counts are taken as 0.
func (p Pricing) Cost(provider, model string, input, output int64) (usd float64, ok bool) {
	row, ok := p.find(provider, model)
	if !ok {
		return 0, false
	}
	in, out := float64(max(input, 0)), float64(max(output, 0))
	usd = in/1e6*row.InputCostPerMillionTokens + out/1e6*row.OutputCostPerMillionTokens
	return usd, finite(usd)
}

// cost is what the trial's model calls cost, or why that is unknown. A model
// that reported no usage is taken at the run's totals when it is the only one.
func (t *trial) cost(p Pricing) (float64, string) {
	if len(p.Models) == 0 {
		return 0, "the pack prices no model"
	}
	if len(t.ev.Models) == 0 {
		return 0, "no model call was seen"
	}
	sum := 0.0
	for _, m := range t.ev.Models {
		in, out := m.InputTokens, m.OutputTokens
		if !m.Known {
			if len(t.ev.Models) > 1 || t.ev.InputTokens == nil || t.ev.OutputTokens == nil {
				return 0, fmt.Sprintf("the provider did not report the usage of %s", quoted(m.ProviderKey+"/"+m.ProviderModelID))
			}
			in, out = *t.ev.InputTokens, *t.ev.OutputTokens
		}
		usd, ok := p.Cost(m.ProviderKey, m.ProviderModelID, in, out)
		if !ok {
			return 0, fmt.Sprintf("the pack has no price for %s", quoted(m.ProviderKey+"/"+m.ProviderModelID))
		}
		sum += usd
	}
	if !finite(sum) {
		return 0, "the cost is out of range"
	}
	return sum, ""
}
