package view

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/agentclash/agentclash/engine/event"
)

// ReplayStep writes the one step of a document, with all that it holds: what went
// in, what came out, and why it failed.
func ReplayStep(w io.Writer, d ReplayDocument, o Options) error {
	p := newPrinter(w, o)
	for _, s := range d.Steps {
		p.stepHead(d, s)
		p.stepTexts(s)
	}
	return p.flush()
}

func (p *printer) stepHead(d ReplayDocument, s event.ReplayStep) {
	var b Details
	b.Add("Trial", trialName(d.CaseKey, d.Repetition)+" of "+d.RunAgentLabel+" ("+p.o.ID(d.TrialID)+"), attempt "+strconv.Itoa(d.Attempt))
	b.Add("Step", strconv.Itoa(s.Number)+" of "+strconv.Itoa(d.Pagination.TotalSteps)+": "+s.Headline)
	b.Add("Type", s.Type)
	b.Status("Status", s.Status)
	b.Add("Events", numbers(s)+" ("+eventTypes(s.EventTypes)+")")
	b.Add("At", s.OccurredAt.UTC().Format(time.RFC3339Nano))
	b.Add("Took", stepTook(s))
	for _, row := range []struct{ key, value string }{
		{"Model", strings.Trim(s.ProviderKey+"/"+s.ProviderModelID, "/")}, {"Tool", s.ToolName}, {"Judge", s.JudgeKey}, {"Phase", s.PhaseID}, {"Actor", s.Actor},
	} {
		if row.value != "" {
			b.Add(row.key, row.value)
		}
	}
	if h := s.HTTP; h != nil {
		b.Add("Request", httpHeadline(*h))
	}
	p.details(b)
}

func eventTypes(types []event.Type) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

// stepTexts writes the texts of a step, whole.
func (p *printer) stepTexts(s event.ReplayStep) {
	for _, m := range s.Input {
		title := "Message of " + string(m.Role)
		if m.ToolCallID != "" {
			title += ", result of " + m.ToolCallID
		}
		p.whole(title, m.Content)
		for _, c := range m.ToolCalls {
			p.whole("It calls "+c.Name+" ("+c.ID+")", indented(c.Arguments))
		}
	}
	p.whole("User message", s.UserMessage)
	p.whole("Assistant message", s.AssistantMessage)
	p.whole("Prompt", s.Prompt)
	p.whole("Arguments", indented(s.Arguments))
	p.whole("Output", s.ModelOutput)
	for _, c := range s.ModelToolCalls {
		p.whole("It calls "+c.Name+" ("+c.ID+")", indented(c.Arguments))
	}
	p.whole("Result", indented([]byte(s.ToolResult)))
	p.whole("Final output", s.FinalOutput)
	if s.ToolResult == "" { // which says it
		p.whole("Error", s.ErrorMessage)
	}
	p.whole("Detail", indented(s.Detail))
}

// whole writes a text under a title, every line of it; nothing for no text. Lines
// that are too long for a terminal are wrapped.
func (p *printer) whole(title, text string) {
	if text == "" {
		return
	}
	p.blank()
	p.title(SanitizeLine(title))
	for line := range strings.Lines(Sanitize(text)) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")
		if p.o.Terminal() {
			line = ansi.Hardwrap(line, max(p.o.Width-2, 1), true)
		}
		for part := range strings.SplitSeq(line, "\n") {
			p.line("  " + part)
		}
	}
}

// indented is JSON as people read it, and any other text as it is.
func indented(doc []byte) string {
	var b bytes.Buffer
	if len(doc) == 0 || json.Indent(&b, doc, "", "  ") != nil {
		return string(doc)
	}
	return b.String()
}
