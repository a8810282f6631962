package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// limits bound a Markdown page.
type limits struct {
	bytes  int  // of the page
	agents int  // shown
	rows   int  // of failed and of invalid trials, for each agent
	sticky bool // the page begins with the mark by which a comment is found again
}

// summaryLimits are those of a step summary, of which GitHub takes 1 MiB.
func summaryLimits() limits { return limits{bytes: 512 << 10, agents: 50, rows: 50} }

// commentLimits are those of a comment, of which GitHub takes 65,536 characters.
func commentLimits() limits { return limits{bytes: 60_000, agents: 10, rows: 10, sticky: true} }

// gateRows is how many dimensions a gate shows.
const gateRows = 6

// mark is the hidden line by which a comment about the same thing is found again.
func mark(about string) string {
	sum := sha256.Sum256([]byte(about))
	return "<!-- agentclash:" + hex.EncodeToString(sum[:8]) + " -->"
}

// page is a Markdown page that never grows beyond its limit.
type page struct {
	bytes.Buffer
	most int
	cut  bool
}

const cutLine = "\n… this page is cut: `agentclash eval scorecard` has the rest.\n"

// line adds a line, or says once that there is no room for it.
func (p *page) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...) + "\n"
	if p.cut || p.Len()+len(text)+len(cutLine) > p.most {
		p.cut = true
		return
	}
	p.WriteString(text)
}

func (p *page) row(cells ...string) { p.line("| %s |", strings.Join(cells, " | ")) }

func (p *page) head(cells ...string) {
	p.line("")
	p.row(cells...)
	p.row(slices.Repeat([]string{"---"}, len(cells))...)
}

const (
	maxCell = 120 // characters of a name
	maxWhy  = 240 // characters of a reason
)

func cell(text string) string { return inMarkdown(text, maxCell) }

// writeSummary writes a page for people: verdict, agents, what the gate saw and
// what went wrong.
func writeSummary(w io.Writer, r Run, l limits) error {
	p := &page{most: l.bytes}
	if l.sticky {
		p.line("%s", mark(r.about()))
	}
	p.line("## agentclash: %s", cell(headline(r)))
	p.head("Field", "Value")
	p.job(r.Job)
	if r.ID == "" { // a job that came to no run
		p.errors(r.Job, l)
		return p.finish(w, r)
	}
	p.row("Run", cell(r.Name)+" (`"+view.ShortID(r.ID)+"`)")
	p.row("Status", cell(strings.TrimSuffix(r.Status+": "+r.Reason, ": ")))
	p.row("Pack", cell(r.Pack.String()))
	p.row("Input set", cell(r.InputSet))
	p.errors(r.Job, l)
	p.agents(r, l)
	for i, a := range r.Agents {
		if i == l.agents {
			break
		}
		p.gate(a, l)
		if err := p.trials(a, l); err != nil {
			return err
		}
	}
	p.promotions(r.Job, l)
	return p.finish(w, r)
}

// finish ends a page and writes it.
func (p *page) finish(w io.Writer, r Run) error {
	if r.ID != "" {
		p.line("\nNext: `agentclash eval scorecard %s`", view.ShortID(r.ID))
	}
	if p.cut {
		p.WriteString(cutLine)
	}
	_, err := w.Write(p.Bytes())
	return err
}

// headline is the worst verdict of the gates, else how the agents came out.
func headline(r Run) string {
	if r.Job != nil && (r.ID == "" || r.completed()) {
		return r.Job.State
	}
	if !r.completed() {
		return "run " + r.Status
	}
	for _, v := range []compare.Verdict{compare.InsufficientEvidence, compare.Fail, compare.Warn, compare.Pass} {
		if slices.ContainsFunc(r.Agents, func(a Agent) bool { return a.Gate != nil && a.Gate.Verdict == v }) {
			return "gate " + string(v)
		}
	}
	for _, a := range r.Agents {
		if !a.Passed {
			return "not passed"
		}
	}
	return "passed"
}

func (p *page) agents(r Run, l limits) {
	p.head("Agent", "Result", "Score", "Pass rate", "Passed", "Failed", "Invalid", "Cost")
	for i, a := range r.Agents {
		if i == l.agents {
			p.line("\n… and %d more agents", len(r.Agents)-i)
			return
		}
		p.row(cell(a.Label), cell(a.Headline), view.Score(a.OverallScore), view.Percent(a.PassRate),
			fmt.Sprint(a.PassedTrials), fmt.Sprint(a.FailedTrials), fmt.Sprint(a.InvalidTrials), view.USD(a.CostUSD))
	}
}

// gate writes what the gate of one agent saw.
func (p *page) gate(a Agent, l limits) {
	if a.Gate == nil {
		return
	}
	p.line("\n### Gate of %s: %s\n", cell(a.Label), cell(string(a.Gate.Verdict)))
	p.line("%s", inMarkdown(a.Gate.Summary, maxWhy))
	results := a.Gate.EvaluationDetails.DimensionResults
	declared := slices.DeleteFunc(slices.Sorted(maps.Keys(results)), func(key string) bool { return results[key].Outcome == compare.DimensionNotDeclared })
	if len(declared) > 0 {
		p.head("Dimension", "Delta", "Outcome")
	}
	for _, key := range declared[:min(len(declared), gateRows)] {
		p.row(cell(key), view.Delta(results[key].ObservedDelta), cell(results[key].Outcome))
	}
	lost := a.lost()
	if len(lost) == 0 {
		return
	}
	p.line("\nPassed on the baseline and not now (%d):\n", len(lost))
	for _, key := range lost[:min(len(lost), l.rows)] {
		p.line("- %s", cell(key))
	}
	if len(lost) > l.rows {
		p.line("- … and %d more", len(lost)-l.rows)
	}
}

// trials writes what did not pass, failed before invalid.
func (p *page) trials(a Agent, l limits) error {
	if a.FailedTrials+a.InvalidTrials == 0 {
		return nil
	}
	failed, invalid, err := a.troubled(l.rows)
	if err != nil {
		return err
	}
	p.section("Failed trials of ", a, failed, a.FailedTrials)
	p.section("Invalid trials, left out of every score, of ", a, invalid, a.InvalidTrials)
	return nil
}

// troubled are the first failed and the first invalid trials.
func (a Agent) troubled(most int) (failed, invalid []view.Trial, err error) {
	err = a.each(func(t view.Trial) error {
		switch {
		case t.Outcome == scoring.OutcomeFailed && len(failed) < most:
			failed = append(failed, t)
		case t.Outcome == scoring.OutcomeInvalid && len(invalid) < most:
			invalid = append(invalid, t)
		}
		if len(failed) == min(most, a.FailedTrials) && len(invalid) == min(most, a.InvalidTrials) {
			return errEnough
		}
		return nil
	})
	return failed, invalid, err
}

func (p *page) section(title string, a Agent, trials []view.Trial, n int) {
	if len(trials) == 0 {
		return
	}
	p.line("\n### %s%s (%d)", title, cell(a.Label), n)
	p.head("Case", "Code", "Why")
	for _, t := range trials {
		p.row(cell(name(t)), cell(code(t)), inMarkdown(t.Why(), maxWhy))
	}
	if n > len(trials) {
		p.line("\n… and %d more", n-len(trials))
	}
}
