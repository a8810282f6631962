package engine_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// TestMain makes the test binary able to be the process that answers queries.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == query.Subcommand {
		os.Exit(query.Main(os.Stdin, os.Stdout, os.Stderr, os.Exit))
	}
	os.Exit(m.Run())
}

const ownTools = `
pack: {slug: own, name: Own tools, family: tools}
version:
  number: 1
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file, data]}
  evaluation_spec:
    name: own
    version_number: 1
    judge_mode: deterministic
    validators:
      - {key: said, type: exact_match, target: final_output, expected_from: "literal:weather in Lima: dry"}
      - key: called
        type: tool_call_assertion
        target: tool_calls
        config: {ordered_tools: [weather, hand_in], tool_name: weather, count: 1}
    scorecard: {dimensions: [correctness], pass_threshold: 1}
tools:
  denied: [read_file, write_file]
  custom:
    - name: fetch
      parameters: {type: object, properties: {name: {type: string}}, required: [name]}
      implementation: {primitive: load, args: {path: "notes/${name}"}}
    - name: load
      parameters: {type: object, properties: {path: {type: string}}}
      implementation: {primitive: read_file, args: {path: "${path}"}}
    - name: weather
      parameters: {type: object, properties: {city: {type: string}}}
      implementation: {type: mock, lookup_key: city, responses: {Lima: dry}}
    - name: hand_in
      parameters: {type: object, properties: {city: {type: string}, is: {type: string}}}
      implementation: {primitive: submit, args: {answer: "weather in ${city}: ${is}"}}
challenges:
  - {key: ask, title: Ask, category: tools, difficulty: easy, instructions: "Say the weather."}
input_sets:
  - key: default
    name: Default
    cases: [{challenge_key: ask, case_key: one, payload: {}}]
`

// A pack's own tools run, and the facts say by which way.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, ownTools), `
default:
  - tool_calls:
      - {name: fetch, arguments: {name: gone}}
      - {name: weather, arguments: {city: Oslo}}
  - tool_calls:
      - {name: weather, arguments: {city: Lima}}
      - {name: read_file, arguments: {path: x}}
      - {name: query_json, arguments: {query: ".", json: "1"}}
      - {name: hand_in, arguments: {city: Lima, is: dry}}
      - {name: fetch, arguments: {name: never}}
`)
	h.boxes, h.queries = sandboxtest.Memory(), queries(t)
	h.run(t)
	if got := h.only(t); got.Outcome != scoring.OutcomePassed || got.StopReason != "completed" {
		t.Errorf("got %s (%s)", got.Outcome, got.Reason)
	}
	type told struct {
		Type                               event.Type
		Name, Category, Resolved, As, From string
		Chain                              string
		Depth                              int
	}
	var got []told
	for _, e := range h.facts {
		var c event.Tool
		if e.Type != event.ToolDone && e.Type != event.ToolFailed {
			continue
		}
		if err := json.Unmarshal(e.Payload, &c); err != nil {
			t.Fatal(err)
		}
		row := told{e.Type, c.ToolName, c.ToolCategory, c.ResolvedToolName, c.ResolvedToolCategory, c.FailureOrigin, strings.Join(c.ResolutionChain, " "), -1}
		if c.FailureDepth != nil {
			row.Depth = *c.FailureDepth
		}
		got = append(got, row)
	}
	want := []told{
		{event.ToolFailed, "fetch", "composed", "read_file", "primitive", "primitive", "fetch load read_file", 2},
		{event.ToolFailed, "weather", "mock", "", "", "primitive", "", -1},
		{event.ToolDone, "weather", "mock", "", "", "", "", -1},
		{event.ToolFailed, "read_file", "", "", "", "policy", "", -1},
		{event.ToolDone, "query_json", "primitive", "", "", "", "", -1},
		{event.ToolDone, "hand_in", "composed", "submit", "primitive", "", "hand_in submit", -1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// Who can run programs through a composed tool needs a box that runs some.
func TestNeedsOfTools(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]bool{
		"{allowed_tool_kinds: [file, data]}":                     false,
		"{allowed_tool_kinds: [file, data], allow_shell: false}": false,
		"{allowed_tool_kinds: [file, build]}":                    true,
		"{}":                                                     true,
		"{allowed_tool_kinds: [file], allow_shell: true}":        true,
	} {
		p := parse(t, strings.Replace(ownTools, "{allowed_tool_kinds: [file, data]}", policy, 1))
		if got := plan.NeedsOf(p); !got.Box || got.Process != want {
			t.Errorf("%s: got %+v, want programs %v", policy, got, want)
		}
	}
	hidden := strings.Replace(strings.Replace(ownTools, "{allowed_tool_kinds: [file, data]}", "{allowed_tool_kinds: [file], allow_shell: true}", 1),
		"denied: [", "denied: [exec, ", 1)
	if plan.NeedsOf(parse(t, hidden)).Process {
		t.Error("an exec that nobody can call needs no programs")
	}
	if !plan.NeedsOf(parse(t, strings.Replace(hidden, "primitive: load,", "primitive: exec,", 1))).Process {
		t.Error("an exec behind a composed tool needs programs")
	}
}

func queries(t testing.TB) *query.Runner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return query.NewRunner(self)
}
