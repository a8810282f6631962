package pack

// Voice is the one modality that is not text.
const Voice = "voice"

// InterfaceSpec is how a voice agent is reached.
type InterfaceSpec struct {
	Transports      []string `json:"transports"`
	ChannelProfile  string   `json:"channel_profile"`
	SupportsBargeIn bool     `json:"supports_barge_in"`
}

// Scenario is who calls a voice agent.
type Scenario struct {
	Persona       string `json:"persona"`
	Language      string `json:"language"`
	MaxTurns      int32  `json:"max_turns"`
	MaxDurationMS int64  `json:"max_duration_ms"`
}
