package scripted

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/engine/provider"
)

const (
	maxDelay  = 24 * time.Hour
	maxTokens = 1 << 40
)

func (d *decoder) reply(n *yaml.Node) reply {
	var r reply
	f, ok := d.mapping(n, "a reply", "text", "tool_calls", "usage", "delay_ms", "error", "echo", "finish_reason", "end")
	if !ok {
		return r
	}
	if n := f["delay_ms"]; n != nil {
		r.delay = time.Duration(d.integer(n, "delay_ms", maxDelay.Milliseconds())) * time.Millisecond
	}
	if n := f["error"]; n != nil {
		r.fail = d.failure(n)
		for _, key := range []string{"text", "tool_calls", "usage", "echo", "finish_reason"} {
			if f[key] != nil {
				d.problem(f[key], "%s does not go with error: a failed call has no reply", key)
			}
		}
		return r
	}
	if n := f["text"]; n != nil {
		r.text = d.text(n, "text")
	}
	if n := f["echo"]; n != nil {
		r.echo = d.boolean(n, "echo")
	}
	if r.echo && f["text"] != nil {
		d.problem(f["echo"], "echo does not go with text: the reply is one or the other")
	}
	if n := f["tool_calls"]; n != nil {
		r.calls = d.toolCalls(n)
	}
	if n := f["usage"]; n != nil {
		r.usage = d.usage(n)
	}
	if f["text"] == nil && f["tool_calls"] == nil && !r.echo {
		d.problem(n, "a reply says something: give text, tool_calls, echo or error")
	}
	r.finish = d.finish(f["finish_reason"], len(r.calls) > 0)
	return r
}

func (d *decoder) failure(n *yaml.Node) *failure {
	fail := &failure{}
	f, ok := d.mapping(n, "error", "code", "message", "retry_after_ms")
	if !ok {
		return fail
	}
	if f["code"] == nil {
		d.problem(n, "error needs a code: %s", strings.Join(codeNames(), ", "))
	} else if code := d.text(f["code"], "code"); slices.Contains(codeNames(), code) {
		fail.code = provider.Code(code)
	} else {
		d.problem(f["code"], "unknown code %q; it is one of %s%s",
			provider.Excerpt(code, maxQuoted), strings.Join(codeNames(), ", "), nearest(code, codeNames()))
	}
	if n := f["message"]; n != nil {
		fail.message = d.text(n, "message")
	}
	if n := f["retry_after_ms"]; n != nil {
		fail.retryAfter = time.Duration(d.integer(n, "retry_after_ms", maxDelay.Milliseconds())) * time.Millisecond
	}
	return fail
}

func (d *decoder) toolCalls(n *yaml.Node) []toolCall {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		d.wrongKind(n, "tool_calls", "a list with at least one {name, arguments}")
		return nil
	}
	var calls []toolCall
	for _, item := range n.Content {
		f, ok := d.mapping(item, "a tool call", "name", "arguments")
		if !ok {
			continue
		}
		call := toolCall{arguments: json.RawMessage("{}")}
		if f["name"] != nil {
			call.name = d.text(f["name"], "name")
		}
		if call.name == "" {
			d.problem(item, "a tool call needs a name")
		}
		if n := f["arguments"]; n != nil {
			call.arguments = d.arguments(n)
		}
		calls = append(calls, call)
	}
	return calls
}

// arguments are a mapping, or a text that stands for what a model sent.
func (d *decoder) arguments(n *yaml.Node) json.RawMessage {
	switch {
	case n.Kind == yaml.MappingNode:
		return d.json(n)
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		return provider.RawArguments(n.Value)
	default:
		d.wrongKind(n, "arguments", "a mapping, or the text a model sends")
		return nil
	}
}

func (d *decoder) usage(n *yaml.Node) *provider.Usage {
	u := &provider.Usage{}
	f, ok := d.mapping(n, "usage", "input_tokens", "output_tokens")
	if !ok {
		return u
	}
	if n := f["input_tokens"]; n != nil {
		u.Input = d.integer(n, "input_tokens", maxTokens)
	}
	if n := f["output_tokens"]; n != nil {
		u.Output = d.integer(n, "output_tokens", maxTokens)
	}
	u.Total = u.Input + u.Output
	return u
}

func (d *decoder) finish(n *yaml.Node, calls bool) provider.FinishReason {
	if n == nil {
		if calls {
			return provider.FinishToolCalls
		}
		return provider.FinishStop
	}
	known := []string{string(provider.FinishStop), string(provider.FinishToolCalls), string(provider.FinishMaxTokens),
		string(provider.FinishContentFilter), string(provider.FinishOther)}
	word := d.text(n, "finish_reason")
	if !slices.Contains(known, word) {
		d.problem(n, "unknown finish_reason %q; it is one of %s%s",
			provider.Excerpt(word, maxQuoted), strings.Join(known, ", "), nearest(word, known))
	}
	return provider.FinishReason(word)
}
