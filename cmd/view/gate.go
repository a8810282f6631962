package view

import (
	"io"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/scoring/compare"
)

// GateEntry is one row of `release-gate list`.
type GateEntry struct {
	ID                string `json:"id"`
	Verdict           string `json:"verdict"`
	PolicyKey         string `json:"policy_key"`
	PolicyVersion     int    `json:"policy_version"`
	PolicyFingerprint string `json:"policy_fingerprint"`
	ReasonCode        string `json:"reason_code"`
	GateSides
	GeneratedAt time.Time `json:"generated_at"`
}

// GateSides are what a gate held against each other. The baseline's run need not
// be in the store.
type GateSides struct {
	BaselineRunID       string `json:"baseline_run_id"`
	BaselineRunAgentID  string `json:"baseline_run_agent_id"`
	CandidateRunID      string `json:"candidate_run_id"`
	CandidateRunAgentID string `json:"candidate_run_agent_id"`
}

// GateRecord is the document of `release-gate show`.
type GateRecord struct {
	GateSides
	compare.GateResult
}

// Gate writes a record with the runs that it is of.
func Gate(w io.Writer, g GateRecord, o Options) error {
	p := newPrinter(w, o)
	var sides Details
	sides.Add("Baseline run", o.ID(g.BaselineRunID))
	sides.Add("Candidate run", o.ID(g.CandidateRunID))
	p.details(sides)
	p.blank()
	p.gate(g.GateResult)
	return p.flush()
}

// GateList writes one row a record.
func GateList(w io.Writer, page Page[GateEntry], o Options) error {
	t := Table{Columns: []Column{whole("ID"), whole("VERDICT"), whole("CANDIDATE"), left("POLICY"), left("REASON"), spare(whole("GENERATED"))}}
	for _, g := range page.Items {
		t.Add(Text(o.ID(g.ID)), Status(g.Verdict), Text(o.ID(g.CandidateRunID)), Text(g.PolicyKey+" v"+strconv.Itoa(g.PolicyVersion)),
			Text(g.ReasonCode), Text(o.Time(g.GeneratedAt)))
	}
	return t.Write(w, o)
}

// gateRules writes what a policy's limits and statistics came to.
func (p *printer) gateRules(d compare.EvaluationDetails) {
	limits := Table{Columns: []Column{left("LIMIT"), whole("OUTCOME"), right("SEEN"), right("ALLOWED"), spare(left("IN WORDS"))}}
	for _, r := range d.RuleResults {
		limits.Add(Text(r.Rule), Status(r.Outcome), Text(plainNumber(r.Observed)), Text(plainNumber(&r.Limit)), Text(r.Summary))
	}
	tests := Table{Columns: []Column{left("TESTED"), whole("OUTCOME"), right("DIFFERENCE"), right("N"), right("P"), right("P (HOLM)"), spare(left("METHOD"))}}
	for _, r := range d.StatisticalResults {
		tests.Add(Text(r.Metric), Status(r.Outcome), Text(metricDelta(r.Metric, r.MeanDifference)), Text(strconv.Itoa(r.N)),
			Text(pValue(r.P)), Text(pValue(r.AdjustedP)), Text(r.Method))
	}
	for _, t := range []*Table{&limits, &tests} {
		if len(t.Rows) > 0 {
			p.blank()
			p.table(t)
		}
	}
}

// pValue shows a p-value, which is never 0.
func pValue(p *float64) string {
	switch {
	case p == nil:
		return absent
	case *p < 0.0001:
		return "<0.0001"
	}
	return strconv.FormatFloat(*p, 'g', 2, 64)
}

// plainNumber shows a number that may be of any unit.
func plainNumber(v *float64) string {
	if v == nil {
		return absent
	}
	return strconv.FormatFloat(*v, 'g', 6, 64)
}
