package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// The kinds of reports.
const (
	JUnit    = "junit"
	SARIF    = "sarif"
	Markdown = "md"
	Comment  = "comment"
	JSON     = "json"
	JSONL    = "jsonl"
	CSV      = "csv"
)

// Kinds are the kinds of reports there are.
func Kinds() []string { return []string{JUnit, SARIF, Markdown, Comment, JSON, JSONL, CSV} }

// Run is what a report is about: a run, and those of its agents that were asked
// for.
type Run struct {
	Version string // of the program
	ID      string
	Name    string
	Status  string
	Reason  string // why it did not complete
	Pack    view.Pack
	// PackFile is the pack's path as it was typed, "" when it came from a store.
	// SARIF places results there.
	PackFile string
	// CaseLines are the lines of that file on which cases begin, by key; a case
	// that is not there is placed on the first one.
	CaseLines map[string]int
	InputSet  string
	StartedAt time.Time // zero: not known
	Agents    []Agent
	Job       *Job // nil outside of a CI job
}

func (r Run) completed() bool { return r.Status == "completed" }

// ending is how the run ended, and why.
func (r Run) ending() string {
	if r.Reason == "" || r.Reason == r.Status {
		return "the run is " + r.Status
	}
	return "the run is " + r.Status + ": " + r.Reason
}

// Agent is one agent of the run.
type Agent struct {
	view.Agent
	// Trials hands over the trials that decide the agent's scorecard, in order.
	// An error of yield ends the reading and is returned as it is. Each call
	// reads them anew.
	Trials func(yield func(view.Trial) error) error
	// Baseline, Comparison and Gate are nil where there is no baseline.
	Baseline   *view.Bookmark
	Comparison *compare.Comparison
	Gate       *compare.GateResult
}

// Write writes one kind of report.
func Write(w io.Writer, kind string, r Run) error {
	switch kind {
	case JUnit:
		return writeJUnit(w, r)
	case SARIF:
		return writeSARIF(w, r)
	case Markdown:
		return writeSummary(w, r, summaryLimits())
	case Comment:
		return writeSummary(w, r, commentLimits())
	case JSON:
		return writeJSON(w, r)
	case JSONL:
		return writeJSONL(w, r)
	case CSV:
		return writeCSV(w, r)
	}
	return fmt.Errorf("there is no report of the kind %q: there are %s", kind, strings.Join(Kinds(), ", "))
}

// errEnough ends the reading of trials when a report is full.
var errEnough = errors.New("the report is full")

// each reads the trials until yield has had enough.
func (a Agent) each(yield func(view.Trial) error) error {
	if err := a.Trials(yield); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

// name is how a trial is called within its agent.
func name(t view.Trial) string { return fmt.Sprintf("%s#%d", t.CaseKey, t.Repetition) }

// unmet are the validators, judges and gates of a trial that are not met, a line
// each.
func unmet(t view.Trial) []string {
	var lines []string
	for _, v := range t.Validators {
		if v.Verdict != scoring.VerdictPass {
			lines = append(lines, described("validator", v.Key, v.Type, word(v.Verdict, v.State), v.Reason))
		}
	}
	for _, j := range t.Judges {
		if s := j.NormalizedScore; s == nil || *s < 1 {
			lines = append(lines, described("judge", j.Key, j.Mode, scoreOr(s, j.State), j.Reason))
		}
	}
	for _, d := range t.Dimensions {
		if s := d.Value.Score; d.Value.Source != scoring.SourceValidators && d.Value.Source != scoring.SourceJudge && s != nil && *s < 1 {
			lines = append(lines, described("dimension", d.Key, d.Value.Source, view.Score(s), d.Value.Reason))
		}
	}
	return lines
}

func described(what, key, kind, verdict, reason string) string {
	line := fmt.Sprintf("%s %s (%s): %s", what, key, kind, verdict)
	if reason != "" {
		line += ": " + reason
	}
	return line
}

func word(verdict string, state scoring.State) string {
	if verdict != "" {
		return verdict
	}
	return string(state)
}

func scoreOr(score *float64, state scoring.State) string {
	if score == nil {
		return string(state)
	}
	return view.Score(score)
}

// code is what kind of failure a trial is: its code, or that scoring said no.
func code(t view.Trial) string {
	if t.Code != "" {
		return t.Code
	}
	return "verdict"
}

// clip bounds a text, in bytes, on a character boundary.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// lost are the cases that the baseline passed and the candidate does not.
func (a Agent) lost() []string {
	if a.Comparison == nil {
		return nil
	}
	return slices.Sorted(slices.Values(a.Comparison.Cases.FlippedToFailing))
}
