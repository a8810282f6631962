package provider

import "context"

// MaxModels bounds a list of models.
const MaxModels = 10_000

// ModelInfo is a model that a provider says it has.
type ModelInfo struct {
	ID          string `json:"id"` // as a request names it
	DisplayName string `json:"display_name,omitempty"`
	// InputUSD and OutputUSD are prices of a million tokens in US dollars; nil
	// where the provider names none.
	InputUSD  *float64 `json:"input_usd,omitempty"`
	OutputUSD *float64 `json:"output_usd,omitempty"`
}

// Lister is a Client that can say which models its provider has.
type Lister interface {
	// Models lists the models that text can be asked of, sorted by ID, at most
	// MaxModels. Every error is an *Error or wraps one.
	Models(ctx context.Context) ([]ModelInfo, error)
}
