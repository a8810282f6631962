package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
)

// maxListBytes bounds a server's list of models.
const maxListBytes = 16 << 20

var _ provider.Lister = (*Client)(nil)

// Models lists what the server has at /models. Prices are what OpenRouter says,
// which counts them per token.
func (c *Client) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	ctx, idle := provider.StartIdle(ctx, c.limits.Idle)
	defer idle.Stop()
	data, err := c.list(ctx, idle)
	if err != nil {
		return nil, c.failed(ctx, err)
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
	if err := json.Unmarshal(data, &page); err != nil || page.Data == nil {
		return nil, c.failed(ctx, malformed("the server's list of models cannot be read"))
	}
	var list []provider.ModelInfo
	for _, m := range page.Data[:min(len(page.Data), provider.MaxModels)] {
		list = append(list, provider.ModelInfo{ID: m.ID, DisplayName: m.Name,
			InputUSD: perMillion(m.Pricing.Prompt), OutputUSD: perMillion(m.Pricing.Completion)})
	}
	slices.SortFunc(list, func(a, b provider.ModelInfo) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

func (c *Client) list(ctx context.Context, idle *provider.Idle) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"models", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body := idle.Reader(res.Body)
	if res.StatusCode != http.StatusOK {
		g := guard{client: c, idle: idle}
		return nil, g.refusal(res, body)
	}
	data, err := io.ReadAll(io.LimitReader(body, maxListBytes+1))
	switch {
	case err != nil:
		return nil, errors.Join(errors.New("the reply broke off"), err)
	case len(data) > maxListBytes:
		return nil, malformed("the list of models passes %d bytes", maxListBytes)
	case provider.ErrorIn(data):
		return nil, provider.Classify(provider.Failure{Provider: c.name, Body: []byte(c.hide(string(data))), Now: c.now()})
	}
	return data, nil
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
