package report

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// The elements of a JUnit file, in the order in which the schema that build
// servers read has them.
type junitSuite struct {
	XMLName    xml.Name        `xml:"testsuite"`
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	XMLName xml.Name      `xml:"testcase"`
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Error   *junitTrouble `xml:"error"`
	Failure *junitTrouble `xml:"failure"`
}

type junitTrouble struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

const (
	maxJUnitMessage = 1 << 10
	maxJUnitText    = 16 << 10
)

// writeJUnit writes a suite for each agent, a test for each trial, and a suite
// for each gate: a failed trial is a failure, an invalid one an error.
func writeJUnit(w io.Writer, r Run) error {
	b := bufio.NewWriter(w)
	total := junitSuite{}
	if !r.completed() {
		total.Tests, total.Errors = 1, 1
	}
	for _, a := range r.Agents {
		s := suiteOf(r, a)
		total.Tests, total.Failures, total.Errors = total.Tests+s.Tests, total.Failures+s.Failures, total.Errors+s.Errors
		if a.Gate != nil {
			g := gateSuite(a)
			total.Tests, total.Failures, total.Errors = total.Tests+g.Tests, total.Failures+g.Failures, total.Errors+g.Errors
		}
	}
	b.WriteString(xml.Header)
	fmt.Fprintf(b, "<testsuites name=\"agentclash\" tests=\"%d\" failures=\"%d\" errors=\"%d\">\n", total.Tests, total.Failures, total.Errors)
	if !r.completed() {
		if err := r.unfinished(b); err != nil {
			return err
		}
	}
	for _, a := range r.Agents {
		if err := writeSuite(b, r, a); err != nil {
			return err
		}
	}
	b.WriteString("</testsuites>\n")
	return b.Flush()
}

// unfinished is a run that did not complete as an error: what its trials say is
// not all that was asked.
func (r Run) unfinished(b *bufio.Writer) error {
	s := junitSuite{Name: "run", Tests: 1, Errors: 1, Time: "0", Properties: []junitProperty{{"run_id", r.ID}}}
	if err := openSuite(b, s); err != nil {
		return err
	}
	message := clip(plain(r.ending()), maxJUnitMessage)
	err := element(b, junitCase{Name: plain(r.Name), Class: "run", Time: "0", Error: &junitTrouble{Message: message, Type: r.Status, Text: message}})
	b.WriteString("</testsuite>\n")
	return err
}

func suiteOf(r Run, a Agent) junitSuite {
	s := junitSuite{
		Name: r.Pack.Slug + "/" + a.Label, Tests: a.Agent.Trials, Failures: a.FailedTrials, Errors: a.InvalidTrials, Time: "0",
		Properties: []junitProperty{
			{"run_id", r.ID}, {"run_agent_id", a.RunAgentID}, {"run_status", r.Status}, {"pack", r.Pack.String()}, {"input_set", r.InputSet},
			{"pass_rate", view.Percent(a.PassRate)}, {"overall_score", view.Score(a.OverallScore)}, {"cost_usd", view.USD(a.CostUSD)},
		},
	}
	if a.LatencyMS != nil { // their mean, of the valid ones
		s.Time = seconds(*a.LatencyMS * float64(a.PassedTrials+a.FailedTrials))
	}
	if !r.StartedAt.IsZero() {
		s.Timestamp = r.StartedAt.UTC().Format("2006-01-02T15:04:05") // the schema wants no zone
	}
	return s
}

func writeSuite(b *bufio.Writer, r Run, a Agent) error {
	if err := openSuite(b, suiteOf(r, a)); err != nil {
		return err
	}
	err := a.each(func(t view.Trial) error { return element(b, testOf(r, a, t)) })
	if err != nil {
		return err
	}
	b.WriteString("</testsuite>\n")
	if a.Gate == nil {
		return nil
	}
	if err := openSuite(b, gateSuite(a)); err != nil {
		return err
	}
	if err := element(b, gateTest(a)); err != nil {
		return err
	}
	b.WriteString("</testsuite>\n")
	return nil
}

// openSuite writes a suite without its end.
func openSuite(b *bufio.Writer, s junitSuite) error {
	raw, err := xml.Marshal(s)
	if err != nil {
		return err
	}
	b.WriteString(strings.TrimSuffix(string(raw), "</testsuite>"))
	return b.WriteByte('\n')
}

func element(b *bufio.Writer, v any) error {
	raw, err := xml.Marshal(v)
	if err != nil {
		return err
	}
	_, err = b.Write(append(raw, '\n'))
	return err
}

func testOf(r Run, a Agent, t view.Trial) junitCase {
	c := junitCase{Name: plain(name(t)), Class: plain(r.Pack.Slug + "." + a.Label), Time: "0"}
	if t.LatencyMS != nil {
		c.Time = seconds(float64(*t.LatencyMS))
	}
	switch t.Outcome {
	case scoring.OutcomePassed:
	case scoring.OutcomeFailed:
		c.Failure = trouble(t)
	default:
		c.Error = trouble(t)
	}
	return c
}

func trouble(t view.Trial) *junitTrouble {
	why := t.Why()
	if why == "" {
		why = string(t.Outcome)
	}
	var lines []string
	if t.Phase != "" {
		lines = append(lines, "phase: "+t.Phase)
	}
	if t.Reason != "" {
		lines = append(lines, t.Reason)
	}
	lines = append(lines, unmet(t)...)
	lines = append(lines, "agentclash replay get "+view.ShortID(t.TrialID))
	return &junitTrouble{Message: clip(plain(why), maxJUnitMessage), Type: code(t), Text: clip(view.Sanitize(strings.Join(lines, "\n")), maxJUnitText)}
}

// plain is text on one line without what a terminal or a page would obey.
func plain(text string) string { return view.SanitizeLine(text) }

func gateSuite(a Agent) junitSuite {
	s := junitSuite{Name: "release-gate/" + a.Label, Tests: 1, Time: "0", Properties: []junitProperty{
		{"verdict", string(a.Gate.Verdict)}, {"policy", a.Gate.PolicyKey}, {"policy_fingerprint", a.Gate.PolicyFingerprint},
	}}
	if q := a.Gate.Sequential; q != nil {
		s.Properties = append(s.Properties, junitProperty{"sequential", plain(q.Words())})
	}
	switch t := gateTest(a); {
	case t.Failure != nil:
		s.Failures = 1
	case t.Error != nil:
		s.Errors = 1
	}
	return s
}

// gateTest is the verdict as a test: a failed gate is a failure, missing
// evidence an error, a warning passes.
func gateTest(a Agent) junitCase {
	g := a.Gate
	c := junitCase{Name: "gate " + plain(a.Label), Class: "release-gate." + g.ReasonCode, Time: "0"}
	t := &junitTrouble{Message: clip(plain(g.Summary), maxJUnitMessage), Type: g.ReasonCode, Text: clip(view.Sanitize(strings.Join(a.lost(), "\n")), maxJUnitText)}
	switch g.Verdict {
	case compare.Pass, compare.Warn:
	case compare.Fail:
		c.Failure = t
	default:
		c.Error = t
	}
	return c
}

func seconds(ms float64) string {
	return strconv.FormatFloat(ms/1000, 'f', 3, 64)
}
