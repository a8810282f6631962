package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai"
	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
	"github.com/agentclash/agentclash/engine/provider/scripted"
	"github.com/agentclash/agentclash/engine/provider/wire"
	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
)

const promptPack = `
pack: {slug: sums, name: Sums, family: math}
version:
  number: 1
  execution_mode: prompt_eval
  evaluation_spec:
    name: sums
    version_number: 1
    judge_mode: deterministic
    validators:
      - {key: right, type: exact_match, target: final_output, expected_from: case.expectations.sum}
    scorecard: {dimensions: [correctness, reliability], pass_threshold: 1}
    %s
challenges:
  - {key: add, title: Add, category: math, difficulty: easy, instructions: "What is {{a}} + {{b}}?"}
input_sets:
  - key: default
    name: Default
    cases:
      - {challenge_key: add, case_key: small, payload: {a: 1, b: 2}, expectations: [{key: sum, kind: text, value: "3"}]}
      - {challenge_key: add, case_key: large, payload: {a: 20, b: 22}, expectations: [{key: sum, kind: text, value: "42"}]}
`

const nativePack = `
pack: {slug: files, name: Files, family: code}
version:
  number: 1
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file], allow_shell: true}
  evaluation_spec:
    name: files
    version_number: 1
    judge_mode: deterministic
    post_execution_checks:
      - {key: out, type: file_capture, path: /workspace/out.txt}
    validators:
      - {key: wrote, type: file_content_match, target: "file:out", expected_from: case.expectations.content, config: {match_mode: exact}}
    scorecard: {dimensions: [correctness], pass_threshold: 1}
    %s
challenges:
  - {key: write, title: Write, category: code, difficulty: easy, instructions: "Write the file."}
input_sets:
  - key: default
    name: Default
    cases:
      - {challenge_key: write, case_key: one, payload: {word: hello}, expectations: [{key: content, kind: text, value: "EXPECTED-MARKER"}]}
`

func parse(t *testing.T, src string, extra ...string) *pack.Pack {
	t.Helper()
	if strings.Contains(src, "%s") {
		src = fmt.Sprintf(src, strings.Join(extra, "\n    "))
	}
	p, problems := pack.Parse("test.yaml", []byte(src), nil)
	if err := problems.Err(); err != nil {
		t.Fatalf("the test's pack:\n%v", err)
	}
	return p
}

// harness runs plans and gathers their facts.
type harness struct {
	pack     *pack.Pack
	agents   []plan.Deployment
	clients  []provider.Client
	programs []engine.Program
	judges   map[string]provider.Client
	users    []provider.Client // that play users, by place in the plan's
	people   engine.Users
	boxes    sandbox.Provider
	queries  *query.Runner
	options  plan.Options
	secrets  []string
	mu       sync.Mutex
	facts    []event.Event
	onFact   func(event.Event)
	controls *engine.Controls
}

func newHarness(p *pack.Pack, scripts ...string) *harness {
	h := &harness{pack: p, options: plan.Options{Repetitions: 1, Concurrency: 1, MinPassRate: 1, RetryInvalid: 1}}
	for i, src := range scripts {
		s, err := scripted.Load("agent.yaml", []byte(src))
		if err != nil {
			panic(err)
		}
		h.agents = append(h.agents, plan.Deployment{Name: fmt.Sprintf("agent-%d", i), Provider: provider.Scripted, Model: "agent.yaml"})
		h.clients = append(h.clients, scripted.New(s))
	}
	return h
}

func (h *harness) plan(t *testing.T) *plan.Plan {
	t.Helper()
	n := 0
	planned, err := plan.New(plan.Request{
		Pack: h.pack, Deployments: h.agents, Options: h.options,
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		NewID: func() string { n++; return fmt.Sprintf("id-%04d", n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return planned
}

func (h *harness) run(t *testing.T) engine.Result {
	t.Helper()
	return h.runPlan(t, t.Context(), h.plan(t))
}

// runPlan runs a plan, and holds every trial against itself scored again.
func (h *harness) runPlan(t *testing.T, ctx context.Context, planned *plan.Plan) engine.Result {
	t.Helper()
	result := h.runOnly(t, ctx, planned)
	h.scoreAgain(t, planned)
	return result
}

func (h *harness) runOnly(t *testing.T, ctx context.Context, planned *plan.Plan) engine.Result {
	t.Helper()
	result, err := engine.Run(ctx, planned, engine.Deps{
		Sink: event.SinkFunc(h.emit), Clients: h.clients, Programs: h.programs, Judges: h.judges, Recall: h.recall, Boxes: h.boxes, Queries: h.queries, Secrets: h.secrets,
		Simulators: h.users, Users: h.people, Controls: h.controls,
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (h *harness) emit(_ context.Context, e event.Event) error {
	if e.Transient {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.facts = append(h.facts, e)
	if h.onFact != nil {
		h.onFact(e)
	}
	return nil
}

// recall reads an attempt's facts back, as a store does.
func (h *harness) recall(_ context.Context, trialID string, attempt int, yield func(event.Event) error) error {
	h.mu.Lock()
	facts := slices.Clone(h.facts)
	h.mu.Unlock()
	for _, e := range facts {
		if e.TrialID == trialID && e.Attempt == attempt {
			if err := yield(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// types are the kinds of the facts of one case, in order.
func (h *harness) types(caseKey string) []string {
	var list []string
	for _, e := range h.facts {
		if e.CaseKey == caseKey {
			list = append(list, string(e.Type))
		}
	}
	return list
}

// trials are the results of every attempt, in the order they ended.
func (h *harness) trials(t *testing.T) []scoring.Trial {
	t.Helper()
	var list []scoring.Trial
	for _, e := range h.facts {
		if e.Type != event.TrialDone {
			continue
		}
		end, err := event.Decode[event.TrialEnd](e)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, end.Trial)
	}
	return list
}

func (h *harness) only(t *testing.T) scoring.Trial {
	t.Helper()
	trials := h.trials(t)
	if len(trials) != 1 {
		t.Fatalf("got %d finished attempts, want one", len(trials))
	}
	return trials[0]
}

func wantTypes(t *testing.T, got []string, want string) {
	t.Helper()
	if g := strings.Join(got, " "); g != strings.Join(strings.Fields(want), " ") {
		t.Errorf("facts:\ngot  %s\nwant %s", g, strings.Join(strings.Fields(want), " "))
	}
}

func TestPromptEval(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `
cases:
  small: [{text: "3", usage: {input_tokens: 10, output_tokens: 1}, delay_ms: 40}]
  large: [{text: "41", usage: {input_tokens: 12, output_tokens: 1}}]
`)
	result := h.run(t)
	wantTypes(t, h.types("small"), `trial.queued system.run.started model.call.started model.output.delta model.call.completed
		system.output.finalized system.run.completed scoring.started scoring.completed trial.finished`)
	card := result.Agents[0].Scorecard
	if result.Status != "completed" || card.PassedTrials != 1 || card.FailedTrials != 1 || card.Passed || *card.PassRate != 0.5 {
		t.Errorf("got status %s, %d passed, %d failed, passed %v", result.Status, card.PassedTrials, card.FailedTrials, card.Passed)
	}
	if card.Usage.TotalTokens != 24 || *card.LatencyMS != 20 {
		t.Errorf("got %d tokens and a mean latency of %v ms, want 24 and 20: the clock goes by recorded durations", card.Usage.TotalTokens, *card.LatencyMS)
	}
	for _, e := range h.facts {
		if e.Type == event.CallStarted && e.CaseKey == "small" && !strings.Contains(string(e.Payload), "What is 1 + 2?") {
			t.Errorf("the question: got %s", e.Payload)
		}
	}
}

func TestTheSameRunTwiceStatesTheSameFacts(t *testing.T) {
	t.Parallel()
	script := `
cases:
  small: [{error: {code: rate_limit, message: slow down, retry_after_ms: 50}}, {text: "3", delay_ms: 7}]
  large: [{text: "42"}]
`
	states := func() string {
		h := newHarness(parse(t, promptPack), script, script)
		h.options.Repetitions = 2
		h.run(t)
		var b strings.Builder
		for _, e := range h.facts {
			fmt.Fprintf(&b, "%s %s#%d.%d %d %s %s %s\n", e.RunAgentID, e.CaseKey, e.Repetition, e.Attempt, e.Sequence, e.OccurredAt, e.Type, e.Payload)
		}
		return b.String()
	}
	if a, b := states(), states(); a != b {
		t.Errorf("two runs of one plan differ:\n%s\n---\n%s", a, b)
	}
}

func TestARetriedCallIsStatedAndTimed(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `
cases:
  small: [{error: {code: rate_limit, message: slow down, retry_after_ms: 50}}, {text: "3", delay_ms: 7}]
  large: [{text: "42"}]
`)
	result := h.run(t)
	wantTypes(t, h.types("small"), `trial.queued system.run.started model.call.started model.call.failed model.call.retried model.output.delta model.call.completed
		system.output.finalized system.run.completed scoring.started scoring.completed trial.finished`)
	if got := *h.trials(t)[0].LatencyMS; got != 57 || result.Agents[0].Scorecard.PassedTrials != 2 {
		t.Errorf("got latency %d ms and %d passed, want 57 ms (wait and call) and 2", got, result.Agents[0].Scorecard.PassedTrials)
	}
}

// TestOutcomes is who is to blame for what.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, script, spec string
		outcome            scoring.Outcome
		code, phase, stop  string
		attempts           int
	}{
		{"right answer", `default: [{text: "3"}]`, "", scoring.OutcomePassed, "", "", "completed", 1},
		{"wrong answer", `default: [{text: "4"}]`, "", scoring.OutcomeFailed, "", "", "completed", 1},
		{"empty answer", `default: [{text: " "}]`, "", scoring.OutcomeFailed, "empty_output", "", "empty_output", 1},
		{"cut by max tokens", `default: [{text: "3", finish_reason: max_tokens}]`, "", scoring.OutcomeFailed, "max_tokens", "", "max_tokens", 1},
		{"context too long", `default: [{error: {code: context_length, message: x}}]`, "", scoring.OutcomeFailed, "context_length", "", "context_length", 1},
		{"withheld", `default: [{error: {code: content_filter, message: x}}]`, "", scoring.OutcomeFailed, "content_filter", "", "content_filter", 1},
		{"rate limit for good", `default: [{error: {code: rate_limit, message: x}}]`, "", scoring.OutcomeInvalid, "rate_limit", "agent", "provider_error", 2},
		{"provider down", `default: [{error: {code: unavailable, message: x}}]`, "", scoring.OutcomeInvalid, "unavailable", "agent", "provider_error", 2},
		{"nonsense from the provider", `default: [{error: {code: malformed_response, message: x}}]`, "", scoring.OutcomeInvalid, "malformed_response", "agent", "provider_error", 2},
		{"bad key", `default: [{error: {code: auth, message: x}}]`, "", scoring.OutcomeInvalid, "auth", "agent", "provider_error", 1},
		{"unknown model", `default: [{error: {code: unknown_model, message: x}}]`, "", scoring.OutcomeInvalid, "unknown_model", "agent", "provider_error", 1},
		{"a tool nobody gave", `default: [{tool_calls: [{name: exec, arguments: {}}]}]`, "", scoring.OutcomeFailed, "unexpected_tool_call", "", "unexpected_tool_call", 1},
		{"too slow", `default: [{text: "3", delay_ms: 30}]`, "runtime_limits: {max_duration_ms: 10}", scoring.OutcomeFailed, "timeout", "", "timeout", 1},
		{"more tokens than allowed", `default: [{text: "3", usage: {input_tokens: 90, output_tokens: 20}}]`, "runtime_limits: {max_total_tokens: 100}", scoring.OutcomeFailed, "token_limit", "", "token_limit", 1},
		{"infra first, then right", "default: [{error: {code: unavailable, message: x}}, {error: {code: unavailable, message: x}}, {error: {code: unavailable, message: x}}, {text: \"3\"}]", "",
			scoring.OutcomePassed, "", "", "completed", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(parse(t, promptPack, row.spec), row.script)
			p := h.plan(t)
			p.Trials = p.Trials[:1]
			h.runPlan(t, t.Context(), p)
			trials := h.trials(t)
			if len(trials) != row.attempts {
				t.Fatalf("got %d attempts, want %d", len(trials), row.attempts)
			}
			got := trials[len(trials)-1]
			if got.Outcome != row.outcome || got.Code != row.code || got.Phase != row.phase || got.StopReason != row.stop {
				t.Errorf("got %s %q in %q, stopped by %q; want %s %q in %q, %q (%s)", got.Outcome, got.Code, got.Phase, got.StopReason,
					row.outcome, row.code, row.phase, row.stop, got.Reason)
			}
		})
	}
}

func TestAFatalFailureStopsItsRunAgentOnly(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `default: [{error: {code: auth, message: no such key}}]`, `cases: {small: [{text: "3"}], large: [{text: "42"}]}`)
	result := h.run(t)
	if result.Status != "failed" || result.Agents[0].Status != "failed" || result.Agents[0].Cause != "auth" {
		t.Errorf("got run %s, agent %s with cause %q; want both failed for auth", result.Status, result.Agents[0].Status, result.Agents[0].Cause)
	}
	if n := result.Agents[0].Scorecard.Trials; n != 1 {
		t.Errorf("the failing agent made %d trials, want 1: the others cannot do better", n)
	}
	if got := result.Agents[1].Scorecard.PassedTrials; got != 2 {
		t.Errorf("the other agent passed %d trials, want 2", got)
	}
}

// A page that a proxy puts in the way of one call is not the end of an agent whose
// model has answered before.
func TestAPageForOneCall(t *testing.T) {
	t.Parallel()
	for first, want := range map[int]string{1: "failed", 2: "completed"} {
		asked := 0 // one call at a time
		url := openaitest.NewFunc(t, func(r openaitest.Request) openaitest.Reply {
			if asked++; asked == first {
				return openaitest.Reply{Status: 403, Body: "<html><h1>Forbidden</h1></html>"}
			}
			if strings.Contains(question(r), "20 + 22") {
				return openaitest.Text("42")
			}
			return openaitest.Text("3")
		}).URL
		client, err := openai.New(openai.Options{Options: wire.Options{BaseURL: url}})
		if err != nil {
			t.Fatal(err)
		}
		h := newHarness(parse(t, promptPack))
		h.agents = []plan.Deployment{{Name: "a", Provider: provider.OpenAI, Model: "m", BaseURL: url}}
		h.clients = []provider.Client{client}
		if got := h.run(t); got.Status != want || want == "completed" && got.Agents[0].Scorecard.PassedTrials != 2 {
			t.Errorf("a page at call %d: the run %s (%s), %+v", first, got.Status, got.Reason, got.Agents[0].Scorecard)
		}
	}
}

func TestSecretsReachNoFact(t *testing.T) {
	t.Parallel()
	const secret = "sk-very/secret+value=1"
	h := newHarness(parse(t, promptPack), `default: [{text: "your key is `+secret+` or c2stdmVyeS9zZWNyZXQrdmFsdWU9MQ"}]`)
	h.secrets = []string{secret}
	h.run(t)
	for _, e := range h.facts {
		if strings.Contains(string(e.Payload), "very/secret") || strings.Contains(string(e.Payload), "c2stdmVye") {
			t.Errorf("%s holds the secret: %s", e.Type, e.Payload)
		}
	}
	if out := *h.trials(t)[0].FinalOutput; out != "your key is [redacted] or [redacted]" {
		t.Errorf("the final output: got %q", out)
	}
}

func TestInterruptionLeavesTheRunningTrialUnfinished(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `{cases: {small: [{text: "3"}], large: [{text: "42", delay_ms: 60000}]}}`)
	ctx, cancel := context.WithCancelCause(t.Context())
	h.onFact = func(e event.Event) {
		if e.Type == event.CallStarted && e.CaseKey == "large" {
			cancel(engine.ErrInterrupted)
		}
	}
	result := h.runPlan(t, ctx, h.plan(t))
	if result.Status != "interrupted" || result.Agents[0].Status != "interrupted" {
		t.Errorf("got run %s, agent %s; want interrupted", result.Status, result.Agents[0].Status)
	}
	if got := h.only(t); got.CaseKey != "small" {
		t.Errorf("finished: got %s, want only the case before", got.CaseKey)
	}
	if last := h.facts[len(h.facts)-1]; last.Type != event.RunFinished {
		t.Errorf("the last fact: got %s", last.Type)
	}
}

func TestADigitsOnlySecretLeavesNumbersAlone(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `default: [{text: "12345678", usage: {input_tokens: 12345678, output_tokens: 1}}]`)
	h.secrets = []string{"12345678"}
	h.run(t)
	trial := h.trials(t)[0]
	if *trial.FinalOutput != "[redacted]" || trial.Usage.InputTokens != 12345678 {
		t.Errorf("got output %q and %d tokens, want the text redacted and the number kept", *trial.FinalOutput, trial.Usage.InputTokens)
	}
}

// TestAnInterruptionAfterTheLastTrial: the run is whole, so it completed.
func TestAnInterruptionAfterTheLastTrial(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `{cases: {small: [{text: "3"}], large: [{text: "42"}]}}`)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := 0
	h.onFact = func(e event.Event) {
		if e.Type == event.TrialDone {
			if done++; done == 2 {
				cancel(engine.ErrInterrupted)
			}
		}
	}
	if got := h.runPlan(t, ctx, h.plan(t)); got.Status != "completed" || got.Agents[0].Status != "completed" {
		t.Errorf("got run %s, agent %s; want completed", got.Status, got.Agents[0].Status)
	}
}

// TestAPanicIsAnInvalidTrial: a bug of ours is no failure of the agent's, and
// the other trials go on.
func TestAPanicIsAnInvalidTrial(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `{cases: {small: [{text: "3"}], large: [{text: "42"}]}}`)
	h.clients[0] = panicking{h.clients[0]}
	result := h.run(t)
	if card := result.Agents[0].Scorecard; card.PassedTrials != 1 || card.InvalidTrials != 1 {
		t.Errorf("got %d passed, %d invalid; want one of each", card.PassedTrials, card.InvalidTrials)
	}
	if got := h.trials(t)[0]; got.Code != "internal_error" {
		t.Errorf("got code %q", got.Code)
	}
}

type panicking struct{ provider.Client }

func (p panicking) Complete(ctx context.Context, req provider.Request, d func(provider.Delta)) (provider.Response, error) {
	if req.Ref.Case == "small" {
		panic("nil map")
	}
	return p.Client.Complete(ctx, req, d)
}

func TestAFactThatCannotBeRecordedEndsTheRun(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `default: [{text: "3"}]`)
	full := fmt.Errorf("disk full")
	_, err := engine.Run(t.Context(), h.plan(t), engine.Deps{
		Sink: event.SinkFunc(func(_ context.Context, e event.Event) error {
			if e.Type == event.CallDone {
				return full
			}
			return nil
		}),
		Clients: h.clients, Now: time.Now,
	})
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v, want the sink's error", err)
	}
}

func TestPlanSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	priced := parse(t, promptPack, "runtime_limits: {max_cost_usd: 1}")
	research := parse(t, strings.Replace(promptPack, "execution_mode: prompt_eval", "execution_mode: responses", 1))
	for _, row := range []struct {
		name string
		req  func(*plan.Request)
		want string
	}{
		{"no agent", func(r *plan.Request) { r.Deployments = nil }, "at least one deployment"},
		{"twice the same", func(r *plan.Request) { r.Deployments = append(r.Deployments, r.Deployments[0]) }, "two run agents are called"},
		{"unknown case", func(r *plan.Request) { r.Cases = []string{"tiny"} }, `no case "tiny"`},
		{"unknown input set", func(r *plan.Request) { r.InputSet = "other" }, "other"},
		{"no repetition", func(r *plan.Request) { r.Options.Repetitions = 0 }, "repetitions"},
		{"no concurrency", func(r *plan.Request) { r.Options.Concurrency = 0 }, "concurrency"},
		{"bad rate", func(r *plan.Request) { r.Options.MinPassRate = 2 }, "min-pass-rate"},
		{"no Responses API", func(r *plan.Request) { r.Pack, r.Deployments[0].Provider = research, "anthropic" }, "need OpenAI's Responses API, which anthropic does not have"},
		{"cost without a price", func(r *plan.Request) { r.Pack = priced }, "pricing.models"},
	} {
		h := newHarness(parse(t, promptPack), `default: [{text: "3"}]`)
		req := plan.Request{Pack: h.pack, Deployments: h.agents, Options: h.options, Now: time.Now, NewID: func() string { return "x" }}
		row.req(&req)
		if _, err := plan.New(req); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want an error about %q", row.name, err, row.want)
		}
	}
}

func TestPlanReadsBack(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `{cases: {small: [{text: "3"}], large: [{text: "42"}]}}`)
	planned := h.plan(t)
	doc, err := json.Marshal(planned)
	if err != nil {
		t.Fatal(err)
	}
	var back plan.Plan
	if err := json.Unmarshal(doc, &back); err != nil {
		t.Fatal(err)
	}
	left := planned.Trials[1:]
	prior := [][]scoring.Trial{{{TrialID: planned.Trials[0].ID, CaseKey: "small", Repetition: 1, Attempt: 1, Outcome: scoring.OutcomePassed}}}
	if err := back.Reopen(h.pack, plan.Progress{Left: left, Prior: prior, Facts: 2}); err != nil {
		t.Fatal(err)
	}
	card := h.runPlan(t, t.Context(), &back).Agents[0].Scorecard
	if card.Trials != 2 || card.PassedTrials != 2 {
		t.Errorf("got %d trials, %d passed; want the one before and the one after", card.Trials, card.PassedTrials)
	}
	if first := h.facts[0]; first.Type != event.RunStarted || first.Sequence != 3 || first.ID != event.NewRunID(planned.RunID, 3) {
		t.Errorf("the resumed run's first fact: got %s %d %q, want number 3", first.Type, first.Sequence, first.ID)
	}
	other := parse(t, strings.Replace(promptPack, "What is", "Say", 1))
	if err := back.Reopen(other, plan.Progress{Left: left}); err == nil {
		t.Error("a plan was reopened with another pack")
	}
}

func runErr(t *testing.T, h *harness) (engine.Result, error) {
	t.Helper()
	return engine.Run(t.Context(), h.plan(t), engine.Deps{Sink: event.SinkFunc(h.emit), Clients: h.clients, Boxes: h.boxes, Now: time.Now})
}

// packWithAsset reads a pack that has one file beside it.
func packWithAsset(t *testing.T, src, name, content string) *pack.Pack {
	t.Helper()
	p, problems, err := pack.LoadFS(fstest.MapFS{"p.yaml": {Data: []byte(src)}, name: {Data: []byte(content)}}, "p.yaml")
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}
