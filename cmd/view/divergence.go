package view

import (
	"io"
	"strconv"

	"github.com/agentclash/agentclash/engine/event/diverge"
)

// DivergenceDocument is what `compare runs --case` prints. Point is null where
// both trials did the same.
type DivergenceDocument struct {
	CaseKey    string         `json:"case_key"`
	Repetition int            `json:"repetition"`
	Baseline   DivergedTrial  `json:"baseline"`
	Candidate  DivergedTrial  `json:"candidate"`
	Point      *diverge.Point `json:"divergence"`
}

// DivergedTrial is one side's trial of the case.
type DivergedTrial struct {
	TrialID string `json:"trial_id"`
	Outcome string `json:"outcome"`
}

// Divergence writes the two events at which two trials of a case part.
func Divergence(w io.Writer, d DivergenceDocument, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("Case", d.CaseKey+", repetition "+strconv.Itoa(d.Repetition))
	b.Add("Baseline", d.Baseline.Outcome+" ("+o.ID(d.Baseline.TrialID)+")")
	b.Add("Candidate", d.Candidate.Outcome+" ("+o.ID(d.Candidate.TrialID)+")")
	if d.Point == nil {
		b.Add("First difference", "none: both did and were told the same")
		p.details(b)
		return p.flush()
	}
	b.Add("First difference", "after "+strconv.Itoa(d.Point.Shared)+" events that are alike")
	p.details(b)
	t := Table{Columns: []Column{whole("SIDE"), right("EVENT"), left("TYPE"), left("TOOL"), left("TEXT"), spare(left("SHA-256"))}}
	for _, s := range []struct {
		name string
		mark *diverge.Mark
	}{{"baseline", d.Point.Baseline}, {"candidate", d.Point.Candidate}} {
		if s.mark == nil {
			t.Add(Text(s.name), Text(absent), Text("nothing more"), Text(absent), Text(absent), Text(absent))
			continue
		}
		t.Add(Text(s.name), Text(strconv.FormatInt(s.mark.Sequence, 10)), Text(string(s.mark.Type)), Text(s.mark.Tool),
			Text(s.mark.Text), Text(shortDigest(s.mark.Digest, o)))
	}
	p.blank()
	p.table(&t)
	return p.flush()
}
