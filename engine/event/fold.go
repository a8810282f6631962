package event

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// Fold builds the evidence of one attempt from its events, in sequence. Live
// scoring applies them as they are emitted, rescoring as they are read back;
// both see the same redacted and bounded text.
type Fold struct {
	ev           scoring.Evidence
	usage        map[[2]string]*scoring.ModelUsage
	usageUnknown bool // some completed call reported none
}

// NewFold starts a fold for a case.
func NewFold(c scoring.Case) *Fold {
	return &Fold{
		ev: scoring.Evidence{
			Case:        c,
			Files:       map[string]scoring.CapturedFile{},
			Directories: map[string]scoring.CapturedDirectory{},
			CodeRuns:    map[string]scoring.CodeRun{},
			Sources:     map[string]scoring.Source{},
		},
		usage: map[[2]string]*scoring.ModelUsage{},
	}
}

// Apply takes one event into account. Kinds that are no evidence are ignored;
// an event whose payload does not decode is an error.
func (f *Fold) Apply(e Event) error {
	apply, ok := folders[e.Type]
	if !ok {
		return nil
	}
	if err := apply(f, e); err != nil {
		return fmt.Errorf("event %d (%s): %w", e.Sequence, e.Type, err)
	}
	return nil
}

// folders says, for each kind of event that is evidence, what it adds.
var folders = map[Type]func(*Fold, Event) error{
	Started:      (*Fold).started,
	CallDone:     (*Fold).callDone,
	OutputDelta:  (*Fold).firstOutput,
	OutputFinal:  (*Fold).output,
	Completed:    (*Fold).completed,
	Failed:       (*Fold).failed,
	ToolDone:     (*Fold).tool,
	ToolFailed:   (*Fold).tool,
	CommandFail:  (*Fold).commandFailed,
	FileCaptured: (*Fold).file,
	DirListed:    (*Fold).directory,
	CodeExecuted: (*Fold).code,
}

// Evidence returns what has been gathered so far.
func (f *Fold) Evidence() scoring.Evidence {
	ev := f.ev
	for _, u := range f.usage {
		ev.Models = append(ev.Models, *u)
	}
	f.totals(&ev)
	slices.SortFunc(ev.Models, func(a, b scoring.ModelUsage) int {
		if c := strings.Compare(a.ProviderKey, b.ProviderKey); c != 0 {
			return c
		}
		return strings.Compare(a.ProviderModelID, b.ProviderModelID)
	})
	if ev.ToolCallCount == nil && len(ev.ToolCalls) > 0 {
		n := len(ev.ToolCalls)
		ev.ToolCallCount = &n
	}
	return ev
}

// totals fills what the terminal event left out from the calls, unless one of
// them reported nothing: then the sum would be a guess.
func (f *Fold) totals(ev *scoring.Evidence) {
	if f.usageUnknown || len(f.usage) == 0 {
		return
	}
	var in, out, total int64
	for _, u := range ev.Models {
		in, out, total = in+u.InputTokens, out+u.OutputTokens, total+u.TotalTokens
	}
	if ev.InputTokens == nil {
		ev.InputTokens = &in
	}
	if ev.OutputTokens == nil {
		ev.OutputTokens = &out
	}
	if ev.TotalTokens == nil {
		ev.TotalTokens = &total
	}
}

func (f *Fold) started(e Event) error {
	if f.ev.StartedAt.IsZero() {
		f.ev.StartedAt = e.OccurredAt
	}
	return nil
}

func (f *Fold) firstOutput(e Event) error {
	if f.ev.FirstOutputAt.IsZero() {
		f.ev.FirstOutputAt = e.OccurredAt
	}
	return nil
}

func (f *Fold) callDone(e Event) error {
	call, err := Decode[CallEnd](e)
	if err != nil {
		return err
	}
	if f.ev.Sources["final_output"].Kind != "final_output" {
		f.ev.Sources["final_output"] = scoring.Source{Kind: "model_call", Sequence: e.Sequence, EventType: string(e.Type)}
	}
	key := [2]string{call.ProviderKey, call.ProviderModelID}
	u := f.usage[key]
	if u == nil {
		u = &scoring.ModelUsage{ProviderKey: call.ProviderKey, ProviderModelID: call.ProviderModelID, Known: true}
		f.usage[key] = u
	}
	if call.Usage == nil {
		u.Known, f.usageUnknown = false, true
		return nil
	}
	u.InputTokens += call.Usage.Input
	u.OutputTokens += call.Usage.Output
	u.TotalTokens += cmp.Or(call.Usage.Total, call.Usage.Input+call.Usage.Output)
	return nil
}

func (f *Fold) output(e Event) error {
	out, err := Decode[Output](e)
	if err != nil {
		return err
	}
	if f.ev.FinalOutput == nil {
		f.ev.FinalOutput = &out.FinalOutput
		f.ev.Sources["final_output"] = scoring.Source{Kind: "final_output", Sequence: e.Sequence, EventType: string(e.Type)}
	}
	return f.firstOutput(e)
}

func (f *Fold) completed(e Event) error {
	end, err := Decode[End](e)
	if err != nil {
		return err
	}
	f.end(e, true)
	f.ev.FinalOutput = &end.FinalOutput
	f.ev.ToolCallCount = &end.ToolCallCount
	f.ev.InputTokens, f.ev.OutputTokens, f.ev.TotalTokens = end.InputTokens, end.OutputTokens, end.TotalTokens
	return nil
}

func (f *Fold) failed(e Event) error {
	failure, err := Decode[Failure](e)
	if err != nil {
		return err
	}
	f.end(e, false)
	f.ev.ToolCallCount = &failure.ToolCallCount
	f.ev.FailureCount++
	return nil
}

func (f *Fold) end(e Event, completed bool) {
	f.ev.EndedAt = e.OccurredAt
	f.ev.Completed = &completed
}

func (f *Fold) tool(e Event) error {
	t, err := Decode[Tool](e)
	if err != nil {
		return err
	}
	call := scoring.ToolCall{
		Sequence: e.Sequence, Name: strings.TrimSpace(t.ToolName),
		Arguments: canonical(t.Arguments), FailureOrigin: t.FailureOrigin,
		Failed: e.Type == ToolFailed || t.Result != nil && t.Result.IsError,
	}
	if call.Failed {
		f.ev.FailureCount++
		if t.Result != nil {
			call.Error = errorText(t.Result.Content)
		}
	}
	if call.Name != "" {
		f.ev.ToolCalls = append(f.ev.ToolCalls, call)
	}
	return nil
}

func (f *Fold) commandFailed(Event) error {
	f.ev.FailureCount++
	return nil
}

func (f *Fold) file(e Event) error {
	c, err := Decode[scoring.CapturedFile](e)
	if err != nil {
		return err
	}
	f.ev.Files[c.Key] = c
	f.source("file:"+c.Key, e)
	return nil
}

func (f *Fold) directory(e Event) error {
	c, err := Decode[scoring.CapturedDirectory](e)
	if err != nil {
		return err
	}
	f.ev.Directories[c.Key] = c
	f.source("file:"+c.Key, e)
	return nil
}

func (f *Fold) code(e Event) error {
	c, err := Decode[scoring.CodeRun](e)
	if err != nil {
		return err
	}
	f.ev.CodeRuns[c.ValidatorKey] = c
	f.source("code:"+c.ValidatorKey, e)
	return nil
}

func (f *Fold) source(ref string, e Event) {
	f.ev.Sources[ref] = scoring.Source{Kind: "tool_call", Sequence: e.Sequence, EventType: string(e.Type), FieldPath: ref}
}

// canonical rewrites a tool call's arguments as compact JSON with sorted keys;
// what is not JSON counts as no arguments (scoring.md 2.5).
func canonical(raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || v == nil {
		return "{}"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// errorText is the message inside a tool error {"error": "..."}, else the
// whole content.
func errorText(content string) string {
	var e struct {
		Error string `json:"error"`
	}
	if json.Unmarshal([]byte(content), &e) == nil && e.Error != "" {
		return e.Error
	}
	return content
}
