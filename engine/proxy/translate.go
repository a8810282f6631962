package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/agentclash/agentclash/engine/provider"
)

// translate asks the client, and answers in the format that was asked in.
func (s *Server) translate(w http.ResponseWriter, req request, c *Call) *Refusal {
	ctx, stop := context.WithTimeoutCause(s.life, s.o.CallTime, fmt.Errorf("no whole reply within %v: %w", s.o.CallTime, context.DeadlineExceeded))
	defer stop()
	first := true
	res, err := s.o.Client.Complete(ctx, provider.Request{
		Ref: c.Ref, Model: s.o.Rename, Messages: req.messages, Sampling: provider.Sampling{MaxOutputTokens: c.Output},
		Seed: s.o.Seed,
	}, func(d provider.Delta) {
		if first {
			first = false
			s.o.Watch.First(c, d)
		}
	})
	if err != nil {
		var e *provider.Error
		if !errors.As(err, &e) {
			e = &provider.Error{Code: provider.MalformedResponse, Message: err.Error(), Err: err}
		}
		if e.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.FormatInt(int64(math.Ceil(e.RetryAfter.Seconds())), 10))
			w.Header().Set("Retry-After-Ms", strconv.FormatInt(e.RetryAfter.Milliseconds(), 10))
		}
		bad := refusalOf(e)
		s.answered(c, bad, w.Header())
		s.o.Watch.Failed(c, e)
		return bad
	}
	t := telling{res: res, model: req.model, id: strconv.Itoa(c.Number), usage: provider.Usage{}}
	if res.Usage != nil {
		t.usage = *res.Usage
	}
	told := &heardAnswer{}
	if req.stream {
		t.w = told
		told.Header().Set("Content-Type", "text/event-stream")
		t.stream(req)
	} else {
		document(told, t.whole(req.to))
	}
	c.Answer = told.answer()
	s.o.Watch.Done(c, res)
	c.Answer.write(w)
	return nil
}

// telling writes a reply in a format.
type telling struct {
	w     http.ResponseWriter
	res   provider.Response
	model string
	id    string
	usage provider.Usage
}

type m = map[string]any

func (t *telling) whole(to endpoint) m {
	switch to {
	case chat:
		message := m{"role": "assistant", "content": t.res.Text}
		if calls := t.chatCalls(); len(calls) > 0 {
			message["tool_calls"] = calls
		}
		return t.chatDoc("chat.completion", []m{{"index": 0, "message": message, "finish_reason": t.chatFinish()}}, true)
	case responses:
		return t.response("completed")
	case messages:
		return t.message(t.blocks(), t.usage.Output)
	}
	return t.candidate()
}

func (t *telling) stream(req request) {
	switch req.to {
	case chat:
		t.chatStream(req.askUsage)
	case responses:
		t.responseStream()
	case messages:
		t.messageStream()
	default:
		t.event("", t.candidate())
	}
}

// event writes one event of a stream.
func (t *telling) event(name string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		return // what is written here always marshals
	}
	if name != "" {
		fmt.Fprintf(t.w, "event: %s\n", name)
	}
	fmt.Fprintf(t.w, "data: %s\n\n", raw)
}

// arguments are what the model sent, broken as it may be.
func arguments(c provider.ToolCall) string {
	raw, _ := provider.ArgumentText(c.Arguments)
	return raw
}

// input is the same for formats that have JSON there.
func input(c provider.ToolCall) json.RawMessage {
	if raw, broken := provider.ArgumentText(c.Arguments); !broken {
		return json.RawMessage(raw)
	}
	return json.RawMessage("{}")
}

func (t *telling) chatCalls() (calls []m) {
	for i, c := range t.res.ToolCalls {
		calls = append(calls, m{"index": i, "id": c.ID, "type": "function", "function": m{"name": c.Name, "arguments": arguments(c)}})
	}
	return calls
}

func (t *telling) chatFinish() string {
	switch t.res.Finish {
	case provider.FinishToolCalls:
		return "tool_calls"
	case provider.FinishMaxTokens:
		return "length"
	case provider.FinishContentFilter:
		return "content_filter"
	}
	return "stop"
}

func (t *telling) chatDoc(object string, choices []m, usage bool) m {
	d := m{"id": "chatcmpl-" + t.id, "object": object, "created": 0, "model": t.model, "choices": choices}
	if usage && t.res.Usage != nil {
		u := t.usage
		d["usage"] = m{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Total}
	}
	return d
}

func (t *telling) chatStream(usage bool) {
	delta := m{"role": "assistant", "content": t.res.Text}
	if calls := t.chatCalls(); len(calls) > 0 {
		delta["tool_calls"] = calls
	}
	t.event("", t.chatDoc("chat.completion.chunk", []m{{"index": 0, "delta": delta, "finish_reason": nil}}, false))
	t.event("", t.chatDoc("chat.completion.chunk", []m{{"index": 0, "delta": m{}, "finish_reason": t.chatFinish()}}, false))
	if usage {
		t.event("", t.chatDoc("chat.completion.chunk", []m{}, true))
	}
	fmt.Fprint(t.w, "data: [DONE]\n\n")
}

// items are a response's output.
func (t *telling) items() (items []m) {
	if t.res.Text != "" || len(t.res.ToolCalls) == 0 {
		items = append(items, m{"id": "msg_" + t.id, "type": "message", "role": "assistant", "status": "completed",
			"content": []m{{"type": "output_text", "text": t.res.Text, "annotations": []m{}}}})
	}
	for i, c := range t.res.ToolCalls {
		items = append(items, m{"id": fmt.Sprintf("fc_%s_%d", t.id, i), "type": "function_call", "status": "completed",
			"call_id": c.ID, "name": c.Name, "arguments": arguments(c)})
	}
	return items
}

func (t *telling) response(status string) m {
	d := m{"id": "resp_" + t.id, "object": "response", "created_at": 0, "status": status, "model": t.model, "output": []m{}, "error": nil, "incomplete_details": nil}
	if status == "in_progress" {
		return d
	}
	d["output"] = t.items()
	switch t.res.Finish {
	case provider.FinishMaxTokens:
		d["status"], d["incomplete_details"] = "incomplete", m{"reason": "max_output_tokens"}
	case provider.FinishContentFilter:
		d["status"], d["incomplete_details"] = "incomplete", m{"reason": "content_filter"}
	}
	if t.res.Usage != nil {
		u := t.usage
		d["usage"] = m{"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Total,
			"input_tokens_details": m{"cached_tokens": 0}, "output_tokens_details": m{"reasoning_tokens": 0}}
	}
	return d
}

func (t *telling) responseStream() {
	seq := 0
	say := func(kind string, more m) {
		more["type"], more["sequence_number"] = kind, seq
		seq++
		t.event(kind, more)
	}
	say("response.created", m{"response": t.response("in_progress")})
	for i, item := range t.items() {
		say("response.output_item.added", m{"output_index": i, "item": item})
		if item["type"] == "message" {
			say("response.output_text.delta", m{"output_index": i, "content_index": 0, "item_id": item["id"], "delta": t.res.Text})
			say("response.output_text.done", m{"output_index": i, "content_index": 0, "item_id": item["id"], "text": t.res.Text})
		} else {
			say("response.function_call_arguments.done", m{"output_index": i, "item_id": item["id"], "arguments": item["arguments"]})
		}
		say("response.output_item.done", m{"output_index": i, "item": item})
	}
	done := t.response("completed")
	say("response."+fmt.Sprint(done["status"]), m{"response": done})
}

func (t *telling) blocks() []m {
	blocks := []m{}
	if t.res.Text != "" {
		blocks = append(blocks, m{"type": "text", "text": t.res.Text})
	}
	for _, c := range t.res.ToolCalls {
		blocks = append(blocks, m{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input(c)})
	}
	return blocks
}

func (t *telling) messageStop() string {
	switch t.res.Finish {
	case provider.FinishToolCalls:
		return "tool_use"
	case provider.FinishMaxTokens:
		return "max_tokens"
	case provider.FinishContentFilter:
		return "refusal"
	}
	return "end_turn"
}

func (t *telling) message(blocks []m, output int64) m {
	return m{"id": "msg_" + t.id, "type": "message", "role": "assistant", "model": t.model, "content": blocks,
		"stop_reason": t.messageStop(), "stop_sequence": nil, "usage": m{"input_tokens": t.usage.Input, "output_tokens": output}}
}

func (t *telling) messageStream() {
	start := t.message([]m{}, 0)
	start["stop_reason"] = nil
	t.event("message_start", m{"type": "message_start", "message": start})
	for i, b := range t.blocks() {
		begin, delta := m{"type": "text", "text": ""}, m{"type": "text_delta", "text": b["text"]}
		if raw, ok := b["input"].(json.RawMessage); ok {
			begin = m{"type": "tool_use", "id": b["id"], "name": b["name"], "input": m{}}
			delta = m{"type": "input_json_delta", "partial_json": string(raw)}
		}
		t.event("content_block_start", m{"type": "content_block_start", "index": i, "content_block": begin})
		t.event("content_block_delta", m{"type": "content_block_delta", "index": i, "delta": delta})
		t.event("content_block_stop", m{"type": "content_block_stop", "index": i})
	}
	t.event("message_delta", m{"type": "message_delta", "delta": m{"stop_reason": t.messageStop(), "stop_sequence": nil}, "usage": m{"output_tokens": t.usage.Output}})
	t.event("message_stop", m{"type": "message_stop"})
}

func (t *telling) parts() []m {
	parts := []m{}
	if t.res.Text != "" || len(t.res.ToolCalls) == 0 {
		parts = append(parts, m{"text": t.res.Text})
	}
	for _, c := range t.res.ToolCalls {
		parts = append(parts, m{"functionCall": m{"id": c.ID, "name": c.Name, "args": input(c)}})
	}
	return parts
}

func (t *telling) candidate() m {
	c := m{"index": 0, "content": m{"role": "model", "parts": t.parts()}, "finishReason": "STOP"}
	d := m{"candidates": []m{c}, "modelVersion": t.model, "responseId": t.id}
	switch t.res.Finish {
	case provider.FinishMaxTokens:
		c["finishReason"] = "MAX_TOKENS"
	case provider.FinishContentFilter:
		c["finishReason"] = "SAFETY"
	}
	if t.res.Usage != nil {
		u := t.usage
		d["usageMetadata"] = m{"promptTokenCount": u.Input, "candidatesTokenCount": u.Output, "totalTokenCount": u.Total}
	}
	return d
}
