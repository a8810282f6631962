package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// tracePack judges an agent by what it left and by what it did on its way.
const tracePack = `
pack: {slug: trace, name: Trace, family: code}
version:
  number: 1
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file]}
  evaluation_spec:
    name: trace
    version_number: 1
    judge_mode: deterministic
    post_execution_checks:
      - {key: out, type: file_capture, path: /workspace/src/out.json}
      - {key: flat, type: directory_listing, path: /workspace}
      - {key: deep, type: directory_listing, path: /workspace, recursive: true}
    validators:
      - {key: shape, type: file_json_schema, target: "file:out", config: {schema: {type: object, required: [n]}}}
      - {key: is three, type: postcondition, target: "file:out", config: {condition: json_path_match, json_path: $.n, value: 3}}
      - {key: top, type: directory_structure, target: "file:flat", config: {required_directories: [src], forbidden_files: [src/out.json]}}
      - {key: below, type: directory_structure, target: "file:deep", config: {required_files: [src/out.json], required_directories: [src/]}}
      - {key: wrote, type: tool_call_assertion, target: tool_calls, config: {tool_name: write_file, arguments_contain: {path: src/out.json}, count: 1}}
    metrics:
      - {key: latency, type: numeric, collector: run_total_latency_ms}
      - {key: failures, type: numeric, collector: run_failure_count}
    behavioral: {signals: [{key: recovery_behavior, weight: 1}, {key: scope_adherence, weight: 1}]}
    scorecard:
      normalization: {latency: {target_ms: 100, max_ms: 1000}}
      dimensions: [correctness, reliability, latency, behavioral]
challenges:
  - {key: write, title: Write, category: code, difficulty: easy, instructions: "Write the file."}
input_sets:
  - key: default
    name: Default
    cases: [{challenge_key: write, case_key: one, payload: {n: 3}}]
`

const traceScript = `
default:
  - {tool_calls: [{name: read_file, arguments: {path: "not-a-real-secret"}}], delay_ms: 40}
  - {tool_calls: [{name: fly, arguments: {}}], delay_ms: 60}
  - tool_calls: [{name: write_file, arguments: {path: src/out.json, content: '{"n":3}'}}]
  - tool_calls: [{name: submit, arguments: {answer: not-a-real-secret}}]
`

// Evidence, not claims: the scorecard of a trial can be worked out again from
// its stored events, which hold no secret, in whatever order they are read.
func TestAScorecardIsWorkedOutAgainFromStoredEvents(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, tracePack), traceScript)
	h.boxes, h.secrets = sandboxtest.Memory(), []string{"not-a-real-secret"}
	h.run(t)
	trial := h.only(t)
	if trial.Outcome != scoring.OutcomePassed || *trial.FinalOutput != "[redacted]" {
		t.Fatalf("got %s (%s) with output %q", trial.Outcome, trial.Reason, *trial.FinalOutput)
	}
	var facts []event.Event
	for i := len(h.facts) - 1; i >= 0; i-- { // the last first
		if e := h.facts[i]; e.TrialID != "" {
			facts = append(facts, e)
		}
	}
	ev, err := event.Gather(scoringCase(t, h.pack), facts)
	if err != nil {
		t.Fatal(err)
	}
	scorer, problems := scoring.Compile(h.pack.Version.EvaluationSpec)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	again := scorer.Score(ev)
	if diff := cmp.Diff(document(t, *trial.Scorecard), document(t, again)); diff != "" {
		t.Errorf("scorecard (-stored +worked out again):\n%s", diff)
	}
	if len(ev.Steps) != 4 || ev.Steps[1].Index != 2 || ev.Steps[1].DurationMS != 60 {
		t.Errorf("got steps %+v, want 4, the second of 60 ms", ev.Steps)
	}
}

// Every score points at an event of the trial that is there.
func TestScoresPointAtEvents(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, tracePack), traceScript)
	h.boxes = sandboxtest.Memory()
	h.run(t)
	card := h.only(t).Scorecard
	got := map[string]string{}
	note := func(what string, s *scoring.Source) {
		if s == nil {
			got[what] = "nothing"
			return
		}
		got[what] = s.EventType + " " + s.FieldPath
		for _, e := range h.facts {
			if e.TrialID != "" && e.Sequence == s.Sequence && string(e.Type) != s.EventType {
				t.Errorf("%s points at event %d as %s, which is %s", what, s.Sequence, s.EventType, e.Type)
			}
		}
	}
	for _, v := range card.Validators {
		note("validator "+v.Key, v.Source)
	}
	for _, m := range card.Metrics {
		note("metric "+m.Key, m.Source)
	}
	for _, d := range card.Dimensions {
		note("dimension "+d.Key, d.Event)
	}
	want := map[string]string{
		"validator shape": "grader.verification.file_captured file:out", "validator is three": "grader.verification.file_captured file:out",
		"validator top": "grader.verification.directory_listed file:flat", "validator below": "grader.verification.directory_listed file:deep",
		"validator wrote": "tool.call.completed tool_calls",
		"metric latency":  "system.run.completed occurred_at", "metric failures": "tool.call.failed ",
		"dimension correctness": "grader.verification.file_captured file:out", "dimension reliability": "tool.call.failed ",
		"dimension latency": "system.run.completed occurred_at", "dimension behavioral": "tool.call.failed tool_calls",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A listing says what is a directory, and goes below it only when it is asked
// to: the pack's validators pass only so.
func TestListings(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, tracePack), traceScript)
	h.boxes = sandboxtest.Memory()
	h.run(t)
	listed := map[string][]scoring.DirectoryEntry{}
	for _, e := range h.facts {
		if e.Type != event.DirListed {
			continue
		}
		d, err := event.Decode[scoring.CapturedDirectory](e)
		if err != nil {
			t.Fatal(err)
		}
		listed[d.Key] = d.Entries
	}
	src := scoring.DirectoryEntry{Path: "/workspace/src", IsDir: true}
	want := map[string][]scoring.DirectoryEntry{
		"flat": {src}, "deep": {src, {Path: "/workspace/src/out.json", Size: 7}},
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("listings (-want +got):\n%s", diff)
	}
}

func scoringCase(t *testing.T, p *pack.Pack) scoring.Case {
	t.Helper()
	set, err := p.InputSet("")
	if err != nil {
		t.Fatal(err)
	}
	return p.ScoringCase(set.Cases[0])
}

func document(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// listed makes the harness's agent one of a listed model.
func listed(t *testing.T, spec string) *harness {
	t.Helper()
	h := newHarness(parse(t, promptPack, spec), `default: [{text: "3", usage: {input_tokens: 1000000, output_tokens: 0}}]`)
	h.agents[0].Provider, h.agents[0].Model = "openai", "gpt-4.1-mini"
	return h
}

// A model that the pack does not price costs what its vendor asks, and the
// run keeps by which list.
func TestListPrices(t *testing.T) {
	t.Parallel()
	h := listed(t, "")
	result := h.run(t)
	first := h.trials(t)[0]
	if first.CostUSD == nil || *first.CostUSD != 0.4 || first.PriceSource != scoring.PriceTable {
		t.Errorf("got cost %v by %q", first.CostUSD, first.PriceSource)
	}
	if card := result.Agents[0].Scorecard; *card.CostUSD != 0.8 || card.PriceSource != scoring.PriceTable {
		t.Errorf("got cost %v by %q of the agent", *card.CostUSD, card.PriceSource)
	}
	raw, err := json.Marshal(h.plan(t))
	if err != nil {
		t.Fatal(err)
	}
	var back plan.Plan
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(scoring.CurrentPrices().Of("openai"), back.Prices); diff != "" {
		t.Errorf("the prices of the plan (-want +got):\n%s", diff)
	}
}

func TestThePacksPriceWins(t *testing.T) {
	t.Parallel()
	h := listed(t, "pricing: {models: [{provider_key: openai, provider_model_id: gpt-4.1-mini, input_cost_per_million_tokens: 7, output_cost_per_million_tokens: 7}]}")
	h.run(t)
	if got := h.trials(t)[0]; *got.CostUSD != 7 || got.PriceSource != scoring.PricePack {
		t.Errorf("got cost %v by %q", *got.CostUSD, got.PriceSource)
	}
}

// Nobody has listed what a server of the user's own asks, and a run that was
// planned without a list is judged without one.
func TestNoListPrice(t *testing.T) {
	t.Parallel()
	own := listed(t, "")
	own.agents[0].BaseURL = "http://127.0.0.1:1/v1"
	if planned := own.plan(t); len(planned.Prices.Models) > 0 {
		t.Errorf("got %d prices for a server of one's own", len(planned.Prices.Models))
	}
	own.run(t)
	old := listed(t, "")
	planned := old.plan(t)
	planned.Prices = scoring.ListPrices{}
	if err := planned.Reopen(old.pack, plan.Progress{Left: planned.Trials}); err != nil {
		t.Fatal(err)
	}
	old.runPlan(t, t.Context(), planned)
	for name, h := range map[string]*harness{"a server of one's own": own, "a plan without a list": old} {
		if got := h.trials(t)[0]; got.CostUSD != nil || got.PriceSource != "" {
			t.Errorf("%s: got cost %v by %q, want it unknown", name, *got.CostUSD, got.PriceSource)
		}
	}
}

// A cost limit can be kept for a model with a known price, and is refused for
// others before anything starts.
func TestCostLimits(t *testing.T) {
	t.Parallel()
	h := listed(t, "runtime_limits: {max_cost_usd: 0.3}")
	h.run(t)
	if got := h.trials(t)[0]; got.Code != "cost_limit" {
		t.Errorf("got %s %q (%s), want the limit reached by list prices", got.Outcome, got.Code, got.Reason)
	}
	h.agents[0].Model = "gpt-unheard-of"
	_, err := plan.New(plan.Request{Pack: h.pack, Deployments: h.agents, Options: h.options, Now: time.Now, NewID: func() string { return "x" }})
	if err == nil || !strings.Contains(err.Error(), `add a row for provider_key "openai", provider_model_id "gpt-unheard-of"`) {
		t.Errorf("got %v, want a refusal that says which row to add", err)
	}
}
