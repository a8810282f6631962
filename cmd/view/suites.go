package view

import (
	"io"
	"strconv"
)

// Promotion is what `run promote-failure --json` prints. Created is false when the
// suite had the case already.
type Promotion struct {
	Suite       string `json:"suite_id"`
	File        string `json:"file"`
	CaseID      string `json:"regression_case_id"`
	CaseKey     string `json:"case_key"`
	Title       string `json:"title"`
	Status      string `json:"status"`
	Severity    string `json:"severity"`
	Mode        string `json:"promotion_mode"`
	Class       string `json:"failure_class"`
	Fingerprint string `json:"source_failure_fingerprint"`
	ClusterKey  string `json:"source_failure_cluster_key"`
	Created     bool   `json:"created"`
	Redacted    bool   `json:"redacted"` // a real secret was taken out
}

// Promoted writes where a case is.
func Promoted(w io.Writer, d Promotion, o Options) error {
	var b Details
	b.Add("Case", d.Suite+"/"+d.CaseID)
	b.Add("File", d.File)
	b.Add("Title", d.Title)
	b.Status("Status", d.Status)
	b.Status("Severity", d.Severity)
	b.Add("Class", d.Class)
	b.Add("Mode", d.Mode)
	return b.Write(w, o)
}

// Suite is a regression suite as commands print it.
type Suite struct {
	ID          string           `json:"suite_id"`
	File        string           `json:"file"`
	Description string           `json:"description"`
	Status      string           `json:"status"`
	Pack        string           `json:"pack"`
	Severity    string           `json:"default_gate_severity"`
	CaseCount   int              `json:"case_count"`
	ActiveCount int              `json:"active_case_count"`
	CreatedAt   string           `json:"created_at"`
	Cases       List[Regression] `json:"cases,omitempty"`
}

// Regression is a case of a regression suite.
type Regression struct {
	ID          string `json:"regression_case_id"`
	Title       string `json:"title"`
	Status      string `json:"status"`
	Severity    string `json:"severity"`
	Mode        string `json:"promotion_mode"`
	Class       string `json:"failure_class"`
	Tier        string `json:"evidence_tier"`
	Summary     string `json:"failure_summary"`
	Challenge   string `json:"source_challenge_key"`
	CaseKey     string `json:"source_case_key"`
	RunID       string `json:"source_run_id"`
	Fingerprint string `json:"source_failure_fingerprint"`
	ClusterKey  string `json:"source_failure_cluster_key"`
	CreatedAt   string `json:"created_at"`
}

// Suites writes one row a suite.
func Suites(w io.Writer, list []Suite, o Options) error {
	t := Table{Columns: []Column{
		left("ID"), left("PACK"), whole("STATUS"), right("CASES"), right("ACTIVE"), whole("SEVERITY"), spare(whole("CREATED")), spare(left("FILE")),
	}}
	for _, s := range list {
		t.Add(Text(s.ID), Text(s.Pack), Status(s.Status), Text(strconv.Itoa(s.CaseCount)), Text(strconv.Itoa(s.ActiveCount)),
			Status(s.Severity), Text(s.CreatedAt), Text(s.File))
	}
	return t.Write(w, o)
}

// SuiteDetails writes a suite and its cases.
func SuiteDetails(w io.Writer, s Suite, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("Suite", s.ID)
	b.Add("File", s.File)
	if s.Description != "" {
		b.Add("Description", s.Description)
	}
	b.Status("Status", s.Status)
	b.Add("Pack", s.Pack)
	b.Status("Severity", s.Severity)
	b.Add("Created", s.CreatedAt)
	p.details(b)
	if len(s.Cases) > 0 {
		p.blank()
		p.regressions(s.Cases)
	}
	return p.flush()
}

// Regressions writes one row a case.
func Regressions(w io.Writer, cases []Regression, o Options) error {
	p := newPrinter(w, o)
	p.regressions(cases)
	return p.flush()
}

func (p *printer) regressions(cases []Regression) {
	t := Table{Columns: []Column{
		left("ID"), left("TITLE"), whole("STATUS"), whole("SEVERITY"), left("CLASS"), spare(whole("CREATED")),
	}}
	for _, c := range cases {
		t.Add(Text(c.ID), Text(c.Title), Status(c.Status), Status(c.Severity), Text(c.Class), Text(c.CreatedAt))
	}
	p.table(&t)
}

// RegressionResult is how an agent did on a case of a regression suite, over its
// repetitions.
type RegressionResult struct {
	Suite    string `json:"suite_id"`
	CaseID   string `json:"regression_case_id"`
	Severity string `json:"severity"`
	CaseKey  string `json:"case_key"`
	Outcome  string `json:"outcome"` // passed, failed, invalid, or empty while nothing is decided
	Passed   int    `json:"passed_trials"`
	Failed   int    `json:"failed_trials"`
	Invalid  int    `json:"invalid_trials"`
}

// RegressionResults writes how a run did on the cases of suites, and nothing when it
// had none.
func RegressionResults(w io.Writer, list []RegressionResult, o Options) error {
	p := newPrinter(w, o)
	p.regressionResults(list)
	return p.flush()
}

func (p *printer) regressionResults(list []RegressionResult) {
	t := Table{Columns: []Column{
		left("SUITE"), left("REGRESSION CASE"), whole("SEVERITY"), whole("OUTCOME"), right("PASSED"), right("FAILED"), right("INVALID"),
	}}
	for _, r := range list {
		t.Add(Text(r.Suite), Text(r.CaseID), Status(r.Severity), Status(r.Outcome), Text(strconv.Itoa(r.Passed)), Text(strconv.Itoa(r.Failed)), invalidCell(r.Invalid))
	}
	if len(t.Rows) > 0 {
		p.blank()
		p.table(&t)
	}
}
