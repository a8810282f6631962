package main_test

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
)

const cachedPack = `pack: {slug: cached, name: Cached, family: cached}
version:
  number: 1
  execution_mode: prompt_eval
  evaluation_spec:
    name: cached
    version_number: 1
    judge_mode: hybrid
    pricing:
      models:
        - {provider_key: openai, provider_model_id: gpt-test, input_cost_per_million_tokens: 1, output_cost_per_million_tokens: 2}
        - {provider_key: openai, provider_model_id: gpt-judge, input_cost_per_million_tokens: 3, output_cost_per_million_tokens: 4}
    validators: [{key: right, type: contains, target: final_output, expected_from: "literal:4"}]
    llm_judges:
      - {key: tone, mode: rubric, model: openai/gpt-judge, rubric: "5 is warm, 1 is cold.", context_from: [final_output], samples: 2}
    scorecard:
      strategy: hybrid
      dimensions:
        - {key: correctness, gate: true, pass_threshold: 1}
        - {key: manners, source: llm_judge, judge_key: tone}
challenges: [{key: add, title: Add, category: math, difficulty: easy, instructions: "{{question}}"}]
input_sets:
  - key: default
    name: Default
    cases:
      - {challenge_key: add, case_key: plain, payload: {question: "What is 2 + 2?"}}
      - {challenge_key: add, case_key: cut, payload: {question: "Tell me of 4, at length."}}
      - {challenge_key: add, case_key: withheld, payload: {question: "Tell me a secret."}}
`

type cachedCard struct {
	Candidate struct{ Cache bool }
	Scorecard struct {
		CostUSD  *float64 `json:"cost_usd"`
		SpentUSD *float64 `json:"spent_usd"`
		Judging  struct {
			CostUSD *float64 `json:"cost_usd"`
		}
		Usage struct {
			TotalTokens int `json:"total_tokens"`
		}
	}
}

type explained struct {
	Hits, Live int
	Calls      []struct {
		CaseKey    string `json:"case_key"`
		Repetition int
		Judge      string `json:"judge_key"`
		Cached     bool
		Why        string
	}
}

// TestCache runs a pack twice with the cache: what was answered well is not asked
// again and costs nothing, what was cut or withheld is, and each repetition and
// each sample is a call of its own.
func TestCache(t *testing.T) {
	t.Parallel()
	server := openaitest.NewFunc(t, func(r openaitest.Request) openaitest.Reply {
		question := *r.Decoded.Messages[len(r.Decoded.Messages)-1].Content
		reply := openaitest.Text("It is 4.")
		switch {
		case r.Decoded.Model == "gpt-judge":
			reply = openaitest.Text(`{"score": 4, "reasoning": "It greets."}`)
		case strings.Contains(question, "at length"):
			reply.Finish = "length"
		case strings.Contains(question, "secret"):
			reply.Finish = "content_filter"
		}
		return reply
	})
	p := newProgram(t)
	p.env = append(p.env, "OPENAI_API_KEY=sk-test-0123456789abcdef")
	p.write(t, "pack.yaml", cachedPack)
	p.must(t, "deployment", "create", "--name", "served", "--model", "openai/gpt-test", "--base-url", server.URL, "--account", "env://OPENAI_API_KEY")
	asked := 0
	start := func(name, pack string) (calls int, card cachedCard, why explained) {
		t.Helper()
		p.must(t, "eval", "start", "--pack", pack, "--deployment", "served", "--name", name, "--repetitions", "2", "--cache")
		p.query(t, &card, "eval", "scorecard", name)
		p.query(t, &why, "cache", "explain", name)
		calls = len(server.Requests()) - asked
		asked += calls
		return calls, card, why
	}
	first, paid, why := start("first", "pack.yaml")
	// 3 cases twice, and 2 samples of each answer that was not withheld
	if first < 10 || why.Hits != 0 || why.Live != first || !strings.HasPrefix(why.Calls[0].Why, "nothing was kept of this call before") {
		t.Fatalf("the first run made %d calls, and explains %+v", first, why)
	}
	second, free, why := start("second", "pack.yaml")
	for _, c := range why.Calls {
		kept := c.Judge != "" || c.CaseKey == "plain"
		if c.Cached != kept {
			t.Errorf("case %s, repetition %d, judge %q: cached is %v, want %v (%s)", c.CaseKey, c.Repetition, c.Judge, c.Cached, kept, c.Why)
		}
	}
	if second != 4 || why.Live != 4 || why.Hits != first-4 {
		t.Errorf("the second run made %d calls and says %d live, %d cached; want 4 calls, of replies that were cut or withheld", second, why.Live, why.Hits)
	}
	if *free.Scorecard.CostUSD != *paid.Scorecard.CostUSD || free.Scorecard.Usage != paid.Scorecard.Usage || !free.Candidate.Cache {
		t.Errorf("usage and cost are the agent's, whoever answers: got %+v, before %+v", free, paid)
	}
	// 4 calls of 10 tokens in at $1 and 5 out at $2 a million; judges were free
	if got := *free.Scorecard.SpentUSD; got < 79.9e-6 || got > 80.1e-6 || *free.Scorecard.Judging.CostUSD != 0 {
		t.Errorf("the second run spent %v, judges %v; want $0.00008 and 0", got, *free.Scorecard.Judging.CostUSD)
	}
	p.write(t, "changed.yaml", strings.Replace(cachedPack, "What is 2 + 2?", "What was 2 + 2?", 1))
	_, _, why = start("third", "changed.yaml")
	found := false
	for _, c := range why.Calls {
		found = found || c.CaseKey == "plain" && c.Judge == "" && strings.Contains(c.Why, `content: recorded "What is 2 + 2?", now "What was 2 + 2?"`)
	}
	if !found {
		t.Errorf("no miss names the question that changed: %+v", why)
	}
	if out := p.must(t, "run", "events", "second", "--json", "--query", `select(.event_type == "model.call.completed") | .payload.cached`); strings.Count(out, "true") != 2 {
		t.Errorf("cached replies do not say so:\n%s", out)
	}
	var list struct{ Items []any }
	p.query(t, &list, "cache", "list")
	if len(list.Items) < 6 {
		t.Errorf("the cache lists %d replies", len(list.Items))
	}
	p.must(t, "cache", "clear")
	if p.query(t, &list, "cache", "list"); len(list.Items) != 0 {
		t.Errorf("the cleared cache lists %d replies", len(list.Items))
	}
	if calls, _, _ := start("fourth", "pack.yaml"); calls != first {
		t.Errorf("with an empty cache: %d calls, want %d", calls, first)
	}
	for want, args := range map[string][]string{
		"--gate decides by what was measured":    {"--cache", "--gate"},
		"--cache excludes --record and --replay": {"--cache", "--record", "tape"},
	} {
		c := p.command(t.Context(), append([]string{"eval", "start", "--pack", "pack.yaml", "--deployment", "served"}, args...)...)
		if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != 64 || !strings.Contains(string(out), want) {
			t.Errorf("%v: exit status %d:\n%s", args, c.ProcessState.ExitCode(), out)
		}
	}
	p.must(t, "eval", "start", "--pack", "pack.yaml", "--deployment", "served", "--name", "plain", "--case", "plain")
	c := p.command(t.Context(), "cache", "explain", "plain")
	if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != 64 || !strings.Contains(string(out), "did not use the cache") {
		t.Errorf("explaining a run without it: exit status %d:\n%s", c.ProcessState.ExitCode(), out)
	}
}
