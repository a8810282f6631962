package gemini

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// chunk is one event of a stream. Its parts are kept as they are
// written: numbers in arguments would not survive otherwise, nor would what this
// version does not know of a part that must be shown again.
type chunk struct {
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		FinishReason string `json:"finishReason"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata json.RawMessage `json:"usageMetadata"`
	ModelVersion  string          `json:"modelVersion"`
}

// piece is a part as far as a reply is made of it.
type piece struct {
	Text         string `json:"text"`
	Thought      bool   `json:"thought"`
	Signature    string `json:"thoughtSignature"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// assembler makes one reply of a stream's chunks.
type assembler struct {
	reply  *wire.Reply
	ref    provider.Ref
	hide   func(string) string // takes secrets out of what an error repeats
	finish string
	said   bool              // some chunk had a candidate
	parts  []json.RawMessage // as the vendor must see them again
	plain  strings.Builder   // text at their end that is not among them yet
	signed bool              // some part has a signature
}

// read takes the whole stream. Usage may come after the finish reason, so it is
// read to its end.
func (a *assembler) read(events *wire.Events) error {
	for events.Next() {
		if err := a.chunk(events.Data()); err != nil {
			return err
		}
	}
	if err := a.reply.Ended(events.Err(), a.finish != "", a.said); err != nil {
		return err
	}
	if !a.signed {
		return nil
	}
	if err := a.flush(); err != nil {
		return err
	}
	state, err := wire.PackState(provider.Gemini, a.parts)
	if err != nil {
		return err
	}
	return a.reply.Keep(state)
}

func (a *assembler) chunk(data []byte) error {
	if provider.ErrorIn(data) {
		return provider.Classify(provider.Failure{Body: []byte(a.hide(string(data)))})
	}
	var c chunk
	if data[0] != '{' || json.Unmarshal(data, &c) != nil {
		return wire.Malformed("a piece of the stream is not a chunk: %s", provider.Excerpt(a.hide(string(data)), 80))
	}
	a.reply.Named(c.ModelVersion)
	if len(c.UsageMetadata) > 0 && string(c.UsageMetadata) != "null" {
		a.reply.Usage = usageOf(c.UsageMetadata)
	}
	if reason := c.PromptFeedback.BlockReason; reason != "" { // there is no candidate then
		a.said, a.finish = true, blocked
	}
	for _, candidate := range c.Candidates {
		if candidate.Index != 0 {
			return wire.Malformed("candidate %d came where one was asked for", candidate.Index)
		}
		a.said = true
		if candidate.FinishReason != "" && a.finish != blocked {
			a.finish = candidate.FinishReason
		}
		for _, raw := range candidate.Content.Parts {
			if err := a.part(raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *assembler) part(raw json.RawMessage) error {
	var p piece
	if err := json.Unmarshal(raw, &p); err != nil {
		return wire.Malformed("a part of the reply cannot be read: %s", provider.Excerpt(a.hide(string(raw)), 80))
	}
	if err := a.keep(p, raw); err != nil {
		return err
	}
	if p.Text != "" && !p.Thought {
		if err := a.reply.Say(p.Text); err != nil {
			return err
		}
	}
	if p.FunctionCall == nil {
		return nil
	}
	n := len(a.reply.Calls())
	call, err := a.reply.Begin(int64(n))
	if err != nil {
		return err
	}
	if call.ID = p.FunctionCall.ID; call.ID == "" {
		call.ID = fmt.Sprintf("%s%d_%d", idPrefix, a.ref.Call, n)
	}
	arguments := string(p.FunctionCall.Args)
	var text *string // arguments that are none: null, or the words that could not be read
	if json.Unmarshal(p.FunctionCall.Args, &text) == nil {
		if arguments = ""; text != nil {
			arguments = *text
		}
	}
	return a.reply.Add(call, p.FunctionCall.Name, arguments)
}

// idPrefix begins the ids that the vendor did not give: it is not told them.
const idPrefix = "gemini_"

func ours(id string) bool { return strings.HasPrefix(id, idPrefix) }

// keep keeps a part for the next request. Texts without a signature are put
// together; thoughts without one need not be shown again.
func (a *assembler) keep(p piece, raw json.RawMessage) error {
	a.signed = a.signed || p.Signature != ""
	switch {
	case p.Signature == "" && p.Thought:
		return a.reply.Grow(len(p.Text))
	case p.Signature == "" && p.FunctionCall == nil:
		a.plain.WriteString(p.Text)
		return nil
	}
	if err := a.flush(); err != nil {
		return err
	}
	a.parts = append(a.parts, raw)
	return a.reply.Grow(len(raw))
}

func (a *assembler) flush() error {
	if a.plain.Len() == 0 {
		return nil
	}
	raw, err := json.Marshal(textOrCall{Text: a.plain.String()})
	a.parts = append(a.parts, raw)
	a.plain.Reset()
	return err
}

// usageOf reads a usage report; one that cannot be read is none.
func usageOf(raw json.RawMessage) *provider.Usage {
	var u usageMetadata
	if json.Unmarshal(raw, &u) != nil || min(u.Prompt, u.ToolUsePrompt, u.Candidates, u.Thoughts) < 0 {
		return nil
	}
	return wire.Usage(provider.Usage{
		Input: u.Prompt + u.ToolUsePrompt, Output: u.Candidates + u.Thoughts,
		Total: u.Total, CacheRead: u.Cached, Reasoning: u.Thoughts,
	})
}

// blocked stands for every reason that a prompt was blocked for.
const blocked = "BLOCKED_PROMPT"

// finishOf puts a finish reason into the one vocabulary.
func finishOf(reason string, calls bool) provider.FinishReason {
	switch reason {
	case "STOP":
		if calls {
			return provider.FinishToolCalls
		}
		return provider.FinishStop
	case "MAX_TOKENS":
		return provider.FinishMaxTokens
	case blocked, "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT",
		"SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return provider.FinishContentFilter
	default:
		return provider.FinishOther
	}
}
