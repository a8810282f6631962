package event

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// What a pack's security block is held against: all that agent and tools said,
// and where the trial went. It is kept for cases that are watched alone.

// submit is the tool that hands in.
const submit = "submit"

// maxSaid is how many bytes are kept of all that was said in a trial.
const maxSaid = 16 << 20

// tooMany is the reason of the last decision about the network that is stated:
// what was tried after it is not known.
const tooMany = "too_many_connections"

func (f *Fold) say(e Event, s scoring.Said) {
	if !f.ev.Case.Watched {
		return
	}
	if f.said += len(s.Text); f.said > maxSaid {
		f.ev.SaidCut, s.Cut, s.Text = true, true, ""
	}
	s.Source.Kind, s.Source.Sequence, s.Source.EventType = cmp.Or(s.Source.Kind, scoring.KindRunEvent), e.Sequence, string(e.Type)
	f.ev.Said = append(f.ev.Said, s)
}

// spoken is a reply of the model: its text, even an empty one, and the arguments
// of each call.
func (f *Fold) spoken(e Event) error {
	if !f.ev.Case.Watched {
		return nil
	}
	reply, err := members[struct {
		Text      text              `json:"output_text"`
		Finish    text              `json:"finish_reason"`
		ToolCalls []json.RawMessage `json:"tool_calls"`
	}](e)
	if err != nil {
		return err
	}
	from := scoring.Source{Kind: scoring.KindModelCall, FieldPath: "output_text"}
	f.say(e, scoring.Said{
		Role: scoring.SaidByAssistant, Message: f.messages, Text: reply.Text.String(), Source: from,
		Withheld: reply.Finish.String() == string(provider.FinishContentFilter),
	})
	from.FieldPath = "tool_calls"
	for _, raw := range reply.ToolCalls {
		var call struct {
			Name      text            `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if json.Unmarshal(raw, &call) != nil {
			continue // no call
		}
		name := strings.TrimSpace(call.Name.String())
		f.say(e, scoring.Said{
			Role: scoring.SaidByAssistant, Message: f.messages, Tool: name + ":arguments", Text: plainText(call.Arguments),
			Answer: name == submit, Source: from,
		})
	}
	f.messages++
	return nil
}

// withheld is a call that the provider refused for what was asked.
func (f *Fold) withheld(e Event) error {
	call, err := members[struct {
		Code     text `json:"code"`
		JudgeKey text `json:"judge_key"`
		PhaseID  text `json:"phase_id"`
	}](e)
	if err != nil || call.Code.String() != string(provider.ContentFilter) || call.JudgeKey.s != nil || call.PhaseID.s != nil {
		return err
	}
	f.say(e, scoring.Said{Role: scoring.SaidByAssistant, Message: f.messages, Withheld: true, Source: scoring.Source{Kind: scoring.KindModelCall}})
	f.messages++
	return nil
}

// told is what a tool answered: the streams of a program each by itself.
func (f *Fold) told(e Event, name string, content json.RawMessage) {
	if !f.ev.Case.Watched {
		return
	}
	from := scoring.Source{Kind: scoring.KindToolCall, FieldPath: "result.content"}
	for _, part := range parts(content) {
		f.say(e, scoring.Said{Role: scoring.SaidByTool, Tool: name + ":" + part.field, Text: part.text, Source: from})
	}
}

type part struct{ field, text string }

// parts splits a tool's answer. It is a text, which may be that of a JSON object.
// Such an object is the engine's own, and its keys are no one's words; what they
// lead to is. A key that stands twice is read twice.
func parts(content json.RawMessage) []part {
	var s string
	if json.Unmarshal(content, &s) != nil {
		s = string(content)
	}
	if !strings.HasPrefix(strings.TrimSpace(s), "{") || !json.Valid([]byte(s)) {
		return []part{{"result", s}}
	}
	var list []part
	var rest []string
	dec := json.NewDecoder(strings.NewReader(s))
	_, _ = dec.Token() // the brace
	for dec.More() {
		key, _ := dec.Token()
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			break // it is valid
		}
		var said string
		if (key == "stdout" || key == "stderr") && json.Unmarshal(value, &said) == nil {
			if said != "" {
				list = append(list, part{fmt.Sprint(key), said})
			}
			continue
		}
		rest = append(rest, plainText(value))
	}
	return append(list, part{"result", strings.Join(rest, "\n")})
}

// plainText is every key, text and number of a JSON value, a line each: escapes
// hide nothing, and a pattern for the start of a line finds it. What is no JSON,
// or comes after it, is there as it is.
func plainText(raw json.RawMessage) string {
	var b strings.Builder
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Write(raw)
			break
		}
		switch v := token.(type) {
		case string:
			b.WriteString(v)
		case json.Number:
			b.WriteString(v.String())
		default:
			continue
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// prompted begins or goes on with what comes after the agent's work: the pack's
// adversarial prompts. What happens from here on is no evidence of the task.
func (f *Fold) prompted(e Event) error {
	p, err := members[struct {
		Name text `json:"name"`
		Text text `json:"text"`
	}](e)
	if err != nil {
		return err
	}
	f.probed = true
	f.say(e, scoring.Said{
		Role: scoring.SaidByUser, Message: f.messages, Text: p.Text.String(), Authored: true, Prompt: p.Name.String(),
		Source: scoring.Source{FieldPath: "text"},
	})
	f.messages++
	return nil
}

// userSaid is what a user said in a conversation. Whoever plays the user, it is
// none of the agent's doing.
func (f *Fold) userSaid(e Event, content string) {
	if e.Type != TurnUser {
		return
	}
	f.say(e, scoring.Said{Role: scoring.SaidByUser, Message: f.messages, Text: content, Authored: true, Source: scoring.Source{FieldPath: "content"}})
	f.messages++
}

// contacted is a destination that the agent tried; what graders do is none of its
// doing.
func (f *Fold) contacted(e Event) error {
	if !f.ev.Case.Watched || e.Source == SourceGrader {
		return nil
	}
	c, err := members[struct {
		Via     text  `json:"via"`
		Host    text  `json:"host"`
		Port    count `json:"port"`
		Path    text  `json:"path"`
		Allowed bool  `json:"allowed"`
		Reason  text  `json:"reason"`
	}](e)
	if err != nil {
		return err
	}
	f.ev.ContactsCut = f.ev.ContactsCut || c.Reason.String() == tooMany
	f.ev.Contacts = append(f.ev.Contacts, scoring.Contact{
		Via: c.Via.String(), Host: c.Host.String(), Port: int(c.Port.value()), Path: c.Path.String(), Allowed: c.Allowed, Reason: c.Reason.String(),
		Source: scoring.Source{Kind: scoring.KindRunEvent, Sequence: e.Sequence, EventType: string(e.Type), FieldPath: "host"},
	})
	return nil
}
