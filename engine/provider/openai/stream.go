package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/agentclash/agentclash/engine/provider"
)

const (
	maxToolCalls = 128
	maxNameBytes = 256 // of a tool, an id, the model
)

// assembler makes one reply of a stream's chunks.
type assembler struct {
	limits Limits
	ref    provider.Ref
	emit   func(provider.Delta)
	hide   func(string) string // takes secrets out of what an error repeats
	ttft   time.Duration       // of the first emitted piece, 0 before

	model   string
	text    strings.Builder
	calls   []*partialCall // in the order they began
	size    int64
	finish  string
	usage   *provider.Usage
	choices bool // some chunk had one
}

// partialCall is a tool call whose pieces are still arriving.
type partialCall struct {
	index     int64
	id, name  string
	arguments strings.Builder
}

// read takes the whole stream. A stream is whole once a finish reason came: an
// end without one was cut, however politely.
func (a *assembler) read(res *http.Response) error {
	events := ssestream.NewDecoder(res)
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if bytes.Equal(data, []byte("[DONE]")) {
			return a.end(nil)
		}
		if len(data) == 0 {
			continue
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
		return malformed("a piece of the stream is not a chunk: %s", provider.Excerpt(a.hide(string(data)), 80))
	}
	if a.model == "" {
		a.model = provider.Excerpt(chunk.Model, maxNameBytes)
	}
	if chunk.JSON.Usage.Valid() {
		a.usage = usageOf(chunk.Usage)
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			return malformed("choice %d came where one was asked for", choice.Index)
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
		if text == "" {
			continue
		}
		text = strings.ToValidUTF8(text, "\uFFFD")
		if err := a.grow(len(text)); err != nil {
			return err
		}
		a.text.WriteString(text)
		a.emit(provider.Delta{Text: text})
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
		return malformed("a tool call of type %q", provider.Excerpt(a.hide(piece.Type), maxNameBytes))
	}
	call, err := a.callFor(piece)
	if err != nil {
		return err
	}
	began := call.name == ""
	if call.id == "" {
		call.id = piece.ID
	}
	if piece.Function.Name != call.name { // some servers repeat the whole name
		call.name += piece.Function.Name
	}
	call.arguments.WriteString(piece.Function.Arguments)
	switch {
	case len(call.name) > maxNameBytes || len(call.id) > maxNameBytes:
		return malformed("a tool call's name or id passes %d bytes", maxNameBytes)
	case int64(call.arguments.Len()) > a.limits.ArgumentBytes:
		return malformed("the arguments of a tool call pass %d bytes", a.limits.ArgumentBytes)
	}
	if began && call.name != "" {
		a.emit(provider.Delta{ToolName: call.name})
	}
	return a.grow(len(piece.Function.Name) + len(piece.Function.Arguments))
}

// callFor finds the call a piece belongs to, or begins one. The index says
// which, unless the piece begins another call under it.
func (a *assembler) callFor(piece sdk.ChatCompletionChunkChoiceDeltaToolCall) (*partialCall, error) {
	if piece.Index < 0 || piece.Index >= maxToolCalls {
		return nil, malformed("tool call index %d is not within 0 to %d", piece.Index, maxToolCalls-1)
	}
	for _, call := range slices.Backward(a.calls) {
		if call.index != piece.Index {
			continue
		}
		if begins(piece, call) {
			break
		}
		return call, nil
	}
	if len(a.calls) == maxToolCalls {
		return nil, malformed("more than %d tool calls", maxToolCalls)
	}
	call := &partialCall{index: piece.Index}
	a.calls = append(a.calls, call)
	return call, nil
}

// begins says whether a piece with the index of call is the start of another:
// some servers number every parallel call 0. Such a piece has a name, and a new
// id, or arguments of its own although those of call are whole.
func begins(piece sdk.ChatCompletionChunkChoiceDeltaToolCall, call *partialCall) bool {
	if piece.Function.Name == "" || call.name == "" {
		return false
	}
	if piece.ID != "" && call.id != "" && piece.ID != call.id {
		return true
	}
	return piece.Function.Arguments != "" && json.Valid([]byte(call.arguments.String()))
}

func (a *assembler) grow(n int) error {
	a.size += int64(n)
	if a.size > a.limits.ReplyBytes {
		return malformed("the reply passes %d bytes", a.limits.ReplyBytes)
	}
	return nil
}

// end judges a stream that is over; cut is the error it broke off with.
func (a *assembler) end(cut error) error {
	var told *provider.Error
	switch {
	case errors.As(cut, &told):
		return told
	case errors.Is(cut, bufio.ErrTooLong):
		return malformed("a line of the stream is too long")
	case cut != nil && (a.finish == "" || a.usage == nil): // else it broke off after the last word
		return fmt.Errorf("the stream broke off: %w", cut)
	case !a.choices:
		return malformed("the stream holds no completion")
	case a.finish == "":
		return &provider.Error{Code: provider.Unavailable, Message: "the stream ended before the reply did"}
	case a.finish == "error":
		return &provider.Error{Code: provider.Unavailable, Message: "the server ended the reply with an error"}
	}
	for _, call := range a.calls {
		if call.name == "" {
			return malformed("a tool call has no name")
		}
	}
	return nil
}

func (a *assembler) response() provider.Response {
	res := provider.Response{
		Model:  a.model,
		Text:   a.text.String(),
		Finish: finishOf(a.finish, len(a.calls) > 0),
		Usage:  a.usage,
		TTFT:   a.ttft,
	}
	slices.SortStableFunc(a.calls, func(x, y *partialCall) int { return int(x.index - y.index) })
	for i, call := range a.calls {
		if call.id == "" {
			call.id = fmt.Sprintf("call_%d_%d", a.ref.Call, i)
		}
		res.ToolCalls = append(res.ToolCalls, provider.ToolCall{
			ID: strings.ToValidUTF8(call.id, "\uFFFD"), Name: strings.ToValidUTF8(call.name, "\uFFFD"),
			Arguments: provider.RawArguments(call.arguments.String()),
		})
	}
	return res
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

// maxTokenCount is the most tokens one call can be believed to have used.
const maxTokenCount = 1 << 40

// usageOf reads a usage report; one with impossible counts is no report.
func usageOf(u sdk.CompletionUsage) *provider.Usage {
	out := provider.Usage{
		Input: u.PromptTokens, Output: u.CompletionTokens, Total: u.TotalTokens,
		CacheRead:  u.PromptTokensDetails.CachedTokens,
		CacheWrite: u.PromptTokensDetails.CacheWriteTokens,
		Reasoning:  u.CompletionTokensDetails.ReasoningTokens,
	}
	for _, n := range [...]int64{out.Input, out.Output, out.Total, out.CacheRead, out.CacheWrite, out.Reasoning} {
		if n < 0 || n > maxTokenCount {
			return nil
		}
	}
	// Some servers, xAI's among them, count reasoning beside the output.
	if out.Reasoning > out.Output || out.Reasoning > 0 && out.Total == out.Input+out.Output+out.Reasoning {
		out.Output += out.Reasoning
	}
	out.CacheRead = min(out.CacheRead, out.Input)
	out.CacheWrite = min(out.CacheWrite, out.Input-out.CacheRead)
	out.Total = max(out.Total, out.Input+out.Output)
	return &out
}
