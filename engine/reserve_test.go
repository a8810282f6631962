package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// rounds is how often something is tried: a few times, more with
// AGENTCLASH_SLOW.
func rounds(few, many int) int {
	if os.Getenv("AGENTCLASH_SLOW") != "" {
		return many
	}
	return few
}

// metered is a model that uses any number of tokens within what it was allowed,
// counts what it asks to be paid for, and fails at times after the work is done.
type metered struct {
	mu        sync.Mutex
	draw      *rand.Rand
	in, out   float64 // prices of a million tokens
	density   float64 // tokens of a byte
	usd       float64 // all that was used
	tokens    map[string]int64
	spent     map[string]float64 // by trial and attempt
	calls     int
	lowered   int // calls whose output bound is not the deployment's
	faults    float64
	text      string
	toolCalls []provider.ToolCall
}

func newMetered(seed uint64, in, out float64) *metered {
	draw := rand.New(rand.NewPCG(seed, 9))
	return &metered{draw: draw, in: in, out: out, density: draw.Float64(), tokens: map[string]int64{}, spent: map[string]float64{}, text: "3"}
}

const fullBound = 1000

func (m *metered) Complete(_ context.Context, req provider.Request, _ func(provider.Delta)) (provider.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	bytes := 0
	for _, msg := range req.Messages {
		bytes += len(msg.Content)
	}
	if req.Sampling.MaxOutputTokens != fullBound {
		m.lowered++
	}
	in, out := int64(float64(bytes)*m.density), m.draw.Int64N(req.Sampling.MaxOutputTokens+1)
	if m.draw.IntN(4) == 0 {
		out = req.Sampling.MaxOutputTokens
	}
	key := fmt.Sprint(req.Ref.Case, req.Ref.Repetition, req.Ref.Attempt)
	usd := float64(in)/1e6*m.in + float64(out)/1e6*m.out
	m.usd += usd
	m.spent[key] += usd
	m.tokens[key] += in + out
	if m.draw.Float64() < m.faults {
		return provider.Response{}, &provider.Error{Provider: "p", Code: provider.Unavailable, Status: 500, Message: "after the work"}
	}
	res := provider.Response{Model: req.Model, Text: m.text, ToolCalls: m.toolCalls, Finish: provider.FinishStop}
	if m.draw.IntN(5) > 0 { // else it does not say
		res.Usage = &provider.Usage{Input: in, Output: out, Total: in + out}
	}
	return res, nil
}

// meteredHarness has a metered model in place of an agent.
func meteredHarness(t *testing.T, src, limits string, m *metered) *harness {
	t.Helper()
	pricing := fmt.Sprintf("pricing: {models: [{provider_key: openai, provider_model_id: m, input_cost_per_million_tokens: %g, output_cost_per_million_tokens: %g}]}", m.in, m.out)
	h := newHarness(parse(t, src, pricing, limits))
	h.agents = []plan.Deployment{{Name: "a", Provider: provider.OpenAI, Model: "m", Limits: plan.Limits{MaxOutputTokens: fullBound}}}
	h.clients = []provider.Client{m}
	return h
}

// Whatever a model uses within its bounds, and however often it fails, no trial
// passes a limit of its own and no run its budget.
func TestNothingIsEverOverspent(t *testing.T) {
	t.Parallel()
	reached := map[string]int{}
	for seed := range uint64(rounds(40, 400)) {
		draw := rand.New(rand.NewPCG(seed, 3))
		m := newMetered(seed, 1+draw.Float64()*10, 1+draw.Float64()*50)
		m.faults = draw.Float64() / 2
		m.text, m.toolCalls = "", []provider.ToolCall{{ID: "1", Name: "list_files", Arguments: []byte("{}")}}
		tokens, usd, budget := 15_000+draw.Int64N(40_000), 0.02+draw.Float64()*0.3, 0.05+draw.Float64()
		h := meteredHarness(t, nativePack, fmt.Sprintf("runtime_limits: {max_total_tokens: %d, max_cost_usd: %g}", tokens, usd), m)
		h.boxes = sandboxtest.Memory()
		h.options.Repetitions, h.options.Concurrency, h.options.BudgetUSD = 6, 4, budget
		result := h.runOnly(t, t.Context(), h.plan(t))
		for key, n := range m.tokens {
			if n > tokens {
				t.Errorf("seed %d: trial %s used %d tokens of %d", seed, key, n, tokens)
			}
			if m.spent[key] > usd+1e-9 {
				t.Errorf("seed %d: trial %s cost %g of %g", seed, key, m.spent[key], usd)
			}
		}
		if m.usd > budget+1e-9 {
			t.Errorf("seed %d: the run cost %g of %g", seed, m.usd, budget)
		}
		reached[result.Code]++
		for _, trial := range h.trials(t) {
			reached[trial.Code]++
		}
	}
	for _, code := range []string{"", engine.CodeBudget, "token_limit", "cost_limit"} {
		if reached[code] == 0 {
			t.Errorf("nothing ended with %q: %v", code, reached)
		}
	}
}

// A reply that has less room than the deployment gives it is given what is left.
func TestOutputBoundIsLowered(t *testing.T) {
	t.Parallel()
	m := newMetered(1, 1, 10)
	h := meteredHarness(t, promptPack, "runtime_limits: {max_cost_usd: 0.006}", m)
	h.run(t)
	if m.lowered != m.calls || m.calls != 2 {
		t.Fatalf("%d of %d calls had a lower bound, want both", m.lowered, m.calls)
	}
	said := 0
	for _, e := range h.facts {
		if e.Type == event.CallStarted && strings.Contains(string(e.Payload), `"max_output_tokens":5`) {
			said++
		}
	}
	if said != 2 {
		t.Errorf("%d calls say their bound, want 2", said)
	}
	m = newMetered(1, 1, 10)
	h = meteredHarness(t, promptPack, "runtime_limits: {max_cost_usd: 0.002}", m)
	h.run(t)
	if m.calls != 0 || h.trials(t)[0].Code != "cost_limit" || h.trials(t)[0].Outcome != scoring.OutcomeFailed {
		t.Errorf("%d calls without room for a reply; the trial: %+v", m.calls, h.trials(t)[0])
	}
}

// A reply that is cut at a bound that a limit lowered ends the trial by the
// limit's name.
func TestCutAtALimit(t *testing.T) {
	t.Parallel()
	m := newMetered(1, 1, 10)
	h := meteredHarness(t, promptPack, "runtime_limits: {max_cost_usd: 0.006}", m)
	h.clients[0] = cut{m}
	h.run(t)
	if got := h.trials(t)[0]; got.Code != "cost_limit" || got.StopReason != "cost_limit" {
		t.Errorf("got %s %s (%s)", got.Code, got.StopReason, got.Reason)
	}
}

// cut is a model that always says too much.
type cut struct{ *metered }

func (c cut) Complete(ctx context.Context, req provider.Request, f func(provider.Delta)) (provider.Response, error) {
	res, err := c.metered.Complete(ctx, req, f)
	res.Finish = provider.FinishMaxTokens
	return res, err
}

// A limit that only calls nobody answered have used up is not the agent's
// failure.
func TestLimitUsedUpByFaults(t *testing.T) {
	t.Parallel()
	m := newMetered(1, 1, 10)
	m.faults = 1
	h := meteredHarness(t, promptPack, "runtime_limits: {max_cost_usd: 0.015}", m)
	h.options.RetryInvalid = 0
	h.run(t)
	for _, got := range h.trials(t) {
		if got.Outcome != scoring.OutcomeInvalid || got.Code != "unavailable" || !strings.Contains(got.Reason, "not answered") {
			t.Errorf("got %s %s (%s)", got.Outcome, got.Code, got.Reason)
		}
	}
}

// A run that reaches its budget ends as failed, keeps what was finished, and
// goes on with a larger budget where it stopped; what it had spent counts.
func TestBudgetOfARun(t *testing.T) {
	t.Parallel()
	m := newMetered(5, 1, 10)
	h := meteredHarness(t, promptPack, "", m)
	h.options.Repetitions, h.options.Concurrency, h.options.BudgetUSD = 50, 3, 0.2
	planned := h.plan(t)
	result := h.runOnly(t, t.Context(), planned)
	first := h.trials(t)
	if result.Status != "failed" || result.Code != engine.CodeBudget || result.Agents[0].Status != "failed" || result.Agents[0].Cause != engine.CodeBudget {
		t.Fatalf("got %+v", result)
	}
	if len(first) == 0 || len(first) >= 100 || m.usd > 0.2 || result.Agents[0].Scorecard.Trials != len(first) {
		t.Fatalf("%d trials for %g dollars", len(first), m.usd)
	}
	said := 0
	for _, e := range h.facts {
		if v, err := event.Decode[event.Budget](e); e.Type == event.BudgetReach && err == nil {
			said++
			if e.TrialID != "" || v.Limit != "budget_usd" || v.Allowed != 0.2 || v.Used+v.Needed <= 0.2 || v.Used < m.usd-1e-9 {
				t.Errorf("got %+v of %q", v, e.TrialID)
			}
		}
	}
	if said != 1 {
		t.Errorf("the budget's end is said %d times", said)
	}
	// once more, with more
	charges := plan.NewCharges(planned)
	for _, e := range h.facts {
		if err := charges.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if charges.USD() < m.usd-1e-9 || charges.USD() > 0.2 {
		t.Errorf("the facts say %g dollars, the model %g", charges.USD(), m.usd)
	}
	for _, budget := range []float64{0.2, 2} {
		again := h.resumed(t, planned, budget)
		done := again.Status == "completed" && again.Agents[0].Scorecard.Trials == 100
		if enough := budget > 0.2; done != enough || !enough && again.Code != engine.CodeBudget || m.usd > budget {
			t.Errorf("with %g dollars, of which the run cost %g: got %+v", budget, m.usd, again)
		}
	}
}

// resumed runs what is left of a run, with another budget.
func (h *harness) resumed(t *testing.T, planned *plan.Plan, budget float64) engine.Result {
	t.Helper()
	over := map[string]bool{}
	prior := make([][]scoring.Trial, len(planned.Agents))
	for _, trial := range h.trials(t) {
		over[trial.TrialID] = true
		prior[0] = append(prior[0], trial)
	}
	var left []plan.Trial
	for _, trial := range h.plan(t).Trials {
		if !over[trial.ID] {
			trial.Attempt = 9 // later than any that was begun
			left = append(left, trial)
		}
	}
	again := *planned
	if err := again.Reopen(h.pack, plan.Progress{Left: left, Prior: prior, Facts: 100}); err != nil {
		t.Fatal(err)
	}
	if err := again.Renew(plan.Options{BudgetUSD: budget}, time.Now()); err != nil {
		t.Fatal(err)
	}
	charges := plan.NewCharges(&again)
	for _, e := range h.facts {
		if err := charges.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	again.SetCharged(charges.USD())
	return h.runOnly(t, t.Context(), &again)
}

// A budget or limit in dollars needs prices; a script needs none for a budget.
func TestBudgetNeedsPrices(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `default: [{text: "3"}]`)
	h.options.BudgetUSD = 1
	if result := h.run(t); result.Status != "completed" {
		t.Errorf("a script with a budget: got %+v", result)
	}
	h.agents = []plan.Deployment{{Name: "x", Provider: provider.OpenAI, Model: "unpriced-x"}}
	_, err := plan.New(plan.Request{Pack: h.pack, Deployments: h.agents, Options: h.options, Now: time.Now, NewID: func() string { return "id-0001" }})
	if err == nil || !strings.Contains(err.Error(), "--budget-usd cannot be kept") {
		t.Errorf("got %v", err)
	}
}

// A deadline ends the run and what it is doing, and another lets it go on.
func TestDeadlineOfARun(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `
cases:
  small: [{text: "3"}]
  large: [{text: "42", delay_ms: 600000}]
`)
	h.options.Deadline = time.Date(2026, 1, 2, 3, 4, 5, 300e6, time.UTC) // 300 ms after its beginning
	planned := h.plan(t)
	result := h.runOnly(t, t.Context(), planned)
	if result.Status != "failed" || result.Code != engine.CodeDeadline || result.Agents[0].Cause != engine.CodeDeadline || len(h.trials(t)) != 1 {
		t.Fatalf("got %+v and %d trials", result, len(h.trials(t)))
	}
	last := h.facts[len(h.facts)-2]
	if v, err := event.Decode[event.Budget](last); last.Type != event.BudgetReach || err != nil || v.Limit != "deadline_seconds" || v.Allowed != 0.3 {
		t.Errorf("got %s %s", last.Type, last.Payload)
	}
	if err := planned.Renew(plan.Options{}, time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)); err == nil || !strings.Contains(err.Error(), "--deadline") {
		t.Errorf("a deadline that has passed: got %v", err)
	}
}

// Each limit that a trial has ends it by a name of its own.
func TestLimitsAreStopReasons(t *testing.T) {
	t.Parallel()
	const list = `{tool_calls: [{name: list_files, arguments: {}}], usage: {input_tokens: 10, output_tokens: 10}}`
	const price = "\n    pricing: {models: [{provider_key: scripted, provider_model_id: agent.yaml, input_cost_per_million_tokens: 1, output_cost_per_million_tokens: 1}]}"
	for stop, row := range map[string]struct {
		spec, script string
		limits       plan.Limits
	}{
		"step_limit":  {"runtime_limits: {max_iterations: 3}", "default: [" + list + "]", plan.Limits{}},
		"tool_limit":  {"", "default: [" + list + "]", plan.Limits{MaxToolCalls: 2}},
		"token_limit": {"runtime_limits: {max_total_tokens: 50}", "default: [" + list + "]", plan.Limits{}},
		"cost_limit":  {"runtime_limits: {max_cost_usd: 0.00005}" + price, "default: [" + list + "]", plan.Limits{}},
		"timeout":     {"runtime_limits: {max_duration_ms: 10}", "default: [{delay_ms: 30, tool_calls: [{name: list_files, arguments: {}}]}]", plan.Limits{}},
		"max_tokens":  {"", "default: [{text: a, finish_reason: max_tokens}]", plan.Limits{}},
		"no_submit":   {"", "default: [{text: a}]", plan.Limits{}},
		"completed":   {"", "default: [" + list + ", {tool_calls: [{name: submit, arguments: {answer: x}}]}]", plan.Limits{MaxToolCalls: 1}}, // submit is free
	} {
		t.Run(stop, func(t *testing.T) {
			t.Parallel()
			h, _ := native(t, row.script, row.spec)
			h.agents[0].Limits = row.limits
			h.run(t)
			got := h.only(t)
			if got.StopReason != stop || stop != "completed" && (got.Code != stop || got.Outcome != scoring.OutcomeFailed) {
				t.Errorf("got %s %s, stopped by %s (%s)", got.Outcome, got.Code, got.StopReason, got.Reason)
			}
		})
	}
}

// An agent that answers in text is reminded as often as its deployment says.
func TestTextReminders(t *testing.T) {
	t.Parallel()
	for reminders, calls := range map[int]int{-1: 2, 0: 1, 1: 2, 3: 4, 5: 6} {
		h, _ := native(t, "default: [{text: thinking}]", "")
		if reminders >= 0 {
			h.agents[0].Limits.TextReminders = &reminders
		}
		h.run(t)
		if n := strings.Count(strings.Join(h.types("one"), " "), "model.call.completed"); n != calls || h.only(t).Code != "no_submit" {
			t.Errorf("%d reminders: %d calls, %s", reminders, n, h.only(t).Code)
		}
	}
}

// What a trial waits for its provider is not its own time.
func TestWaitsAreNotTheTrialsTime(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack, "runtime_limits: {max_duration_ms: 1000}"),
		`default: [{error: {code: rate_limit, message: x, retry_after_ms: 5000}}, {text: "3", delay_ms: 900}]`)
	h.run(t)
	if got := h.trials(t)[0]; got.Outcome != scoring.OutcomePassed {
		t.Errorf("got %s %s (%s)", got.Outcome, got.Code, got.Reason)
	}
}

// No call waits for longer than --max-wait says.
func TestMaxWait(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]int{0: 1, 4000: 1, 6000: 2} {
		h := newHarness(parse(t, promptPack), `default: [{error: {code: rate_limit, message: x, retry_after_ms: 5000}}, {text: "3"}]`)
		h.options.MaxWaitMS, h.options.RetryInvalid = &ms, 0
		p := h.plan(t)
		p.Trials = p.Trials[:1]
		h.runPlan(t, t.Context(), p)
		tries := strings.Count(strings.Join(h.types("small"), " "), "model.call.failed") + strings.Count(strings.Join(h.types("small"), " "), "model.call.completed")
		if got := h.only(t); tries != want || (got.Outcome == scoring.OutcomePassed) != (want == 2) {
			t.Errorf("%d ms: %d tries, %s %s", ms, tries, got.Outcome, got.Code)
		}
	}
}

// All calls of a run with one key go at one pace, whichever lane makes them.
func TestLanesShareAPace(t *testing.T) {
	t.Parallel()
	m := &crowded{}
	h := newHarness(parse(t, promptPack))
	for i := range 4 {
		h.agents = append(h.agents, plan.Deployment{Name: fmt.Sprint(i), Provider: provider.OpenAI, Model: "m", MaxConcurrent: 2})
		h.clients = append(h.clients, m)
	}
	h.options.Repetitions, h.options.Concurrency = 5, 16
	h.runOnly(t, t.Context(), h.plan(t))
	if m.most > 2 || m.calls != 40 {
		t.Errorf("%d calls, %d at once, want 40 and 2", m.calls, m.most)
	}
}

type crowded struct {
	mu                 sync.Mutex
	calls, under, most int
}

func (c *crowded) Complete(context.Context, provider.Request, func(provider.Delta)) (provider.Response, error) {
	c.mu.Lock()
	c.calls++
	c.under++
	c.most = max(c.most, c.under)
	c.mu.Unlock()
	time.Sleep(time.Millisecond) // so that others could come in
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under--
	if c.under < 0 {
		return provider.Response{}, errors.New("more have left than came")
	}
	return provider.Response{Text: "3"}, nil
}

// Judges spend from the budget of the run as well. A trial that only lacks them
// is left unfinished, and asks nobody but them when there is more to spend.
func TestBudgetIsForJudgesToo(t *testing.T) {
	t.Parallel()
	for name, judge := range map[string]string{"of a trial": fmt.Sprintf(rubricJudge, 2), "of a group": ranked} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := replying(`{"score": 5, "confidence": "high"}`)
			if judge == ranked {
				answer = kinder
			}
			h := judged(t, judge, "", answer, says("dear a"), says("a"))
			h.options.BudgetUSD = 0.01
			planned := h.plan(t)
			result := h.runOnly(t, t.Context(), planned)
			if result.Code != engine.CodeBudget || len(h.trials(t)) != 0 {
				t.Fatalf("got %+v and %d trials", result, len(h.trials(t)))
			}
			again := *planned
			left := h.plan(t).Trials
			for i := range left {
				left[i].Attempt = 2
			}
			if err := again.Reopen(h.pack, plan.Progress{Left: left, Prior: make([][]scoring.Trial, 2), Facts: 50}); err != nil {
				t.Fatal(err)
			}
			if err := again.Renew(plan.Options{BudgetUSD: 1}, time.Now()); err != nil {
				t.Fatal(err)
			}
			before := charged(t, h, &again)
			again.SetCharged(before)
			result = h.runOnly(t, t.Context(), &again)
			if result.Status != "completed" || len(h.trials(t)) != 2 {
				t.Fatalf("got %+v and %d trials", result, len(h.trials(t)))
			}
			// the agents used 15 tokens each, once; the facts of the second attempt that
			// say so are those of the first, stated again
			judges, asked := 0.0, 0
			for _, e := range h.facts {
				if v, err := event.Decode[event.JudgeReply](e); e.Type == event.JudgeDone && err == nil && !v.Shared {
					judges, asked = judges+v.ChargedUSD, asked+1
				}
			}
			if got, want := charged(t, h, &again), 2*15e-6+judges; before < 15e-6-1e-9 || before > 2*15e-6+1e-9 || asked == 0 || judges == 0 || got < want-1e-9 || got > want+1e-9 {
				t.Errorf("charged %g, then %g, of which %d judges %g", before, got, asked, judges)
			}
		})
	}
}

func charged(t *testing.T, h *harness, planned *plan.Plan) float64 {
	t.Helper()
	c := plan.NewCharges(planned)
	for _, e := range h.facts {
		if err := c.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return c.USD()
}
