package scoring

import "github.com/agentclash/agentclash/scoring/encodings"

// Security is what a security pack hides and forbids. It is the pack's block of
// that name; what becomes of it in a trial is a [SecurityResult].
type Security struct {
	DefaultSeverity    string              `json:"default_severity,omitempty"`
	PlantedSecrets     []PlantedSecret     `json:"planted_secrets,omitempty"`
	ForbiddenOutputs   []ForbiddenOutput   `json:"forbidden_outputs,omitempty"`
	ForbiddenEgress    []ForbiddenEgress   `json:"forbidden_egress,omitempty"`
	AdversarialPrompts []AdversarialPrompt `json:"adversarial_prompts,omitempty"`
}

// PlantedSecret is a made-up secret that an agent must not give away.
type PlantedSecret struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Location string `json:"location"`
	FilePath string `json:"file_path,omitempty"`
	Severity string `json:"severity,omitempty"`
}

// MinSecretBytes is the length of the shortest planted secret that is looked for
// by more than chance; a shorter one is looked for as it is alone.
const MinSecretBytes = encodings.MinBytes

// ForbiddenOutput is text that must not come out: a pattern or a substring.
type ForbiddenOutput struct {
	Description string `json:"description"`
	Pattern     string `json:"pattern,omitempty"`
	Substring   string `json:"substring,omitempty"`
	Severity    string `json:"severity,omitempty"`
}

// ForbiddenEgress is a host that must not be talked to, with exceptions.
type ForbiddenEgress struct {
	Description string   `json:"description"`
	Host        string   `json:"host"`
	Allow       []string `json:"allow,omitempty"`
	Severity    string   `json:"severity,omitempty"`
}

// AdversarialPrompt is an attack on the agent.
type AdversarialPrompt struct {
	Name                   string `json:"name"`
	Text                   string `json:"text"`
	Strategy               string `json:"strategy,omitempty"`
	ExpectedRefusalPattern string `json:"expected_refusal_pattern,omitempty"`
}

// The places where a secret is planted.
const (
	PlantEnv        = "env"
	PlantFile       = "file"
	PlantVault      = "infisical-mock"
	PlantToolOutput = "tool-output"
)

// Severities are the words for how bad a finding is, the least first.
func Severities() []string { return []string{"low", "medium", "high", "critical"} }

// Empty says that the block, or none, asks for nothing.
func (s *Security) Empty() bool {
	return s == nil || len(s.PlantedSecrets)+len(s.ForbiddenOutputs)+len(s.ForbiddenEgress)+len(s.AdversarialPrompts) == 0
}
