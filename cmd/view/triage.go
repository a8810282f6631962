package view

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// TriageDocument is what `replay triage --json` prints.
type TriageDocument struct {
	Run           Run              `json:"run"`
	Agents        List[RunAgent]   `json:"agents"`
	SelectedAgent *RunAgent        `json:"selected_agent"` // null: the run has none
	Ranking       RankingDocument  `json:"ranking"`
	Scorecard     *Agent           `json:"scorecard"` // of the selected agent, null until a trial of it is scored
	Failures      FailuresDocument `json:"failures"`
	// Replay has the steps around the first failure of the selected agent's worst
	// trial; null without a failure.
	Replay       *ReplayDocument `json:"replay"`
	FirstFailure *int            `json:"first_failure_step"` // its number; null: no step says so
	Artifacts    List[Captured]  `json:"artifacts"`          // of that trial
	NextCommands List[string]    `json:"next_commands"`
	// MissingAgentGuidance says whose trial is shown where no agent was named; null
	// where that is no question.
	MissingAgentGuidance *string `json:"missing_agent_guidance"`
}

// Captured is what a trial left behind and was captured.
type Captured struct {
	Key       string `json:"key"`
	Kind      string `json:"kind"` // file or directory
	Path      string `json:"path"`
	Exists    bool   `json:"exists"`
	Size      int64  `json:"size"`    // bytes of a file
	Entries   int    `json:"entries"` // of a directory
	Truncated bool   `json:"truncated"`
	Step      int    `json:"step_number"`
	Sequence  int64  `json:"sequence_number"`
}

// Artifacts are the captures of a history that is whole.
func Artifacts(d ReplayDocument) (list []Captured) {
	for _, s := range d.Steps {
		var file scoring.CapturedFile
		var dir scoring.CapturedDirectory
		if s.Type != "capture" || json.Unmarshal(s.Detail, &file) != nil || json.Unmarshal(s.Detail, &dir) != nil {
			continue
		}
		a := Captured{Key: file.Key, Kind: "file", Path: file.Path, Exists: file.Exists, Size: file.Size, Truncated: file.Truncated,
			Step: s.Number, Sequence: s.StartedSequence}
		if s.EventTypes[0] == event.DirListed {
			a.Kind, a.Entries = "directory", len(dir.Entries)
		}
		list = append(list, a)
	}
	return list
}

// Triage writes a page that says how a run came out and where to look.
func Triage(w io.Writer, d TriageDocument, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("Run", runName(d.Run.Name, d.Run.RunID, o))
	b.Status("Status", d.Run.Status)
	if d.Run.Reason != "" {
		b.Add("Reason", d.Run.Reason)
	}
	b.Add("Pack", d.Run.Pack.String())
	p.details(b)
	p.blank()
	p.runAgents(d.Agents)
	p.triageRanking(d.Ranking)
	p.triageFailures(d.Failures)
	p.triageAgent(d)
	p.triageTrial(d)
	if len(d.NextCommands) > 0 {
		p.blank()
		p.title("Next")
		for _, c := range d.NextCommands {
			p.line("  " + SanitizeLine(c))
		}
	}
	return p.flush()
}

// triageRanking writes who is ahead, which is a question only of several.
func (p *printer) triageRanking(d RankingDocument) {
	if d.Ranking == nil || len(d.Ranking.Items) < 2 {
		return
	}
	t := Table{Columns: []Column{right("RANK"), left("AGENT"), whole("RESULT"), right("SCORE"), last(right("PASS RATE")), last(right("INVALID"))}}
	for _, i := range d.Ranking.Items {
		t.Add(Text(strconv.Itoa(i.Rank)), Text(i.Label), Status(i.Headline), Text(Score(i.OverallScore)), Text(Percent(i.PassRate)), invalidCell(i.InvalidTrials))
	}
	p.blank()
	p.title("Ranking")
	p.table(&t)
}

func (p *printer) triageFailures(d FailuresDocument) {
	p.blank()
	if d.Total == 0 {
		p.line("No failed and no invalid trial.")
		return
	}
	p.title("Failures (" + strconv.Itoa(len(d.Items)) + " of " + strconv.Itoa(d.Total) + ")")
	t := Table{Columns: []Column{whole("TRIAL"), left("AGENT"), left("CASE"), whole("OUTCOME"), whole("SEVERITY"), left("CLASS"), spare(left("HEADLINE"))}}
	for _, i := range d.Items {
		t.Add(Text(p.o.ID(i.TrialID)), Text(i.Agent), Text(trialName(i.CaseKey, i.Repetition)), Status(i.Outcome), Status(i.Severity), Text(i.Class), Text(i.Headline))
	}
	p.table(&t)
	p.clusters(d)
}

func (p *printer) triageAgent(d TriageDocument) {
	if d.SelectedAgent == nil {
		return
	}
	p.blank()
	p.title("Agent " + SanitizeLine(d.SelectedAgent.Label))
	if d.MissingAgentGuidance != nil {
		p.text(2, *d.MissingAgentGuidance)
	}
	var b Details
	b.Status("Status", d.SelectedAgent.Status)
	if c := d.Scorecard; c != nil {
		b.Status("Result", c.Headline)
		b.Add("Overall score", Score(c.OverallScore))
		b.Add("Pass rate", Percent(c.PassRate))
		b.Add("Trials", trialCounts(*c))
		b.Add("Cost", cost(*c))
	}
	p.details(b)
	if d.Scorecard != nil {
		p.dimensions(d.Scorecard.Dimensions)
	}
}

// triageTrial writes the worst trial: why it did not pass, the steps around its
// first failure, and what it left.
func (p *printer) triageTrial(d TriageDocument) {
	r := d.Replay
	if r == nil {
		return
	}
	p.blank()
	p.title("Worst trial: " + trialName(r.CaseKey, r.Repetition) + " (" + p.o.ID(r.TrialID) + ")")
	var b Details
	b.Status("Outcome", string(r.Outcome))
	if r.Code != "" {
		b.Add("Code", codePhase(r.Code, r.Phase))
	}
	if r.Scorecard != nil {
		b.Add("Why", r.Scorecard.Why())
	}
	if t := r.TerminalState; t != nil && t.ErrorMessage != "" {
		b.Add("Error", t.ErrorMessage)
	}
	if d.FirstFailure != nil {
		b.Add("First failure", "step "+strconv.Itoa(*d.FirstFailure)+" of "+strconv.Itoa(r.Pagination.TotalSteps))
	}
	p.details(b)
	p.failedChecks(r.Scorecard)
	p.steps(r.Steps)
	if len(d.Artifacts) == 0 {
		return
	}
	t := Table{Columns: []Column{left("KEY"), whole("KIND"), left("PATH"), right("SIZE"), right("STEP")}}
	for _, a := range d.Artifacts {
		t.Add(Text(a.Key), Text(a.Kind), Text(a.Path), Text(a.size()), Text(strconv.Itoa(a.Step)))
	}
	p.blank()
	p.title("Captured")
	p.table(&t)
}

// failedChecks writes the validators that did not pass.
func (p *printer) failedChecks(t *Trial) {
	if t == nil {
		return
	}
	n := 0
	for _, v := range t.Validators {
		if !v.unpassed() {
			continue
		}
		if n++; n <= maxUnpassed || !p.o.Terminal() {
			p.result(2, v.result())
		}
	}
	p.more(n)
}

func (a Captured) size() string {
	switch {
	case !a.Exists:
		return "not there"
	case a.Kind == "directory":
		return strconv.Itoa(a.Entries) + " entries"
	}
	return Tokens(a.Size) + " bytes"
}
