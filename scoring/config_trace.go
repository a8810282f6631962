package scoring

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/scoring/jsondoc"
)

// nothingAsserted is said of a tool_call_assertion that asserts nothing.
const nothingAsserted = "say what must be true of the tool calls: tool_name, must_call, count, min_count, max_count, arguments_contain or ordered_tools"

// The ways in which ordered_tools compares.
const (
	orderSubsequence = "subsequence"
	orderExact       = "exact"
)

func callsConfig() []ConfigKey {
	return []ConfigKey{
		{Name: "tool_name", Type: KeyString, Doc: "only calls of this tool count; any tool when absent"},
		{Name: "must_call", Type: KeyBoolean, Doc: "there must be such a call, or must not; true when only tool_name or arguments_contain is given"},
		{Name: "count", Type: KeyInteger, Min: new(0.0), Doc: "exactly so many calls"},
		{Name: "min_count", Type: KeyInteger, Min: new(0.0), Doc: "at least so many calls"},
		{Name: "max_count", Type: KeyInteger, Min: new(0.0), Doc: "at most so many calls"},
		{Name: "arguments_contain", Type: KeyObject, Doc: "only calls whose arguments contain this count"},
		{Name: "ordered_tools", Type: KeyStrings, Doc: "the names of the tools called, in this order"},
		{Name: "order_mode", Type: KeyString, Enum: []string{orderSubsequence, orderExact}, Default: orderSubsequence,
			Doc: "whether other calls may stand between those of ordered_tools"},
	}
}

func checkCalls(s settings, p *problems, field string) {
	tools := s.list("ordered_tools")
	switch {
	case s.has("order_mode") && len(tools) == 0:
		p.add(field+".order_mode", "needs ordered_tools")
	case strings.TrimSpace(s.text("tool_name")) == "" && len(tools) == 0 &&
		!s.anyOf("must_call", "count", "min_count", "max_count", "arguments_contain"):
		p.add(field, "asserts nothing: %s", nothingAsserted)
	}
	for i, name := range tools {
		if strings.TrimSpace(name) == "" {
			p.add(fmt.Sprintf("%s.ordered_tools[%d]", field, i), "is blank: name a tool")
		}
	}
	checkCounts(s, p, field)
}

// checkCounts sees that the numbers of calls can all be true at once.
func checkCounts(s settings, p *problems, field string) {
	count, exact := s.integer("count")
	least, atLeast := s.integer("min_count")
	most, atMost := s.integer("max_count")
	if exact && (atLeast || atMost) {
		p.add(field+".count", "says how many exactly: leave out min_count and max_count")
	}
	if atLeast && atMost && least > most {
		p.add(field+".min_count", "must not be greater than max_count")
	}
	must := s.flag("must_call")
	switch {
	case !s.has("must_call"):
	case must && (exact && count == 0 || atMost && most == 0):
		p.add(field+".must_call", "is true, and the count allows no call")
	case !must && (exact && count > 0 || atLeast && least > 0):
		p.add(field+".must_call", "is false, and the count demands a call")
	}
}

// The conditions of postcondition.
const (
	condExists      = "exists"
	condNotExists   = "not_exists"
	condContains    = "contains"
	condNotContains = "not_contains"
	condRegex       = "regex_match"
	condPath        = "json_path_match"
	condEquals      = "equals"
)

func conditionConfig() []ConfigKey {
	return []ConfigKey{
		{Name: "condition", Type: KeyString, Required: true, Doc: "what must be true of the captured file",
			Enum: []string{condExists, condNotExists, condContains, condNotContains, condRegex, condPath, condEquals}},
		{Name: "value", Type: KeyAny, Doc: "what it is compared with; none for exists and not_exists, a text for contains, not_contains and regex_match"},
		{Name: "json_path", Type: KeyString, Doc: "for json_path_match: where in the file the value stands"},
	}
}

func checkCondition(s settings, p *problems, field string) {
	condition := s.text("condition")
	switch condition {
	case condExists, condNotExists:
		if s.has("value") {
			p.add(field+".value", "must be left out with %s", condition)
		}
	case condContains, condNotContains, condRegex:
		checkConditionText(s, p, field)
	case condPath, condEquals:
		if !s.has("value") {
			p.add(field+".value", "is required with %s", condition)
		}
	default:
		return // refused already
	}
	switch {
	case condition != condPath && s.has("json_path"):
		p.add(field+".json_path", "is for %s only", condPath)
	case condition == condPath && !s.has("json_path"):
		p.add(field+".json_path", "is required with %s", condPath)
	case condition == condPath:
		if _, err := jsondoc.ParsePath(s.text("json_path")); err != nil {
			p.add(field+".json_path", "%v", err)
		}
	}
}

// checkConditionText checks a value that must be a text.
func checkConditionText(s settings, p *problems, field string) {
	condition, text := s.text("condition"), ""
	switch {
	case !s.has("value"):
		p.add(field+".value", "is required with %s", condition)
	case json.Unmarshal(s.raw("value"), &text) != nil || isNull(s.raw("value")):
		p.add(field+".value", "must be a text with %s", condition)
	case condition == condRegex:
		if _, err := compilePattern(text); err != nil {
			p.add(field+".value", "%v", err)
		}
	}
}
