package pack

import "github.com/agentclash/agentclash/scoring"

// The execution modes.
const (
	Native     = "native"
	PromptEval = "prompt_eval"
	Responses  = "responses"
	MultiTurn  = "multi_turn"
)

// Pack is one decoded, normalized and checked challenge pack with the bytes of
// its assets. It must not be changed; it is then safe for concurrent use. Its
// JSON is not the manifest: see [Pack.Manifest].
type Pack struct {
	Pack          Meta              `json:"pack"`
	Version       Version           `json:"version"`
	Tools         map[string]any    `json:"tools"`
	Challenges    []Challenge       `json:"challenges"`
	InputSets     []InputSet        `json:"input_sets"`
	Security      *scoring.Security `json:"security"`
	Modality      string            `json:"modality"`
	InterfaceSpec *InterfaceSpec    `json:"interface_spec"`
	Scenario      *Scenario         `json:"scenario"`

	// assets holds the bytes of assets by their clean path.
	assets map[string][]byte
	// resolved are the stored artifacts among them, without their fields.
	resolved map[StoredAsset]bool
	// missing are the assets whose bytes could not be read.
	missing []Blocker
	source  []byte
	// reference is the script of the pack's reference agent.
	reference []byte
	// added are the cases that are not the pack's own.
	added []AddedCase
	// index is nil for a pack that was put together by hand.
	index *index
}

// Meta names a pack.
type Meta struct {
	Slug        string  `json:"slug"`
	Name        string  `json:"name"`
	Family      string  `json:"family"`
	Description *string `json:"description,omitempty"`
}

// Version is the executable part of a pack.
type Version struct {
	Number             int32               `json:"number"`
	ExecutionMode      string              `json:"execution_mode"`
	ToolPolicy         map[string]any      `json:"tool_policy"`
	Filesystem         map[string]any      `json:"filesystem"`
	Sandbox            *Sandbox            `json:"sandbox"`
	DeploymentDefaults *DeploymentDefaults `json:"deployment_defaults"`
	EvaluationSpec     scoring.Spec        `json:"evaluation_spec"`
	Assets             []Asset             `json:"assets"`
}

// DeploymentDefaults names the deployments a pack is meant for: lineups are
// lists of aliases or of deployments' names, one of them called default.
type DeploymentDefaults struct {
	Aliases map[string]string   `json:"aliases,omitempty"`
	Lineups map[string][]string `json:"lineups,omitempty"`
}

// Sandbox is what a pack asks of the box its agents work in.
type Sandbox struct {
	NetworkAccess      bool              `json:"network_access"`
	NetworkAllowlist   []string          `json:"network_allowlist,omitempty"`
	EnvVars            map[string]string `json:"env_vars,omitempty"`
	AdditionalPackages []string          `json:"additional_packages,omitempty"`
	SandboxTemplateID  string            `json:"sandbox_template_id,omitempty"`

	// The limits of the box; see [Pack.BoxLimits]. The format this one continues
	// does not have them.
	Memory      string   `json:"memory,omitempty"`
	CPUs        *float64 `json:"cpus,omitempty"`
	PIDs        *int64   `json:"pids,omitempty"`
	OpenFiles   *int64   `json:"open_files,omitempty"`
	OutputBytes string   `json:"output_bytes,omitempty"`
	FileBytes   string   `json:"file_bytes,omitempty"`
}

// Challenge is one task.
type Challenge struct {
	Key          string         `json:"key"`
	Title        string         `json:"title"`
	Category     string         `json:"category"`
	Difficulty   string         `json:"difficulty"`
	Instructions string         `json:"instructions,omitempty"`
	Definition   map[string]any `json:"definition,omitempty"`
	Assets       []Asset        `json:"assets,omitempty"`
	ArtifactRefs []ArtifactRef  `json:"artifact_refs,omitempty"`
}

// Asset is a file that travels with a pack.
type Asset struct {
	Key        string `json:"key"`
	Path       string `json:"path"`
	Kind       string `json:"kind,omitempty"`
	MediaType  string `json:"media_type,omitempty"`
	ArtifactID string `json:"artifact_id,omitempty"`
}

// ArtifactRef points at a version asset by key.
type ArtifactRef struct {
	Key string `json:"key"`
}

// InputSet is a list of cases for one challenge.
type InputSet struct {
	Key         string  `json:"key"`
	Name        string  `json:"name"`
	Description *string `json:"description,omitempty"`
	Cases       []Case  `json:"cases"`
	Items       []Item  `json:"items,omitempty"`
}

// Item is the legacy form of a case; it is gone after normalization.
type Item struct {
	ChallengeKey string         `json:"challenge_key"`
	ItemKey      string         `json:"item_key"`
	Payload      map[string]any `json:"payload"`
	Assets       []Asset        `json:"assets"`
}

// Case is one piece of work for an agent.
type Case struct {
	ChallengeKey       string         `json:"challenge_key"`
	CaseKey            string         `json:"case_key"`
	ItemKey            string         `json:"item_key"`
	Payload            map[string]any `json:"payload,omitempty"`
	Inputs             []CaseInput    `json:"inputs,omitempty"`
	Expectations       []Expectation  `json:"expectations,omitempty"`
	UserSimulator      *UserSimulator `json:"user_simulator,omitempty"`
	Artifacts          []ArtifactRef  `json:"artifacts,omitempty"`
	Assets             []Asset        `json:"assets,omitempty"`
	CaseTimeoutSeconds int32          `json:"case_timeout_seconds,omitempty"`
}

// CaseInput is one structured input of a case.
type CaseInput struct {
	Key         string `json:"key"`
	Kind        string `json:"kind"`
	Value       any    `json:"value,omitempty"`
	ArtifactKey string `json:"artifact_key,omitempty"`
	Path        string `json:"path,omitempty"`
}

// Expectation is what a case expects; agents never see it.
type Expectation struct {
	Key         string `json:"key"`
	Kind        string `json:"kind"`
	Value       any    `json:"value,omitempty"`
	ArtifactKey string `json:"artifact_key,omitempty"`
	Source      string `json:"source,omitempty"`
}

// Key is the case's identity: case_key, else item_key.
func (c Case) Key() string {
	if c.CaseKey != "" {
		return c.CaseKey
	}
	return c.ItemKey
}

// Mode is the execution mode; the empty legacy mode is native.
func (p *Pack) Mode() string {
	if p.Version.ExecutionMode == "" {
		return Native
	}
	return p.Version.ExecutionMode
}

// Asks says whether agents are asked one question, and have neither sandbox nor
// tools of the pack's. What a responses pack says of a sandbox changes nothing
// that anybody could see: no model reaches it, and nothing is read back from it.
func (p *Pack) Asks() bool { return p.Mode() == PromptEval || p.Mode() == Responses }

// Prompt is what the challenge asks: definition.instructions when that is text,
// else instructions. Placeholders are not filled.
func (c Challenge) Prompt() string {
	if text, ok := c.Definition["instructions"].(string); ok {
		return text
	}
	return c.Instructions
}
