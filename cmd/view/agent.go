package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// Pack names a pack version in a document.
type Pack struct {
	Slug    string `json:"slug"`
	Version int32  `json:"version"`
}

func (p Pack) String() string {
	if p.Slug == "" {
		return absent
	}
	return p.Slug + " v" + strconv.Itoa(int(p.Version))
}

// Agent is one run agent and its scorecard, without the trials behind it.
type Agent struct {
	Label         string                 `json:"label"`
	RunAgentID    string                 `json:"run_agent_id"`
	Status        string                 `json:"status"`
	Reason        string                 `json:"reason"` // why it did not complete
	Headline      string                 `json:"-"`      // passed, failed or degraded; empty until scored
	OverallScore  *float64               `json:"overall_score"`
	Passed        bool                   `json:"passed"`
	PassRate      *float64               `json:"pass_rate"`
	Validity      string                 `json:"validity"`
	Trials        int                    `json:"trials"`
	PassedTrials  int                    `json:"passed_trials"`
	FailedTrials  int                    `json:"failed_trials"`
	InvalidTrials int                    `json:"invalid_trials"`
	InvalidCauses List[InvalidCause]     `json:"invalid_causes"`
	Dimensions    Object[AgentDimension] `json:"dimensions"`
	Usage         scoring.Usage          `json:"usage"`
	CostUSD       *float64               `json:"cost_usd"`
	PriceSource   string                 `json:"price_source"` // pack, table, mixed or reported
	PricesAsOf    string                 `json:"prices_as_of"` // the day of the list prices, where they were used
	SpentUSD      *float64               `json:"spent_usd"`    // judges and simulated users included
	Judging       *scoring.Judging       `json:"judging"`      // what judges were asked, null for nothing
	// Simulator is what models used that played users, left out where none did;
	// CalibrationTrials are the conversations that people are to look at.
	Simulator         *scoring.Simulated `json:"simulator,omitempty"`
	CalibrationTrials int                `json:"calibration_trials,omitempty"`
	LatencyMS         *float64           `json:"latency_ms"`
	// Security is left out without a security block.
	Security *scoring.AgentSecurity `json:"security,omitempty"`
}

// AgentDimension is a dimension's mean over the N trials that have it.
type AgentDimension struct {
	Score *float64      `json:"score"`
	State scoring.State `json:"state"`
	N     int           `json:"n"`
}

// AgentRef names a run agent and says how it ended.
type AgentRef struct {
	Label      string
	RunAgentID string
	Status     string
	Reason     string // of one that did not complete
	PricesAsOf string // the day of the run's list prices
}

// NewAgent makes the document of a run agent. Of the trials only the invalid
// ones are looked at, to say what took them.
func NewAgent(ref AgentRef, card scoring.AgentScorecard, trials []scoring.Trial) Agent {
	a := Agent{
		Label: ref.Label, RunAgentID: ref.RunAgentID, Status: ref.Status, Reason: ref.Reason,
		Headline: card.Headline, OverallScore: card.OverallScore, Passed: card.Passed,
		PassRate: card.PassRate, Validity: card.Validity,
		Trials: card.Trials, PassedTrials: card.PassedTrials,
		FailedTrials: card.FailedTrials, InvalidTrials: card.InvalidTrials,
		InvalidCauses: InvalidCauses(trials), Usage: card.Usage,
		CostUSD: card.CostUSD, PriceSource: card.PriceSource, SpentUSD: card.SpentUSD, Judging: card.Judging, LatencyMS: card.LatencyMS,
		Security: card.Security, Simulator: card.Simulator, CalibrationTrials: card.CalibrationTrials,
	}
	if a.PriceSource == scoring.PriceTable || a.PriceSource == scoring.PriceMixed {
		a.PricesAsOf = ref.PricesAsOf
	}
	for _, d := range card.Dimensions {
		a.Dimensions = append(a.Dimensions, Field[AgentDimension]{
			Key: d.Key, Value: AgentDimension{Score: d.Score, State: d.State, N: d.N},
		})
	}
	return a
}

// InvalidCause says how many trials one kind of infrastructure failure took.
type InvalidCause = compare.InvalidCause

// InvalidCauses counts the invalid trials by code and phase, sorted by both.
func InvalidCauses(trials []scoring.Trial) List[InvalidCause] {
	var causes List[InvalidCause]
	for _, t := range trials {
		if t.Outcome != scoring.OutcomeInvalid {
			continue
		}
		i := slices.IndexFunc(causes, func(c InvalidCause) bool { return c.Code == t.Code && c.Phase == t.Phase })
		if i < 0 {
			i, causes = len(causes), append(causes, InvalidCause{Code: t.Code, Phase: t.Phase})
		}
		causes[i].Trials++
	}
	slices.SortFunc(causes, func(a, b InvalidCause) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Phase, b.Phase))
	})
	return causes
}

// agentsTable is one row a run agent: what it scored, and what was left out.
func (p *printer) agentsTable(agents []Agent) {
	t := Table{Columns: []Column{
		left("AGENT"), whole("RESULT"), right("SCORE"), right("PASS RATE"), last(right("PASSED")), last(right("FAILED")),
		last(right("INVALID")), last(right("COST")), spare(right("LATENCY")),
	}}
	for _, a := range agents {
		t.Add(Text(a.Label), Status(a.result()), Text(Score(a.OverallScore)), Text(Percent(a.PassRate)),
			Text(strconv.Itoa(a.PassedTrials)), Text(strconv.Itoa(a.FailedTrials)), invalidCell(a.InvalidTrials),
			Text(USD(a.CostUSD)), Text(milliseconds(a.LatencyMS)))
	}
	p.table(&t)
	for _, a := range agents {
		p.reason(a.Label, a.Status, a.Reason)
	}
	p.prices(agents)
}

// prices says once by what the costs of a table are.
func (p *printer) prices(agents []Agent) {
	var said []string
	for _, a := range agents {
		if by := pricedBy(a.PriceSource, a.PricesAsOf); by != "" && !slices.Contains(said, by) {
			said = append(said, by)
		}
	}
	if len(said) > 0 {
		p.text(0, "Costs by "+strings.Join(said, "; "))
	}
}

// result is the headline of an agent that completed, and the status of one
// that did not.
func (a Agent) result() string {
	if a.Status != "completed" || a.Headline == "" {
		return a.Status
	}
	return a.Headline
}

// reason says under a table why an agent did not complete.
func (p *printer) reason(label, status, reason string) {
	if reason != "" {
		p.text(0, because(label+" "+status, reason))
	}
}

// invalidCell is a count that catches the eye when it is not zero.
func invalidCell(n int) Cell {
	c := Text(strconv.Itoa(n))
	if n > 0 {
		c.Style = Waiting
	}
	return c
}

// labelled is what took trials of one agent.
type labelled struct {
	label  string
	causes []InvalidCause
}

// invalidTable says what made trials invalid, apart from what failed. It
// writes nothing when no trial was.
func (p *printer) invalidTable(agents []labelled) {
	t := Table{Columns: []Column{left("AGENT"), right("INVALID"), whole("CODE"), whole("PHASE")}}
	for _, a := range agents {
		for _, c := range a.causes {
			t.Add(Text(a.label), invalidCell(c.Trials), Text(c.Code), Text(c.Phase))
		}
	}
	if len(t.Rows) == 0 {
		return
	}
	p.blank()
	p.title("Invalid trials, left out of every score")
	p.table(&t)
}
