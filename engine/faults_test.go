package engine_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai"
	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
	"github.com/agentclash/agentclash/engine/provider/wire"
	"github.com/agentclash/agentclash/scoring"
)

// faultyServer is a model on loopback that one request in five meets a fault of:
// a rate limit, with and without a time to wait, a server's error, silence, a
// stream that breaks off and one that ends too early. Which ones is decided by
// the seed, the case and how often it was asked, so that it does not matter who
// comes first. It counts what it asks to be paid for: everything but what it
// refuses outright.
type faultyServer struct {
	seed     uint64
	patience int // seconds that a trial has, 0: longer than a call may be silent

	mu     sync.Mutex
	asked  map[int]int    // requests, by case
	faults map[string]int // by kind
	usd    float64
	judged int
}

// The prices of the faulty server's models, for a million tokens.
const (
	faultyIn  = 2.0
	faultyOut = 10.0
)

// unlucky cases have nothing but errors in their first attempt.
func unlucky(n int) bool { return n%50 == 7 }

var (
	caseNumber  = regexp.MustCompile(`number (\d+)`)
	faultKinds  = []string{"429", "429 with a time", "500", "silence", "cut", "short"}
	agentsFault = []string{"", "wrong", "empty_output", "max_tokens", "content_filter"}
)

// mistake is what the agent does wrong in a case, "" for nothing.
func mistake(n int) string {
	if n%4 > 0 {
		return ""
	}
	return agentsFault[n/4%len(agentsFault)]
}

func (f *faultyServer) answer(r openaitest.Request) openaitest.Reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := question(r)
	n, _ := strconv.Atoi(caseNumber.FindStringSubmatch(text)[1]) // the pattern has digits
	judge := r.Decoded.Model == "gpt-judge"
	key := n
	if judge {
		key = -n - 1
	}
	f.asked[key]++
	h := fnv.New64a()
	fmt.Fprint(h, f.seed, " ", key, " ", f.asked[key])
	chance := h.Sum64() >> 11
	usage := openaitest.Usage{Prompt: int64(len(text)), Completion: int64(chance % 400)}
	reply := f.good(n, judge)
	if chance%5 == 0 || !judge && unlucky(n) && f.asked[key] <= 3 {
		kind := faultKinds[chance/5%uint64(len(faultKinds))]
		f.faults[kind]++
		reply = faulty(kind, reply)
		if strings.HasPrefix(kind, "429") {
			return reply
		}
	}
	reply.Usage = &usage
	f.usd += float64(usage.Prompt)/1e6*faultyIn + float64(usage.Completion)/1e6*faultyOut
	if judge {
		f.judged++
	}
	return reply
}

func (f *faultyServer) good(n int, judge bool) openaitest.Reply {
	if judge {
		return openaitest.Text(`{"score": 5, "confidence": "high"}`)
	}
	switch mistake(n) {
	case "wrong":
		return openaitest.Text("no idea")
	case "empty_output":
		return openaitest.Text("")
	case "max_tokens":
		return openaitest.Reply{Pieces: []string{"right, and"}, Finish: "length"}
	case "content_filter":
		return openaitest.Reply{Finish: "content_filter"}
	}
	return openaitest.Reply{Pieces: []string{"quite ", "right"}}
}

func faulty(kind string, good openaitest.Reply) openaitest.Reply {
	switch kind {
	case "429":
		return openaitest.Error(429, "requests", "rate_limit_exceeded", "Rate limit reached")
	case "429 with a time":
		return openaitest.RateLimited("3")
	case "500":
		return openaitest.Error(500, "server_error", "", "The server had an error")
	case "silence":
		good.StallAfter = 1
	case "cut":
		good.CutAfter = 1
	case "short":
		good.EndAfter = 1
	}
	return good
}

// faultyRun is a run of prompts against the server, judged by another model of
// it where judges are wanted.
func faultyRun(t *testing.T, f *faultyServer, trials int, judged bool) *harness {
	t.Helper()
	f.asked, f.faults = map[int]int{}, map[string]int{}
	url := openaitest.NewFunc(t, f.answer).URL
	idle := 400 * time.Millisecond
	if f.patience > 0 {
		idle = 0 // longer than any trial
	}
	client, err := openai.New(openai.Options{Options: wire.Options{BaseURL: url, Limits: wire.Limits{Idle: idle}}})
	if err != nil {
		t.Fatal(err)
	}
	var src strings.Builder
	fmt.Fprintf(&src, `
pack: {slug: faults, name: Faults, family: faults}
version:
  number: 1
  execution_mode: prompt_eval
  evaluation_spec:
    name: faults
    version_number: 1
    judge_mode: %s
    validators: [{key: said, type: contains, target: final_output, expected_from: "literal:right"}]
    pricing:
      models:
        - {provider_key: openai, provider_model_id: gpt-agent, input_cost_per_million_tokens: %g, output_cost_per_million_tokens: %g}
        - {provider_key: openai, provider_model_id: gpt-judge, input_cost_per_million_tokens: %g, output_cost_per_million_tokens: %g}
`, map[bool]string{true: "hybrid", false: "deterministic"}[judged], faultyIn, faultyOut, faultyIn, faultyOut)
	if judged {
		src.WriteString(`
    llm_judges: [{key: j, mode: rubric, model: gpt-judge, rubric: 'Is it right?', context_from: [challenge_input, final_output], samples: 1}]
    scorecard: {strategy: hybrid, dimensions: [correctness, {key: q, source: llm_judge, judge_key: j, gate: true, pass_threshold: 0.5}]}
`)
	} else {
		src.WriteString("    scorecard: {dimensions: [correctness], pass_threshold: 1}\n")
	}
	src.WriteString(`
challenges: [{key: c, title: C, category: faults, difficulty: easy, instructions: "What is number {{n}}?"}]
input_sets:
  - key: default
    name: Default
    cases:
`)
	for i := range trials {
		fmt.Fprintf(&src, "      - {challenge_key: c, case_key: case-%03d, payload: {n: %d, text: number %d}}\n", i, i, i)
	}
	h := newHarness(parse(t, src.String()))
	h.agents = []plan.Deployment{{Name: "a", Provider: provider.OpenAI, Model: "gpt-agent", Limits: plan.Limits{MaxOutputTokens: 400, RunTimeoutSeconds: f.patience}}}
	h.clients = []provider.Client{client}
	if judged {
		h.judges = map[string]provider.Client{"gpt-judge": client}
	}
	h.options.Concurrency = 16
	return h
}

// Every trial of a run ends under random faults of its provider: what these make
// of it is invalid and tried again, and what the agent does wrong is its failure
// all the same.
func TestEveryTrialEndsUnderFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(rounds(1, 5)) {
		f := &faultyServer{seed: seed}
		h := faultyRun(t, f, 500, false)
		result := h.runOnly(t, t.Context(), h.plan(t))
		decided := map[string]scoring.Trial{}
		retried := 0
		for _, trial := range h.trials(t) {
			decided[trial.CaseKey] = trial
			if trial.Attempt > 1 {
				retried++
			}
			wantBlame(t, trial)
		}
		if len(decided) != 500 || result.Status != "completed" {
			t.Errorf("seed %d: %d of 500 trials ended, the run is %s (%s)", seed, len(decided), result.Status, result.Reason)
		}
		if retried < 10 {
			t.Errorf("seed %d: %d trials were tried again, want the 10 unlucky ones at least", seed, retried)
		}
		for _, kind := range faultKinds {
			if f.faults[kind] < 5 {
				t.Errorf("seed %d: too few faults to mean anything: %v", seed, f.faults)
			}
		}
		h.everyFaultIsSaid(t, f)
		t.Logf("seed %d: faults %v, %d trials tried again", seed, f.faults, retried)
	}
}

// A provider that says nothing, or nothing more, until the trial's own time is up
// is what failed, also where no call may be silent that long by itself: such
// attempts are invalid, and made again.
func TestSilenceIsTheProviders(t *testing.T) {
	t.Parallel()
	f := &faultyServer{patience: 2}
	h := faultyRun(t, f, 150, false)
	result := h.runOnly(t, t.Context(), h.plan(t))
	silent := 0
	for _, trial := range h.trials(t) {
		wantBlame(t, trial)
		if strings.Contains(trial.Reason, "had been silent for ") {
			silent++
		}
	}
	if result.Status != "completed" || silent == 0 || silent != f.faults["silence"] {
		t.Errorf("the run is %s (%s), and of %d silences %d ended an attempt", result.Status, result.Reason, f.faults["silence"], silent)
	}
}

// wantBlame sees that an attempt is blamed on whom it is to be blamed on.
func wantBlame(t *testing.T, trial scoring.Trial) {
	t.Helper()
	n, _ := strconv.Atoi(strings.TrimPrefix(trial.CaseKey, "case-"))
	want := scoring.OutcomeFailed
	if mistake(n) == "" {
		want = scoring.OutcomePassed
	}
	switch {
	case trial.Outcome == scoring.OutcomeInvalid:
		switch provider.Code(trial.Code) {
		case provider.RateLimit, provider.Unavailable, provider.Timeout, provider.MalformedResponse:
		default:
			t.Errorf("%s: invalid for %s (%s), which is no fault of the provider's", trial.CaseKey, trial.Code, trial.Reason)
		}
	case trial.Outcome != want:
		t.Errorf("%s: %s %s (%s), want %s for %q", trial.CaseKey, trial.Outcome, trial.Code, trial.Reason, want, mistake(n))
	case want == scoring.OutcomeFailed && mistake(n) != "wrong" && trial.Code != mistake(n):
		t.Errorf("%s: failed for %q, want %q", trial.CaseKey, trial.Code, mistake(n))
	}
}

// everyFaultIsSaid sees that each failed try is a fact, and each that is made
// again another.
func (h *harness) everyFaultIsSaid(t *testing.T, f *faultyServer) {
	t.Helper()
	failed, faults := 0, 0
	for _, e := range h.facts {
		if e.Type == event.CallFailed {
			failed++
		}
	}
	for _, n := range f.faults {
		faults += n
	}
	if failed < faults {
		t.Errorf("%d faults, and %d facts of failed calls", faults, failed)
	}
}

// Under the same faults, what the server asks for never passes the run's budget,
// whether agents or judges spend it, and the run goes on with a larger one.
func TestBudgetHoldsUnderFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(rounds(2, 6)) {
		f := &faultyServer{seed: seed}
		h := faultyRun(t, f, rounds(100, 500), true)
		budget := 0.2 + 0.05*float64(seed%5)
		h.options.BudgetUSD = budget
		planned := h.plan(t)
		result := h.runOnly(t, t.Context(), planned)
		if f.usd > budget || result.Code != engine.CodeBudget || result.Status != "failed" {
			t.Errorf("seed %d: %g dollars of %g, and the run is %s %s", seed, f.usd, budget, result.Status, result.Code)
		}
		if f.judged == 0 || f.usd < budget/10 {
			t.Errorf("seed %d: %g of %g dollars and %d judgements are too little to mean anything", seed, f.usd, budget, f.judged)
		}
		spent := f.usd
		for range 20 {
			budget *= 2
			result = h.resumed(t, planned, budget)
			if f.usd > budget {
				t.Errorf("seed %d: %g dollars of %g", seed, f.usd, budget)
			}
			if result.Status == "completed" {
				break
			}
		}
		if result.Status != "completed" || result.Agents[0].Scorecard.Trials != len(planned.Cases) {
			t.Errorf("seed %d: with %g dollars the run is %s (%s), with %d trials", seed, budget, result.Status, result.Reason, result.Agents[0].Scorecard.Trials)
		}
		t.Logf("seed %d: %g dollars, then %g", seed, spent, f.usd)
	}
}

// An account's bound on calls at once holds for all that ask with it: deployments
// of several models, judges, and a deployment that says nothing of it.
func TestAccountsBoundAllCalls(t *testing.T) {
	t.Parallel()
	h := faultyRun(t, &faultyServer{}, 12, true)
	var underWay, most, calls atomic.Int32
	model := modelFunc(func(_ context.Context, req provider.Request) (provider.Response, error) {
		calls.Add(1)
		if now := underWay.Add(1); now > most.Load() {
			most.Store(now)
		}
		defer underWay.Add(-1)
		time.Sleep(time.Millisecond) // others would come meanwhile
		text := "right"
		if req.Model == "gpt-judge" {
			text = `{"score": 5, "confidence": "high"}`
		}
		return provider.Response{Text: text, Finish: provider.FinishStop}, nil
	})
	h.agents, h.clients, h.judges = nil, nil, map[string]provider.Client{"gpt-judge": model}
	for i, bound := range []int{0, 1, 2} {
		h.agents = append(h.agents, plan.Deployment{Name: fmt.Sprint("d", i), Provider: provider.OpenAI, Model: fmt.Sprint("gpt-", i),
			BaseURL: "http://127.0.0.1:1/v1", Account: "env://KEY", MaxConcurrent: bound})
		h.clients = append(h.clients, model)
	}
	h.run(t)
	if calls.Load() != 2*3*12 || most.Load() != 1 {
		t.Errorf("%d calls, %d of them at once; want %d, one by one", calls.Load(), most.Load(), 2*3*12)
	}
}
