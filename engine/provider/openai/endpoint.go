package openai

import (
	"net/url"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
)

// Endpoint is a server of a known provider.
type Endpoint struct {
	Provider string
	BaseURL  string
	KeyVar   string // environment variable of the key; "" when none is needed
}

// Endpoints lists the providers this adapter serves, in a fixed order.
func Endpoints() []Endpoint {
	return []Endpoint{
		{provider.OpenAI, "https://api.openai.com/v1", "OPENAI_API_KEY"},
		{provider.XAI, "https://api.x.ai/v1", "XAI_API_KEY"},
		{provider.Mistral, "https://api.mistral.ai/v1", "MISTRAL_API_KEY"},
		{provider.OpenRouter, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"},
		{provider.Ollama, "http://localhost:11434/v1", ""},
	}
}

// dialect is how a server differs from OpenAI's.
type dialect struct {
	maxTokens     bool   // the output bound is max_tokens, not max_completion_tokens
	noStreamUsage bool   // usage comes unasked, and asking is an unknown field
	seed          string // name of the seed field
}

// dialectOf goes by the address, since any provider's name may be given another
// base URL: only OpenAI's own servers refuse the older field in their newer
// models, and only they and Azure's are sure to know the newer one.
func dialectOf(u *url.URL) dialect {
	host := strings.ToLower(u.Hostname())
	d := dialect{maxTokens: true, seed: "seed"}
	switch {
	case host == "api.openai.com", strings.HasSuffix(host, ".api.openai.com"), strings.HasSuffix(host, ".openai.azure.com"):
		d.maxTokens = false
	case host == "api.mistral.ai":
		d.noStreamUsage, d.seed = true, "random_seed"
	}
	return d
}
