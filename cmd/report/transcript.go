package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// A Transcript is a Markdown page of what was said and done in the trials of a run.
// Whatever a model, a tool, a server or a pack said is shown and nothing else: it can
// be no markup, no HTML, no link, no picture and no mention, and it ends where its
// block ends. The page is bounded, and says what it leaves out.
type Transcript struct {
	// Full says that the page has what went into calls and what came back: without
	// it, it has what was said, and of calls only which there were.
	full bool

	b     strings.Builder
	last  string // that the model said
	shown int    // trials
	left  int    // trials for which there was no room
	cut   int    // steps of shown trials for which there was no room
}

// How much a transcript has: as much as a comment on GitHub takes, or all that can be
// read in an editor.
const (
	transcriptBytes     = 60_000
	fullTranscriptBytes = 4 << 20
	transcriptText      = 2_000 // bytes of one text
	fullTranscriptText  = 64 << 10
	transcriptTail      = 400 // bytes that are kept for what is left out
	transcriptChecks    = 50
)

// NewTranscript begins the transcript of a run.
func NewTranscript(r view.Run, full bool) *Transcript {
	t := &Transcript{full: full}
	t.add("# agentclash: " + inline(r.Name, maxCell) + "\n\n")
	t.row("Field", "Value")
	t.row("---", "---")
	t.row("Run", "`"+view.ShortID(r.RunID)+"`")
	t.row("Status", inline(strings.TrimSuffix(r.Status+": "+r.Reason, ": "), maxWhy))
	t.row("Pack", inline(r.Pack.String(), maxCell))
	t.row("Input set", inline(r.InputSet, maxCell))
	t.row("Mode", inline(r.Mode, maxCell))
	t.add("\n")
	t.row("Agent", "Model", "Status", "Passed", "Failed", "Invalid")
	t.row("---", "---", "---", "---", "---", "---")
	for i, a := range r.Agents {
		if i == summaryLimits().agents {
			t.add(fmt.Sprintf("\n… and %d more agents\n", len(r.Agents)-i))
			break
		}
		t.row(inline(a.Label, maxCell), inline(a.Model, maxCell), inline(a.Status, maxCell),
			strconv.Itoa(a.PassedTrials), strconv.Itoa(a.FailedTrials), strconv.Itoa(a.InvalidTrials))
	}
	return t
}

// room is how many bytes the page can have yet.
func (t *Transcript) room() int {
	most := transcriptBytes
	if t.full {
		most = fullTranscriptBytes
	}
	return most - transcriptTail - t.b.Len()
}

// add adds a part that is whole by itself, or none of it.
func (t *Transcript) add(part string) bool {
	if len(part) > t.room() {
		return false
	}
	t.b.WriteString(part)
	return true
}

func (t *Transcript) row(cells ...string) { t.add("| " + strings.Join(cells, " | ") + " |\n") }

// Add adds a trial with all its steps, or says that there is no room for more.
func (t *Transcript) Add(d view.ReplayDocument) (room bool) {
	if t.left > 0 || t.cut > 0 || !t.add(t.trialHead(d)) {
		t.left++
		return false
	}
	t.shown++
	t.last = ""
	for i, s := range d.Steps {
		if !t.add(t.step(s)) {
			t.cut = len(d.Steps) - i
			t.b.WriteString("\n… " + strconv.Itoa(t.cut) + " more steps of this trial are left out: `agentclash replay get " + view.ShortID(d.TrialID) + "`\n")
			return false
		}
	}
	return true
}

// Skip says that so many trials more are left out.
func (t *Transcript) Skip(trials int) { t.left += trials }

// Shown is how many trials are on the page; whole says that nothing of what was added
// is left out.
func (t *Transcript) Shown() (trials int, whole bool) { return t.shown, t.left+t.cut == 0 }

// String is the page.
func (t *Transcript) String() string {
	if t.left == 0 {
		return t.b.String()
	}
	return t.b.String() + fmt.Sprintf("\n… %d more trials are left out: `--agent` and `--case` choose some\n", t.left)
}

// trialHead says which trial it is and what scoring says of it.
func (t *Transcript) trialHead(d view.ReplayDocument) string {
	var b strings.Builder
	outcome := string(d.Outcome)
	if outcome == "" {
		outcome = "not over"
	}
	fmt.Fprintf(&b, "\n## %s, repetition %d, by %s: %s\n\n", inline(d.CaseKey, maxCell), d.Repetition, inline(d.RunAgentLabel, maxCell), inline(outcome, maxCell))
	fmt.Fprintf(&b, "Trial `%s`, attempt %d; model calls: %d, tool calls: %d.", view.ShortID(d.TrialID), d.Attempt, d.Counts.ModelCalls, d.Counts.ToolCalls)
	if d.Code != "" {
		b.WriteString(" Code: " + inline(strings.Trim(d.Code+"/"+d.Phase, "/"), maxCell) + ".")
	}
	b.WriteString("\n")
	if s := d.TerminalState; s != nil && s.ErrorMessage != "" {
		b.WriteString("\n" + inline(s.ErrorMessage, maxWhy) + "\n")
	}
	if c := d.Scorecard; c != nil {
		fmt.Fprintf(&b, "\nScore %s", view.Score(c.OverallScore))
		if why := c.Why(); why != "" {
			b.WriteString(": " + inline(why, maxWhy))
		}
		b.WriteString("\n")
		checks(&b, *c)
	}
	return b.String()
}

// checks are the validators of a trial.
func checks(b *strings.Builder, c view.Trial) {
	if len(c.Validators) == 0 {
		return
	}
	b.WriteString("\n| Check | Verdict | Why |\n| --- | --- | --- |\n")
	for i, v := range c.Validators {
		if i == transcriptChecks {
			fmt.Fprintf(b, "\n… and %d more checks\n", len(c.Validators)-i)
			return
		}
		word := v.Verdict
		if word == "" {
			word = string(v.State)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", inline(v.Key, maxCell), inline(word, maxCell), inline(v.Reason, maxWhy))
	}
}

// step is one step, "" for one that says nothing that its neighbours do not.
func (t *Transcript) step(s event.ReplayStep) string {
	switch s.Type {
	case "run", "agent_step", "scoring":
		return ""
	}
	head := fmt.Sprintf("\n**%d. %s**: %s", s.Number, inline(t.headline(s), maxCell), inline(s.Status, maxCell))
	if s.DurationMS != nil && s.EventCount > 1 {
		head += ", " + view.Duration(time.Duration(*s.DurationMS)*time.Millisecond)
	}
	return head + "\n" + t.said(s)
}

func (t *Transcript) headline(s event.ReplayStep) string {
	if h := s.HTTP; h != nil {
		switch {
		case h.Phase != "":
			return s.Headline + ", failed in the phase " + h.Phase
		case h.Status != 0:
			return s.Headline + ", answered " + strconv.Itoa(h.Status)
		}
	}
	switch s.Type {
	case "capture":
		return captured(s)
	case "code_execution":
		return tested(s)
	}
	return s.Headline
}

func captured(s event.ReplayStep) string {
	var file scoring.CapturedFile
	if json.Unmarshal(s.Detail, &file) != nil {
		return s.Headline
	}
	if !file.Exists {
		return "captured " + file.Path + ", which does not exist"
	}
	return "captured " + file.Path
}

func tested(s event.ReplayStep) string {
	var run scoring.CodeRun
	switch {
	case json.Unmarshal(s.Detail, &run) != nil:
		return s.Headline
	case run.TimedOut:
		return "tests of " + run.ValidatorKey + ", timed out"
	case run.ExitCode == nil:
		return "tests of " + run.ValidatorKey + ", not run"
	}
	return "tests of " + run.ValidatorKey + ", exit " + strconv.Itoa(*run.ExitCode)
}

// said is what a model, a user or the pack said in a step and, in a transcript that is
// full, what went in before it and came back after it.
func (t *Transcript) said(s event.ReplayStep) string {
	switch s.Type {
	case "model_call":
		return t.modelCall(s)
	case "turn":
		return t.text("The user", s.UserMessage) + t.text("The agent", s.AssistantMessage)
	case "output":
		if s.FinalOutput == t.last {
			return "\nIt is the last thing that the model said.\n"
		}
		return t.text("", s.FinalOutput)
	}
	var p event.Prompt
	if s.EventTypes[0] == event.PromptPut && json.Unmarshal(s.Detail, &p) == nil {
		return t.text("The pack", p.Text)
	}
	if !t.full {
		return ""
	}
	return t.text("Prompt", s.Prompt) + t.text("Reply", s.ModelOutput) + t.doc("Arguments", s.Arguments) + t.text("Result", s.ToolResult) +
		t.text("Error", t.errorOf(s)) + t.doc("Detail", s.Detail)
}

// errorOf is why a step failed, where its result does not say so.
func (t *Transcript) errorOf(s event.ReplayStep) string {
	if s.ToolResult != "" {
		return ""
	}
	return s.ErrorMessage
}

func (t *Transcript) modelCall(s event.ReplayStep) (out string) {
	if t.full {
		for _, m := range s.Input {
			out += t.text("Message of "+string(m.Role), m.Content)
		}
	}
	if s.ModelOutput != "" {
		t.last = s.ModelOutput
		out += t.text("The model", s.ModelOutput)
	}
	if s.ErrorMessage != "" {
		out += "\n" + inline(s.ErrorMessage, maxWhy) + "\n"
	}
	if t.full {
		for _, c := range s.ModelToolCalls {
			out += t.doc("It calls "+c.Name, c.Arguments)
		}
	}
	return out
}

// text is a text under its title, nothing for none.
func (t *Transcript) text(title, text string) string { return t.block(title, "text", text) }

// doc is a JSON document under its title.
func (t *Transcript) doc(title string, doc []byte) string { return t.block(title, "json", string(doc)) }

func (t *Transcript) block(title, info, text string) string {
	if text == "" {
		return ""
	}
	most := transcriptText
	if t.full {
		most = fullTranscriptText
	}
	if title != "" {
		title = inline(title, maxCell) + ":\n\n"
	}
	return "\n" + title + fenced(info, text, most)
}
