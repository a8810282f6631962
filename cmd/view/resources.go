package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// ModelAlias is a short name for a model. Prices are in US dollars for a million
// tokens; null: unknown.
type ModelAlias struct {
	ID          string   `json:"model_alias_id"`
	AliasKey    string   `json:"alias_key"`
	DisplayName string   `json:"display_name"`
	Model       string   `json:"model"`   // provider/model
	Account     string   `json:"account"` // where the key is found, never the key
	InputUSD    *float64 `json:"input_cost_per_mtok"`
	OutputUSD   *float64 `json:"output_cost_per_mtok"`
	// PricingSource is alias, catalog or unknown.
	PricingSource string    `json:"pricing_source"`
	CreatedAt     time.Time `json:"created_at"`
}

// ModelAliasList writes one row an alias.
func ModelAliasList(w io.Writer, page Page[ModelAlias], o Options) error {
	t := Table{Columns: []Column{
		whole("ID"), left("ALIAS KEY"), left("NAME"), left("MODEL"), right("INPUT/M"), right("OUTPUT/M"), left("PRICING"), left("ACCOUNT"), spare(left("CREATED")),
	}}
	for _, m := range page.Items {
		t.Add(Text(o.ID(m.ID)), Text(m.AliasKey), Text(m.DisplayName), Text(m.Model), Text(USD(m.InputUSD)), Text(USD(m.OutputUSD)), Text(m.PricingSource),
			Text(m.Account), Text(o.Time(m.CreatedAt)))
	}
	return t.Write(w, o)
}

// CatalogModel is a model whose price is known, in US dollars for a million tokens.
type CatalogModel struct {
	ID        string  `json:"model_catalog_entry_id"` // provider/model
	Provider  string  `json:"provider_key"`
	Model     string  `json:"provider_model_id"`
	InputUSD  float64 `json:"input_cost_per_million_tokens"`
	OutputUSD float64 `json:"output_cost_per_million_tokens"`
	AsOf      string  `json:"as_of"`  // a day
	Source    string  `json:"source"` // built in, or file
}

// ModelCatalogList writes one row a model.
func ModelCatalogList(w io.Writer, page Page[CatalogModel], o Options) error {
	t := Table{Columns: []Column{left("MODEL"), right("INPUT/M"), right("OUTPUT/M"), whole("AS OF"), left("SOURCE")}}
	for _, m := range page.Items {
		t.Add(Text(m.ID), Text(USD(&m.InputUSD)), Text(USD(&m.OutputUSD)), Text(m.AsOf), Text(m.Source))
	}
	return t.Write(w, o)
}

// RuntimeProfile is a runtime profile with the limits that hold by it.
type RuntimeProfile struct {
	ID                 string     `json:"runtime_profile_id"` // "" for the default
	Name               string     `json:"name"`
	Status             string     `json:"status"` // active or archived
	MaxIterations      int        `json:"max_iterations"`
	MaxToolCalls       int        `json:"max_tool_calls"`
	StepTimeoutSeconds int        `json:"step_timeout_seconds"`
	RunTimeoutSeconds  int        `json:"run_timeout_seconds"`
	MaxOutputTokens    int64      `json:"max_output_tokens"`
	TextReminders      int        `json:"text_reminders"`
	Image              string     `json:"image"`
	Memory             string     `json:"memory"`
	CPUs               *float64   `json:"cpus"`
	AllowShell         *bool      `json:"allow_shell"`   // null: as the pack has it
	AllowNetwork       *bool      `json:"allow_network"` // null: as the pack has it
	CreatedAt          *time.Time `json:"created_at"`
}

// RuntimeProfileList writes one row a profile.
func RuntimeProfileList(w io.Writer, page Page[RuntimeProfile], o Options) error {
	t := Table{Columns: []Column{
		whole("ID"), left("NAME"), right("STEPS"), right("TOOL CALLS"), right("STEP S"), right("TRIAL S"), left("IMAGE"), left("MEMORY"), right("CPUS"), spare(left("CREATED")),
	}}
	for _, p := range page.Items {
		t.Add(Text(or(o.ID(p.ID))), Text(p.Name), Text(strconv.Itoa(p.MaxIterations)), Text(strconv.Itoa(p.MaxToolCalls)), Text(strconv.Itoa(p.StepTimeoutSeconds)),
			Text(strconv.Itoa(p.RunTimeoutSeconds)), Text(or(p.Image)), Text(or(p.Memory)), Text(number("%g", p.CPUs, 1)), Text(o.timePtr(p.CreatedAt)))
	}
	return t.Write(w, o)
}

// RuntimeProfileDetails writes one profile.
func RuntimeProfileDetails(w io.Writer, v RuntimeProfile, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("Name", v.Name)
	b.Add("ID", or(v.ID))
	b.Add("Status", v.Status)
	b.Add("Steps of a trial", strconv.Itoa(v.MaxIterations))
	b.Add("Tool calls of a trial", strconv.Itoa(v.MaxToolCalls))
	b.Add("Seconds of a model call", strconv.Itoa(v.StepTimeoutSeconds))
	b.Add("Seconds of a trial", strconv.Itoa(v.RunTimeoutSeconds))
	b.Add("Tokens of a reply", strconv.FormatInt(v.MaxOutputTokens, 10))
	b.Add("Reminders of submit", strconv.Itoa(v.TextReminders))
	b.Add("Image", or(v.Image))
	b.Add("Memory", or(v.Memory))
	b.Add("CPUs", number("%g", v.CPUs, 1))
	b.Add("Shell", or(onOff(v.AllowShell)))
	b.Add("Network", or(onOff(v.AllowNetwork)))
	if v.CreatedAt != nil {
		b.Add("Created", o.Time(*v.CreatedAt))
	}
	p.details(b)
	return p.flush()
}

// SpendPolicy is a limit of what models may cost.
type SpendPolicy struct {
	ID       string  `json:"spend_policy_id"`
	Name     string  `json:"name"`
	Window   string  `json:"window"` // run, session or day
	LimitUSD float64 `json:"limit_usd"`
	// SpentUSD is what today has cost, of the window day alone.
	SpentUSD  *float64  `json:"spent_usd"`
	CreatedAt time.Time `json:"created_at"`
}

// SpendPolicyList writes one row a policy.
func SpendPolicyList(w io.Writer, page Page[SpendPolicy], o Options) error {
	t := Table{Columns: []Column{whole("ID"), left("NAME"), left("WINDOW"), right("LIMIT"), right("SPENT TODAY"), spare(left("CREATED"))}}
	for _, p := range page.Items {
		t.Add(Text(o.ID(p.ID)), Text(p.Name), Text(p.Window), Text(USD(&p.LimitUSD)), Text(USD(p.SpentUSD)), Text(o.Time(p.CreatedAt)))
	}
	return t.Write(w, o)
}

// Build is what an agent is, version by version.
type Build struct {
	ID          string `json:"agent_build_id"` // "" when only the repository has it
	Name        string `json:"name"`
	Description string `json:"description"`
	// File is the repository's agent spec of it; FileStatus is the version that has
	// its content, changed for none, or invalid.
	File       string             `json:"file,omitempty"`
	FileStatus string             `json:"file_status,omitempty"`
	Versions   List[BuildVersion] `json:"versions"`
	CreatedAt  *time.Time         `json:"created_at"`
}

// BuildList writes one row a build.
func BuildList(w io.Writer, page Page[Build], o Options) error {
	t := Table{Columns: []Column{whole("ID"), left("NAME"), right("VERSIONS"), left("FILE"), left("FILE IS"), left("DESCRIPTION"), spare(left("CREATED"))}}
	for _, b := range page.Items {
		t.Add(Text(or(o.ID(b.ID))), Text(b.Name), Text(strconv.Itoa(len(b.Versions))), Text(or(b.File)), Text(or(b.FileStatus)), Text(b.Description), Text(o.timePtr(b.CreatedAt)))
	}
	return t.Write(w, o)
}

// BuildGet writes a build, and one row a version.
func BuildGet(w io.Writer, b Build, o Options) error {
	if err := BuildList(w, Page[Build]{Items: []Build{b}}, o); err != nil {
		return err
	}
	if len(b.Versions) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return BuildVersionList(w, Page[BuildVersion]{Items: b.Versions}, o)
}

// BuildVersion is a content that a build has had.
type BuildVersion struct {
	ID        string     `json:"agent_build_version_id"`
	Ref       string     `json:"ref"` // NAME@N
	Number    int        `json:"version_number"`
	AgentKind string     `json:"agent_kind"`
	Status    string     `json:"status"` // draft or ready
	Digest    string     `json:"digest"`
	CreatedAt *time.Time `json:"created_at"`
	ReadyAt   *time.Time `json:"ready_at"`
}

// BuildVersionList writes one row a version.
func BuildVersionList(w io.Writer, page Page[BuildVersion], o Options) error {
	t := Table{Columns: []Column{whole("ID"), left("VERSION"), left("KIND"), whole("STATUS"), left("DIGEST"), spare(left("CREATED"))}}
	for _, v := range page.Items {
		t.Add(Text(o.ID(v.ID)), Text(v.Ref), Text(v.AgentKind), Status(v.Status), Text(v.Digest[:min(12, len(v.Digest))]), Text(o.timePtr(v.CreatedAt)))
	}
	return t.Write(w, o)
}

// BuildVersionDocument is a version with its agent spec.
type BuildVersionDocument struct {
	BuildVersion
	Action string          `json:"action,omitempty"` // what was done
	Spec   json.RawMessage `json:"spec"`
}

// BuildVersionGet writes a version's row, and its agent spec.
func BuildVersionGet(w io.Writer, d BuildVersionDocument, o Options) error {
	if err := BuildVersionList(w, Page[BuildVersion]{Items: []BuildVersion{d.BuildVersion}}, o); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, d.Spec, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", Sanitize(b.String()))
	return err
}

// BuildTemplate is an agent spec to begin with.
type BuildTemplate struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source"` // YAML
}

// BuildTemplateList writes one row a template.
func BuildTemplateList(w io.Writer, page Page[BuildTemplate], o Options) error {
	t := Table{Columns: []Column{left("NAME"), left("DESCRIPTION")}}
	for _, v := range page.Items {
		t.Add(Text(v.Name), Text(v.Description))
	}
	return t.Write(w, o)
}

// Artifact is a file that is kept beside runs, or for packs.
type Artifact struct {
	ID          string          `json:"artifact_id"`
	RunID       string          `json:"run_id"`       // "" for none
	RunAgentID  string          `json:"run_agent_id"` // "" for none
	Type        string          `json:"artifact_type"`
	ContentType string          `json:"content_type"` // as the bytes look
	Visibility  string          `json:"visibility"`
	Name        string          `json:"name"` // that it was uploaded with
	Size        int64           `json:"size_bytes"`
	SHA256      string          `json:"checksum_sha256"`
	Metadata    json.RawMessage `json:"metadata"`
	CreatedAt   time.Time       `json:"created_at"`
}

// ArtifactList writes one row an artifact.
func ArtifactList(w io.Writer, page Page[Artifact], o Options) error {
	t := Table{Columns: []Column{whole("ID"), left("TYPE"), left("NAME"), right("SIZE"), left("SHA256"), left("RUN"), left("RUN AGENT"), spare(left("CREATED"))}}
	for _, a := range page.Items {
		t.Add(Text(o.ID(a.ID)), Text(a.Type), Text(a.Name), Text(strconv.FormatInt(a.Size, 10)), Text(a.SHA256[:min(12, len(a.SHA256))]),
			Text(or(o.ID(a.RunID))), Text(or(o.ID(a.RunAgentID))), Text(o.Time(a.CreatedAt)))
	}
	return t.Write(w, o)
}

// ArtifactDetails writes one artifact.
func ArtifactDetails(w io.Writer, a Artifact, o Options) error {
	p := newPrinter(w, o)
	p.artifact(a)
	return p.flush()
}

// ArtifactText writes one artifact and its text, or as much of it as was read. A text
// of "" is none that can be shown.
func ArtifactText(w io.Writer, a Artifact, text string, o Options) error {
	p := newPrinter(w, o)
	p.artifact(a)
	switch {
	case text == "" && a.Size > 0:
		p.blank()
		p.line("It is no text: save it to look at it")
	case int64(len(text)) < a.Size:
		p.whole("The first "+Tokens(int64(len(text)))+" bytes", text)
	default:
		p.whole("Text", text)
	}
	return p.flush()
}

func (p *printer) artifact(a Artifact) {
	o := p.o
	var b Details
	b.Add("ID", a.ID)
	b.Add("Name", or(a.Name))
	b.Add("Type", a.Type)
	b.Add("Content", a.ContentType)
	b.Add("Size", strconv.FormatInt(a.Size, 10)+" bytes")
	b.Add("SHA-256", a.SHA256)
	b.Add("Visibility", a.Visibility)
	b.Add("Run", or(a.RunID))
	b.Add("Run agent", or(a.RunAgentID))
	b.Add("Metadata", SanitizeLine(string(a.Metadata)))
	b.Add("Created", o.Time(a.CreatedAt))
	p.details(b)
}
