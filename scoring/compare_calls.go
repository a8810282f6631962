package scoring

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring/jsondoc"
)

// callsEvidence is the evidence of a tool_call_assertion: what was called and
// how often, and never what was handed over.
type callsEvidence struct {
	Kind       string   `json:"kind"`
	Tool       string   `json:"tool_name,omitempty"`
	Calls      int      `json:"calls"`      // of the trace
	Successful int      `json:"successful"` // of them
	Matching   int      `json:"matching"`   // of the successful ones
	At         []int    `json:"matching_indices,omitempty"`
	Ordered    *bool    `json:"ordered,omitempty"`
	Tools      []string `json:"tools,omitempty"` // of the successful ones, in order
}

// assertion is the config of a tool_call_assertion.
type assertion struct {
	tool     string
	fragment any // nil: any arguments
	must     *bool
	count    *int64
	least    *int64
	most     *int64
	ordered  []string
	exact    bool
}

func callAssertion(s settings) inspector {
	a := newAssertion(s)
	return func(t *trial, _ *validator) finding {
		var names []string
		var matching []int
		left := maxInclusion
		for i, c := range t.ev.ToolCalls {
			if c.Failed {
				continue
			}
			names = append(names, c.Name)
			if a.matches(c, &left) {
				matching = append(matching, i)
			}
		}
		if left < 0 {
			return senseless("it takes too many steps to compare the arguments of the tool calls with arguments_contain")
		}
		wrong := a.counted(len(matching))
		e := callsEvidence{Kind: ToolCallAssertion, Tool: clip(a.tool), Calls: len(t.ev.ToolCalls), Successful: len(names),
			Matching: len(matching), At: matching[:min(len(matching), maxNamed)], Tools: named(names)}
		if len(a.ordered) > 0 {
			e.Ordered = new(a.inOrder(names))
			if !*e.Ordered {
				wrong = append(wrong, a.misordered())
			}
		}
		f := judged(len(wrong) == 0, strings.Join(wrong, "; ")).with(e)
		if len(matching) > 0 {
			f.at = t.atCall(matching[0])
		}
		return f
	}
}

func newAssertion(s settings) assertion {
	a := assertion{tool: strings.TrimSpace(s.text("tool_name")), ordered: s.list("ordered_tools"), exact: s.text("order_mode") == orderExact}
	for key, field := range map[string]**int64{"count": &a.count, "min_count": &a.least, "max_count": &a.most} {
		if n, ok := s.integer(key); ok {
			*field = &n
		}
	}
	selects := a.tool != ""
	if s.has("arguments_contain") {
		selects = true
		a.fragment, _ = jsondoc.Decode(strings.NewReader(string(s.raw("arguments_contain")))) // a config is JSON
	}
	switch {
	case s.has("must_call"):
		a.must = new(s.flag("must_call"))
	case selects && a.count == nil && a.least == nil && a.most == nil:
		a.must = new(true)
	}
	for i, name := range a.ordered {
		a.ordered[i] = strings.TrimSpace(name)
	}
	return a
}

// maxInclusion is how many values of arguments and of arguments_contain are
// compared in one trial.
const maxInclusion = 20_000_000

func (a assertion) matches(c ToolCall, left *int) bool {
	if a.tool != "" && c.Name != a.tool {
		return false
	}
	if a.fragment == nil {
		return true
	}
	arguments, err := jsondoc.Decode(strings.NewReader(c.Arguments))
	return err == nil && jsondoc.Includes(arguments, a.fragment, left)
}

// counted says what is wrong with n matching calls.
func (a assertion) counted(n int) []string {
	var wrong []string
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s successful %s, and there must be ", countOf(n), a.calls(n))+fmt.Sprintf(format, args...))
		}
	}
	calls := int64(n)
	if a.must != nil && *a.must {
		expect(n > 0, "one")
	}
	if a.must != nil && !*a.must {
		expect(n == 0, "none")
	}
	if a.count != nil {
		expect(calls == *a.count, "exactly %d", *a.count)
	}
	if a.least != nil {
		expect(calls >= *a.least, "at least %d", *a.least)
	}
	if a.most != nil {
		expect(calls <= *a.most, "at most %d", *a.most)
	}
	return wrong
}

func countOf(n int) string {
	if n == 1 {
		return "there is 1"
	}
	return fmt.Sprintf("there are %d", n)
}

// calls names what is counted.
func (a assertion) calls(n int) string {
	what := "tool calls"
	if n == 1 {
		what = "tool call"
	}
	if a.tool != "" {
		what += " of " + quoted(a.tool)
	}
	if a.fragment != nil {
		what += " with these arguments"
	}
	return what
}

// inOrder compares the tools that were called with those of the config.
func (a assertion) inOrder(names []string) bool {
	if a.exact {
		return slices.Equal(names, a.ordered)
	}
	next := 0
	for _, name := range names {
		if next < len(a.ordered) && name == a.ordered[next] {
			next++
		}
	}
	return next == len(a.ordered)
}

func (a assertion) misordered() string {
	how := "in this order"
	if a.exact {
		how = "exactly"
	}
	return "the tools are not called " + how + ": " + clipTo(strings.Join(a.ordered, ", "), maxListed)
}
