package wire

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

const (
	// MaxToolCalls bounds the tool calls of one reply.
	MaxToolCalls = 128
	// MaxNameBytes bounds the name of a tool, an id, the model.
	MaxNameBytes = 256
)

// Reply makes one reply of the pieces that arrive.
type Reply struct {
	// Model and Usage are as the provider reports them; State is what it must be
	// shown again.
	Model string
	Usage *provider.Usage

	call    *Call
	ref     provider.Ref
	onDelta func(provider.Delta)
	ttft    time.Duration // of the first piece, 0 before
	text    strings.Builder
	calls   []*ToolCall // in the order they began
	state   []byte
	size    int64
}

// ToolCall is a tool call whose pieces are still arriving.
type ToolCall struct {
	Index     int64 // its place among the reply's
	ID, Name  string
	Arguments strings.Builder
}

// Reply begins a reply. onDelta may be nil.
func (k *Call) Reply(req provider.Request, onDelta func(provider.Delta)) *Reply {
	return &Reply{call: k, ref: req.Ref, onDelta: onDelta}
}

// Named keeps the first name that the model goes by.
func (r *Reply) Named(model string) {
	r.Model = cmp.Or(r.Model, provider.Excerpt(model, MaxNameBytes))
}

// Say adds a piece of text.
func (r *Reply) Say(text string) error {
	if text == "" {
		return nil
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if err := r.Grow(len(text)); err != nil {
		return err
	}
	r.text.WriteString(text)
	r.emit(provider.Delta{Text: text})
	return nil
}

// Calls are the tool calls so far, in the order they began.
func (r *Reply) Calls() []*ToolCall { return r.calls }

// Begin adds a tool call. Its name may still be to come.
func (r *Reply) Begin(index int64) (*ToolCall, error) {
	if index < 0 || index >= MaxToolCalls {
		return nil, Malformed("tool call index %d is not within 0 to %d", index, MaxToolCalls-1)
	}
	if len(r.calls) == MaxToolCalls {
		return nil, Malformed("more than %d tool calls", MaxToolCalls)
	}
	call := &ToolCall{Index: index}
	r.calls = append(r.calls, call)
	return call, nil
}

// Add adds pieces of a call's name and arguments.
func (r *Reply) Add(call *ToolCall, name, arguments string) error {
	began := call.Name == ""
	call.Name += name
	call.Arguments.WriteString(arguments)
	limits := r.call.client.Limits
	switch {
	case len(call.Name) > MaxNameBytes || len(call.ID) > MaxNameBytes:
		return Malformed("a tool call's name or id passes %d bytes", MaxNameBytes)
	case int64(call.Arguments.Len()) > limits.ArgumentBytes:
		return Malformed("the arguments of a tool call pass %d bytes", limits.ArgumentBytes)
	}
	if began && call.Name != "" {
		r.emit(provider.Delta{ToolName: call.Name})
	}
	return r.Grow(len(name) + len(arguments))
}

// Grow counts n bytes that are kept of the reply.
func (r *Reply) Grow(n int) error {
	r.size += int64(n)
	if limit := r.call.client.Limits.ReplyBytes; r.size > limit {
		return Malformed("the reply passes %d bytes", limit)
	}
	return nil
}

// Keep sets the state that goes with the reply.
func (r *Reply) Keep(state []byte) error {
	r.state = state
	return r.Grow(len(state))
}

func (r *Reply) emit(d provider.Delta) {
	if r.ttft == 0 {
		r.ttft = r.call.client.now().Sub(r.call.start)
	}
	if r.onDelta != nil {
		r.onDelta(d)
	}
}

// Ended judges a stream that is over. cut is the error it broke off with, nil
// when it did not; finished says whether the reply's last word came, and said
// whether anything of a reply did. A stream is whole once its last word came: an
// end without one was cut, however politely and however early.
func (r *Reply) Ended(cut error, finished, said bool) error {
	var told *provider.Error
	switch {
	case errors.As(cut, &told):
		return told
	case cut != nil && (!finished || r.Usage == nil): // else it broke off after the last word
		return fmt.Errorf("the stream broke off: %w", cut)
	case !finished:
		return &provider.Error{Code: provider.Unavailable, Message: "the stream ended before the reply did"}
	case !said:
		return Malformed("the stream holds no completion")
	}
	for _, call := range r.calls {
		if call.Name == "" {
			return Malformed("a tool call has no name")
		}
	}
	return nil
}

// Response is the whole reply. Calls without an id get one that is unique in the
// conversation. requested is the model that was asked for.
func (r *Reply) Response(requested string, finish provider.FinishReason) provider.Response {
	res := provider.Response{
		Model: cmp.Or(r.Model, requested), Text: r.text.String(), Finish: finish, Usage: r.Usage, State: r.state,
		TTFT: r.ttft, Elapsed: r.call.client.now().Sub(r.call.start),
	}
	slices.SortStableFunc(r.calls, func(x, y *ToolCall) int { return cmp.Compare(x.Index, y.Index) })
	for i, call := range r.calls {
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%d_%d", r.ref.Call, i)
		}
		res.ToolCalls = append(res.ToolCalls, provider.ToolCall{
			ID: strings.ToValidUTF8(call.ID, "\uFFFD"), Name: strings.ToValidUTF8(call.Name, "\uFFFD"),
			Arguments: provider.RawArguments(call.Arguments.String()),
		})
	}
	return res
}

// maxTokenCount is the most tokens one call can be believed to have used.
const maxTokenCount = 1 << 40

// Usage makes a report believable: one with impossible counts is no report,
// caches are within the input, reasoning within the output, and the total is at
// least the sum.
func Usage(u provider.Usage) *provider.Usage {
	for _, n := range [...]int64{u.Input, u.Output, u.Total, u.CacheRead, u.CacheWrite, u.Reasoning} {
		if n < 0 || n > maxTokenCount {
			return nil
		}
	}
	u.CacheRead = min(u.CacheRead, u.Input)
	u.CacheWrite = min(u.CacheWrite, u.Input-u.CacheRead)
	u.Reasoning = min(u.Reasoning, u.Output)
	u.Total = max(u.Total, u.Input+u.Output)
	return &u
}
