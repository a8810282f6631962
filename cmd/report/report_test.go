package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// hostile is what a model may write to take over a page, a sheet or a log.
const hostile = "=cmd|' /C calc'!A0 <script>alert(1)</script> ]]> & \"q\" | @octocat #12 GH-7 [x](javascript:y) ![i](http://e.example/p) www.evil.example **b** `c` <!-- agentclash:0 --> \x1b[31m\x00\u202e\ufffe $x$ :tada:\n# heading\n- [ ] task"

func agentOf(label string, trials []view.Trial) report.Agent {
	a := report.Agent{Agent: view.Agent{Label: label, RunAgentID: "ra-" + label, Status: "completed", Headline: "failed"}}
	for _, t := range trials {
		a.Agent.Trials++
		switch t.Outcome {
		case scoring.OutcomePassed:
			a.PassedTrials++
		case scoring.OutcomeFailed:
			a.FailedTrials++
		default:
			a.InvalidTrials++
		}
	}
	a.Trials = func(yield func(view.Trial) error) error {
		for _, t := range trials {
			if err := yield(t); err != nil {
				return err
			}
		}
		return nil
	}
	return a
}

func trial(key string, outcome scoring.Outcome) view.Trial {
	return view.Trial{TrialID: "0192-" + key, CaseKey: key, Repetition: 1, Attempt: 1, Outcome: outcome, LatencyMS: new(int64(1500))}
}

func example() report.Run {
	failed, invalid := trial("b", scoring.OutcomeFailed), trial("c", scoring.OutcomeInvalid)
	failed.Reason, failed.FinalOutput = hostile, new(hostile)
	failed.Validators = view.List[view.Validator]{
		{Key: "good", Type: "contains", Verdict: "pass"}, {Key: "exact", Type: "exact_match", Verdict: "fail", Reason: "the text is not the expected one"},
	}
	invalid.Code, invalid.Phase, invalid.Reason = "rate_limit", "agent", "the provider was busy"
	a := agentOf("model <a>", []view.Trial{trial("a", scoring.OutcomePassed), failed, invalid})
	a.Gate = &compare.GateResult{Verdict: compare.Fail, ReasonCode: "threshold_fail_correctness", PolicyKey: "default", PolicyFingerprint: "f0", Summary: "correctness fell", EvaluationDetails: compare.EvaluationDetails{
		DimensionResults: map[string]compare.DimensionResult{"correctness": {ObservedDelta: new(-0.5), Outcome: compare.DimensionFail}},
	}}
	a.Comparison = &compare.Comparison{Cases: compare.CaseComparison{FlippedToFailing: []string{"b"}}}
	return report.Run{
		Version: "1.2.3", ID: "01234567-0123-7012-8012-0123456789ab", Name: "nightly", Status: "completed", Pack: view.Pack{Slug: "p", Version: 2},
		PackFile: "packs/my pack.yaml", InputSet: "default", StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Agents: []report.Agent{a},
	}
}

func written(t *testing.T, kind string, r report.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, kind, r); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return b.String()
}

// node is any XML element.
type node struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Nodes   []node     `xml:",any"`
	Text    string     `xml:",chardata"`
}

func (n node) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// junitRules are the elements of JUnit's format: which attributes must and may
// stand in each, and which elements may, in this order.
var junitRules = map[string]struct{ must, may, inside []string }{
	"testsuites": {must: []string{"tests", "failures", "errors"}, may: []string{"name", "time", "disabled"}, inside: []string{"testsuite"}},
	"testsuite": {must: []string{"name", "tests", "failures", "errors", "skipped", "time"}, may: []string{"timestamp", "hostname", "id", "package"},
		inside: []string{"properties", "testcase", "system-out", "system-err"}},
	"properties": {inside: []string{"property"}},
	"property":   {must: []string{"name", "value"}},
	"testcase":   {must: []string{"name", "classname", "time"}, inside: []string{"skipped", "error", "failure", "system-out", "system-err"}},
	"failure":    {must: []string{"type", "message"}},
	"error":      {must: []string{"type", "message"}},
}

var (
	numberOf    = regexp.MustCompile(`^\d+$`)
	secondsOf   = regexp.MustCompile(`^\d+(\.\d+)?$`)
	timestampOf = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`)
)

func (n node) check(t *testing.T) {
	t.Helper()
	name := n.XMLName.Local
	rule, known := junitRules[name]
	if !known {
		t.Errorf("<%s> is no element of JUnit's", name)
		return
	}
	for _, must := range rule.must {
		if n.attr(must) == "" {
			t.Errorf("<%s> has no %s", name, must)
		}
	}
	for _, a := range n.Attrs {
		form := map[string]*regexp.Regexp{"tests": numberOf, "failures": numberOf, "errors": numberOf, "skipped": numberOf, "time": secondsOf, "timestamp": timestampOf}[a.Name.Local]
		if form != nil && !form.MatchString(a.Value) {
			t.Errorf("<%s %s=%q> has another form", name, a.Name.Local, a.Value)
		}
		if !strings.Contains(" "+strings.Join(append(rule.must, rule.may...), " ")+" ", " "+a.Name.Local+" ") {
			t.Errorf("<%s> may not have %s", name, a.Name.Local)
		}
	}
	at := 0
	for _, inner := range n.Nodes {
		for at < len(rule.inside) && rule.inside[at] != inner.XMLName.Local {
			at++
		}
		if at == len(rule.inside) {
			t.Errorf("<%s> may not hold <%s> there", name, inner.XMLName.Local)
			return
		}
		inner.check(t)
	}
}

func (n node) count(name string) int {
	sum := 0
	for _, inner := range n.Nodes {
		if inner.XMLName.Local == name {
			sum++
		}
		sum += inner.count(name)
	}
	return sum
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	text := written(t, report.JUnit, example())
	var root node
	dec := xml.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&root); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	root.check(t)
	for _, want := range []struct{ attr, name string }{{"tests", "testcase"}, {"failures", "failure"}, {"errors", "error"}} {
		if got := root.attr(want.attr); got != strconv.Itoa(root.count(want.name)) {
			t.Errorf("%s=%s, with %d <%s>", want.attr, got, root.count(want.name), want.name)
		}
		for _, suite := range root.Nodes {
			if got := suite.attr(want.attr); got != strconv.Itoa(suite.count(want.name)) {
				t.Errorf("suite %s: %s=%s, with %d <%s>", suite.attr("name"), want.attr, got, suite.count(want.name), want.name)
			}
		}
	}
	for _, want := range []string{`type="rate_limit"`, "validator exact (exact_match): fail: the text is not the expected one", `classname="release-gate.threshold_fail_correctness"`, `time="1.500"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not hold %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "validator good") || strings.ContainsAny(text, "\x1b\x00\u202e\ufffe") || strings.Contains(text, "<script") {
		t.Errorf("the report holds what it must not:\n%s", text)
	}
}

// TestUnfinished wants no reader to take a run that did not complete for one in
// which nothing went wrong.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	r := example()
	r.Status, r.Agents = "interrupted", []report.Agent{agentOf("a", nil)}
	var root node
	text := written(t, report.JUnit, r)
	if err := xml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	root.check(t)
	if root.attr("errors") != "1" || root.count("error") != 1 {
		t.Errorf("the report has no error:\n%s", text)
	}
	if text := written(t, report.SARIF, r); !strings.Contains(text, `"ruleId": "run/interrupted"`) {
		t.Errorf("the report has no result:\n%s", text)
	}
}

func TestSARIF(t *testing.T) {
	t.Parallel()
	var doc struct {
		Schema  string `json:"$schema"`
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name  string
					Rules []struct{ ID string }
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn int }
					}
				}
				PartialFingerprints map[string]string
			}
		}
	}
	if err := json.Unmarshal([]byte(written(t, report.SARIF, example())), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != "2.1.0" || doc.Schema == "" || len(doc.Runs) != 1 || doc.Runs[0].Tool.Driver.Name != "agentclash" || len(doc.Runs[0].Results) != 3 {
		t.Fatalf("the document is %+v", doc)
	}
	seen := map[string]bool{}
	for _, r := range doc.Runs[0].Results {
		rules := doc.Runs[0].Tool.Driver.Rules
		at := r.Locations[0].PhysicalLocation
		if r.RuleIndex >= len(rules) || rules[r.RuleIndex].ID != r.RuleID || r.Message.Text == "" || at.ArtifactLocation.URI != "packs/my%20pack.yaml" || at.Region.StartLine != 1 {
			t.Errorf("a result is %+v", r)
		}
		if print := r.PartialFingerprints["agentclash/v1"]; print == "" || seen[print] {
			t.Errorf("fingerprint %q: missing, or twice", print)
		}
		seen[r.PartialFingerprints["agentclash/v1"]] = true
		if want := map[string]string{"failed/verdict": "error", "invalid/rate_limit": "warning", "gate/threshold_fail_correctness": "error"}[r.RuleID]; want != r.Level {
			t.Errorf("%s is %s, want %s", r.RuleID, r.Level, want)
		}
	}
}

func TestMarkdownIsHarmless(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{report.Markdown, report.Comment} {
		text := written(t, kind, example())
		body := strings.ReplaceAll(text, "&#", "")
		for _, bad := range []string{"<script", "@octocat", "#12", "GH-7", "](", "http://", "www.evil", "**b**", "`c`", "\n# heading", "\n- [ ]", "$x$", ":tada:", "\x1b", "\x00", "\u202e", "agentclash:0"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s: the page holds %q:\n%s", kind, bad, text)
			}
		}
		for _, want := range []string{"## agentclash: gate fail", "&#60;script&#62;", "correctness | -0.50 | fail", "rate&#95;limit"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page does not hold %q:\n%s", kind, want, text)
			}
		}
		if marked := strings.HasPrefix(text, "<!-- agentclash:"); marked != (kind == report.Comment) {
			t.Errorf("%s: begins with the mark of a comment: %v", kind, marked)
		}
	}
}

// A space in front of a text must not hide what begins a list.
func TestMarkdownBeginsNoList(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"   - [ ] do", "  1. do", "  + do", "\t- do"} {
		r := example()
		r.Agents[0].Gate.Summary = text
		if page := written(t, report.Comment, r); strings.Contains(page, text) || strings.Contains(page, strings.TrimSpace(text)) {
			t.Errorf("%q begins a list:\n%s", text, page)
		}
	}
}

// Results stand where their case does; a colon in a file's name is no scheme.
func TestSARIFPlaces(t *testing.T) {
	t.Parallel()
	r := example()
	r.PackFile, r.CaseLines = "./a:b.yaml", map[string]int{"b": 12}
	page := written(t, report.SARIF, r)
	if strings.Count(page, `"startLine": 12`) != 1 || strings.Count(page, `"startLine": 1,`) != 2 || !strings.Contains(page, `"uri": "./a:b.yaml"`) {
		t.Errorf("got %s", page)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var doc struct {
		SchemaVersion int `json:"schema_version"`
		Agents        []struct {
			Agent  struct{ Label string }
			Trials []struct {
				FinalOutput *string `json:"final_output"`
			}
			ReleaseGate struct{ Verdict string } `json:"release_gate"`
		}
	}
	if err := json.Unmarshal([]byte(written(t, report.JSON, example())), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.SchemaVersion != 1 || len(doc.Agents) != 1 || len(doc.Agents[0].Trials) != 3 || doc.Agents[0].ReleaseGate.Verdict != "fail" {
		t.Fatalf("the document is %+v", doc)
	}
	lines := strings.Split(strings.TrimSpace(written(t, report.JSONL, example())), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %d lines", len(lines))
	}
	for _, line := range lines {
		var row struct {
			RunID   string `json:"run_id"`
			CaseKey string `json:"case_key"`
			Agent   string
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.RunID == "" || row.CaseKey == "" || row.Agent != "model <a>" {
			t.Errorf("%s: %v", line, err)
		}
	}
	if empty := written(t, report.JSON, report.Run{}); !json.Valid([]byte(empty)) {
		t.Errorf("a run without agents: %s", empty)
	}
}

func TestCSVHasNoFormula(t *testing.T) {
	t.Parallel()
	rows := [][]string{}
	r := example()
	for _, text := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "＝1", "|calc", "\r\n=1", "\u200b=1"} {
		v := trial(text, scoring.OutcomeFailed)
		v.Reason, v.FinalOutput = text, new(text)
		rows = append(rows, []string{text})
		r.Agents[0].Trials = chain(r.Agents[0].Trials, v)
	}
	in := csv.NewReader(strings.NewReader(written(t, report.CSV, r)))
	all, err := in.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(rows)+4 {
		t.Fatalf("got %d rows", len(all))
	}
	for _, row := range all[1:] {
		for i, cell := range row {
			if head := strings.TrimLeft(cell, " \t\r\n\u200b"); head != "" && strings.ContainsRune("=+-@|＝", []rune(head)[0]) {
				t.Errorf("column %s is %q", all[0][i], cell)
			}
		}
	}
}

func chain(first func(func(view.Trial) error) error, last view.Trial) func(func(view.Trial) error) error {
	return func(yield func(view.Trial) error) error {
		if err := first(yield); err != nil {
			return err
		}
		return yield(last)
	}
}

// TestManyTrials writes 20,000 failed trials: pages stay within what their
// readers take, the others have them all.
func TestManyTrials(t *testing.T) {
	t.Parallel()
	const n = 5_000
	r := example()
	a := agentOf("many", nil)
	a.Agent.Trials, a.FailedTrials = n, n
	a.Trials = func(yield func(view.Trial) error) error {
		for i := range n {
			v := trial(fmt.Sprintf("case-%d-%s", i, strings.Repeat("<", 500)), scoring.OutcomeFailed)
			v.Reason = strings.Repeat("@", 300)
			if err := yield(v); err != nil {
				return err
			}
		}
		return nil
	}
	r.Agents = []report.Agent{a}
	if got := len(written(t, report.Comment, r)); got > 65_536 {
		t.Errorf("the comment has %d bytes", got)
	}
	if got := len(written(t, report.Markdown, r)); got > 1<<20 {
		t.Errorf("the summary has %d bytes", got)
	}
	if got := strings.Count(written(t, report.JUnit, r), "<failure "); got != n {
		t.Errorf("JUnit has %d failures", got)
	}
	if got := strings.Count(written(t, report.JSONL, r), "\n"); got != n {
		t.Errorf("JSONL has %d lines", got)
	}
}

// full is a disk without room.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrorsArrive(t *testing.T) {
	t.Parallel()
	broken := example()
	broken.Agents[0].Trials = func(func(view.Trial) error) error { return io.ErrUnexpectedEOF }
	for _, kind := range report.Kinds() {
		if err := report.Write(full{}, kind, example()); !errors.Is(err, errFull) {
			t.Errorf("%s on a full disk: %v", kind, err)
		}
		if err := report.Write(io.Discard, kind, broken); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s with trials that cannot be read: %v", kind, err)
		}
	}
	if err := report.Write(io.Discard, "pdf", example()); err == nil {
		t.Error("a kind that does not exist is written")
	}
}
