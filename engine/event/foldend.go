package event

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentclash/agentclash/scoring"
)

// ending is what a terminal event says.
type ending struct {
	FinalOutput text `json:"final_output"`
	tokens
	Usage         tokens `json:"usage"`
	ToolCallCount count  `json:"tool_call_count"`
	LatencyMS     count  `json:"latency_ms"`
}

// completed takes the word of the terminal event over what came before: for
// the output, the counts and, where it measured it itself, the time.
func (f *Fold) completed(e Event) error {
	end, err := members[ending](e)
	if err != nil {
		return err
	}
	f.end(e, end, true)
	if end.FinalOutput.s != nil {
		f.ev.FinalOutput = end.FinalOutput.s
	}
	if said := end.tokens.or(end.Usage); said.known() {
		f.ev.InputTokens, f.ev.OutputTokens, f.ev.TotalTokens = said.Input.n, said.Output.n, said.Total.n
		f.source(scoring.AtUsage, scoring.KindRunEvent, e, "")
	}
	if ms := end.LatencyMS.n; ms != nil && !f.ev.StartedAt.IsZero() && *ms <= int64(maxLatency/time.Millisecond) {
		f.ev.EndedAt = f.ev.StartedAt.Add(time.Duration(*ms) * time.Millisecond)
	}
	return nil
}

// maxLatency is what a terminal event may say of itself and be believed.
const maxLatency = 10000 * time.Hour

func (f *Fold) failed(e Event) error {
	end, err := members[ending](e)
	if err != nil {
		return err
	}
	f.end(e, end, false)
	return f.failure(e)
}

func (f *Fold) end(e Event, end ending, completed bool) {
	f.ev.EndedAt, f.ev.Completed = e.OccurredAt, &completed
	f.source(scoring.AtEnd, scoring.KindRunEvent, e, "")
	if n := end.ToolCallCount.n; n != nil {
		f.ev.ToolCallCount = new(int(*n))
		f.source(scoring.AtToolCount, scoring.KindRunEvent, e, "tool_call_count")
	}
}

// failure counts what failed; the first is the one to look at.
func (f *Fold) failure(e Event) error {
	if f.ev.FailureCount == 0 {
		kind := scoring.KindRunEvent
		if e.Type != Failed {
			kind = scoring.KindToolCall
		}
		f.source(scoring.AtFailure, kind, e, "")
	}
	f.ev.FailureCount++
	return nil
}

// maxToolError is what is kept of a failed call's error.
const maxToolError = 4 << 10

func (f *Fold) tool(e Event) error {
	t, err := members[struct {
		ToolName      text            `json:"tool_name"`
		Arguments     json.RawMessage `json:"arguments"`
		FailureOrigin text            `json:"failure_origin"`
		Result        struct {
			Content json.RawMessage `json:"content"`
			IsError bool            `json:"is_error"`
		} `json:"result"`
	}](e)
	if err != nil {
		return err
	}
	call := scoring.ToolCall{
		Sequence: e.Sequence, EventType: string(e.Type), Name: strings.TrimSpace(t.ToolName.String()),
		Arguments: canonical(t.Arguments), FailureOrigin: t.FailureOrigin.String(),
		Failed: e.Type == ToolFailed || t.Result.IsError,
	}
	if call.Failed {
		call.Error = cutText(errorOf(t.Result.Content), maxToolError)
		if err := f.failure(e); err != nil {
			return err
		}
	}
	if call.Name != "" {
		f.ev.ToolCalls = append(f.ev.ToolCalls, call)
	}
	return nil
}

func (f *Fold) standings(e Event) error {
	s, err := members[struct {
		TokensAdded count `json:"tokens_added"`
	}](e)
	if err != nil || s.TokensAdded.n == nil {
		return err
	}
	f.ev.RaceContextTokens = plus(f.ev.RaceContextTokens, *s.TokensAdded.n)
	f.source(scoring.AtStandings, scoring.KindRunEvent, e, "tokens_added")
	return nil
}

// turn adds what an event says to the turn that it is of.
func (f *Fold) turn(e Event) error {
	said, err := members[struct {
		Index    count `json:"turn_index"`
		PhaseID  text  `json:"phase_id"`
		Actor    text  `json:"actor"`
		Content  text  `json:"content"`
		Mismatch bool  `json:"mismatch"`
	}](e)
	if err != nil || said.Index.n == nil {
		return err
	}
	t := f.turns[*said.Index.n]
	if t == nil {
		t = &scoring.Turn{Index: *said.Index.n}
		if f.turns == nil {
			f.turns = map[int64]*scoring.Turn{}
		}
		f.turns[t.Index] = t
	}
	t.PhaseID, t.Actor = cmp.Or(said.PhaseID.String(), t.PhaseID), cmp.Or(said.Actor.String(), t.Actor)
	t.Source = scoring.Source{Kind: scoring.KindRunEvent, Sequence: e.Sequence, EventType: string(e.Type)}
	switch e.Type {
	case TurnUser:
		t.User = said.Content.String()
	case TurnAssistant:
		t.Assistant = said.Content.String()
	case TurnDone:
		t.Mismatched = said.Mismatch
	}
	return nil
}

// graded reads what the engine's own verification states; there a member of
// the wrong kind is damage.
func graded[T any](e Event) (T, error) {
	var none T
	if raw := bytes.TrimSpace(e.Payload); len(raw) > 0 && raw[0] != '{' && json.Valid(raw) {
		return none, nil
	}
	return Decode[T](e)
}

func (f *Fold) file(e Event) error {
	c, err := graded[scoring.CapturedFile](e)
	if err != nil || c.Key == "" {
		return err
	}
	f.ev.Files[c.Key] = c
	f.captured(c.Key, e)
	return nil
}

// directory: a listing that does not say whether there was anything to list is
// taken as one.
func (f *Fold) directory(e Event) error {
	c, err := graded[struct {
		scoring.CapturedDirectory
		Exists *bool `json:"exists"`
	}](e)
	if err != nil || c.Key == "" {
		return err
	}
	c.CapturedDirectory.Exists = c.Exists == nil || *c.Exists
	f.ev.Directories[c.Key] = c.CapturedDirectory
	f.captured(c.Key, e)
	return nil
}

func (f *Fold) captured(key string, e Event) {
	f.source(scoring.AtFile(key), scoring.KindToolCall, e, scoring.AtFile(key))
}

func (f *Fold) code(e Event) error {
	c, err := graded[scoring.CodeRun](e)
	if err != nil || c.ValidatorKey == "" {
		return err
	}
	f.ev.CodeRuns[c.ValidatorKey] = c
	f.source(scoring.AtCode(c.ValidatorKey), scoring.KindToolCall, e, c.Target)
	return nil
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

// errorOf is the message of a failed call: a text, or the error inside an
// object, whether it stands there as JSON or as the text of one.
func errorOf(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return errorText(s)
	}
	return errorText(string(content))
}

// errorText is the message inside a tool error {"error": "..."}, else the
// whole content.
func errorText(content string) string {
	if !strings.HasPrefix(strings.TrimSpace(content), "{") {
		return content
	}
	var e struct {
		Error text `json:"error"`
	}
	if json.Unmarshal([]byte(content), &e) == nil && e.Error.String() != "" {
		return e.Error.String()
	}
	return content
}

// cutText keeps the first n bytes of a text, in whole characters.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
