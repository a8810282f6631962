package view

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// RescoreDocument is what `eval rescore --json` prints.
type RescoreDocument struct {
	RunID       string               `json:"run_id"`
	RunName     string               `json:"run_name"`
	RunStatus   string               `json:"run_status"`
	RescoringID *string              `json:"rescoring_id"` // null: it was not stored
	Pack        Pack                 `json:"pack"`         // that it was scored by
	PackDigest  string               `json:"pack_digest"`
	SpecDigest  string               `json:"evaluation_spec_digest"`
	SpecChanged bool                 `json:"evaluation_spec_changed"`
	Trials      int                  `json:"trials"`   // of the run
	Rescored    int                  `json:"rescored"` // of these
	Flipped     int                  `json:"flipped"`  // of those
	Changed     int                  `json:"changed"`  // those that read otherwise without a flip
	Judging     *RescoreJudging      `json:"judging"`  // null: no judge was to be asked
	Agents      List[RescoredAgent]  `json:"agents"`
	LeftOut     List[LeftOutCase]    `json:"left_out"`
	Changes     List[RescoredChange] `json:"changes"`
}

// RescoreJudging is what judges were to be asked, and what they used.
type RescoreJudging struct {
	Questions  int              `json:"questions"`
	MaxTokens  int64            `json:"max_tokens"`
	MaxCostUSD *float64         `json:"max_cost_usd"` // null: a price is unknown
	Used       *scoring.Judging `json:"used"`         // null: nothing was asked
	Unanswered int              `json:"unanswered"`
}

// RescoredAgent is what scoring again changed for a run agent. Both sides count
// the same trials: what is left out counts on neither.
type RescoredAgent struct {
	Label       string                  `json:"label"`
	RunAgentID  string                  `json:"run_agent_id"`
	Trials      int                     `json:"trials"`
	Rescored    int                     `json:"rescored"`
	Flipped     int                     `json:"flipped"`
	Changed     int                     `json:"changed"`
	Flips       List[Flip]              `json:"flips"`
	NotRescored List[NotRescored]       `json:"not_rescored"`
	Undecidable List[Undecidable]       `json:"undecidable"`
	Before      RescoredSide            `json:"before"`
	After       RescoredSide            `json:"after"`
	Dimensions  Object[DimensionChange] `json:"dimensions"`
}

// RescoredSide is a run agent's scorecard in short.
type RescoredSide struct {
	OverallScore  *float64 `json:"overall_score"`
	Passed        bool     `json:"passed"`
	PassRate      *float64 `json:"pass_rate"`
	Validity      string   `json:"validity"`
	PassedTrials  int      `json:"passed_trials"`
	FailedTrials  int      `json:"failed_trials"`
	InvalidTrials int      `json:"invalid_trials"`
	CostUSD       *float64 `json:"cost_usd"`
}

// DimensionChange is a dimension before and after; null is no score, or a spec
// without the dimension.
type DimensionChange struct {
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
	Delta  *float64 `json:"delta"`
}

// Flip counts the trials that went from one outcome to another.
type Flip struct {
	From   scoring.Outcome `json:"from"`
	To     scoring.Outcome `json:"to"`
	Trials int             `json:"trials"`
}

// LeftOut is the status of trials whose case cannot be scored by the pack.
const LeftOut = "left_out"

// NotRescored counts the trials of one kind that were not scored again: Status
// is invalid for those that never came to scoring, and stay what they were, else
// that of one that has not ended, or LeftOut.
type NotRescored struct {
	Status string `json:"status"`
	Code   string `json:"code"`
	Phase  string `json:"phase"`
	Trials int    `json:"trials"`
}

// Undecidable counts the trials that had a verdict and have none by the pack
// they were scored by. Reason is that of the first.
type Undecidable struct {
	Code   string `json:"code"`
	Phase  string `json:"phase"`
	Reason string `json:"reason"`
	Trials int    `json:"trials"`
}

// LeftOutCase is a case whose trials cannot be scored by the pack.
type LeftOutCase struct {
	CaseKey string `json:"case_key"`
	Reason  string `json:"reason"`
	Trials  int    `json:"trials"`
}

// RescoredChange is a trial of a run agent that reads otherwise.
type RescoredChange struct {
	RunAgentID    string `json:"run_agent_id"`
	RunAgentLabel string `json:"run_agent_label"`
	compare.Change
}

// NewRescoredAgent puts two scorecards of a run agent side by side; the counts
// are the caller's to fill in.
func NewRescoredAgent(ref AgentRef, before, after scoring.AgentScorecard) RescoredAgent {
	a := RescoredAgent{Label: ref.Label, RunAgentID: ref.RunAgentID, Before: rescoredSide(before), After: rescoredSide(after)}
	for _, d := range after.Dimensions {
		a.Dimensions = append(a.Dimensions, Field[DimensionChange]{Key: d.Key, Value: DimensionChange{After: d.Score}})
	}
	for _, d := range before.Dimensions {
		i := slices.IndexFunc(a.Dimensions, func(f Field[DimensionChange]) bool { return f.Key == d.Key })
		if i < 0 {
			i = len(a.Dimensions)
			a.Dimensions = append(a.Dimensions, Field[DimensionChange]{Key: d.Key})
		}
		v := &a.Dimensions[i].Value
		v.Before, v.Delta = d.Score, less(v.After, d.Score)
	}
	return a
}

func rescoredSide(c scoring.AgentScorecard) RescoredSide {
	return RescoredSide{OverallScore: c.OverallScore, Passed: c.Passed, PassRate: c.PassRate, Validity: c.Validity,
		PassedTrials: c.PassedTrials, FailedTrials: c.FailedTrials, InvalidTrials: c.InvalidTrials, CostUSD: c.CostUSD}
}

// less is a - b, nil when one of them is missing.
func less(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a - *b)
}

// RescoreOptions say how much of the changes is written.
type RescoreOptions struct {
	Diff bool // each trial whose outcome flipped
	All  bool // and each that reads otherwise
}

// Rescore writes what scoring a run again changed.
func Rescore(w io.Writer, d RescoreDocument, r RescoreOptions, o Options) error {
	p := newPrinter(w, o)
	p.rescoreBlock(d)
	p.rescoredAgents(d.Agents)
	p.rescoredDimensions(d.Agents)
	p.notRescored(d)
	for _, a := range d.Agents {
		for _, u := range a.Undecidable {
			p.blank()
			p.text(0, a.Label+": "+count(u.Trials, "trial")+" had a verdict and cannot be judged now ("+codePhase(u.Code, u.Phase)+"): "+u.Reason)
		}
	}
	if r.Diff {
		p.changes("Flipped trials", d.Changes, true)
	}
	if r.All {
		p.changes("Trials that changed without a flip", d.Changes, false)
	}
	return p.flush()
}

func (p *printer) rescoreBlock(d RescoreDocument) {
	var b Details
	b.Add("Run", runName(d.RunName, d.RunID, p.o))
	b.Status("Run status", d.RunStatus)
	id := "not stored"
	if d.RescoringID != nil {
		id = p.o.ID(*d.RescoringID)
	}
	b.Add("Rescoring", id)
	b.Add("Pack", d.Pack.String()+" ("+d.PackDigest[:min(len(d.PackDigest), 12)]+")")
	spec := "the run's own"
	if d.SpecChanged {
		spec = "another than the run's"
	}
	b.Add("Evaluation spec", spec)
	b.Add("Trials", strconv.Itoa(d.Trials)+", "+strconv.Itoa(d.Rescored)+" rescored")
	b.Add("Flipped", strconv.Itoa(d.Flipped)+p.flips(d.Agents))
	b.Add("Changed otherwise", strconv.Itoa(d.Changed))
	if d.Judging != nil {
		b.Add("Judges asked", or(judging(d.Judging.Used)))
	}
	p.details(b)
}

// flips sums up the run agents' flips in the order in which they come.
func (p *printer) flips(agents []RescoredAgent) string {
	var all []Flip
	for _, a := range agents {
		for _, f := range a.Flips {
			i := slices.IndexFunc(all, func(g Flip) bool { return g.From == f.From && g.To == f.To })
			if i < 0 {
				i, all = len(all), append(all, Flip{From: f.From, To: f.To})
			}
			all[i].Trials += f.Trials
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + flipsText(all) + ")"
}

func flipsText(flips []Flip) string {
	words := make([]string, len(flips))
	for i, f := range flips {
		words[i] = strconv.Itoa(f.Trials) + " " + arrow(string(f.From), string(f.To))
	}
	return strings.Join(words, ", ")
}

func arrow(before, after string) string { return or(before) + " -> " + or(after) }

func (p *printer) rescoredAgents(agents []RescoredAgent) {
	t := Table{Columns: []Column{
		left("AGENT"), right("RESCORED"), right("PASS RATE"), right("NOW"), right("SCORE"), right("NOW"), right("DELTA"), spare(whole("VALIDITY")), spare(left("FLIPPED")),
	}}
	for _, a := range agents {
		t.Add(Text(a.Label), Text(strconv.Itoa(a.Rescored)), Text(Percent(a.Before.PassRate)), Text(Percent(a.After.PassRate)),
			Text(Score(a.Before.OverallScore)), Text(Score(a.After.OverallScore)), Text(Delta(less(a.After.OverallScore, a.Before.OverallScore))),
			Status(a.After.Validity), Text(flipsText(a.Flips)))
	}
	p.blank()
	p.table(&t)
}

func (p *printer) rescoredDimensions(agents []RescoredAgent) {
	t := Table{Columns: []Column{left("AGENT"), left("DIMENSION"), right("SCORE"), right("NOW"), right("DELTA")}}
	for _, a := range agents {
		for _, d := range a.Dimensions {
			t.Add(Text(a.Label), Text(d.Key), Text(Score(d.Value.Before)), Text(Score(d.Value.After)), Text(Delta(d.Value.Delta)))
		}
	}
	if len(t.Rows) > 0 {
		p.blank()
		p.table(&t)
	}
}

func (p *printer) notRescored(d RescoreDocument) {
	t := Table{Columns: []Column{left("AGENT"), right("TRIALS"), whole("STATUS"), whole("CODE"), whole("PHASE")}}
	for _, a := range d.Agents {
		for _, n := range a.NotRescored {
			t.Add(Text(a.Label), Text(strconv.Itoa(n.Trials)), Status(n.Status), Text(n.Code), Text(n.Phase))
		}
	}
	if len(t.Rows) > 0 {
		p.blank()
		p.title("Not rescored")
		p.table(&t)
	}
	for i, c := range d.LeftOut {
		if i == 0 {
			p.blank()
			p.title("Left out")
		}
		if i < maxUnpassed || !p.o.Terminal() {
			p.text(2, c.CaseKey+" ("+count(c.Trials, "trial")+"): "+c.Reason)
		}
	}
	p.more(len(d.LeftOut))
}

// changes writes the trials that flipped, or those that changed without one.
func (p *printer) changes(title string, changes []RescoredChange, flipped bool) {
	n := 0
	for _, c := range changes {
		if c.Flipped != flipped {
			continue
		}
		if n == 0 {
			p.blank()
			p.title(title)
		}
		if n++; n <= maxUnpassed || !p.o.Terminal() {
			p.change(c)
		}
	}
	p.more(n)
}

func (p *printer) change(c RescoredChange) {
	head := "  " + SanitizeLine(c.RunAgentLabel) + " " + trialName(c.CaseKey, c.Repetition) + ": " +
		endingText(c.Before) + " -> " + StatusStyle(string(c.After.Outcome)).Paint(endingText(c.After), p.o.Color)
	if !c.Flipped {
		head = "  " + SanitizeLine(c.RunAgentLabel) + " " + trialName(c.CaseKey, c.Repetition) + ": " +
			endingText(c.After) + ", score " + arrow(Score(c.Before.OverallScore), Score(c.After.OverallScore))
	}
	p.line(head)
	if c.After.Reason != "" && c.After.Reason != c.Before.Reason {
		p.text(4, c.After.Reason)
	}
	for _, group := range []struct {
		what string
		list []compare.Shift
	}{{"validator", c.Validators}, {"dimension", c.Dimensions}, {"metric", c.Metrics}} {
		for _, s := range group.list {
			p.line("    " + group.what + " " + SanitizeLine(s.Key) + ": " + arrow(readingText(s.Before), readingText(s.After)))
			if s.After != nil && s.After.Reason != "" {
				p.text(6, s.After.Reason)
			}
		}
	}
	p.line("    " + Faint.Paint("agentclash replay get "+p.o.ID(c.TrialID), p.o.Color))
}

func endingText(e compare.Ending) string {
	if e.Code == "" {
		return SanitizeLine(string(e.Outcome))
	}
	return SanitizeLine(string(e.Outcome) + " (" + codePhase(e.Code, e.Phase) + ")")
}

// readingText is one reading on one line.
func readingText(r *compare.Reading) string {
	switch {
	case r == nil:
		return "none"
	case r.Verdict != "" && r.Score != nil:
		return SanitizeLine(r.Verdict) + " " + Score(r.Score)
	case r.Verdict != "":
		return SanitizeLine(r.Verdict)
	case r.Score != nil:
		return Score(r.Score)
	case r.Value != nil:
		return SanitizeLine(valueText(r.Value))
	}
	return SanitizeLine(string(r.State))
}

// valueText is a metric's value as JSON has it.
func valueText(v any) string {
	b, err := compact(v)
	if err != nil {
		return absent
	}
	return string(b)
}

// Rescoring is a stored rescoring of a run, as `eval rescore --list` prints it.
type Rescoring struct {
	RescoringID string    `json:"rescoring_id"`
	RunID       string    `json:"run_id"`
	Pack        string    `json:"pack"` // slug@N, of a snapshot with its digest
	SpecDigest  string    `json:"evaluation_spec_digest"`
	Program     string    `json:"agentclash_version"`
	CreatedAt   time.Time `json:"created_at"`
	Rescored    int       `json:"rescored"`
	Flipped     int       `json:"flipped"`
	Kept        int       `json:"kept"`     // not scored again, and counted as what they were
	LeftOut     int       `json:"left_out"` // not scored again, and not counted
}

// Rescorings writes one row a rescoring.
func Rescorings(w io.Writer, list List[Rescoring], o Options) error {
	t := Table{Columns: []Column{
		whole("ID"), left("PACK"), spare(left("AGENTCLASH")), right("RESCORED"), right("FLIPPED"), right("KEPT"), right("LEFT OUT"), whole("CREATED"),
	}}
	for _, r := range list {
		t.Add(Text(o.ID(r.RescoringID)), Text(r.Pack), Text(r.Program), Text(strconv.Itoa(r.Rescored)), Text(strconv.Itoa(r.Flipped)),
			Text(strconv.Itoa(r.Kept)), Text(strconv.Itoa(r.LeftOut)), Text(o.Time(r.CreatedAt)))
	}
	return t.Write(w, o)
}
