package page

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// SchemaVersion is that of the data in the page. Fields may be added to it.
const SchemaVersion = 1

// Report is what a page says of a run.
type Report struct {
	Program     string // version of agentclash
	GeneratedAt time.Time
	Run         view.Run
	DurationMS  *int64 // nil before the run has begun
	Active      bool   // the run goes on
	Agents      []Agent
	Trials      []Row
	// Artifacts are the files that people attached to the run, newest first. Of
	// private ones there is only the number.
	Artifacts        []view.Artifact
	PrivateArtifacts int
	ReadArtifact     func(id string) ([]byte, error)
	// Read reads what happened in a trial. It is asked for one trial at a time, and
	// for the same one more than once.
	Read func(trialID string) (Evidence, error)
	// Served says that the program which wrote the page answers its questions: it
	// holds no evidence itself.
	Served bool
}

// Agent is a lane of the run and what came of it.
type Agent struct {
	view.Agent
	Model  string `json:"model"`  // provider/model
	Result string `json:"result"` // in one word; it follows from the rest
	// Compared is nil without a baseline; NotCompared then says why, where there is
	// one that it could not be held against.
	Compared    *Compared `json:"compared"`
	NotCompared string    `json:"not_compared"`
}

// word is the headline of an agent that completed, else its status.
func (a Agent) word() string {
	if a.Status != "completed" || a.Headline == "" {
		return a.Status
	}
	return a.Headline
}

// Compared is an agent held against a baseline.
type Compared struct {
	Baseline   view.Bookmark      `json:"baseline"`
	Candidate  view.Participant   `json:"candidate"`
	Comparison compare.Comparison `json:"comparison"`
	Gate       compare.GateResult `json:"gate"`
	Rows       []view.DeltaRow    `json:"rows"` // what [view.DeltaRows] makes of the comparison
}

// Row is a trial in the table of all trials.
type Row struct {
	TrialID    string
	Agent      int // its place in Agents
	CaseKey    string
	Repetition int
	Attempt    int
	Status     string // passed, failed or invalid; of one that has not ended: queued, running, interrupted or cancelled
	Code       string
	Phase      string
	Score      *float64
	CostUSD    *float64
	LatencyMS  *int64
	Why        string
}

// NewRow is the row of a trial that has ended.
func NewRow(agent int, t view.Trial) Row {
	return Row{
		TrialID: t.TrialID, Agent: agent, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt, Status: string(t.Outcome),
		Code: t.Code, Phase: t.Phase, Score: t.OverallScore, CostUSD: t.CostUSD, LatencyMS: t.LatencyMS, Why: t.Why(),
	}
}

// Evidence is what happened in one attempt of a trial.
type Evidence struct {
	Trial    view.Trial
	Events   []event.Event // of the attempt, in sequence
	Baseline *Other        // the trial of the baseline on the same case, nil for none
	// Checks are what the trial's validators came to, with what they expected and read,
	// and Declared is how the pack declares them.
	Checks   []scoring.ValidatorResult
	Declared []scoring.Validator
}

// Other is a trial that another one is held against.
type Other struct {
	RunID   string
	RunName string
	Agent   string
	Trial   view.Trial
	Events  []event.Event
}

// rowColumns names the places of a row, which has no keys since there are thousands.
var rowColumns = []string{"trial_id", "agent", "case", "repetition", "attempt", "status", "code", "phase", "score", "cost_usd", "latency_ms", "why", "chunk", "line", "facts"}

// place is where a page has the evidence of a trial: a line of a chunk.
type place struct{ chunk, line int }

// nowhere is the place of what is not in the page.
var nowhere = [...]int{-1, -1}

// document is the data of a page.
type document struct {
	SchemaVersion int              `json:"schema_version"`
	Program       string           `json:"program"`
	GeneratedAt   time.Time        `json:"generated_at"`
	Run           view.Run         `json:"run"`
	DurationMS    *int64           `json:"duration_ms"`
	Active        bool             `json:"active"`
	Served        bool             `json:"served"`
	Agents        []Agent          `json:"agents"`
	Cases         []string         `json:"cases"`
	Columns       []string         `json:"columns"`
	Rows          []packedRow      `json:"rows"`
	Outcomes      map[string]int   `json:"outcomes"` // of all trials, also those without a row
	Artifacts     []packedArtifact `json:"artifacts"`
	LeftOut       LeftOut          `json:"left_out"`
}

// LeftOut says what a page has no room for. The store has all of it.
type LeftOut struct {
	Trials    int `json:"trials"`     // that have no row
	Details   int `json:"details"`    // that have a row and no evidence
	Shortened int `json:"shortened"`  // that have evidence with texts cut
	Facts     int `json:"facts"`      // whose events cannot be saved from the page
	CasePairs int `json:"case_pairs"` // unchanged cases of comparisons
	Artifacts int `json:"artifacts"`  // that are too large for the page, or too many
	Private   int `json:"private"`    // artifacts, whatever room there is
	Texts     int `json:"texts"`      // names, keys and reasons that are cut everywhere in the page
}

// Lines say it to people.
func (l LeftOut) Lines() []string {
	const shown, kept = "agentclash serve and agentclash replay get TRIAL show all", "agentclash artifact list --run RUN shows them"
	var lines []string
	for _, row := range []struct {
		n               int
		one, many, rest string
	}{
		{l.Trials, "trial has no row in the page", "trials have no row in the page", shown},
		{l.Details, "trial has a row and nothing of what happened in it", "trials have a row and nothing of what happened in them", shown},
		{l.Shortened, "trial is shown with its longest texts cut", "trials are shown with their longest texts cut", shown},
		{l.CasePairs, "case is left out of the list of compared cases", "cases are left out of the list of compared cases", shown},
		{l.Texts, "long name, key or reason is cut", "long names, keys and reasons are cut", shown},
		{l.Artifacts, "artifact is not in the page", "artifacts are not in the page", kept},
		{l.Private, "private artifact is left out", "private artifacts are left out", kept},
	} {
		what := row.many
		if row.n == 1 {
			what = row.one
		}
		if row.n > 0 {
			lines = append(lines, strconv.Itoa(row.n)+" "+what+"; "+row.rest)
		}
	}
	return lines
}

// Written says what was written.
type Written struct {
	RunID   string  `json:"run_id"`
	RunName string  `json:"run_name"`
	Status  string  `json:"status"` // of the run
	File    string  `json:"file"`
	Bytes   int64   `json:"bytes"`
	Trials  int     `json:"trials"`
	LeftOut LeftOut `json:"left_out"`
}

// packedRow is a row with the places of what the page has of it.
type packedRow struct {
	Row
	caseAt          int
	evidence, facts place
}

// MarshalJSON writes the values in the order of rowColumns.
func (r packedRow) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{r.TrialID, r.Agent, r.caseAt, r.Repetition, r.Attempt, r.Status, r.Code, r.Phase, r.Score, r.CostUSD,
		r.LatencyMS, r.Why, r.evidence.chunk, r.evidence.line, []int{r.facts.chunk, r.facts.line}})
}

// ended says whether there is evidence of how the trial went.
func (r Row) ended() bool {
	switch scoring.Outcome(r.Status) {
	case scoring.OutcomePassed, scoring.OutcomeFailed, scoring.OutcomeInvalid:
		return true
	}
	return false
}

const (
	// maxRows is how many trials have a row. Of more, those that passed are left out
	// first.
	maxRows = 20_000
	// maxPairs is how many cases of a comparison are listed one by one.
	maxPairs = 1000
	// fewRows is how many trials have a reason of some length.
	fewRows          = 2000
	longWhy, someWhy = 400, 120
)

// newDocument is the report without evidence.
func newDocument(r Report) document {
	d := document{
		SchemaVersion: SchemaVersion, Program: r.Program, GeneratedAt: r.GeneratedAt, Run: r.Run, DurationMS: r.DurationMS,
		Active: r.Active, Served: r.Served, Columns: rowColumns, Outcomes: map[string]int{}, Agents: []Agent{}, Cases: []string{}, Rows: []packedRow{},
	}
	for _, a := range r.Agents {
		a.Result = a.word()
		if a.Compared != nil {
			short := *a.Compared
			d.LeftOut.CasePairs += shorten(&short.Comparison.Cases)
			a.Compared = &short
		}
		d.Agents = append(d.Agents, a)
	}
	d.Artifacts, d.LeftOut.Artifacts = attached(r)
	d.LeftOut.Private = r.PrivateArtifacts
	why := longWhy
	if len(r.Trials) > fewRows {
		why = someWhy
	}
	passed := len(r.Trials) - maxRows // so many of them are left out
	cases := map[string]int{}
	for _, t := range r.Trials {
		d.Outcomes[t.Status]++
		if passed > 0 && t.Status == string(scoring.OutcomePassed) || len(d.Rows) == maxRows {
			passed--
			d.LeftOut.Trials++
			continue
		}
		at, known := cases[t.CaseKey]
		if !known {
			at = len(d.Cases)
			cases[t.CaseKey], d.Cases = at, append(d.Cases, t.CaseKey)
		}
		if len(t.Why) > why {
			t.Why = view.Clip(t.Why, why) + "…"
		}
		d.Rows = append(d.Rows, packedRow{Row: t, caseAt: at, evidence: place{nowhere[0], nowhere[1]}, facts: place{nowhere[0], nowhere[1]}})
	}
	return d
}

// dropRows leaves out rows until so many are left: those of trials that passed, then
// the last ones.
func (d *document) dropRows(left int) {
	passed := len(d.Rows) - left
	cases, at := []string{}, map[int]int{}
	rows := d.Rows
	d.Rows = []packedRow{}
	for _, r := range rows {
		if passed > 0 && r.Status == string(scoring.OutcomePassed) || len(d.Rows) == left {
			passed--
			d.LeftOut.Trials++
			continue
		}
		if _, known := at[r.caseAt]; !known {
			at[r.caseAt], cases = len(cases), append(cases, d.Cases[r.caseAt])
		}
		r.caseAt = at[r.caseAt]
		d.Rows = append(d.Rows, r)
	}
	d.Cases = cases
}

// shorten leaves cases that stayed as they were out of a list that is too long,
// then the last ones.
func shorten(c *compare.CaseComparison) (left int) {
	if len(c.Paired) <= maxPairs {
		return 0
	}
	var kept []compare.CasePair
	for _, p := range c.Paired {
		if p.VerdictChange != compare.CaseUnchanged && len(kept) < maxPairs {
			kept = append(kept, p)
		}
	}
	left = len(c.Paired) - len(kept)
	c.Paired = kept
	return left
}
