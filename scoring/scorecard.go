package scoring

import "encoding/json"

// State says whether a result could be worked out.
type State string

// The states of a validator, metric or dimension result.
const (
	Available   State = "available"
	Unavailable State = "unavailable"
	Errored     State = "error"
)

// The verdicts of a validator.
const (
	VerdictPass  = "pass"
	VerdictFail  = "fail"
	VerdictError = "error"
)

// Outcome is how a trial ended.
type Outcome string

// The outcomes of a trial. OutcomeInvalid is infrastructure or the pack's
// author, never the agent, and is left out of every score.
const (
	OutcomePassed  Outcome = "passed"
	OutcomeFailed  Outcome = "failed"
	OutcomeInvalid Outcome = "invalid"
)

// Scorecard is what scoring says of one trial.
type Scorecard struct {
	Status         string            `json:"status"` // complete or partial
	Strategy       string            `json:"strategy"`
	OverallScore   *float64          `json:"overall_score"`
	Passed         *bool             `json:"passed"`
	OverallReason  string            `json:"overall_reason,omitempty"`
	Validity       string            `json:"validity"` // valid, degraded or invalid
	ValidityReason string            `json:"validity_reason,omitempty"`
	Warnings       []string          `json:"warnings,omitempty"`
	Dimensions     []DimensionResult `json:"dimensions"` // in declared order
	Validators     []ValidatorResult `json:"validators"` // in declared order
	Metrics        []MetricResult    `json:"metrics"`    // in declared order
	// Signals are the behavioural ones, in declared order.
	Signals []SignalResult `json:"signals,omitempty"`
	// Judges are the LLM judges, in declared order.
	Judges []JudgeResult `json:"judges,omitempty"`
	// Security is what came of the pack's security block, nil without one.
	Security    *SecurityResult `json:"security,omitempty"`
	SideMetrics SideMetrics     `json:"side_metrics,omitzero"`
	// NoOutput names what the agent never produced although a validator
	// reads it; such a trial is failed whatever the rest says.
	NoOutput string `json:"no_output,omitempty"`
	// PackError names what the pack's author must mend before this trial can
	// be judged; such a trial is invalid with code pack_error.
	PackError string `json:"pack_error,omitempty"`
	// InfraError names what the machinery around the agent failed to do, such
	// as collecting a file; such a trial is invalid with code infra_error.
	InfraError string `json:"infra_error,omitempty"`
	// JudgeError names the judge that was not reached, or whose replies say
	// nothing; such a trial is invalid, in the phase scoring, with the code of
	// the call that failed or judge_error.
	JudgeError     string `json:"judge_error,omitempty"`
	JudgeErrorCode string `json:"judge_error_code,omitempty"`
}

// ValidatorResult is the result of one validator.
type ValidatorResult struct {
	Key             string          `json:"key"`
	Type            string          `json:"type"`
	State           State           `json:"state"`
	Verdict         string          `json:"verdict,omitempty"` // pass, fail, error or empty
	NormalizedScore *float64        `json:"normalized_score"`
	OutcomeClass    string          `json:"outcome_class"` // one of the Class constants
	Reason          string          `json:"reason,omitempty"`
	Target          string          `json:"target"`
	Actual          *string         `json:"actual_value,omitempty"`
	Expected        *string         `json:"expected_value,omitempty"`
	Evidence        json.RawMessage `json:"evidence,omitempty"`
	Source          *Source         `json:"source,omitempty"`
}

// MetricResult is the value of one metric. Value is a number, a string, a
// boolean or nil.
type MetricResult struct {
	Key       string `json:"key"`
	Collector string `json:"collector"`
	State     State  `json:"state"`
	Value     any    `json:"value"`
	Unit      string `json:"unit,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Metadata is what the value was worked out from, for collectors that have
	// more to say: times and steps of a latency, price rows of a cost.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Source   *Source         `json:"source,omitempty"`
}

// SignalResult is the score of one behavioural signal.
type SignalResult struct {
	Key           string   `json:"key"`
	State         State    `json:"state"`
	Score         *float64 `json:"score"`
	Weight        float64  `json:"weight"`
	Gate          bool     `json:"gate,omitempty"`
	PassThreshold *float64 `json:"pass_threshold,omitempty"`
	Reason        string   `json:"reason,omitempty"`
	Source        *Source  `json:"source,omitempty"` // of a score below 1
}

// JudgeResult is what the replies to one judge's questions come to.
type JudgeResult struct {
	Key   string `json:"judge_key"`
	Mode  string `json:"mode"`
	State State  `json:"state"`
	// NormalizedScore is the score, 0 to 1, that the models came to.
	NormalizedScore *float64 `json:"normalized_score"`
	Confidence      string   `json:"confidence,omitempty"` // low, medium, high or single-model
	// Variance is that of all samples, of two or more, and Spread the distance
	// between the highest and the lowest model.
	Variance    *float64     `json:"variance,omitempty"`
	Spread      *float64     `json:"spread,omitempty"`
	SampleCount int          `json:"sample_count"` // as declared, of all models
	ModelCount  int          `json:"model_count"`
	UnableCount int          `json:"unable_to_judge_count,omitempty"`
	Reason      string       `json:"reason,omitempty"`
	Warnings    []string     `json:"warnings,omitempty"`
	Models      []JudgeModel `json:"models,omitempty"` // in declared order
	Calls       []JudgeCall  `json:"calls,omitempty"`  // in the order they were asked
	Source      *Source      `json:"source,omitempty"` // of the lowest sample
}

// JudgeModel is what one model of a judge came to.
type JudgeModel struct {
	Model   string   `json:"model"`
	Score   *float64 `json:"score"`   // nil: it gave no sample that counts
	Samples int      `json:"samples"` // that count
}

// JudgeCall is one sample of a judge: a score, or why it does not count.
type JudgeCall struct {
	Model      string   `json:"model"`
	Sample     int      `json:"sample_index"` // from 1
	Score      *float64 `json:"score"`
	Confidence string   `json:"confidence,omitempty"` // as the model says
	Reasoning  string   `json:"reasoning,omitempty"`  // as the model says, cut
	Error      string   `json:"error,omitempty"`
	Unable     bool     `json:"unable_to_judge,omitempty"`
	Source     *Source  `json:"source,omitempty"`
}

// SideMetrics are numbers of every scorecard that no spec declares and no
// dimension reads.
type SideMetrics struct {
	// CostPerCorrectUSD is the cost of the trial's model calls for each
	// validator that is met.
	CostPerCorrectUSD SideMetric `json:"cost_per_correct_usd"`
}

// SideMetric is a quotient, or why there is none.
type SideMetric struct {
	State       State    `json:"state"`
	Value       *float64 `json:"value,omitempty"`
	Unit        string   `json:"unit"`
	Numerator   *float64 `json:"numerator,omitempty"`
	Denominator *int     `json:"denominator,omitempty"`
	Reason      string   `json:"reason,omitempty"`
}

// DimensionResult is the score of one dimension, 0..1, higher is better for
// every source.
type DimensionResult struct {
	Key    string   `json:"key"`
	Source string   `json:"source"`
	State  State    `json:"state"`
	Score  *float64 `json:"score"`
	Reason string   `json:"reason,omitempty"`
	Gate   bool     `json:"gate,omitempty"`
	// AgentFault marks a missing score that is the agent's doing: it did not
	// produce what was read. Aggregates count it as 0.
	AgentFault bool `json:"agent_fault,omitempty"`
	// Event is the event to look at; Source is taken by what is scored.
	Event *Source `json:"event,omitempty"`
}

// Trial is a trial as the aggregate sees it.
type Trial struct {
	TrialID     string   `json:"trial_id"`
	CaseKey     string   `json:"case_key"`
	Repetition  int      `json:"repetition"`
	Attempt     int      `json:"attempt"`
	Outcome     Outcome  `json:"outcome"`
	Code        string   `json:"code,omitempty"`
	Phase       string   `json:"phase,omitempty"`
	Reason      string   `json:"reason,omitempty"` // the error's text, redacted
	StopReason  string   `json:"stop_reason,omitempty"`
	FinalOutput *string  `json:"final_output"`
	Usage       Usage    `json:"usage"`
	CostUSD     *float64 `json:"cost_usd"`               // nil: unknown
	PriceSource string   `json:"price_source,omitempty"` // of CostUSD: pack, table, mixed or reported
	LatencyMS   *int64   `json:"latency_ms"`             // nil: unknown
	// CachedUSD is the part of CostUSD that a cache answered: it is what the
	// agent costs, and was not spent.
	CachedUSD *float64 `json:"cached_usd,omitempty"`
	// Judging is what this attempt's judges were asked, nil for no call. It is
	// no part of Usage and CostUSD.
	Judging *Judging `json:"judging,omitempty"`
	// Simulator is what models used that played the user, nil for none. It is no
	// part of Usage and CostUSD either.
	Simulator *Simulated `json:"simulator,omitempty"`
	// Calibration says that people are to look at this conversation.
	Calibration bool `json:"calibration,omitempty"`
	// Carried says that the agent's part is an earlier attempt's, or another
	// run's, whose cost counts there.
	Carried bool `json:"carried,omitempty"`
	// ReusedFrom is the trial of another run that the agent's part is of.
	ReusedFrom string     `json:"reused_from,omitempty"`
	Scorecard  *Scorecard `json:"scorecard,omitempty"`
}

// Simulated counts what models used that played the user.
type Simulated struct {
	Calls        int      `json:"calls"`
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	TotalTokens  int64    `json:"total_tokens"`
	CostUSD      *float64 `json:"cost_usd"` // nil: a price or a usage is unknown
}

// Judging counts the calls to judges.
type Judging struct {
	Calls   int      `json:"calls"`
	Tokens  int64    `json:"total_tokens"`
	CostUSD *float64 `json:"cost_usd"` // nil: a price or a usage is unknown
}

// Plus adds up. A cost with an unknown part is unknown.
func (j Judging) Plus(more Judging) Judging {
	sum := Judging{Calls: j.Calls + more.Calls, Tokens: j.Tokens + more.Tokens}
	if j.CostUSD != nil && more.CostUSD != nil {
		sum.CostUSD = new(*j.CostUSD + *more.CostUSD)
	}
	return sum
}

// Usage counts tokens.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	TotalTokens  int64 `json:"total_tokens"`
}

// AgentScorecard aggregates the trials of one run agent; [Aggregate] has the
// rules.
type AgentScorecard struct {
	OverallScore  *float64             `json:"overall_score"`
	Passed        bool                 `json:"passed"`
	PassRate      *float64             `json:"pass_rate"` // nil without a valid trial
	Validity      string               `json:"validity"`
	Headline      string               `json:"headline"` // passed, failed or degraded
	Trials        int                  `json:"trials"`
	PassedTrials  int                  `json:"passed_trials"`
	FailedTrials  int                  `json:"failed_trials"`
	InvalidTrials int                  `json:"invalid_trials"`
	Dimensions    []AggregateDimension `json:"dimensions"` // in declared order
	Usage         Usage                `json:"usage"`
	CostUSD       *float64             `json:"cost_usd"`
	PriceSource   string               `json:"price_source,omitempty"` // of CostUSD: pack, table, mixed or reported
	SpentUSD      *float64             `json:"spent_usd"`              // judges and simulated users included
	Judging       *Judging             `json:"judging,omitempty"`      // of all attempts
	Simulator     *Simulated           `json:"simulator,omitempty"`    // of all attempts
	// CalibrationTrials are the trials whose conversations people are to look at.
	CalibrationTrials int            `json:"calibration_trials,omitempty"`
	LatencyMS         *float64       `json:"latency_ms"`
	Security          *AgentSecurity `json:"security,omitempty"`
}

// AggregateDimension is a dimension's mean over the trials that have it.
type AggregateDimension struct {
	Key   string   `json:"key"`
	Score *float64 `json:"score"`
	State State    `json:"state"`
	N     int      `json:"n"` // trials averaged
}
