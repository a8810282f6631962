package spec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// DefaultProfile is the runtime profile that is always there: it sets nothing.
const DefaultProfile = "default"

// RuntimeProfile is limits and options of sandboxes under a name. What it sets,
// deployments that use it have unless they set it themselves.
type RuntimeProfile struct {
	Name string `json:"name"`
	plan.Limits
	plan.SandboxOverrides
}

// runtimeProfile is a profile as files write it.
type runtimeProfile struct {
	Name               string   `json:"name"`
	MaxIterations      int      `json:"max_iterations"`
	MaxToolCalls       int      `json:"max_tool_calls"`
	StepTimeoutSeconds int      `json:"step_timeout_seconds"`
	RunTimeoutSeconds  int      `json:"run_timeout_seconds"`
	MaxOutputTokens    int64    `json:"max_output_tokens"`
	TextReminders      *int     `json:"text_reminders"`
	AllowShell         *bool    `json:"allow_shell"`
	AllowNetwork       *bool    `json:"allow_network"`
	Image              string   `json:"image"`
	Memory             string   `json:"memory"`
	CPUs               *float64 `json:"cpus"`

	// Of the hosted product, with no effect here.
	ExecutionTarget any `json:"execution_target"`
	TraceMode       any `json:"trace_mode"`
	ProfileConfig   any `json:"profile_config"`
}

// ParseProfile reads a file with a runtime profile.
func ParseProfile(name string, src []byte) (RuntimeProfile, pack.Problems) {
	var f runtimeProfile
	d := pack.DecodeSettings(name, "runtime profile", src, &f)
	for field, set := range map[string]any{"execution_target": f.ExecutionTarget, "trace_mode": f.TraceMode} {
		if set != nil {
			d.Fail(field, "has no effect here: leave it out")
		}
	}
	if f.ProfileConfig != nil {
		d.Fail("profile_config", "is not read: write allow_shell, allow_network, image, memory and cpus beside name")
	}
	p := RuntimeProfile{f.Name,
		plan.Limits{MaxIterations: f.MaxIterations, MaxToolCalls: f.MaxToolCalls, StepTimeoutSeconds: f.StepTimeoutSeconds,
			RunTimeoutSeconds: f.RunTimeoutSeconds, MaxOutputTokens: f.MaxOutputTokens, TextReminders: f.TextReminders},
		plan.SandboxOverrides{AllowShell: f.AllowShell, AllowNetwork: f.AllowNetwork, Image: f.Image, Memory: f.Memory, CPUs: f.CPUs}}
	for _, wrong := range p.wrong() {
		d.Fail(wrong.field, "%s", wrong.message)
	}
	return p, d.Problems()
}

// wrong is a field and what is wrong with it.
type wrong struct{ field, message string }

// maxName is how long a name may be.
const maxName = 200

// NameProblem is what is wrong with a name that people type and lists show, "" for
// nothing.
func NameProblem(name string) string {
	switch name = strings.TrimSpace(name); {
	case name == "":
		return "is required"
	case len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Sprintf("must be one line of at most %d bytes", maxName)
	}
	return ""
}

// Check says what is wrong with a profile, as flags wrote it.
func (p RuntimeProfile) Check() error { return flags(p.wrong()) }

func flags(list []wrong) error {
	var errs []error
	for _, w := range list {
		flag, own := map[string]string{"input_cost_per_million_tokens": "input-usd", "output_cost_per_million_tokens": "output-usd"}[w.field]
		if !own {
			flag = strings.ReplaceAll(strings.TrimSuffix(w.field, "_seconds"), "_", "-")
		}
		errs = append(errs, errors.New("--"+flag+" "+w.message))
	}
	return errors.Join(errs...)
}

func (p RuntimeProfile) wrong() (list []wrong) {
	switch name := strings.TrimSpace(p.Name); {
	case NameProblem(name) != "":
		list = append(list, wrong{"name", NameProblem(name)})
	case strings.EqualFold(name, DefaultProfile):
		list = append(list, wrong{"name", "default is taken: it is the profile that sets nothing"})
	}
	return append(append(list, wrongLimits(p.Limits)...), wrongSandbox(p.SandboxOverrides)...)
}

func wrongLimits(l plan.Limits) (list []wrong) {
	for _, row := range []struct {
		field string
		n     int64
	}{
		{"max_iterations", int64(l.MaxIterations)}, {"max_tool_calls", int64(l.MaxToolCalls)}, {"step_timeout_seconds", int64(l.StepTimeoutSeconds)},
		{"run_timeout_seconds", int64(l.RunTimeoutSeconds)}, {"max_output_tokens", l.MaxOutputTokens},
	} {
		if row.n < 0 {
			list = append(list, wrong{row.field, "must not be negative"})
		}
	}
	if n := l.TextReminders; n != nil && (*n < 0 || *n > plan.MaxTextReminders) {
		list = append(list, wrong{"text_reminders", fmt.Sprintf("must be 0 to %d", plan.MaxTextReminders)})
	}
	return list
}

// minMemory is what a pack may ask for at least, too.
const minMemory = 64 << 20

// wrongSandbox says what is wrong with what a deployment says of its sandboxes.
func wrongSandbox(o plan.SandboxOverrides) (list []wrong) {
	switch n, err := pack.ByteSize(o.Memory); {
	case err != nil:
		list = append(list, wrong{"memory", err.Error()})
	case strings.TrimSpace(o.Memory) != "" && n < minMemory:
		list = append(list, wrong{"memory", fmt.Sprintf("must be at least %d MiB", minMemory>>20)})
	}
	if o.CPUs != nil && (!(*o.CPUs >= 0.01) || *o.CPUs > 1024) {
		list = append(list, wrong{"cpus", "must be 0.01 to 1024"})
	}
	return list
}

// CheckSandbox is what is wrong with the sandbox of a deployment.
func CheckSandbox(o plan.SandboxOverrides) (errs []error) {
	for _, w := range wrongSandbox(o) {
		errs = append(errs, fmt.Errorf("sandbox.%s %s", w.field, w.message))
	}
	return errs
}

// Fill sets what a deployment leaves open.
func (p RuntimeProfile) Fill(d plan.Deployment) plan.Deployment {
	d.Limits = FillLimits(d.Limits, p.Limits)
	d.Sandbox = plan.SandboxOverrides{
		AllowShell: cmp.Or(d.Sandbox.AllowShell, p.AllowShell), AllowNetwork: cmp.Or(d.Sandbox.AllowNetwork, p.AllowNetwork),
		Image: cmp.Or(d.Sandbox.Image, p.Image), Memory: cmp.Or(d.Sandbox.Memory, p.Memory), CPUs: cmp.Or(d.Sandbox.CPUs, p.CPUs),
	}
	if d.IsHTTP() {
		d.Sandbox = plan.SandboxOverrides{} // it has none
	}
	return d
}

// FillLimits are limits, with those of others where they have none.
func FillLimits(l, others plan.Limits) plan.Limits {
	return plan.Limits{
		MaxIterations: cmp.Or(l.MaxIterations, others.MaxIterations), MaxToolCalls: cmp.Or(l.MaxToolCalls, others.MaxToolCalls),
		StepTimeoutSeconds: cmp.Or(l.StepTimeoutSeconds, others.StepTimeoutSeconds), RunTimeoutSeconds: cmp.Or(l.RunTimeoutSeconds, others.RunTimeoutSeconds),
		MaxOutputTokens: cmp.Or(l.MaxOutputTokens, others.MaxOutputTokens), TextReminders: cmp.Or(l.TextReminders, others.TextReminders),
	}
}

// ModelAlias is a short name for a model, its account and its price.
type ModelAlias struct {
	AliasKey    string `json:"alias_key"`
	DisplayName string `json:"display_name,omitempty"`
	Model       string `json:"model"` // provider/model
	Account     string `json:"account,omitempty"`
	// InputUSD and OutputUSD are prices of a million tokens, both or none.
	InputUSD  *float64 `json:"input_cost_per_million_tokens,omitempty"`
	OutputUSD *float64 `json:"output_cost_per_million_tokens,omitempty"`
}

// ParseAlias reads a file with a model alias.
func ParseAlias(name string, src []byte) (ModelAlias, pack.Problems) {
	var m ModelAlias
	d := pack.DecodeSettings(name, "model alias", src, &m)
	for _, w := range m.wrong() {
		d.Fail(w.field, "%s", w.message)
	}
	return m, d.Problems()
}

// Check says what is wrong with an alias, as flags wrote it.
func (m ModelAlias) Check() error { return flags(m.wrong()) }

func (m ModelAlias) wrong() (list []wrong) {
	switch key := strings.TrimSpace(m.AliasKey); {
	case NameProblem(key) != "":
		list = append(list, wrong{"alias_key", NameProblem(key)})
	case strings.ContainsAny(key, "/\\"):
		list = append(list, wrong{"alias_key", "must not hold a slash: it would look like provider/model"})
	default:
		if _, _, err := provider.ParseModel(key); err == nil {
			list = append(list, wrong{"alias_key", fmt.Sprintf("%q names a model of a provider already", key)})
		}
	}
	if _, _, err := provider.ParseModel(m.Model); err != nil {
		list = append(list, wrong{"model", err.Error()})
	}
	if (m.InputUSD == nil) != (m.OutputUSD == nil) {
		list = append(list, wrong{"input_cost_per_million_tokens", "and the price of the output go together"})
	}
	for _, row := range []struct {
		field string
		usd   *float64
	}{{"input_cost_per_million_tokens", m.InputUSD}, {"output_cost_per_million_tokens", m.OutputUSD}} {
		if row.usd != nil && (!(*row.usd >= 0) || math.IsInf(*row.usd, 0)) {
			list = append(list, wrong{row.field, "must be 0 or more"})
		}
	}
	return list
}

// Price is the alias's own price of its model, nil for none.
func (m ModelAlias) Price() *scoring.Price {
	key, model, err := provider.ParseModel(m.Model)
	if m.InputUSD == nil || m.OutputUSD == nil || err != nil {
		return nil
	}
	return &scoring.Price{ProviderKey: key, ProviderModelID: model, InputCostPerMillionTokens: *m.InputUSD, OutputCostPerMillionTokens: *m.OutputUSD}
}

// Account is a provider account: how a provider is reached, and where its key is.
type Account struct {
	Name          string `json:"name"`
	Provider      string `json:"provider"`
	ProviderKey   string `json:"provider_key"` // the same, as others write it
	BaseURL       string `json:"base_url"`
	Credential    string `json:"credential_reference"`
	MaxConcurrent int    `json:"max_concurrent"`
	APIKey        any    `json:"api_key"` // refused: a key is kept elsewhere
}

// ParseAccount reads a file with a provider account. What its values must be is
// checked where providers are known.
func ParseAccount(name string, src []byte) (Account, pack.Problems) {
	var s Account
	return s, pack.DecodeSettings(name, "provider account", src, &s).Problems()
}

// The windows of a spend policy.
const (
	WindowRun     = "run"
	WindowSession = "session"
	WindowDay     = "day" // of UTC
)

// SpendPolicy is a limit of what models may cost.
type SpendPolicy struct {
	Name     string  `json:"name"`
	Window   string  `json:"window"`
	LimitUSD float64 `json:"limit_usd"`
}

// ParsePolicy reads a file with a spend policy.
func ParsePolicy(name string, src []byte) (SpendPolicy, pack.Problems) {
	var p SpendPolicy
	d := pack.DecodeSettings(name, "spend policy", src, &p)
	for _, w := range p.wrong() {
		d.Fail(w.field, "%s", w.message)
	}
	return p, d.Problems()
}

// Check says what is wrong with a policy, as flags wrote it.
func (p SpendPolicy) Check() error { return flags(p.wrong()) }

func (p SpendPolicy) wrong() (list []wrong) {
	if message := NameProblem(p.Name); message != "" {
		list = append(list, wrong{"name", message})
	}
	if windows := []string{WindowRun, WindowSession, WindowDay}; !slices.Contains(windows, p.Window) {
		list = append(list, wrong{"window", fmt.Sprintf("must be %s, not %q", strings.Join(windows, ", "), p.Window)})
	}
	if !(p.LimitUSD > 0) || p.LimitUSD > plan.MaxBudgetUSD {
		list = append(list, wrong{"limit_usd", fmt.Sprintf("must be above 0 and at most %d US dollars", plan.MaxBudgetUSD)})
	}
	return list
}

// ParseCatalog reads a file of prices, in the form of the list that is built in.
func ParseCatalog(name string, src []byte) (scoring.ListPrices, pack.Problems) {
	var p scoring.ListPrices
	d := pack.DecodeSettings(name, "model catalog", src, &p)
	if p.AsOf == "" {
		d.Fail("as_of", "is required: the day of the prices, such as 2026-01-31")
	}
	for i, row := range p.Models {
		at := fmt.Sprintf("models[%d].", i)
		if !slices.Contains(provider.Names(), row.ProviderKey) {
			d.Fail(at+"provider_key", "must be one of %s", strings.Join(provider.Names(), ", "))
		}
		if row.ProviderModelID == "" {
			d.Fail(at+"provider_model_id", "is required")
		}
		for field, usd := range map[string]float64{"input_cost_per_million_tokens": row.InputCostPerMillionTokens, "output_cost_per_million_tokens": row.OutputCostPerMillionTokens} {
			if !(usd >= 0) || math.IsInf(usd, 0) {
				d.Fail(at+field, "must be 0 or more")
			}
		}
	}
	return p, d.Problems()
}
