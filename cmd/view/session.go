package view

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/scoring/session"
	"github.com/agentclash/agentclash/scoring/stats"
)

// SessionItem is a session as `eval session list` prints it.
type SessionItem struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Pack   string `json:"pack_slug"`
	Runs   int    `json:"runs"`
	// Overall is the mean over valid trials of finished runs: the sole participant's
	// or the clear winner's, else null.
	Overall     *float64  `json:"overall_score"`
	WinnerLabel string    `json:"winner_label"`
	LeaderLabel string    `json:"leader_label"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// SessionList writes one row a session.
func SessionList(w io.Writer, page Page[SessionItem], o Options) error {
	t := Table{Columns: []Column{
		whole("ID"), left("NAME"), whole("STATUS"), right("RUNS"), right("OVERALL"), left("WINNER"), spare(whole("UPDATED")),
	}}
	for _, s := range page.Items {
		t.Add(Text(o.ID(s.ID)), Text(s.Name), Status(s.Status), Text(strconv.Itoa(s.Runs)), Text(Score(s.Overall)),
			Text(s.WinnerLabel), Text(o.Time(s.UpdatedAt)))
	}
	return t.Write(w, o)
}

// SessionDocument is what `eval session get --json` prints.
type SessionDocument struct {
	Session EvalSession      `json:"eval_session"`
	Runs    List[SessionRun] `json:"runs"`
	Summary SessionSummary   `json:"summary"`
	// Result is null until a trial has ended.
	Result   *session.Result `json:"aggregate_result"`
	Warnings List[string]    `json:"evidence_warnings"`
}

// EvalSession says what a session is.
type EvalSession struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Workspace  string `json:"workspace_id"`
	Status     string `json:"status"`
	Single     bool   `json:"single_run"` // the repetitions of one run
	Pack       string `json:"pack_slug"`
	SpecDigest string `json:"evaluation_spec_digest"`
	// Repetitions is the most that a participant has, over all its runs.
	Repetitions int                `json:"repetitions"`
	Aggregation SessionAggregation `json:"aggregation_config"`
	Threshold   SessionThreshold   `json:"success_threshold_config"`
	CreatedAt   time.Time          `json:"created_at"`
	UpdatedAt   time.Time          `json:"updated_at"`
}

// SessionAggregation is how repetitions are put together.
type SessionAggregation struct {
	SchemaVersion      int     `json:"schema_version"`
	Method             string  `json:"method"`
	ReportVariance     bool    `json:"report_variance"`
	ConfidenceInterval float64 `json:"confidence_interval"`
}

// SessionThreshold says when a trial counts as a success: when scoring passed it.
// MinPassRate is the runs' own, of agents; the lowest of them.
type SessionThreshold struct {
	Success     string  `json:"success"`
	MinPassRate float64 `json:"min_pass_rate"`
}

// SessionSummary counts the runs, in all ("total") and by status.
type SessionSummary struct {
	RunCounts map[string]int `json:"run_counts"`
}

// SessionRun is a run of a session.
type SessionRun struct {
	RunID       string     `json:"run_id"`
	Name        string     `json:"name"`
	Status      string     `json:"status"`
	PackVersion int32      `json:"pack_version"`
	Repetitions int        `json:"repetitions"`
	Seed        int64      `json:"seed"`
	Agents      int        `json:"agents"`
	Trials      int        `json:"trials"`
	CreatedAt   time.Time  `json:"created_at"`
	FinishedAt  *time.Time `json:"finished_at"`
}

// Session writes what a session came to.
func Session(w io.Writer, d SessionDocument, o Options) error {
	p := newPrinter(w, o)
	s := d.Session
	var b Details
	b.Add("ID", SanitizeLine(s.ID))
	b.Add("Name", s.Name)
	b.Status("Status", s.Status)
	b.Add("Pack", s.Pack)
	b.Add("Runs", strconv.Itoa(len(d.Runs)))
	b.Add("Repetitions", strconv.Itoa(s.Repetitions))
	b.Add("Updated", o.Time(s.UpdatedAt))
	p.details(b)
	if d.Result != nil {
		p.aggregate(*d.Result)
		p.participants(*d.Result)
		p.stability(*d.Result)
	}
	p.sessionRuns(d.Runs)
	if len(d.Warnings) > 0 {
		p.blank()
		p.title("Evidence warnings")
		for _, warning := range d.Warnings {
			p.text(2, warning)
		}
	}
	return p.flush()
}

func (p *printer) aggregate(r session.Result) {
	p.blank()
	p.title("Aggregate")
	k := r.MetricRouting.EffectiveK
	var b Details
	if r.Overall != nil {
		b.Add("Overall mean", repeatedText(*r.Overall))
	}
	b.Add("Primary metric", r.MetricRouting.PrimaryMetric)
	b.Add("Effective K", strconv.Itoa(k))
	switch {
	case r.Comparison.WinnerLabel != "":
		b.Add("Winner", r.Comparison.WinnerLabel)
	case r.Comparison.LeaderLabel != "":
		b.Add("Leader", r.Comparison.LeaderLabel)
	}
	if r.PassAtK != nil {
		b.Add("Pass@"+strconv.Itoa(k), spreadText(*r.PassAtK, k))
		b.Add("Pass^"+strconv.Itoa(k), spreadText(*r.PassPowK, k))
	}
	if len(r.Participants) > 1 {
		b.Add("Comparison", r.Comparison.Text)
	}
	p.details(b)
	for _, pair := range r.Comparison.Pairs {
		p.text(2, pairText(pair, r.Comparison.Correction))
	}
}

// repeatedText is a mean with its doubt.
func repeatedText(r session.Repeated) string {
	text := Score(r.Mean) + intervalText(r.Interval)
	if r.HighVariance {
		text += ", high variance"
	}
	return text
}

func spreadText(b session.ByK, k int) string {
	s, _ := b.At(k)
	return Score(s.Mean) + intervalText(s.Interval)
}

func intervalText(i *stats.Interval) string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf(", %s to %s (%s)", Score(&i.Low), Score(&i.High), i.Method)
}

func pairText(p session.Pair, correction string) string {
	if p.Test == nil {
		return fmt.Sprintf("%s and %s have tried no case both", p.Label, p.Other)
	}
	better := "cannot tell"
	if p.Better == p.Label || p.Better == p.Other {
		better = p.Better + " is better"
	}
	text := fmt.Sprintf("%s, %s: %s; pass rate %s", p.Label, p.Other, better, Delta(p.Difference))
	if p.Interval != nil {
		text += fmt.Sprintf(" (%s to %s)", Delta(&p.Interval.Low), Delta(&p.Interval.High))
	}
	text += fmt.Sprintf(", %s, %s, p %.2g", p.Test.Method, count(p.Cases, "case"), *p.AdjustedP)
	if correction != "none" {
		text += " (Holm)"
	}
	return text
}

func (p *printer) participants(r session.Result) {
	p.blank()
	k := strconv.Itoa(r.MetricRouting.EffectiveK)
	t := Table{Columns: []Column{
		left("PARTICIPANT"), right("PASSED"), right("OVERALL"), right("PASS@" + k), right("PASS^" + k), spare(right("INVALID")), spare(right("COST")),
	}}
	for _, of := range r.Participants {
		at, _ := of.PassAtK.At(r.MetricRouting.EffectiveK)
		pow, _ := of.PassPowK.At(r.MetricRouting.EffectiveK)
		t.Add(Text(of.Label), Text(fmt.Sprintf("%d/%d", of.PassedTrials, of.PassedTrials+of.FailedTrials)), Text(Score(of.Overall.Mean)),
			Text(Score(at.Mean)), Text(Score(pow.Mean)), invalidCell(of.InvalidTrials), Text(USD(of.CostUSD.Total)))
	}
	p.table(&t)
}

// shownUnstable is how many cases that did not end alike are shown: the document has
// all.
const shownUnstable = 20

// stability shows how alike trials end: counts, and the cases that do not.
func (p *printer) stability(r session.Result) {
	p.blank()
	p.title("Stability")
	for _, of := range r.Participants {
		s := of.TaskSuccess
		text := fmt.Sprintf("%s: %s always, %d sometimes, %d never", of.Label, count(s.Always, "case")+" passed", s.Sometimes, s.Never)
		if s.FlipRate != nil {
			text += fmt.Sprintf("; two trials of a case differ in %.1f%%", *s.FlipRate*100)
		}
		p.text(2, text)
	}
	t := Table{Columns: []Column{left("CASE"), left("PARTICIPANT"), right("PASSED"), whole("PASSES"), right("FLIP RATE")}}
	more := 0
	for _, c := range r.Cases {
		for _, a := range c.Agents {
			switch {
			case a.Passes != stats.Sometimes:
			case len(t.Rows) == shownUnstable:
				more++
			default:
				t.Add(Text(c.CaseKey), Text(a.Label), Text(fmt.Sprintf("%d/%d", a.Passed, a.Valid)), Text(a.Passes), Text(Percent(a.FlipRate)))
			}
		}
	}
	if len(t.Rows) == 0 {
		return
	}
	p.blank()
	p.table(&t)
	if more > 0 {
		p.text(0, fmt.Sprintf("%d more: --json", more))
	}
}

func (p *printer) sessionRuns(runs []SessionRun) {
	p.blank()
	t := Table{Columns: []Column{whole("ID"), left("RUN"), whole("STATUS"), right("REPETITIONS"), spare(whole("CREATED"))}}
	for _, r := range runs {
		t.Add(Text(p.o.ID(r.RunID)), Text(r.Name), Status(r.Status), Text(strconv.Itoa(r.Repetitions)), Text(p.o.Time(r.CreatedAt)))
	}
	p.table(&t)
}
