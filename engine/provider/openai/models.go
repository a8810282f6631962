package openai

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// Models lists what the server has at /models. Prices are what OpenRouter says,
// which counts them per token.
func (s server) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	header := http.Header{}
	if s.Key != "" {
		header.Set("Authorization", "Bearer "+s.Key)
	}
	var page struct {
		Data []struct {
			ID      string `json:"id"`
			Name    string `json:"name"`
			Pricing struct {
				Prompt     string `json:"prompt"`
				Completion string `json:"completion"`
			} `json:"pricing"`
		} `json:"data"`
	}
	var document json.RawMessage
	if err := s.Get(ctx, "models", nil, header, &document); err != nil {
		return nil, err
	}
	if provider.ErrorIn(document) {
		return nil, s.Failed(ctx, provider.Classify(provider.Failure{Body: []byte(s.Hide(string(document)))}))
	}
	if json.Unmarshal(document, &page) != nil || page.Data == nil {
		return nil, s.Failed(ctx, wire.Malformed("the server's list of models cannot be read"))
	}
	var list []provider.ModelInfo
	for _, m := range page.Data {
		list = append(list, provider.ModelInfo{ID: m.ID, DisplayName: m.Name,
			InputUSD: perMillion(m.Pricing.Prompt), OutputUSD: perMillion(m.Pricing.Completion)})
	}
	return wire.Models(list), nil
}

// perMillion is the price of a million tokens; nil when none is said, or one
// that depends on something, which OpenRouter writes as a negative number.
func perMillion(each string) *float64 {
	usd, err := strconv.ParseFloat(each, 64)
	if err != nil || !(usd >= 0 && usd < 1) {
		return nil
	}
	return new(math.Round(usd*1e12) / 1e6) // without the noise of the product
}
