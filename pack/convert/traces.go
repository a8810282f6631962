package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// span is what is read of a span of a trace in OTLP/JSON.
type span struct {
	trace, id, parent, name string
	start                   uint64
	attrs                   map[string]any
}

// maxSpans bounds a file of traces.
const maxSpans = 1_000_000

// readTraces reads OTLP/JSON: a row for each trace in which a model was asked
// something and answered. Spans of judges are left out. Both the attributes of
// the conventions for generative AI and those of older instrumentations are
// read.
func readTraces(documents []document) ([]Row, error) {
	traces := map[string][]span{}
	lines := map[string]int{}
	var order []string
	n := 0
	for _, d := range documents {
		for s := range spansOf(d.value) {
			if n++; n > maxSpans {
				return nil, whole("it has more than %d spans", maxSpans)
			}
			if s.trace == "" {
				return nil, Problems{{Line: d.line, Message: fmt.Sprintf("span %d has no traceId, so that nobody can tell what it belongs to", n)}}
			}
			if _, seen := traces[s.trace]; !seen {
				order = append(order, s.trace)
				lines[s.trace] = d.line
			}
			traces[s.trace] = append(traces[s.trace], s)
		}
	}
	var rows []Row
	for _, id := range order {
		if fields := traceFields(id, traces[id]); fields != nil {
			rows = append(rows, Row{N: len(rows) + 1, Line: lines[id], Fields: fields})
		}
	}
	switch {
	case len(order) == 0:
		return nil, whole("it holds no span: OTLP/JSON has resourceSpans, scopeSpans, spans")
	case len(rows) == 0:
		return nil, whole("none of its %d traces says what a model was asked and answered: export them with their content (--otlp-content)", len(order))
	}
	return rows, nil
}

// spansOf hands over the spans of one export.
func spansOf(v any) func(yield func(span) bool) {
	return func(yield func(span) bool) {
		for resource := range items(v, "resourceSpans") {
			for scope := range items(resource, "scopeSpans") {
				for s := range items(scope, "spans") {
					if !yield(readSpan(s)) {
						return
					}
				}
			}
		}
	}
}

// items are the objects in a list under a key.
func items(v any, key string) func(yield func(map[string]any) bool) {
	return func(yield func(map[string]any) bool) {
		object, _ := v.(map[string]any)
		list, _ := object[key].([]any)
		for _, item := range list {
			if o, ok := item.(map[string]any); ok && !yield(o) {
				return
			}
		}
	}
}

func readSpan(o map[string]any) span {
	s := span{trace: textOf(o["traceId"]), id: textOf(o["spanId"]), parent: textOf(o["parentSpanId"]), name: textOf(o["name"]), attrs: map[string]any{}}
	s.start, _ = strconv.ParseUint(fmt.Sprint(o["startTimeUnixNano"]), 10, 64)
	for a := range items(o, "attributes") {
		s.attrs[textOf(a["key"])] = attribute(a["value"], 0)
	}
	for e := range items(o, "events") { // as instrumentations had it before 2025
		m := map[string]any{}
		for a := range items(e, "attributes") {
			m[textOf(a["key"])] = attribute(a["value"], 0)
		}
		s.event(textOf(e["name"]), m)
	}
	return s
}

// event takes a message that is an event of the span.
func (s *span) event(name string, attrs map[string]any) {
	role, ok := strings.CutPrefix(name, "gen_ai.")
	role, isMessage := strings.CutSuffix(role, ".message")
	switch {
	case ok && isMessage:
		s.add("gen_ai.input.messages", map[string]any{"role": role, "content": attrs["content"]})
	case name == "gen_ai.choice":
		m, isObject := parsedAny(attrs["message"]).(map[string]any)
		if !isObject {
			m = map[string]any{"content": cmp.Or(textOf(attrs["message"]), textOf(attrs["content"]))}
		}
		s.add("gen_ai.output.messages", map[string]any{"role": "assistant", "content": m["content"], "tool_calls": m["tool_calls"]})
	}
}

func (s *span) add(key string, m map[string]any) {
	list, _ := s.attrs[key].([]any)
	s.attrs[key] = append(list, m)
}

func parsedAny(v any) any {
	if raw, ok := v.(string); ok {
		return parsed(raw)
	}
	return v
}

// attribute is the value of an attribute.
func attribute(v any, depth int) any {
	o, ok := v.(map[string]any)
	if !ok || depth > maxDepth {
		return nil
	}
	for kind, inner := range o { // there is one
		switch kind {
		case "arrayValue":
			list := []any{}
			for item := range items(inner, "values") {
				list = append(list, attribute(item, depth+1))
			}
			return list
		case "kvlistValue":
			object := map[string]any{}
			for pair := range items(inner, "values") {
				object[textOf(pair["key"])] = attribute(pair["value"], depth+1)
			}
			return object
		default:
			return inner
		}
	}
	return nil
}

// traceFields are the columns of one trace, nil for one that says nothing.
func traceFields(id string, spans []span) map[string]any {
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var messages []message
	var model string
	var calls []any
	notes := map[string]any{}
	for _, s := range spans {
		if s.attrs["agentclash.judge.key"] != nil {
			continue
		}
		in, out := s.messages("input", "prompt"), s.messages("output", "completion")
		messages = append(append(messages, in...), out...)
		model = cmp.Or(textOf(s.attrs["gen_ai.request.model"]), model)
		if name := textOf(s.attrs["gen_ai.tool.name"]); name != "" && len(calls) < maxToolCalls {
			calls = append(calls, map[string]any{"name": name, "arguments": parsedAny(s.attrs["gen_ai.tool.call.arguments"])})
		}
		if outcome := textOf(s.attrs["agentclash.outcome"]); outcome != "" {
			notes["outcome"] = outcome
		}
	}
	fields, err := conversation(messages)
	if err != nil {
		fields, err = plainTrace(spans)
	}
	if err != nil {
		return nil
	}
	if told, ok := fields[toMetadata].(map[string]any); ok && len(calls) == 0 {
		calls, _ = told["tool_calls"].([]any)
	}
	if len(calls) > 0 {
		notes["tool_calls"] = calls
	}
	if model != "" {
		notes["model"] = model
	}
	notes["trace_id"] = id
	delete(fields, "messages") // requests repeat what was said before
	fields[toID], fields[toMetadata] = id, notes
	return fields
}

// messages are those that a span was asked with or answered, in the form of the
// conventions or, one attribute a message, of older instrumentations.
func (s span) messages(side, older string) []message {
	v := parsedAny(s.attrs["gen_ai."+side+".messages"])
	if list, ok := messageList(v); ok {
		return list
	}
	var list []message
	for i := 0; ; i++ {
		head := fmt.Sprintf("gen_ai.%s.%d.", older, i)
		role, content := s.attrs[head+"role"], s.attrs[head+"content"]
		if role == nil && content == nil {
			return list
		}
		m := message{role: cmp.Or(textOf(role), "assistant")}
		m.read(content)
		for j := 0; ; j++ {
			name := textOf(s.attrs[fmt.Sprintf("%stool_calls.%d.name", head, j)])
			if name == "" {
				break
			}
			m.calls = append(m.calls, toolCall{name, parsedAny(s.attrs[fmt.Sprintf("%stool_calls.%d.arguments", head, j)])})
		}
		list = append(list, m)
	}
}

// plainTrace reads a trace whose root only has a value in and a value out.
func plainTrace(spans []span) (map[string]any, error) {
	for _, s := range spans {
		in, out := plainText(s.attrs["input.value"]), plainText(s.attrs["output.value"])
		if in != "" && out != "" {
			return map[string]any{toInput: in, toExpected: out}, nil
		}
	}
	return nil, fmt.Errorf("no span has a value in and a value out")
}

func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}
