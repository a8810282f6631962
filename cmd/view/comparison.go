package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/scoring/compare"
)

// ComparisonDocument is what `compare latest --json` prints; `compare runs`
// prints its Comparison alone. ReleaseGate is null unless a gate was asked
// for. The sides are for people: without them the trials behind the numbers
// are not shown.
type ComparisonDocument struct {
	WorkspaceID   string              `json:"workspace_id"`
	Baseline      Bookmark            `json:"baseline"`
	Candidate     Participant         `json:"candidate"`
	Comparison    compare.Comparison  `json:"comparison"`
	ReleaseGate   *compare.GateResult `json:"release_gate"`
	BaselineSide  *compare.Snapshot   `json:"-"`
	CandidateSide *compare.Snapshot   `json:"-"`
}

// Comparison writes what the candidate did against the baseline and, when a
// gate was asked for, its verdict.
func Comparison(w io.Writer, d ComparisonDocument, o Options) error {
	p := newPrinter(w, o)
	p.comparison(d)
	if d.ReleaseGate != nil {
		p.blank()
		p.gate(*d.ReleaseGate)
	}
	return p.flush()
}

func (p *printer) comparison(d ComparisonDocument) {
	c := d.Comparison
	p.title("Baseline comparison")
	var b Details
	b.Add("Baseline", participantName(d.Baseline.Participant, p.o))
	if d.BaselineSide != nil {
		b.Add("  trials", sideCounts(*d.BaselineSide))
	}
	b.Add("Candidate", participantName(d.Candidate, p.o))
	if d.CandidateSide != nil {
		b.Add("  trials", sideCounts(*d.CandidateSide))
	}
	b.Status("State", c.State)
	if c.ReasonCode != "" {
		b.Add("Reason", c.ReasonCode)
	}
	b.Add("Summary", c.Summary)
	b.Add("Cases compared", strconv.Itoa(c.Cases.Compared))
	for _, l := range []struct {
		name string
		keys []string
	}{
		{"Only in baseline", c.Cases.OnlyBaseline},
		{"Only in candidate", c.Cases.OnlyCandidate},
		{"Changed cases", c.Cases.DigestDiffers},
	} {
		if len(l.keys) > 0 {
			b.Add(l.name, strconv.Itoa(len(l.keys))+": "+strings.Join(l.keys, ", "))
		}
	}
	p.details(b)
	p.deltas(DeltaRows(c))
	p.statistics(c.Statistics)
	p.changedCases(c.Cases.Paired)
	p.list("Regression reasons", c.RegressionReasons)
	p.list("Evidence warnings", c.EvidenceQuality.Warnings)
	p.list("Missing evidence", c.EvidenceQuality.MissingFields)
}

func participantName(c Participant, o Options) string {
	return c.RunAgentLabel + " of " + runName(c.RunName, c.RunID, o)
}

// sideCounts names the invalid trials of a side apart from the failed ones.
func sideCounts(s compare.Snapshot) string {
	if s.Scorecard == nil {
		return "no scorecard"
	}
	return trialCounts(Agent{
		Trials: s.Scorecard.Trials, PassedTrials: s.Scorecard.PassedTrials, FailedTrials: s.Scorecard.FailedTrials,
		InvalidTrials: s.Scorecard.InvalidTrials, InvalidCauses: s.InvalidCauses,
	})
}

// doubtsOf is the doubt in each delta, in the order in which they are shown. A
// dimension may have the name of an agent's own number.
func doubtsOf(c compare.Comparison) []compare.Doubt {
	if c.Statistics == nil {
		return nil
	}
	agents := min(len(c.AgentDeltas), len(c.Statistics.Rows))
	list := slices.Clone(c.Statistics.Rows[:agents])
	for _, d := range c.KeyDeltas {
		i := slices.IndexFunc(c.Statistics.Rows[agents:], func(r compare.Doubt) bool { return r.Metric == d.Metric })
		if i < 0 {
			return nil
		}
		list = append(list, c.Statistics.Rows[agents+i])
	}
	return list
}

// DeltaRow is a number of both sides as people read it, in the unit that it has.
type DeltaRow struct {
	Metric    string `json:"metric"`
	Baseline  string `json:"baseline"`
	Candidate string `json:"candidate"`
	Delta     string `json:"delta"`
	Interval  string `json:"interval"`
	// Outcome is what evidence can tell from chance: what it cannot is neither
	// better nor worse.
	Outcome string         `json:"outcome"`
	State   string         `json:"state"`
	Doubt   *compare.Doubt `json:"doubt"` // nil: not worked out
}

// DeltaRows are the rows of a comparison, those of the agents first.
func DeltaRows(c compare.Comparison) []DeltaRow {
	var rows []DeltaRow
	doubts := doubtsOf(c)
	for i, d := range append(slices.Clone(c.AgentDeltas), c.KeyDeltas...) {
		r := DeltaRow{Metric: d.Metric, Baseline: metricValue(d.Metric, d.BaselineValue), Candidate: metricValue(d.Metric, d.CandidateValue),
			Delta: metricDelta(d.Metric, d.Delta), Interval: absent, Outcome: d.Outcome, State: d.State}
		if i < len(doubts) {
			r.Doubt, r.Interval = &doubts[i], doubtText(doubts[i])
			if d.State == compare.DeltaAvailable && d.Outcome != compare.OutcomeSame {
				r.Outcome = doubts[i].Conclusion
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func (p *printer) deltas(rows []DeltaRow) {
	t := Table{Columns: []Column{
		left("METRIC"), last(right("BASELINE")), right("CANDIDATE"), right("DELTA"), last(whole("DOUBT")), whole("OUTCOME"), spare(whole("STATE")),
	}}
	for _, r := range rows {
		delta := Cell{Text: r.Delta, Style: StatusStyle(r.Outcome)}
		t.Add(Text(r.Metric), Text(r.Baseline), Text(r.Candidate), delta, Text(r.Interval), Status(r.Outcome), Text(r.State))
	}
	if len(t.Rows) > 0 {
		p.blank()
		p.table(&t)
	}
}

// doubtText is the interval of a difference.
func doubtText(d compare.Doubt) string {
	if d.Interval == nil {
		return absent
	}
	return metricDelta(d.Metric, &d.Interval.Low) + " to " + metricDelta(d.Metric, &d.Interval.High)
}

// statistics says which tests stand behind the outcomes.
func (p *printer) statistics(s *compare.Statistics) {
	if s == nil {
		return
	}
	var b Details
	b.Add("Evidence", s.Summary)
	b.Add("Tests", string(s.Tail)+" at "+strconv.FormatFloat(s.Alpha, 'g', 3, 64)+", intervals of 95 % over cases; correction: "+s.Correction+
		"; ~ is what cannot be told from chance")
	b.Add("Cases flipped", strconv.Itoa(s.FlippedToFailing)+" to failing, "+strconv.Itoa(s.FlippedToPassing)+" to passing")
	if st := s.Stability; st != nil {
		b.Add("Stability", "baseline "+stabilityText(st.Baseline)+"; candidate "+stabilityText(st.Candidate))
		if n := len(st.Repeated); n > 1 {
			k := st.Repeated[n-1]
			b.Add(fmt.Sprintf("pass@%d, pass^%d", k.K, k.K), fmt.Sprintf("baseline %s, %s; candidate %s, %s",
				Percent(&k.BaselinePassAtK), Percent(&k.BaselinePassPowK), Percent(&k.CandidatePassAtK), Percent(&k.CandidatePassPowK)))
		}
	}
	p.blank()
	p.details(b)
}

func stabilityText(s compare.SideStability) string {
	return fmt.Sprintf("%d always, %d sometimes, %d never passing", s.Always, s.Sometimes, s.Never)
}

// metricValue shows a number in the unit its metric has.
func metricValue(metric string, v *float64) string {
	switch {
	case v == nil:
		return absent
	case metric == "pass_rate":
		return Percent(v)
	case strings.HasPrefix(metric, "cost_usd"):
		return USD(v)
	case metric == "latency_ms":
		return milliseconds(v)
	case strings.HasPrefix(metric, "total_tokens"):
		return Tokens(int64(*v + 0.5))
	}
	return Score(v)
}

// metricDelta shows a difference in the unit its metric has, with its sign.
func metricDelta(metric string, v *float64) string {
	switch {
	case v == nil:
		return absent
	case metric == "pass_rate":
		return number("%+.1f%%", v, 100)
	case strings.HasPrefix(metric, "cost_usd"):
		return signed(*v, fmt.Sprintf("$%.4f", max(*v, -*v)))
	case metric == "latency_ms":
		return signed(*v, Duration(time.Duration(max(*v, -*v)*float64(time.Millisecond))))
	case strings.HasPrefix(metric, "total_tokens"):
		return signed(*v, Tokens(int64(max(*v, -*v)+0.5)))
	}
	return Delta(v)
}

func signed(v float64, size string) string {
	if v < 0 {
		return "-" + size
	}
	return "+" + size
}

// changedCases lists the cases that flipped or could not be measured; the ones
// that stayed as they were are in the JSON.
func (p *printer) changedCases(pairs []compare.CasePair) {
	t := Table{Columns: []Column{
		left("CASE"), last(right("BASELINE")), right("CANDIDATE"), last(right("DELTA")), whole("CHANGE"),
	}}
	changed := 0
	for _, c := range pairs {
		if c.VerdictChange == compare.CaseUnchanged {
			continue
		}
		if changed++; changed > maxUnpassed && p.o.brief() {
			continue
		}
		t.Add(Text(c.CaseKey), Text(passedOf(c.BaselinePassed, c.BaselineValid)), Text(passedOf(c.CandidatePassed, c.CandidateValid)),
			Text(Delta(c.Delta)), Cell{Text: c.VerdictChange, Style: changeStyle(c.VerdictChange)})
	}
	if changed == 0 {
		return
	}
	p.blank()
	p.table(&t)
	p.more(changed)
}

func passedOf(passed, valid int) string { return strconv.Itoa(passed) + "/" + strconv.Itoa(valid) }

func changeStyle(change string) Style {
	switch change {
	case compare.CaseFlippedToFailing:
		return Bad
	case compare.CaseFlippedToPassing:
		return Good
	case compare.CaseUnmeasured:
		return Waiting
	}
	return Plain
}

// list writes lines of untrusted text under a heading, or nothing.
func (p *printer) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.blank()
	p.title(title)
	for i, l := range lines {
		if i < maxUnpassed || !p.o.brief() {
			p.text(2, l)
		}
	}
	p.more(len(lines))
}

func (p *printer) gate(g compare.GateResult) {
	p.title("Regression verdict")
	var b Details
	b.Status("Verdict", string(g.Verdict))
	b.Add("Summary", g.Summary)
	b.Add("Reason", g.ReasonCode)
	b.Add("Evidence", g.EvidenceStatus)
	b.Add("Policy", g.PolicyKey+" v"+strconv.Itoa(g.PolicyVersion)+" ("+shortDigest(g.PolicyFingerprint, p.o)+")")
	p.details(b)
	t := Table{Columns: []Column{
		left("DIMENSION"), whole("OUTCOME"), right("WORSENED BY"), right("WARN AT"), right("FAIL AT"), spare(whole("STATE")),
	}}
	for _, key := range slices.Sorted(maps.Keys(g.EvaluationDetails.DimensionResults)) {
		r := g.EvaluationDetails.DimensionResults[key]
		t.Add(Text(key), Status(r.Outcome), Text(Delta(r.WorseningDelta)), Text(Score(r.WarnThreshold)),
			Text(Score(r.FailThreshold)), Text(r.State))
	}
	if len(t.Rows) > 0 {
		p.blank()
		p.table(&t)
	}
	violations := Table{Columns: []Column{left("RULE BROKEN"), left("REGRESSION CASE"), whole("SEVERITY")}}
	for _, v := range g.EvaluationDetails.RegressionViolations {
		violations.Add(Text(v.Rule), Text(v.Suite+"/"+v.CaseID), Status(v.Severity))
	}
	if len(violations.Rows) > 0 {
		p.blank()
		p.table(&violations)
	}
	p.sequential(g.Sequential)
	p.gateRules(g.EvaluationDetails)
	p.list("Conditions met", g.EvaluationDetails.TriggeredConditions)
	p.list("Warnings", g.EvaluationDetails.Warnings)
	p.list("Missing evidence", g.EvaluationDetails.MissingFields)
}

// AgentComparison is one agent of a run against another, or why there is none.
type AgentComparison struct {
	Label    string
	Notes    []string
	Document *ComparisonDocument // nil: it is compared with nothing
}

// Comparisons are those of a run's agents.
type Comparisons []AgentComparison

// Write writes one after the other.
func (c Comparisons) Write(w io.Writer, o Options) error {
	p := newPrinter(w, o)
	for i, one := range c {
		if i > 0 {
			p.blank()
		}
		if len(c) > 1 || one.Document == nil {
			p.title(SanitizeLine(one.Label))
		}
		for _, n := range one.Notes {
			p.text(0, n)
		}
		if one.Document != nil {
			p.comparison(*one.Document)
		}
	}
	return p.flush()
}
