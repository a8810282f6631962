package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	sdk "github.com/openai/openai-go/v3"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// assembler makes one reply of a stream's chunks.
type assembler struct {
	reply   *wire.Reply
	hide    func(string) string // takes secrets out of what an error repeats
	finish  string
	choices bool // some chunk had one
}

// read takes the whole stream.
func (a *assembler) read(events *wire.Events) error {
	for events.Next() {
		data := events.Data()
		if bytes.Equal(data, []byte("[DONE]")) {
			return a.end(nil)
		}
		if err := a.chunk(data); err != nil {
			return err
		}
	}
	return a.end(events.Err())
}

func (a *assembler) chunk(data []byte) error {
	if provider.ErrorIn(data) {
		return provider.Classify(provider.Failure{Body: []byte(a.hide(string(data)))})
	}
	var chunk sdk.ChatCompletionChunk
	if data[0] != '{' || json.Unmarshal(data, &chunk) != nil {
		return wire.Malformed("a piece of the stream is not a chunk: %s", provider.Excerpt(a.hide(string(data)), 80))
	}
	a.reply.Named(chunk.Model)
	if chunk.JSON.Usage.Valid() {
		a.reply.Usage = usageOf(chunk.Usage)
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			return wire.Malformed("choice %d came where one was asked for", choice.Index)
		}
		a.choices = true
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
		if err := a.delta(choice.Delta); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembler) delta(d sdk.ChatCompletionChunkChoiceDelta) error {
	for _, text := range [...]string{d.Content, d.Refusal} { // a refusal is the model's answer too
		if err := a.reply.Say(text); err != nil {
			return err
		}
	}
	for _, piece := range d.ToolCalls {
		if err := a.toolCall(piece); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembler) toolCall(piece sdk.ChatCompletionChunkChoiceDeltaToolCall) error {
	if piece.Type != "" && piece.Type != "function" {
		return wire.Malformed("a tool call of type %q", provider.Excerpt(a.hide(piece.Type), wire.MaxNameBytes))
	}
	call, err := a.callFor(piece)
	if err != nil {
		return err
	}
	call.ID = cmp.Or(call.ID, piece.ID)
	name := piece.Function.Name
	if name == call.Name { // some servers repeat the whole name
		name = ""
	}
	return a.reply.Add(call, name, piece.Function.Arguments)
}

// callFor finds the call a piece belongs to, or begins one. The index says
// which, unless the piece begins another call under it.
func (a *assembler) callFor(piece sdk.ChatCompletionChunkChoiceDeltaToolCall) (*wire.ToolCall, error) {
	for _, call := range slices.Backward(a.reply.Calls()) {
		if call.Index != piece.Index {
			continue
		}
		if begins(piece, call) {
			break
		}
		return call, nil
	}
	return a.reply.Begin(piece.Index)
}

// begins says whether a piece with the index of call is the start of another:
// some servers number every parallel call 0. Such a piece has a name, and a new
// id, or arguments of its own although those of call are whole.
func begins(piece sdk.ChatCompletionChunkChoiceDeltaToolCall, call *wire.ToolCall) bool {
	if piece.Function.Name == "" || call.Name == "" {
		return false
	}
	if piece.ID != "" && call.ID != "" && piece.ID != call.ID {
		return true
	}
	return piece.Function.Arguments != "" && json.Valid([]byte(call.Arguments.String()))
}

// end judges a stream that is over; cut is the error it broke off with.
func (a *assembler) end(cut error) error {
	if err := a.reply.Ended(cut, a.finish != "", a.choices); err != nil {
		return err
	}
	if a.finish == "error" {
		return &provider.Error{Code: provider.Unavailable, Message: "the server ended the reply with an error"}
	}
	return nil
}

// finishOf puts a finish reason into the one vocabulary. Some servers say stop
// when they mean tool calls.
func finishOf(reason string, calls bool) provider.FinishReason {
	switch reason {
	case "tool_calls", "function_call":
		return provider.FinishToolCalls
	case "stop", "eos", "end_turn":
		if calls {
			return provider.FinishToolCalls
		}
		return provider.FinishStop
	case "length", "max_tokens", "model_length":
		return provider.FinishMaxTokens
	case "content_filter":
		return provider.FinishContentFilter
	default:
		return provider.FinishOther
	}
}

// usageOf reads a usage report; one with impossible counts is no report.
func usageOf(u sdk.CompletionUsage) *provider.Usage {
	out := provider.Usage{
		Input: u.PromptTokens, Output: u.CompletionTokens, Total: u.TotalTokens,
		CacheRead:  u.PromptTokensDetails.CachedTokens,
		CacheWrite: u.PromptTokensDetails.CacheWriteTokens,
		Reasoning:  u.CompletionTokensDetails.ReasoningTokens,
	}
	// Some servers, xAI's among them, count reasoning beside the output.
	if out.Reasoning > out.Output || out.Reasoning > 0 && out.Total == out.Input+out.Output+out.Reasoning {
		out.Output += out.Reasoning
	}
	return wire.Usage(out)
}
