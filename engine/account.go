package engine

// Account says how a provider is reached and where its key is found. It never
// holds the key.
type Account struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	BaseURL  string `json:"base_url,omitempty"` // "" is the provider's own
	// Credential is env://NAME or workspace-secret://NAME; "" for a server that
	// needs no key.
	Credential string `json:"credential_reference,omitempty"`
	// MaxConcurrent is how many calls may be under way at once; 0: as many as the
	// provider stands.
	MaxConcurrent int `json:"max_concurrent,omitempty"`
}
