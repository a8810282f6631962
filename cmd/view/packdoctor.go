package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// PackDoctorDocument is what `challenge-pack doctor --json` prints.
type PackDoctorDocument struct {
	Pack      Pack               `json:"pack"`
	Clean     bool               `json:"clean"` // there are no findings
	Errors    int                `json:"errors"`
	Warnings  int                `json:"warnings"`
	Reference string             `json:"reference"` // the script, or empty
	Agents    List[string]       `json:"agents"`
	Cases     List[ExaminedCase] `json:"cases"`
	// MutantsJudged counts the changed validators, MutantsNoticed those whose
	// change made some trial end in another way.
	MutantsJudged  int               `json:"mutants_judged"`
	MutantsNoticed int               `json:"mutants_noticed"`
	Findings       List[PackFinding] `json:"findings"` // errors first
	Notes          List[string]      `json:"notes"`    // what limits the examination
}

// ExaminedCase is how every agent did on a case.
type ExaminedCase struct {
	InputSet string              `json:"input_set"`
	CaseKey  string              `json:"case_key"`
	Trials   List[ExaminedTrial] `json:"trials"`
}

// ExaminedTrial is how one agent did. Right says that it ended as it should;
// Own that the hard-coded answer is the case's own.
type ExaminedTrial struct {
	Agent   string          `json:"agent"`
	Outcome scoring.Outcome `json:"outcome"`
	Code    string          `json:"code"`
	Reason  string          `json:"reason"`
	Own     bool            `json:"own_answer"`
	Right   bool            `json:"as_it_should"`
}

// PackFinding is one thing that is wrong with a pack.
type PackFinding struct {
	Severity  string `json:"severity"` // error or warning
	Code      string `json:"code"`
	Field     string `json:"field"`
	InputSet  string `json:"input_set"`
	CaseKey   string `json:"case_key"`
	Agent     string `json:"agent"`
	Validator string `json:"validator"`
	Message   string `json:"message"`
}

// What is listed for people; the document has everything.
const (
	shownCases    = 50
	shownFindings = 10 // of one code and agent
)

// PackDoctor writes how the agents did, then what is wrong.
func PackDoctor(w io.Writer, d PackDoctorDocument, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("Pack", d.Pack.String())
	b.Add("Reference agent", cmp.Or(d.Reference, "none"))
	b.Add("Mutants noticed", fmt.Sprintf("%d of %d", d.MutantsNoticed, d.MutantsJudged))
	b.Add("Findings", count(d.Errors, "error")+", "+count(d.Warnings, "warning"))
	p.details(b)
	p.examined(d)
	for i, n := range d.Notes {
		if i == 0 {
			p.blank()
		}
		p.text(0, "note: "+n)
	}
	p.findings(d)
	return p.flush()
}

// examined writes the table of cases and agents. Of a long one only the cases
// with something wrong are listed.
func (p *printer) examined(d PackDoctorDocument) {
	cases := d.Cases
	if len(cases) > shownCases {
		cases = slices.DeleteFunc(slices.Clone(cases), func(c ExaminedCase) bool { return c.right() })
		cases = cases[:min(len(cases), shownCases)]
	}
	t := Table{Columns: []Column{left("CASE")}}
	for _, a := range d.Agents {
		t.Columns = append(t.Columns, whole(strings.ToUpper(SanitizeLine(a))))
	}
	several := slices.ContainsFunc(d.Cases, func(c ExaminedCase) bool { return c.InputSet != d.Cases[0].InputSet })
	for _, c := range cases {
		name := c.CaseKey
		if several {
			name = c.InputSet + "/" + c.CaseKey
		}
		row := []Cell{Text(name)}
		for _, a := range d.Agents {
			row = append(row, c.cell(a))
		}
		t.Add(row...)
	}
	if len(t.Rows) > 0 {
		p.blank()
		p.table(&t)
	}
	if hidden := len(d.Cases) - len(cases); hidden > 0 {
		p.blank()
		p.line(Faint.Paint(ellipsis+" "+count(hidden, "more case")+"; --json lists all", p.o.Color))
	}
}

func (c ExaminedCase) right() bool {
	return !slices.ContainsFunc(c.Trials, func(t ExaminedTrial) bool { return !t.Right })
}

// cell is how an agent did: in red where it should have done otherwise.
func (c ExaminedCase) cell(agent string) Cell {
	i := slices.IndexFunc(c.Trials, func(t ExaminedTrial) bool { return t.Agent == agent })
	if i < 0 {
		return Text("")
	}
	t := c.Trials[i]
	cell := Text(string(t.Outcome))
	switch {
	case t.Own && t.Outcome == scoring.OutcomePassed:
		cell.Text += " (own)"
	case t.Outcome == scoring.OutcomeInvalid:
		cell.Style = Waiting
	case !t.Right:
		cell.Style = Bad
	}
	return cell
}

// findings writes each on a line of its own, with what it is about.
func (p *printer) findings(d PackDoctorDocument) {
	type kind struct{ code, agent string }
	total, shown := map[kind]int{}, map[kind]int{}
	for _, f := range d.Findings {
		total[kind{f.Code, f.Agent}]++
	}
	for i, f := range d.Findings {
		k := kind{f.Code, f.Agent}
		if shown[k]++; shown[k] > shownFindings+1 {
			continue
		}
		if i == 0 {
			p.blank()
		}
		if shown[k] == shownFindings+1 && total[k] > shown[k] {
			p.line(Faint.Paint("         "+ellipsis+" "+strconv.Itoa(total[k]-shownFindings)+" more like this; --json lists all", p.o.Color))
			continue
		}
		style := Waiting
		if f.Severity == "error" {
			style = Bad
		}
		head := style.Paint(Pad(SanitizeLine(f.Severity), len("warning"), false), p.o.Color) + "  " + Bold.Paint(SanitizeLine(f.Code), p.o.Color)
		if about := SanitizeLine(f.about(d)); about != "" {
			head += "  " + about
		}
		p.line(head)
		p.text(len("warning  "), f.Message)
	}
}

// about is the part of the pack that a finding is about.
func (f PackFinding) about(d PackDoctorDocument) string {
	if f.CaseKey == "" {
		return f.Field
	}
	about := "case " + strconv.Quote(f.CaseKey)
	if slices.ContainsFunc(d.Cases, func(c ExaminedCase) bool { return c.InputSet != f.InputSet }) {
		about += " of " + strconv.Quote(f.InputSet)
	}
	if f.Agent != "" {
		about += ", agent " + f.Agent
	}
	return about
}
