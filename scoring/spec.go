package scoring

import (
	"encoding/json"
	"strings"
)

// Spec is the scoring contract of a pack: `version.evaluation_spec`. The field
// names and their meaning are those of the pack format; the pack room decodes
// it strictly and keeps the positions, this room checks and evaluates it.
type Spec struct {
	Name                string               `json:"name"`
	VersionNumber       int32                `json:"version_number"`
	JudgeMode           string               `json:"judge_mode"`
	Validators          []Validator          `json:"validators"`
	Metrics             []Metric             `json:"metrics,omitempty"`
	Behavioral          *Behavioral          `json:"behavioral,omitempty"`
	LLMJudges           []LLMJudge           `json:"llm_judges,omitempty"`
	PostExecutionChecks []PostExecutionCheck `json:"post_execution_checks,omitempty"`
	RuntimeLimits       RuntimeLimits        `json:"runtime_limits,omitzero"`
	Pricing             Pricing              `json:"pricing,omitzero"`
	Scorecard           ScorecardSpec        `json:"scorecard"`
}

// Validator is one deterministic check. Config stays raw: what it may hold
// depends on Type and is decoded by that type's registry row.
type Validator struct {
	Key          string `json:"key"`
	Type         string `json:"type"`
	Target       string `json:"target"`
	ExpectedFrom string `json:"expected_from,omitempty"`
	// Negate says that what the validator checks must not hold.
	Negate bool            `json:"negate,omitempty"`
	Config json.RawMessage `json:"config,omitempty"`
}

// Metric is one number, text or boolean read off the evidence by a collector.
type Metric struct {
	Key       string `json:"key"`
	Type      string `json:"type"`
	Collector string `json:"collector"`
	Unit      string `json:"unit,omitempty"`
}

// Behavioral holds the signals of a `behavioral` dimension.
type Behavioral struct {
	Signals []Signal `json:"signals"`
}

// Signal is one behavioural signal with its weight in the dimension.
type Signal struct {
	Key           string   `json:"key"`
	Weight        float64  `json:"weight"`
	Gate          bool     `json:"gate,omitempty"`
	PassThreshold *float64 `json:"pass_threshold,omitempty"`
}

// LLMJudge declares one judge.
type LLMJudge struct {
	Mode    string   `json:"mode"`
	Key     string   `json:"key"`
	Model   string   `json:"model,omitempty"`
	Models  []string `json:"models,omitempty"`
	Samples int      `json:"samples,omitempty"`
	// ConfirmOnFail asks each model once, and for the other samples only when
	// the first is not a pass.
	ConfirmOnFail     bool            `json:"confirm_on_fail,omitempty"`
	ContextFrom       []string        `json:"context_from,omitempty"`
	OutputSchema      json.RawMessage `json:"output_schema,omitempty"`
	ScoreScale        *ScoreScale     `json:"score_scale,omitempty"`
	Rubric            string          `json:"rubric,omitempty"`
	Assertion         string          `json:"assertion,omitempty"`
	Expect            *bool           `json:"expect,omitempty"`
	Prompt            string          `json:"prompt,omitempty"`
	PositionDebiasing bool            `json:"position_debiasing,omitempty"`
	ReferenceFrom     string          `json:"reference_from,omitempty"`
	Consensus         *Consensus      `json:"consensus,omitempty"`
	AntiGamingClauses []string        `json:"anti_gaming_clauses,omitempty"`
	TimeoutMS         *int64          `json:"timeout_ms,omitempty"`
}

// ScoreScale is the scale a judge scores on; 1 to 5 when absent.
type ScoreScale struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// Consensus says how several judge models agree on one score.
type Consensus struct {
	Aggregation           string   `json:"aggregation"`
	MinAgreementThreshold *float64 `json:"min_agreement_threshold,omitempty"`
	FlagOnDisagreement    bool     `json:"flag_on_disagreement,omitempty"`
}

// PostExecutionCheck names a file or directory that is captured after the
// agent has finished and before its sandbox is removed.
type PostExecutionCheck struct {
	Key          string `json:"key"`
	Type         string `json:"type"`
	Path         string `json:"path"`
	Recursive    bool   `json:"recursive,omitempty"`
	MaxSizeBytes int64  `json:"max_size_bytes,omitempty"`
}

// The kinds of PostExecutionCheck.
const (
	FileCapture      = "file_capture"
	DirectoryListing = "directory_listing"
)

// RuntimeLimits are the pack's own caps on one trial. A nil field is no cap.
type RuntimeLimits struct {
	MaxTotalTokens *int64   `json:"max_total_tokens,omitempty"`
	MaxCostUSD     *float64 `json:"max_cost_usd,omitempty"`
	MaxDurationMS  *int64   `json:"max_duration_ms,omitempty"`
	MaxIterations  *int32   `json:"max_iterations,omitempty"`
}

// Pricing holds the pack's own price rows.
type Pricing struct {
	Models []Price `json:"models,omitempty"`
}

// Price is what one model costs, in US dollars per million tokens.
type Price struct {
	ProviderKey                string  `json:"provider_key"`
	ProviderModelID            string  `json:"provider_model_id"`
	InputCostPerMillionTokens  float64 `json:"input_cost_per_million_tokens"`
	OutputCostPerMillionTokens float64 `json:"output_cost_per_million_tokens"`
}

// ScorecardSpec says how results become dimensions and dimensions a verdict.
type ScorecardSpec struct {
	Dimensions    []Dimension          `json:"dimensions"`
	Normalization *LegacyNormalization `json:"normalization,omitempty"`
	Strategy      string               `json:"strategy,omitempty"`
	PassThreshold *float64             `json:"pass_threshold,omitempty"`
	JudgeLimits   *JudgeLimits         `json:"judge_limits,omitempty"`
}

// LegacyNormalization feeds the shorthand dimensions `latency` and `cost`.
type LegacyNormalization struct {
	Latency *struct {
		TargetMS *float64 `json:"target_ms,omitempty"`
		MaxMS    *float64 `json:"max_ms,omitempty"`
	} `json:"latency,omitempty"`
	Cost *struct {
		TargetUSD *float64 `json:"target_usd,omitempty"`
		MaxUSD    *float64 `json:"max_usd,omitempty"`
	} `json:"cost,omitempty"`
}

// JudgeLimits cap what the judges of one trial may use; 0 is no cap.
type JudgeLimits struct {
	MaxSamplesPerJudge int     `json:"max_samples_per_judge,omitempty"`
	MaxCallsUSD        float64 `json:"max_calls_usd,omitempty"`
	MaxTokens          int64   `json:"max_tokens,omitempty"`
}

// Dimension is one scored aspect. In a pack it may be written as a bare
// string, which stands for an object with only a key.
type Dimension struct {
	Key             string         `json:"key"`
	Source          string         `json:"source,omitempty"`
	Validators      []string       `json:"validators,omitempty"`
	Metric          string         `json:"metric,omitempty"`
	JudgeKey        string         `json:"judge_key,omitempty"`
	BetterDirection string         `json:"better_direction,omitempty"`
	Normalization   *Normalization `json:"normalization,omitempty"`
	Weight          *float64       `json:"weight,omitempty"`
	Gate            bool           `json:"gate,omitempty"`
	PassThreshold   *float64       `json:"pass_threshold,omitempty"`
}

// Normalization maps a raw number onto 0..1. For direction `higher`, Max is
// the floor: the worst value.
type Normalization struct {
	Target *float64 `json:"target,omitempty"`
	Max    *float64 `json:"max,omitempty"`
}

// SetShorthand gives the dimension the meaning of a bare string.
func (d *Dimension) SetShorthand(key string) { *d = Dimension{Key: key} }

// UnmarshalJSON accepts both forms, so that stored specs read back.
func (d *Dimension) UnmarshalJSON(b []byte) error {
	if strings.HasPrefix(string(b), `"`) {
		var key string
		if err := json.Unmarshal(b, &key); err != nil {
			return err
		}
		d.SetShorthand(key)
		return nil
	}
	type plain Dimension
	return json.Unmarshal(b, (*plain)(d))
}
