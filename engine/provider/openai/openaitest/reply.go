package openaitest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Reply is what the server sends for one request: a streamed completion, or
// with Status, Raw or a fault something else. The zero Reply is a completion
// with no text.
type Reply struct {
	// Pieces are the text, one chunk each.
	Pieces    []string
	ToolCalls []ToolCall
	Finish    string // "" is tool_calls when there are some, else stop
	Usage     *Usage // sent when the request asked for it; nil is not sent
	Model     string // "" is the model asked for

	// Raw replaces the stream's events; each is written with its blank line,
	// and none is added.
	Raw []string

	// Status, Header and Body answer without a stream. A Header alone goes with
	// the stream.
	Status int
	Header map[string]string
	Body   string

	// Delay passes before the headers, Pace after each event, or after each
	// byte with ByByte.
	Delay  time.Duration
	Pace   time.Duration
	ByByte bool
	// Faults, after that many events: the connection drops, the body ends as if
	// all were well, or nothing more comes until the client leaves.
	CutAfter, EndAfter, StallAfter int
}

// ToolCall is one call of a reply. Arguments is sent as it stands, in pieces.
type ToolCall struct {
	ID, Name, Arguments string
}

// Usage is a usage report. Total is the sum when it is 0.
type Usage struct {
	Prompt, Completion, Total, Cached, Reasoning int64
}

// Text is the plain reply: one piece, a usage of 10 and 5 tokens.
func Text(text string) Reply {
	return Reply{Pieces: []string{text}, Usage: &Usage{Prompt: 10, Completion: 5}}
}

// Call is the reply that calls one tool. Its id is call_NAME.
func Call(name, arguments string) Reply {
	return Reply{ToolCalls: []ToolCall{{ID: "call_" + name, Name: name, Arguments: arguments}},
		Usage: &Usage{Prompt: 10, Completion: 5}}
}

// Error is an error document as OpenAI sends them.
func Error(status int, kind, code, message string) Reply {
	doc := map[string]any{"message": message, "type": kind, "param": nil, "code": nil}
	if code != "" {
		doc["code"] = code
	}
	return Reply{Status: status, Body: encode(map[string]any{"error": doc})}
}

// RateLimited is a 429 that asks to wait.
func RateLimited(retryAfter string) Reply {
	r := Error(429, "requests", "rate_limit_exceeded", "Rate limit reached for requests")
	r.Header = map[string]string{"Retry-After": retryAfter}
	return r
}

// HTML is a page such as a proxy puts in the place of a reply.
func HTML(status int) Reply {
	return Reply{Status: status, Header: map[string]string{"Content-Type": "text/html"},
		Body: fmt.Sprintf("<html><head><title>%d</title></head><body><h1>nginx</h1></body></html>", status)}
}

// argumentPiece is how many bytes of arguments go into a chunk; odd, so that
// characters are seldom cut where it would be convenient.
const argumentPiece = 7

type object = map[string]any

// events are the events of the stream, blank lines included.
func (r Reply) events(asked Completion) []string {
	if r.Raw != nil {
		events := make([]string, len(r.Raw))
		for i, raw := range r.Raw {
			events[i] = raw + "\n\n"
		}
		return events
	}
	c := chunker{model: r.Model, usage: asked.StreamOptions.IncludeUsage}
	if c.model == "" {
		c.model = asked.Model
	}
	c.delta(object{"role": "assistant", "content": "", "refusal": nil}, nil)
	for _, text := range r.Pieces {
		c.delta(object{"content": text}, nil)
	}
	for i, call := range r.ToolCalls {
		c.toolCall(i, call)
	}
	c.delta(object{}, r.finish())
	if c.usage && r.Usage != nil {
		c.add(object{"choices": []any{}, "usage": r.Usage.document()})
	}
	return append(c.events, "data: [DONE]\n\n")
}

func (r Reply) finish() string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.ToolCalls) > 0:
		return "tool_calls"
	default:
		return "stop"
	}
}

// chunker writes chunks that share an id, a date and a model.
type chunker struct {
	model  string
	usage  bool
	events []string
}

func (c *chunker) toolCall(index int, call ToolCall) {
	c.delta(object{"tool_calls": []any{object{"index": index, "id": call.ID, "type": "function",
		"function": object{"name": call.Name, "arguments": ""}}}}, nil)
	for rest := []rune(call.Arguments); len(rest) > 0; {
		n := min(argumentPiece, len(rest))
		c.delta(object{"tool_calls": []any{object{"index": index,
			"function": object{"arguments": string(rest[:n])}}}}, nil)
		rest = rest[n:]
	}
}

func (c *chunker) delta(delta object, finish any) {
	c.add(object{"choices": []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}})
}

func (c *chunker) add(fields object) {
	chunk := object{"id": "chatcmpl-loopback", "object": "chat.completion.chunk", "created": 1700000000,
		"model": c.model, "service_tier": "default", "system_fingerprint": "fp_loopback"}
	if c.usage {
		chunk["usage"] = nil
	}
	for k, v := range fields {
		chunk[k] = v
	}
	c.events = append(c.events, "data: "+encode(chunk)+"\n\n")
}

func (u Usage) document() object {
	total := u.Total
	if total == 0 {
		total = u.Prompt + u.Completion
	}
	return object{"prompt_tokens": u.Prompt, "completion_tokens": u.Completion, "total_tokens": total,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning, "audio_tokens": 0}}
}

func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("openaitest: encode: " + err.Error()) // only what this package built
	}
	return strings.TrimSpace(b.String())
}
