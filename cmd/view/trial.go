package view

import (
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// Trial is one trial of a scorecard.
type Trial struct {
	TrialID        string                 `json:"trial_id"`
	CaseKey        string                 `json:"case_key"`
	Repetition     int                    `json:"repetition"`
	Attempt        int                    `json:"attempt"`
	Outcome        scoring.Outcome        `json:"outcome"`
	Code           string                 `json:"code"`
	Phase          string                 `json:"phase"`
	Reason         string                 `json:"reason"`
	OverallScore   *float64               `json:"overall_score"` // null for an invalid trial
	Passed         *bool                  `json:"passed"`        // null for an invalid trial
	Validity       string                 `json:"validity"`
	ValidityReason string                 `json:"validity_reason"`
	StopReason     string                 `json:"stop_reason"`
	FinalOutput    *string                `json:"final_output"`
	Dimensions     Object[TrialDimension] `json:"dimensions"`
	Validators     List[Validator]        `json:"validators"`
	Signals        List[Signal]           `json:"signals"`
	Metrics        List[Metric]           `json:"metrics"`
	SideMetrics    *scoring.SideMetrics   `json:"side_metrics"` // null without a scorecard
	Warnings       List[string]           `json:"warnings"`
	CostUSD        *float64               `json:"cost_usd"`
	LatencyMS      *int64                 `json:"latency_ms"`   // null: not known
	PriceSource    string                 `json:"price_source"` // pack, table, mixed or reported
	Judges         List[Judge]            `json:"judges"`
	Judging        *scoring.Judging       `json:"judging"`               // what they were asked, null for nothing
	Carried        bool                   `json:"carried"`               // the agent's part is an earlier attempt's, or another run's
	ReusedFrom     string                 `json:"reused_from,omitempty"` // the trial of that run
	// Simulator is what models used that played the user, left out where none did;
	// Calibration says that people are to look at the conversation.
	Simulator   *scoring.Simulated `json:"simulator,omitempty"`
	Calibration bool               `json:"calibration,omitempty"`
	// Security is left out without a security block.
	Security *scoring.SecurityResult `json:"security,omitempty"`
}

// TrialDimension is the score of one dimension of one trial.
type TrialDimension struct {
	Source string          `json:"source"` // what is scored
	Score  *float64        `json:"score"`
	State  scoring.State   `json:"state"`
	Reason string          `json:"reason"`
	Event  *scoring.Source `json:"event"` // the one to look at
}

// Validator is the result of one validator.
type Validator struct {
	Key             string          `json:"key"`
	Type            string          `json:"type"`
	State           scoring.State   `json:"state"`
	Verdict         string          `json:"verdict"`
	NormalizedScore *float64        `json:"normalized_score"`
	OutcomeClass    string          `json:"outcome_class"`
	Reason          string          `json:"reason"`
	Source          *scoring.Source `json:"source"` // the event to look at
}

// NewTrial makes the document of one trial. The outcome has the last word: an
// invalid trial shows no score and no verdict whatever its scorecard holds,
// and a failed one is never shown as passed.
func NewTrial(t scoring.Trial) Trial {
	d := Trial{
		TrialID: t.TrialID, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt,
		Outcome: t.Outcome, Code: t.Code, Phase: t.Phase, Reason: t.Reason,
		StopReason: t.StopReason, FinalOutput: t.FinalOutput, CostUSD: t.CostUSD, LatencyMS: t.LatencyMS, PriceSource: t.PriceSource,
		Judging: t.Judging, Carried: t.Carried, ReusedFrom: t.ReusedFrom, Simulator: t.Simulator, Calibration: t.Calibration,
	}
	if c := t.Scorecard; c != nil {
		d.fromCard(c)
	}
	if t.Outcome == scoring.OutcomeInvalid {
		d.OverallScore, d.Validity = nil, string(scoring.OutcomeInvalid)
		if d.ValidityReason == "" {
			d.ValidityReason = d.Reason
		}
		return d
	}
	if t.Outcome != "" { // empty: not yet finished
		d.Passed = new(t.Outcome == scoring.OutcomePassed)
	}
	return d
}

func (t *Trial) fromCard(c *scoring.Scorecard) {
	t.OverallScore, t.Validity, t.ValidityReason = c.OverallScore, c.Validity, c.ValidityReason
	for _, reason := range []string{c.PackError, c.NoOutput, c.JudgeError, c.OverallReason} {
		if t.Reason == "" {
			t.Reason = reason
		}
	}
	for _, d := range c.Dimensions {
		t.Dimensions = append(t.Dimensions, Field[TrialDimension]{d.Key, TrialDimension{d.Source, d.Score, d.State, d.Reason, d.Event}})
	}
	for _, v := range c.Validators {
		t.Validators = append(t.Validators, Validator{Key: v.Key, Type: v.Type, State: v.State, Verdict: v.Verdict,
			NormalizedScore: v.NormalizedScore, OutcomeClass: v.OutcomeClass, Reason: v.Reason, Source: v.Source})
	}
	for _, s := range c.Signals {
		t.Signals = append(t.Signals, Signal(s))
	}
	for _, m := range c.Metrics {
		t.Metrics = append(t.Metrics, Metric{Key: m.Key, State: m.State, Value: m.Value, Unit: m.Unit,
			Reason: m.Reason, Metadata: m.Metadata, Source: m.Source})
	}
	for _, j := range c.Judges {
		t.Judges = append(t.Judges, newJudge(j))
	}
	t.SideMetrics, t.Warnings, t.Security = &c.SideMetrics, c.Warnings, c.Security
}

// trials writes the table of all trials, then what failed and what was invalid
// with the reasons and the command that shows more.
func (p *printer) trials(trials []Trial) {
	if len(trials) == 0 {
		return
	}
	t := Table{Columns: []Column{
		left("CASE"), right("REP"), whole("OUTCOME"), right("SCORE"), whole("CODE"), left("REASON"),
	}}
	for _, r := range trials {
		t.Add(Text(r.CaseKey), Text(strconv.Itoa(r.Repetition)), Status(string(r.Outcome)),
			Text(Score(r.OverallScore)), Text(r.Code), Text(r.Why()))
	}
	p.blank()
	p.table(&t)
	p.unpassed("Failed trials", scoring.OutcomeFailed, trials)
	p.unpassed("Invalid trials, left out of every score", scoring.OutcomeInvalid, trials)
}

// Why is the shortest true account of a trial that did not pass. It is not
// clean text.
func (t Trial) Why() string {
	if t.Outcome == scoring.OutcomePassed {
		return ""
	}
	if t.Reason != "" {
		return t.Reason
	}
	var keys []string
	for _, v := range t.Validators {
		if v.unpassed() {
			keys = append(keys, v.Key)
		}
	}
	if len(keys) > 0 {
		return "did not pass: " + strings.Join(keys, ", ")
	}
	if t.StopReason != "" {
		return "stopped: " + t.StopReason
	}
	return ""
}

// word is the verdict of a validator, or its state when it reached none.
func (v Validator) word() string {
	if v.Verdict != "" {
		return v.Verdict
	}
	return string(v.State)
}

func (v Validator) unpassed() bool { return v.Verdict != scoring.VerdictPass }

func (p *printer) unpassed(title string, outcome scoring.Outcome, trials []Trial) {
	n := 0
	for _, t := range trials {
		if t.Outcome != outcome {
			continue
		}
		if n == 0 {
			p.blank()
			p.title(title)
		}
		if n++; n <= maxUnpassed || !p.o.brief() {
			p.unpassedTrial(t)
		}
	}
	p.more(n)
}

// maxUnpassed is how many of the things that went wrong a terminal shows.
const maxUnpassed = 25

// more says that a terminal was not shown all n of them.
func (p *printer) more(n int) {
	if n > maxUnpassed && p.o.brief() {
		p.line("  " + ellipsis + " and " + strconv.Itoa(n-maxUnpassed) + " more: pipe this command, or use --json, to see them all")
	}
}

func (p *printer) unpassedTrial(t Trial) {
	head := trialName(t.CaseKey, t.Repetition)
	if t.Attempt > 1 {
		head += " (attempt " + strconv.Itoa(t.Attempt) + ")"
	}
	if t.Code != "" {
		head += ": " + StatusStyle(string(t.Outcome)).Paint(SanitizeLine(codePhase(t.Code, t.Phase)), p.o.Color)
	}
	p.line("  " + head)
	if t.Reason != "" {
		p.text(4, t.Reason)
	}
	for _, v := range t.Validators {
		if v.unpassed() {
			p.result(4, v.result())
		}
	}
	for _, d := range t.Dimensions {
		if d.Value.Source != scoring.SourceValidators && d.Value.Source != scoring.SourceJudge && below(1, d.Value.Score) {
			p.result(4, d.Value.result(d.Key))
		}
	}
	for _, j := range t.Judges {
		if j.State != scoring.Available || below(1, j.NormalizedScore) {
			p.opinions(4, j)
		}
	}
	for _, s := range t.Signals {
		if below(1, s.Score) {
			p.result(4, s.result())
		}
	}
	p.security(4, t)
	p.line("    " + Faint.Paint("agentclash replay get "+p.o.ID(t.TrialID), p.o.Color))
}

// below says that there is a score and that it is less.
func below(limit float64, score *float64) bool { return score != nil && *score < limit }

// trialName is how a trial is called within its run agent.
func trialName(caseKey string, repetition int) string {
	return SanitizeLine(caseKey) + "#" + strconv.Itoa(repetition)
}
