package view

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// ScorecardDocument is what `eval scorecard --json` prints. Baseline,
// Comparison and ReleaseGate are null without a baseline, and for a rescoring.
type ScorecardDocument struct {
	Candidate   Participant         `json:"candidate"`
	Rescoring   *Rescoring          `json:"rescoring,omitempty"` // whose scorecard it is, when it is not the run's own
	Scorecard   Scorecard           `json:"scorecard"`
	Baseline    *Bookmark           `json:"baseline"`
	Comparison  *compare.Comparison `json:"comparison"`
	ReleaseGate *compare.GateResult `json:"release_gate"`
}

// Participant names a run agent of a run.
type Participant struct {
	WorkspaceID   string `json:"workspace_id"`
	RunID         string `json:"run_id"`
	RunName       string `json:"run_name"`
	RunStatus     string `json:"run_status"`
	RunAgentID    string `json:"run_agent_id"`
	RunAgentLabel string `json:"run_agent_label"`
	Shard         string `json:"shard,omitempty"` // the part of the cases that the run has
	Cache         bool   `json:"cache,omitempty"` // replies may come from the cache: no duration is measured
}

// Bookmark is a participant that was saved as the baseline. SetAt is left out
// for one that was only named.
type Bookmark struct {
	Participant
	Name     string    `json:"name,omitempty"`
	Imported bool      `json:"imported,omitempty"` // it came in a file, and its run is not here
	File     string    `json:"file,omitempty"`     // that it was read from, instead of being set
	SetAt    time.Time `json:"set_at,omitzero"`
	EndedAt  time.Time `json:"ended_at,omitzero"` // when another took its place, or it was cleared
}

// Scorecard is a run agent with the trials that decide it, in the order of the
// plan. Its key "trials" holds them; the agent's own count of them, which has
// that key in other documents, stays within.
type Scorecard struct {
	Agent
	Trials List[Trial] `json:"trials"`
	Reused int         `json:"-"` // how many of them earlier runs' stand for
	// Regressions are the cases of regression suites, left out when none were run.
	Regressions List[RegressionResult] `json:"regression_cases,omitempty"`
}

// NewScorecard makes the scorecard of a run agent from its aggregate and the
// trials that decide it.
func NewScorecard(ref AgentRef, card scoring.AgentScorecard, trials []scoring.Trial) Scorecard {
	s := Scorecard{Agent: NewAgent(ref, card, trials), Trials: make(List[Trial], len(trials))}
	for i, t := range trials {
		s.Trials[i] = NewTrial(t)
	}
	s.Reused = reused(s.Trials)
	return s
}

// ScorecardReport writes the scorecard of a run agent and, when there is a
// baseline, the comparison with it and the verdict.
func ScorecardReport(w io.Writer, d ScorecardDocument, o Options) error {
	p := newPrinter(w, o)
	p.agentBlock(d)
	p.dimensions(d.Scorecard.Dimensions)
	p.regressionResults(d.Scorecard.Regressions)
	p.trials(d.Scorecard.Trials)
	p.held(d)
	return p.flush()
}

// RunScorecards writes a row for each agent of a run, then what ScorecardReport says
// of it but for its trials: there may be thousands, and who asks lists them.
func RunScorecards(w io.Writer, cards []ScorecardDocument, o Options) error {
	p := newPrinter(w, o)
	agents := make([]Agent, len(cards))
	for i, d := range cards {
		agents[i] = d.Scorecard.Agent
	}
	if len(agents) > 0 {
		p.agentsTable(agents)
	}
	for _, d := range cards {
		p.blank()
		p.title(SanitizeLine(d.Scorecard.Label))
		p.agentBlock(d)
		p.dimensions(d.Scorecard.Dimensions)
		p.regressionResults(d.Scorecard.Regressions)
		p.held(d)
	}
	return p.flush()
}

// held writes how an agent compares with the baseline, where there is one.
func (p *printer) held(d ScorecardDocument) {
	if d.Baseline != nil && d.Comparison != nil {
		p.blank()
		p.comparison(ComparisonDocument{Baseline: *d.Baseline, Candidate: d.Candidate, Comparison: *d.Comparison})
	}
	if d.ReleaseGate != nil {
		p.blank()
		p.gate(*d.ReleaseGate)
	}
}

func (p *printer) agentBlock(d ScorecardDocument) {
	c, a := d.Candidate, d.Scorecard.Agent
	var b Details
	b.Add("Run", runName(c.RunName, c.RunID, p.o))
	if r := d.Rescoring; r != nil {
		b.Add("Rescoring", p.o.ID(r.RescoringID)+", by "+r.Pack+", "+p.o.Time(r.CreatedAt))
	}
	b.Status("Run status", c.RunStatus)
	if c.Shard != "" {
		b.Add("Shard", c.Shard)
	}
	if c.Cache {
		b.Add("Cache", cacheNote)
	}
	b.Add("Agent", a.Label+" ("+p.o.ID(a.RunAgentID)+")")
	b.Status("Agent status", a.Status)
	b.Status("Result", a.Headline)
	b.Add("Overall score", Score(a.OverallScore))
	b.Add("Pass rate", Percent(a.PassRate))
	b.Add("Trials", trialCounts(a))
	if n := d.Scorecard.Reused; n > 0 {
		b.Add("Reused", count(n, "trial")+" of earlier runs")
	}
	b.Status("Validity", a.Validity)
	b.Add("Tokens", usage(a.Usage))
	b.Add("Cost", cost(a))
	if a.Judging != nil {
		b.Add("Judges", judging(a.Judging))
	}
	if s := a.Simulator; s != nil {
		b.Add("Simulated users", fmt.Sprintf("%s, %s tokens, %s", count(s.Calls, "call"), Tokens(s.TotalTokens), USD(s.CostUSD)))
	}
	b.Add("Spent", USD(a.SpentUSD))
	b.Add("Latency", milliseconds(a.LatencyMS))
	if a.Security != nil {
		b.Add("Security", agentSecurity(a.Security))
	}
	if a.CalibrationTrials > 0 {
		b.Add("To look at", count(a.CalibrationTrials, "conversation")+": agentclash run turn calibration")
	}
	p.details(b)
}

// reused counts the trials that earlier runs' stand for.
func reused(trials []Trial) (n int) {
	for _, t := range trials {
		if t.ReusedFrom != "" {
			n++
		}
	}
	return n
}

// usage is what an agent's calls said that they used. No call uses nothing: where
// none has said what it used, there are no numbers.
func usage(u scoring.Usage) string {
	if u == (scoring.Usage{}) {
		return "-"
	}
	return Tokens(u.TotalTokens) + " (" + Tokens(u.InputTokens) + " in, " + Tokens(u.OutputTokens) + " out)"
}

// cost is an agent's cost, and by whose prices.
func cost(a Agent) string {
	by := pricedBy(a.PriceSource, a.PricesAsOf)
	if a.CostUSD == nil || by == "" {
		return USD(a.CostUSD)
	}
	return USD(a.CostUSD) + " (" + by + ")"
}

// trialCounts always names the invalid ones apart, also when there are none.
func trialCounts(a Agent) string {
	s := strconv.Itoa(a.PassedTrials) + " passed, " + strconv.Itoa(a.FailedTrials) + " failed, " +
		strconv.Itoa(a.InvalidTrials) + " invalid"
	for _, c := range a.InvalidCauses {
		s += " (" + strconv.Itoa(c.Trials) + " " + codePhase(c.Code, c.Phase) + ")"
	}
	if rest := a.Trials - a.PassedTrials - a.FailedTrials - a.InvalidTrials; rest > 0 {
		s += ", " + strconv.Itoa(rest) + " unfinished"
	}
	return s
}

func codePhase(code, phase string) string {
	if phase == "" {
		return or(code)
	}
	return or(code) + " in " + phase
}

func (p *printer) dimensions(ds Object[AgentDimension]) {
	t := Table{Columns: []Column{left("DIMENSION"), whole("STATE"), right("SCORE"), right("TRIALS")}}
	for _, d := range ds {
		t.Add(Text(d.Key), Status(string(d.Value.State)), Text(Score(d.Value.Score)), Text(strconv.Itoa(d.Value.N)))
	}
	if len(t.Rows) > 0 {
		p.blank()
		p.table(&t)
	}
}
