package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// assembler makes one reply of a stream's events.
type assembler struct {
	reply  *wire.Reply
	hide   func(string) string // takes secrets out of what an error repeats
	blocks map[int64]*block    // by the index the vendor gives them
	order  []*block
	signed bool // some block is reasoning
	usage  provider.Usage
	told   bool // some usage was reported
	finish string
	said   bool // the reply has begun
}

// block is one content block as it must be shown again. Texts and arguments are
// gathered while they arrive.
type block struct {
	kind      string
	text      strings.Builder // of text and of reasoning
	signature strings.Builder
	data      string // of redacted reasoning
	call      *wire.ToolCall
}

// read takes the whole stream.
func (a *assembler) read(events *wire.Events) error {
	for events.Next() {
		over, err := a.event(events.Data())
		if err != nil {
			return err
		}
		if over {
			return a.end(nil)
		}
	}
	return a.end(events.Err())
}

func (a *assembler) event(data []byte) (over bool, err error) {
	if provider.ErrorIn(data) {
		return false, provider.Classify(provider.Failure{Body: []byte(a.hide(string(data)))})
	}
	var e sdk.MessageStreamEventUnion
	if data[0] != '{' || json.Unmarshal(data, &e) != nil {
		return false, wire.Malformed("a piece of the stream is not an event: %s", provider.Excerpt(a.hide(string(data)), 80))
	}
	switch e.Type {
	case "message_start":
		a.said = true
		a.reply.Named(string(e.Message.Model))
		if u := e.Message.Usage; e.Message.JSON.Usage.Valid() {
			a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens)
		}
	case "content_block_start":
		return false, a.begin(e)
	case "content_block_delta":
		return false, a.delta(e)
	case "message_delta":
		a.finish = string(e.Delta.StopReason)
		if u := e.Usage; e.JSON.Usage.Valid() {
			a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens)
		}
	case "message_stop":
		return true, nil
	}
	return false, nil // pings, and what this version does not know
}

// count takes a report of usage. Counts grow; a later report that leaves some
// out does not take them back.
func (a *assembler) count(input, read, written, output, reasoning int64) {
	for _, n := range [...]int64{input, read, written, output, reasoning} {
		if n < 0 { // then none of it can be believed
			a.usage.Input = -1
			return
		}
	}
	a.told = true
	u := &a.usage
	u.CacheRead, u.CacheWrite = max(u.CacheRead, read), max(u.CacheWrite, written)
	u.Output, u.Reasoning = max(u.Output, output), max(u.Reasoning, reasoning)
	if u.Input >= 0 {
		u.Input = max(u.Input, input)
	}
}

func (a *assembler) begin(e sdk.MessageStreamEventUnion) error {
	a.said = true
	start := e.ContentBlock
	b := &block{kind: start.Type, data: start.Data}
	if a.blocks[e.Index] != nil {
		return wire.Malformed("content block %d began twice", e.Index)
	}
	a.blocks[e.Index] = b
	a.order = append(a.order, b)
	if err := a.reply.Grow(len(b.data)); err != nil {
		return err
	}
	switch b.kind {
	case "text":
		return a.text(b, start.Text)
	case "thinking", "redacted_thinking":
		a.signed = true
		b.signature.WriteString(start.Signature)
		b.text.WriteString(start.Thinking)
		return a.reply.Grow(len(start.Signature) + len(start.Thinking))
	case "tool_use":
		call, err := a.reply.Begin(int64(len(a.reply.Calls())))
		if err != nil {
			return err
		}
		b.call, call.ID = call, start.ID
		return a.reply.Add(call, start.Name, "")
	}
	return nil
}

func (a *assembler) text(b *block, text string) error {
	text = strings.ToValidUTF8(text, "\uFFFD")
	b.text.WriteString(text)
	return a.reply.Say(text)
}

func (a *assembler) delta(e sdk.MessageStreamEventUnion) error {
	b := a.blocks[e.Index]
	if b == nil {
		return wire.Malformed("a piece came for content block %d, which has not begun", e.Index)
	}
	switch d := e.Delta; d.Type {
	case "text_delta":
		return a.text(b, d.Text)
	case "input_json_delta":
		if b.call == nil {
			return wire.Malformed("arguments came for content block %d, which is no tool call", e.Index)
		}
		return a.reply.Add(b.call, "", d.PartialJSON)
	case "thinking_delta":
		b.text.WriteString(d.Thinking)
		return a.reply.Grow(len(d.Thinking))
	case "signature_delta":
		b.signature.WriteString(d.Signature)
		return a.reply.Grow(len(d.Signature))
	}
	return nil
}

func (a *assembler) end(cut error) error {
	if a.told {
		u := a.usage
		if u.Input >= 0 {
			u.Input += u.CacheRead + u.CacheWrite
		}
		a.reply.Usage = wire.Usage(u)
	}
	if err := a.reply.Ended(cut, a.finish != "", a.said); err != nil {
		return err
	}
	if !a.signed {
		return nil
	}
	state, err := wire.PackState(provider.Anthropic, a.content())
	if err != nil {
		return err
	}
	return a.reply.Keep(state)
}

// content is the reply as the vendor wants to see it again.
func (a *assembler) content() []map[string]any {
	var list []map[string]any
	for _, b := range a.order {
		switch b.kind {
		case "text":
			if strings.TrimSpace(b.text.String()) != "" {
				list = append(list, map[string]any{"type": b.kind, "text": b.text.String()})
			}
		case "thinking":
			list = append(list, map[string]any{"type": b.kind, "thinking": b.text.String(), "signature": b.signature.String()})
		case "redacted_thinking":
			list = append(list, map[string]any{"type": b.kind, "data": b.data})
		case "tool_use":
			list = append(list, map[string]any{"type": b.kind, "id": b.call.ID, "name": b.call.Name,
				"input": wire.SentArguments(provider.RawArguments(b.call.Arguments.String()))})
		}
	}
	return list
}

// finishOf puts a stop reason into the one vocabulary.
func finishOf(reason string, calls bool) provider.FinishReason {
	switch sdk.StopReason(reason) {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		if calls { // a server that only speaks the format may say so
			return provider.FinishToolCalls
		}
		return provider.FinishStop
	case sdk.StopReasonToolUse:
		return provider.FinishToolCalls
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return provider.FinishMaxTokens
	case sdk.StopReasonRefusal:
		return provider.FinishContentFilter
	default:
		return provider.FinishOther
	}
}
