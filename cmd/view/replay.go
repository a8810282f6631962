package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// ReplayDocument is what `replay get --json` prints: whose history it is, and
// the history.
type ReplayDocument struct {
	State         string          `json:"state"` // ready, pending or errored
	RunID         string          `json:"run_id"`
	RunAgentID    string          `json:"run_agent_id"`
	RunAgentLabel string          `json:"run_agent_label"`
	TrialID       string          `json:"trial_id"`
	CaseKey       string          `json:"case_key"`
	Repetition    int             `json:"repetition"`
	Attempt       int             `json:"attempt"`
	Outcome       scoring.Outcome `json:"outcome"`
	Code          string          `json:"code"`
	Phase         string          `json:"phase"`
	Scorecard     *Trial          `json:"scorecard"` // null until the attempt is scored
	event.Replay
	Pagination ReplayPage `json:"pagination"`
}

// ReplayPage says which of the steps a document has. A cursor is how many steps
// are left out before them.
type ReplayPage struct {
	NextCursor *int `json:"next_cursor"` // null: there is no more
	Limit      int  `json:"limit"`
	TotalSteps int  `json:"total_steps"`
	HasMore    bool `json:"has_more"`
}

// Page keeps limit of the steps, from cursor on.
func (d *ReplayDocument) Page(cursor, limit int) {
	total := len(d.Steps)
	from := min(cursor, total)
	end := min(from+limit, total)
	d.Steps = d.Steps[from:end]
	d.Pagination = ReplayPage{Limit: limit, TotalSteps: total, HasMore: end < total}
	if end < total {
		d.Pagination.NextCursor = &end
	}
}

// shownLines is how many lines of a captured file, an output or a test's
// output a terminal shows; a pipe gets all.
const shownLines = 40

// Replay writes the steps of a trial, then what it left behind (the final
// output, the captured files and what the tests printed) and what scoring says
// of it. Steps have the numbers of their events, by which scores point at them.
func Replay(w io.Writer, d ReplayDocument, o Options) error {
	p := newPrinter(w, o)
	p.replayHead(d)
	p.steps(d.Steps)
	p.conversation(d.Steps)
	for _, s := range d.Steps {
		p.leftBehind(s)
	}
	if d.Scorecard != nil {
		p.scores(*d.Scorecard)
	}
	return p.flush()
}

// TrialVerdict writes whose history a document has and what scoring says of it: the
// verdicts with the events behind them, and what judges said.
func TrialVerdict(w io.Writer, d ReplayDocument, o Options) error {
	p := newPrinter(w, o)
	p.replayHead(d)
	if d.Scorecard == nil {
		return p.flush()
	}
	if why := d.Scorecard.Why(); why != "" {
		p.blank()
		p.title("Why")
		p.text(2, why)
	}
	p.scores(*d.Scorecard)
	return p.flush()
}

// LeftBehind writes what a trial left behind: the final output, the captured files
// and what the tests printed.
func LeftBehind(w io.Writer, d ReplayDocument, o Options) error {
	p := newPrinter(w, o)
	for _, s := range d.Steps {
		p.leftBehind(s)
	}
	return p.flush()
}

// replayHead says whose history it is.
func (p *printer) replayHead(d ReplayDocument) {
	var b Details
	b.Add("Trial", trialName(d.CaseKey, d.Repetition)+" of "+d.RunAgentLabel+" ("+p.o.ID(d.TrialID)+")")
	b.Add("Attempt", strconv.Itoa(d.Attempt))
	b.Status("Outcome", string(d.Outcome))
	if d.Code != "" {
		b.Add("Code", codePhase(d.Code, d.Phase))
	}
	b.Add("Agent", d.Headline)
	if t := d.TerminalState; t != nil && t.ErrorMessage != "" {
		b.Add("Error", t.ErrorMessage)
	}
	b.Add("Counts", fmt.Sprintf("%s, %s, %s, %s", count(d.Counts.AgentSteps, "step"), count(d.Counts.ModelCalls, "model call"),
		count(d.Counts.ToolCalls, "tool call"), count(d.Counts.Events, "event"))+judgeCalls(d.Counts.JudgeCalls))
	p.details(b)
}

func (p *printer) steps(steps []event.ReplayStep) {
	t := Table{Columns: []Column{
		right("#"), right("EVENTS"), left("TYPE"), left("HEADLINE"), left("TOOL"), right("DURATION"), whole("STATUS"),
	}}
	for _, s := range steps {
		t.Add(Text(strconv.Itoa(s.Number)), Text(numbers(s)), Text(s.Type), Text(stepHeadline(s)), Text(s.ToolName), Text(stepTook(s)), Status(s.Status))
	}
	if len(t.Rows) > 0 {
		p.blank()
		p.table(&t)
	}
}

// stepTook is how long a step took. One event is a moment.
func stepTook(s event.ReplayStep) string {
	if s.DurationMS == nil || s.EventCount < 2 {
		return absent
	}
	return Duration(ms(*s.DurationMS))
}

// numbers are those of a step's first and last event.
func numbers(s event.ReplayStep) string {
	first := strconv.FormatInt(s.StartedSequence, 10)
	if s.CompletedSequence <= s.StartedSequence {
		return first
	}
	return first + "-" + strconv.FormatInt(s.CompletedSequence, 10)
}

// stepHeadline adds to a headline what a reader would open the step for.
func stepHeadline(s event.ReplayStep) string {
	if len(s.Detail) > 0 && len(s.EventTypes) > 0 {
		last := s.EventTypes[len(s.EventTypes)-1]
		if text := Describe(event.Event{Type: last, Payload: s.Detail}); text != "" {
			return text
		}
	}
	switch {
	case s.HTTP != nil:
		return httpHeadline(*s.HTTP)
	case s.ErrorMessage != "":
		return because(s.Headline, excerpt(s.ErrorMessage))
	case s.Type == "tool_call" && len(s.Arguments) > 0:
		return because(s.Headline, excerpt(string(s.Arguments)))
	case s.Type == "turn":
		return because(s.Headline, excerpt(s.UserMessage))
	case s.Type == "model_call" || s.Type == "judge_call":
		return because(s.Headline, excerpt(s.ModelOutput))
	}
	return s.Headline
}

// httpHeadline says what was asked, and what came of it: a status, or the phase in
// which it failed.
func httpHeadline(c event.HTTPCall) string {
	asked := strings.TrimSpace(excerpt(c.Method + " " + c.URL))
	switch {
	case c.Phase != "":
		return because(strings.TrimSpace(asked+" failed in the phase "+c.Phase), excerpt(c.Error))
	case c.Status != 0:
		return strings.TrimSpace(asked + " answered " + strconv.Itoa(c.Status))
	}
	return strings.TrimSpace(asked + " was answered")
}

// leftBehind writes the content of a step that has one.
func (p *printer) leftBehind(s event.ReplayStep) {
	switch {
	case s.Type == "output" && s.FinalOutput != "":
		p.content("Final output", s.FinalOutput)
	case s.Type == "capture":
		p.capture(s.Detail)
	case s.Type == "code_execution":
		p.codeRun(s.Detail)
	}
}

func (p *printer) content(title, text string) {
	p.blank()
	p.title(title)
	p.block(2, shownLines, text)
}

// capture shows a captured file or directory. The two payloads share their
// first fields; only a directory has entries.
func (p *printer) capture(detail json.RawMessage) {
	var file scoring.CapturedFile
	var dir scoring.CapturedDirectory
	if json.Unmarshal(detail, &file) != nil || json.Unmarshal(detail, &dir) != nil {
		return
	}
	title := "Captured " + SanitizeLine(file.Key) + " (" + SanitizeLine(file.Path) + ")"
	switch {
	case !file.Exists:
		p.content(title, "does not exist")
	case file.Unread != "":
		p.content(title, "is there and cannot be read: "+file.Unread)
	case dir.Entries != nil:
		paths := make([]string, len(dir.Entries))
		for i, e := range dir.Entries {
			paths[i] = SanitizeLine(e.Path)
		}
		p.content(title, strings.Join(paths, "\n"))
	default:
		if file.Truncated {
			title += ", cut at " + Tokens(int64(len(file.Content))) + " of " + Tokens(file.Size) + " bytes"
		}
		p.content(title, file.Content)
	}
}

func (p *printer) codeRun(detail json.RawMessage) {
	var run scoring.CodeRun
	if json.Unmarshal(detail, &run) != nil {
		return
	}
	p.blank()
	p.title("Tests of " + SanitizeLine(run.ValidatorKey) + " (" + SanitizeLine(codeResult(run)) + ")")
	p.line("  $ " + SanitizeLine(run.TestCommand))
	for _, out := range []string{run.Stdout, run.Stderr} {
		if out != "" {
			p.block(2, shownLines, out)
		}
	}
}
