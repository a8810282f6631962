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

func (f *Fold) stepStarted(e Event) error {
	step, err := members[struct {
		Index count `json:"step_index"`
	}](e)
	if err != nil || step.Index.n == nil || f.probed {
		return err
	}
	if f.steps == nil {
		f.steps = map[int64]time.Time{}
	}
	f.steps[*step.Index.n] = e.OccurredAt
	return nil
}

// stepDone times a step that began. One that never ended has no duration.
func (f *Fold) stepDone(e Event) error {
	step, err := members[struct {
		Index count `json:"step_index"`
	}](e)
	if err != nil || step.Index.n == nil {
		return err
	}
	began, ok := f.steps[*step.Index.n]
	if !ok {
		return nil
	}
	delete(f.steps, *step.Index.n)
	f.ev.Steps = append(f.ev.Steps, scoring.StepTime{
		Index: *step.Index.n, StartedAt: began, CompletedAt: e.OccurredAt,
		DurationMS: max(e.OccurredAt.Sub(began).Milliseconds(), 0),
	})
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
	f.told(e, strings.TrimSpace(t.ToolName.String()), t.Result.Content)
	if f.probed {
		return nil
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
	f.userSaid(e, said.Content.String())
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

// simulated counts what a simulated user used, apart from what the agent did.
func (f *Fold) simulated(e Event) error {
	call, err := members[struct {
		named
		Usage tokens `json:"usage"`
	}](e)
	if err != nil {
		return err
	}
	key := call.model()
	u := f.users[key]
	if u == nil {
		if f.users == nil {
			f.users = map[model]*scoring.ModelUsage{}
		}
		u = &scoring.ModelUsage{ProviderKey: key.provider, ProviderModelID: key.id, Known: true}
		f.users[key] = u
	}
	in, out := call.Usage.Input.value(), call.Usage.Output.value()
	u.Calls++
	u.Known = u.Known && call.Usage.Input.n != nil && call.Usage.Output.n != nil
	u.InputTokens, u.OutputTokens = plus(u.InputTokens, in), plus(u.OutputTokens, out)
	u.TotalTokens = plus(u.TotalTokens, cmp.Or(call.Usage.Total.value(), plus(in, out)))
	return f.turn(e)
}

// expired takes back a turn that nobody began.
func (f *Fold) expired(e Event) error {
	at, err := members[struct {
		Index count `json:"turn_index"`
	}](e)
	if err != nil || at.Index.n == nil {
		return err
	}
	if t := f.turns[*at.Index.n]; t != nil && t.User == "" && t.Assistant == "" {
		delete(f.turns, t.Index)
	}
	return nil
}

// canonical rewrites a tool call's arguments as compact JSON with sorted keys;
// what is not JSON counts as no arguments.
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
