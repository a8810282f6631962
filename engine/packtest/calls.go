package packtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/scoring"
)

// assertion is the config of a tool_call_assertion, as far as it is read here.
type assertion struct {
	Tool      string         `json:"tool_name"`
	Must      *bool          `json:"must_call"`
	Count     *int           `json:"count"`
	Least     *int           `json:"min_count"`
	Most      *int           `json:"max_count"`
	Arguments map[string]any `json:"arguments_contain"`
	Ordered   []string       `json:"ordered_tools"`
}

// assertionOf reads the config of a tool_call_assertion; ok is false for every
// other type.
func assertionOf(v scoring.Validator) (a assertion, ok bool) {
	if v.Type != scoring.ToolCallAssertion || json.Unmarshal(v.Config, &a) != nil {
		return a, false
	}
	a.Tool = strings.TrimSpace(a.Tool)
	return a, true
}

// maxAsked bounds how often one call is made.
const maxAsked = 20

// times is how often the call must be made at least.
func (a assertion) times() int {
	n := 0
	switch {
	case a.Count != nil:
		n = *a.Count
	case a.Least != nil:
		n = *a.Least
	case a.Must != nil && !*a.Must, a.Most != nil:
	case a.Tool != "" || len(a.Arguments) > 0:
		n = 1
	}
	if a.Must != nil && *a.Must {
		n = max(n, 1)
	}
	return min(n, maxAsked)
}

// asked are the calls that the validators want to see, with arguments that do
// no harm: an agent that knows what is counted makes them for show.
func (s *subject) asked() []provider.ToolCall {
	var calls []provider.ToolCall
	add := func(name string, fragment map[string]any) {
		if name == tool.Submit || len(calls) >= maxToolCalls/2 {
			return // the end of every answer
		}
		args := s.harmless(name)
		maps.Copy(args, fragment)
		calls = append(calls, call(name, args))
	}
	for _, v := range s.spec.Validators {
		a, ok := assertionOf(v)
		if !ok || v.Negate {
			continue
		}
		name := a.Tool
		if name == "" {
			name = "list_files"
		}
		for range a.times() {
			add(name, a.Arguments)
		}
		for _, name := range a.Ordered[:min(len(a.Ordered), maxAsked)] {
			add(strings.TrimSpace(name), nil)
		}
	}
	return calls
}

// harmless are arguments with which a built-in tool does next to nothing.
func (s *subject) harmless(name string) map[string]any {
	switch name {
	case "exec":
		return map[string]any{"command": []string{"true"}}
	case "write_file":
		return map[string]any{"path": ".asked", "content": nothing}
	case "read_file":
		return map[string]any{"path": ".asked"}
	}
	return map[string]any{}
}

// spoilCalls leaves calls out and makes others: all or none of a tool's, one of
// them, one twice, those that a validator asks about, and as many as it counts
// or one more or less.
func (s *subject) spoilCalls(ev scoring.Evidence) []scoring.Evidence {
	var list []scoring.Evidence
	with := func(calls []scoring.ToolCall) {
		spoiled := ev
		spoiled.ToolCalls = calls
		list = append(list, spoiled)
	}
	for _, v := range s.spec.Validators {
		if a, ok := assertionOf(v); ok && len(list) < maxSpoiledKeys {
			for _, calls := range a.spoil(ev.ToolCalls) {
				with(calls)
			}
		}
	}
	tools := map[string]bool{}
	for _, c := range ev.ToolCalls {
		tools[c.Name] = true
	}
	if len(tools) == 0 {
		return list
	}
	with(nil)
	with(append(slices.Clone(ev.ToolCalls), ev.ToolCalls[0]))
	names := sorted(tools)
	for _, name := range names[:min(len(names), maxSpoiledKeys)] {
		with(slices.DeleteFunc(slices.Clone(ev.ToolCalls), func(c scoring.ToolCall) bool { return c.Name == name }))
	}
	for i := range ev.ToolCalls[:min(len(ev.ToolCalls), maxSpoiledKeys)] {
		with(slices.Delete(slices.Clone(ev.ToolCalls), i, i+1))
	}
	return list
}

// spoil are the calls with one more such as the assertion speaks of, with as
// many as go beyond what it counts, and with one argument of it missing.
func (a assertion) spoil(calls []scoring.ToolCall) [][]scoring.ToolCall {
	if a.Tool == "" {
		return nil
	}
	such := scoring.ToolCall{Name: a.Tool, Arguments: string(arguments(a.Arguments))}
	if a.Arguments == nil {
		such.Arguments = "{}"
	}
	others := slices.DeleteFunc(slices.Clone(calls), func(c scoring.ToolCall) bool { return c.Name == a.Tool })
	so := func(n int) []scoring.ToolCall {
		return append(slices.Repeat([]scoring.ToolCall{such}, max(0, min(n, maxAsked))), others...)
	}
	list := [][]scoring.ToolCall{append(slices.Clone(calls), such)}
	for _, n := range []*int{a.Count, a.Least, a.Most} {
		if n != nil {
			list = append(list, so(*n-1), so(*n), so(*n+1))
		}
	}
	for _, key := range sorted(a.Arguments) {
		less := maps.Clone(a.Arguments)
		delete(less, key)
		almost := such
		almost.Arguments = string(arguments(less))
		list = append(list, append([]scoring.ToolCall{almost}, others...))
		if len(list) > maxSpoiledKeys {
			break
		}
	}
	return list
}
