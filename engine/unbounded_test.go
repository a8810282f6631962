package engine_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// uses is a model, or an endpoint, that uses what it uses, whatever it was sent.
type uses struct {
	usage *provider.Usage
	usd   *float64
	calls int
}

func (u *uses) Complete(_ context.Context, req provider.Request, _ func(provider.Delta)) (provider.Response, error) {
	u.calls++
	return provider.Response{Model: req.Model, Text: "3", Finish: provider.FinishStop, Usage: u.usage, CostUSD: u.usd}, nil
}

const dollarPack = "\n    pricing: {models: [{provider_key: %s, provider_model_id: m, input_cost_per_million_tokens: 10, output_cost_per_million_tokens: 40}]}"

// searching is a research pack with a model, and endpoint a prompt pack with an
// endpoint: what these use is known afterwards only.
func searching(t *testing.T, limits string, u *uses) *harness {
	t.Helper()
	h := newHarness(parse(t, strings.Replace(promptPack, "execution_mode: prompt_eval", "execution_mode: responses", 1), limits+fmt.Sprintf(dollarPack, "openai")))
	h.agents = []plan.Deployment{{Name: "deep", Provider: provider.OpenAI, Model: "m", Limits: plan.Limits{MaxOutputTokens: 1000}}}
	h.clients = []provider.Client{u}
	return h
}

func endpoint(t *testing.T, limits string, u *uses) *harness {
	t.Helper()
	h := newHarness(parse(t, promptPack, limits+fmt.Sprintf(dollarPack, "http")))
	h.agents = []plan.Deployment{{Name: "svc", Kind: plan.KindHTTP, Provider: "http", Model: "m", HTTP: &plan.HTTPTarget{URL: "http://localhost/"}}}
	h.clients = []provider.Client{u}
	return h
}

// A budget cannot be kept where nobody knows beforehand what a call can use: it is
// refused when the run is planned, and when one is resumed.
func TestNoBudgetForWhatHasNoBound(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*harness{"searches the web": searching(t, "", nil), "what an endpoint spends is its own": endpoint(t, "", nil)} {
		h.options.BudgetUSD = 1
		_, err := plan.New(plan.Request{Pack: h.pack, Deployments: h.agents, Options: h.options, Now: time.Now, NewID: func() string { return "id-0001" }})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "leave --budget-usd out") {
			t.Errorf("got %v, want an error that says %q and what to type", err, name)
		}
		h.options.BudgetUSD = 0
		planned := h.plan(t)
		if usd, why := planned.Ceiling(0); usd != 0 || !strings.Contains(why, name) {
			t.Errorf("a ceiling of %g, for %q", usd, why)
		}
		if err := planned.Renew(plan.Options{BudgetUSD: 1}, time.Now()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("resumed with a budget: got %v", err)
		}
	}
	h := newHarness(parse(t, strings.Replace(promptPack, "execution_mode: prompt_eval", "execution_mode: responses", 1)), `default: [{text: "3"}]`)
	h.options.BudgetUSD = 1
	if result := h.run(t); result.Status != "completed" {
		t.Errorf("a script knows what it uses: got %+v", result)
	}
}

// The limits of a trial are held against what such a call has used when its reply
// is there.
func TestLimitsAreCheckedAfterwards(t *testing.T) {
	t.Parallel()
	type made = func(*testing.T, string, *uses) *harness
	much, little := &provider.Usage{Input: 900_000, Output: 10, Total: 900_010}, &provider.Usage{Input: 100, Output: 10, Total: 110}
	for name, c := range map[string]struct {
		made   made
		limits string
		uses   uses
		code   string // "" passes
		key    string
	}{
		"dollars of a search":             {searching, "runtime_limits: {max_cost_usd: 0.5}", uses{usage: much}, "cost_limit", "max_cost_usd"},
		"tokens of a search":              {searching, "runtime_limits: {max_total_tokens: 20000}", uses{usage: much}, "token_limit", "max_total_tokens"},
		"a search within both":            {searching, "runtime_limits: {max_cost_usd: 0.5, max_total_tokens: 20000}", uses{usage: little}, "", ""},
		"dollars of an endpoint":          {endpoint, "runtime_limits: {max_cost_usd: 0.5}", uses{usage: much}, "cost_limit", "max_cost_usd"},
		"dollars that an endpoint says":   {endpoint, "runtime_limits: {max_cost_usd: 0.5}", uses{usd: new(0.6)}, "cost_limit", "max_cost_usd"},
		"tokens of an endpoint":           {endpoint, "runtime_limits: {max_total_tokens: 20000}", uses{usage: much}, "token_limit", "max_total_tokens"},
		"an endpoint within both":         {endpoint, "runtime_limits: {max_cost_usd: 0.5, max_total_tokens: 120}", uses{usage: little}, "", ""},
		"an endpoint that says nothing":   {endpoint, "runtime_limits: {max_cost_usd: 0.5, max_total_tokens: 120}", uses{}, "", ""},
		"a search that has no limit here": {searching, "", uses{usage: much}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := c.made(t, c.limits, &c.uses)
			planned := h.plan(t)
			planned.Trials = planned.Trials[:1]
			h.runOnly(t, t.Context(), planned)
			got := h.only(t)
			if got.Code != c.code || (got.Outcome == scoring.OutcomePassed) != (c.code == "") || c.uses.calls != 1 {
				t.Fatalf("got %s %s (%s) after %d calls", got.Outcome, got.Code, got.Reason, c.uses.calls)
			}
			if c.code == "" {
				return
			}
			if got.Outcome != scoring.OutcomeFailed || got.FinalOutput == nil || *got.FinalOutput != "3" || strings.Contains(got.Reason, "can come to") {
				t.Errorf("got %s with the answer %v (%s)", got.Outcome, got.FinalOutput, got.Reason)
			}
			at := slices.IndexFunc(h.facts, func(e event.Event) bool { return e.Type == event.BudgetReach })
			if at < 0 {
				t.Fatal("no fact says that the limit is passed")
			}
			if v, err := event.Decode[event.Budget](h.facts[at]); err != nil || v.Limit != c.key || v.Used <= v.Allowed || v.Needed != 0 {
				t.Errorf("got %+v, %v", v, err)
			}
		})
	}
}

// A process that was killed while a user's model was asked has spent what it had
// set aside for it, as for every other call.
func TestAnAskedUserCountsWhenNothingMoreIsHeard(t *testing.T) {
	t.Parallel()
	h := talk(t, simulated, "default: [{text: yes}]", "pricing: {models: [{provider_key: scripted, provider_model_id: agent.yaml, input_cost_per_million_tokens: 1, output_cost_per_million_tokens: 10}]}")
	u := &uses{usage: &provider.Usage{Input: 1000, Output: 100, Total: 1100}}
	for i := range h.users {
		h.users[i] = u
	}
	h.options.BudgetUSD = 1
	planned := h.plan(t)
	h.runOnly(t, t.Context(), planned)
	sum, set, heard := plan.NewCharges(planned), 0.0, 0.0
	for _, e := range h.facts {
		before := sum.USD()
		if err := sum.Apply(e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case event.TurnAsked:
			v, err := event.Decode[event.SimulatorCall](e)
			if set = v.ReservedUSD; err != nil || set < plan.SimulatorMaxOutput*10/1e6 || math.Abs(sum.USD()-before-set) > 1e-9 {
				t.Errorf("asked: %g are set aside, and %g counted; %v", set, sum.USD()-before, err)
			}
		case event.TurnSimulated:
			heard++
			if math.Abs(sum.USD()-before+set-0.002) > 1e-9 {
				t.Errorf("heard: %g counted in place of %g", sum.USD()-before+set, set)
			}
		}
	}
	if heard != 2 || u.calls != 2 {
		t.Errorf("%g users were heard, %d asked, want 2", heard, u.calls)
	}
}

// A try of a user's call that is not made is not paid for, and one that waits to
// be made again is open.
func TestChargesOfAUserThatIsAskedAgain(t *testing.T) {
	t.Parallel()
	h := talk(t, simulated, "default: [{text: yes}]")
	sum := plan.NewCharges(h.plan(t))
	for i, step := range []struct {
		typ  event.Type
		what any
		want float64
	}{
		{event.CallStarted, event.Call{ReservedUSD: 0.5}, 0.5},
		{event.CallDone, event.CallEnd{ChargedUSD: 0.25}, 0.25},
		{event.TurnAsked, event.SimulatorCall{PhaseID: "sim", ReservedUSD: 1}, 1.25},
		{event.CallFailed, event.CallError{PhaseID: "sim", ChargedUSD: 0.125}, 0.375},
		{event.CallRetried, event.CallError{PhaseID: "sim"}, 1.375},
		{event.CallFailed, event.CallError{PhaseID: "sim"}, 0.375},
	} {
		payload, err := event.Marshal(step.what)
		if err != nil {
			t.Fatal(err)
		}
		if err := sum.Apply(event.Event{Type: step.typ, TrialID: "t", Attempt: 1, Payload: payload}); err != nil || math.Abs(sum.USD()-step.want) > 1e-12 {
			t.Errorf("step %d, %s: got %g, want %g; %v", i, step.typ, sum.USD(), step.want, err)
		}
	}
}

// Every model that a program may ask needs a price where money has a limit, and
// costs its own price, whatever name the reply has for it.
func TestEachModelOfAProgramHasItsPrice(t *testing.T) {
	t.Parallel()
	const both = "pricing: {models: [{provider_key: openai, provider_model_id: gpt-x, input_cost_per_million_tokens: 1, output_cost_per_million_tokens: 1}, {provider_key: openai, provider_model_id: dear, input_cost_per_million_tokens: 1000, output_cost_per_million_tokens: 1000}]}"
	answered := strings.ReplaceAll(completion("ok", "", ""), `"model":"gpt-x"`, `"model":"another-name"`)
	h, _ := commanded(t, vendor(t, always(http.StatusOK, answered)), func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error) {
		if status, body, err := asks(b, c, "dear"); status != http.StatusOK || err != nil {
			t.Errorf("got %d %s %v", status, body, err)
		}
		return sandboxtest.Exited(0, "done\n", ""), nil
	}, both)
	h.agents[0].Command.Models = []string{"dear"}
	h.agents[0].Limits.MaxOutputTokens = 100
	h.options.BudgetUSD = 10
	planned := h.plan(t)
	h.runOnly(t, t.Context(), planned)
	if got := charged(t, h, planned); math.Abs(got-0.11) > 1e-9 {
		t.Errorf("110 tokens at $1000 a million: %g charged", got)
	}
	for i, e := range h.facts { // as if the run had had no budget then
		if e.Type == event.CallDone {
			h.facts[i].Payload = []byte(strings.Replace(string(e.Payload), "charged_usd", "was", 1))
		}
	}
	if got := charged(t, h, planned); math.Abs(got-0.11) > 1e-9 {
		t.Errorf("by their usage: %g charged", got)
	}
	for name, limit := range map[string]string{"--budget-usd": "", "max_cost_usd": "\n    runtime_limits: {max_cost_usd: 1}"} {
		h, _ := commanded(t, vendor(t, always(http.StatusOK, answered)), nil, priced+limit)
		h.agents[0].Command.Models = []string{"dear"}
		if limit == "" {
			h.options.BudgetUSD = 10
		}
		_, err := plan.New(plan.Request{Pack: h.pack, Deployments: h.agents, Options: h.options, Now: time.Now, NewID: func() string { return "id-0001" }})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), `provider_model_id "dear"`) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// What anthropic writes to its cache is set aside and charged at its own price.
func TestCacheWritesAreCharged(t *testing.T) {
	t.Parallel()
	const rows = "pricing: {models: [{provider_key: anthropic, provider_model_id: m, input_cost_per_million_tokens: 100, output_cost_per_million_tokens: 1}]}"
	for name, c := range map[string]struct {
		cache  *bool
		factor float64 // of what is set aside
	}{"by default": {nil, 1.25}, "asked for": {new(true), 1.25}, "not asked for": {new(false), 1}} {
		u := &uses{usage: &provider.Usage{Input: 1000, Output: 0, Total: 1000, CacheWrite: 400, CacheRead: 100}}
		h := newHarness(parse(t, promptPack, rows))
		h.agents = []plan.Deployment{{Name: "a", Provider: provider.Anthropic, Model: "m", PromptCache: c.cache, Limits: plan.Limits{MaxOutputTokens: 256}}}
		h.clients, h.options.BudgetUSD = []provider.Client{u}, 10
		planned := h.plan(t)
		planned.Trials = planned.Trials[:1]
		h.runOnly(t, t.Context(), planned)
		if got := charged(t, h, planned); math.Abs(got-0.11) > 1e-9 { // 600 plain ones and 400 at a quarter more
			t.Errorf("%s: %g charged", name, got)
		}
		at := slices.IndexFunc(h.facts, func(e event.Event) bool { return e.Type == event.CallStarted })
		v, err := event.Decode[event.Call](h.facts[at])
		in := (v.ReservedUSD - 256/1e6) / (100.0 / 1e6) / c.factor
		if err != nil || in < 1 || math.Abs(in-math.Round(in)) > 1e-6 {
			t.Errorf("%s: %g set aside, which is %g tokens of input; %v", name, v.ReservedUSD, in, err)
		}
		if got := h.only(t); got.CostUSD == nil || math.Abs(*got.CostUSD-0.1) > 1e-9 {
			t.Errorf("%s: costs are scored by the price of plain input, got %v", name, got.CostUSD)
		}
	}
}

// What a program sends to get past its limits does not reach the provider, and
// what has no bound does only where there is no limit to be kept.
func TestAProgramCannotGoRoundItsLimits(t *testing.T) {
	t.Parallel()
	const image = `{"model":"gpt-x","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}]}`
	for limit, want := range map[string]int{"": http.StatusOK, "runtime_limits: {max_cost_usd: 0.9}": 400, "runtime_limits: {max_total_tokens: 10000}": 400, "budget": 400} {
		asked := 0
		up := vendor(t, func(int64) (int, string) { asked++; return http.StatusOK, completion("ok", "", "") })
		h, _ := commanded(t, up, func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error) {
			for _, body := range []string{`"previous_response_id":"resp_0"`, `"conversation":"conv_0"`, `"prompt":{"id":"pmpt_0"}`} {
				status, told, err := posts(b, c, "responses", `{"model":"gpt-x","max_output_tokens":16,"input":"go on",`+body+`}`)
				if status != http.StatusBadRequest || err != nil || !strings.Contains(told, "not let through") {
					t.Errorf("%q, %s: got %d %s %v", limit, body, status, told, err)
				}
			}
			if status, told, err := posts(b, c, "chat/completions", image); status != want || err != nil {
				t.Errorf("%q, an image: got %d, want %d: %s %v", limit, status, want, told, err)
			}
			return sandboxtest.Exited(0, "done\n", ""), nil
		}, priced+"\n    "+strings.Replace(limit, "budget", "", 1))
		h.agents[0].Limits.MaxOutputTokens = 100
		if limit == "budget" {
			h.options.BudgetUSD = 1
		}
		h.run(t)
		if passed := h.only(t).Outcome == scoring.OutcomePassed; !passed || asked != map[int]int{http.StatusOK: 1, 400: 0}[want] {
			t.Errorf("%q: the provider was asked %d times; passed: %v", limit, asked, passed)
		}
	}
}
