package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/scripted"
	"github.com/agentclash/agentclash/scoring"
)

const talkPack = `
pack: {slug: talk, name: Talk, family: talk}
version:
  number: 1
  execution_mode: multi_turn
  evaluation_spec:
    name: talk
    version_number: 1
    judge_mode: deterministic
    validators:
      - {key: said, type: contains, target: transcript.full, expected_from: literal:yes}
    scorecard: {dimensions: [correctness], pass_threshold: 1}
    %s
challenges:
  - {key: c, title: Talk, category: talk, difficulty: easy, instructions: "Answer."}
input_sets:
  - key: default
    name: Default
    cases:
      - challenge_key: c
        case_key: one
        payload: {blank: "  ", item: lamp}
        user_simulator: {schema_version: 1, kind: hybrid, max_turns: 4, phases: [PHASES]}
`

const (
	scriptPhase = `{id: open, actor: scripted, turns: [{message: "Hello, {{item}}."}]}`
	simulated   = `{id: sim, actor: llm, persona: A customer., max_turns: 2}`
	laterHuman  = `, {id: person, actor: human, trigger: manual, timeout_ms: 60000}`
)

// talk is a harness of a conversation, whose users are in the agent's script.
func talk(t *testing.T, phases, script string, spec ...string) *harness {
	t.Helper()
	h := newHarness(parse(t, strings.Replace(talkPack, "PHASES", phases, 1), spec...), script)
	s, err := scripted.Load("agent.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		h.users = append(h.users, scripted.NewSimulator(s))
	}
	return h
}

// person answers as a function does, and wants every manual phase.
type person func(ctx context.Context, t engine.HumanTurn) (string, error)

func (p person) Waits() bool                                                 { return p != nil }
func (p person) Ask(ctx context.Context, t engine.HumanTurn) (string, error) { return p(ctx, t) }
func (p person) Wanted(context.Context, engine.HumanTurn) (bool, error)      { return true, nil }

func saying(text string) person {
	return func(context.Context, engine.HumanTurn) (string, error) { return text, nil }
}

func TestConversationOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		phases  string
		script  string
		people  engine.Users
		outcome scoring.Outcome
		code    string
		stop    string
		turns   int // that were completed, by the last attempt
		tries   int
	}{
		{"an answer", scriptPhase, `default: [{text: "yes"}]`, nil, "passed", "", "completed", 1, 1},
		{"a blank message is the pack's mistake", `{id: open, actor: scripted, turns: [{message: "{{blank}}"}]}`, `default: [{text: "yes"}]`, nil, "invalid", "pack_error", "invalid_request", 0, 1},
		{"a blank answer is the agent's", scriptPhase, `default: [{text: " "}]`, nil, "failed", "empty_output", "empty_output", 0, 1},
		{"so is one that is cut", scriptPhase, `default: [{text: "yes", finish_reason: max_tokens}]`, nil, "failed", "max_tokens", "max_tokens", 0, 1},
		{"and a call of a tool that it was not given", scriptPhase, `default: [{tool_calls: [{name: exec, arguments: {}}]}]`, nil, "failed", "unexpected_tool_call", "unexpected_tool_call", 0, 1},
		{"a simulated user", simulated, "default: [{text: yes}]\nsimulators: [{text: a}, {text: b}]", nil, "passed", "", "completed", 2, 1},
		{"a silent one", simulated, "default: [{text: yes}]\nsimulators: [{text: \" \\n\"}]", nil, "invalid", "simulator_error", "simulator_error", 0, 2},
		{"one that calls tools", simulated, "default: [{text: yes}]\nsimulators: [{tool_calls: [{name: a, arguments: {}}]}]", nil, "invalid", "simulator_error", "simulator_error", 0, 2},
		{"one that is withheld", simulated, "default: [{text: yes}]\nsimulators: [{text: a, finish_reason: content_filter}]", nil, "invalid", "simulator_error", "simulator_error", 0, 2},
		{"one that comes back", simulated, "default: [{text: yes}]\nsimulators: [{error: {code: rate_limit, message: slow}}, {text: a}, {text: b}]", nil, "passed", "", "completed", 2, 1},
		{"one that recovers with the next attempt", simulated, "default: [{text: yes}]\nsimulators: [{text: a}, {text: \"\"}, {text: b}, {text: c}]", nil, "passed", "", "completed", 2, 2},
		{"one whose key is wrong", simulated, "default: [{text: yes}]\nsimulators: [{error: {code: auth, message: no}}]", nil, "invalid", "auth", "simulator_error", 0, 1},
		{"one that is down", simulated, "default: [{text: yes}]\nsimulators: [{error: {code: unavailable, message: no}}]", nil, "invalid", "unavailable", "simulator_error", 0, 2},
		{"a person", scriptPhase + laterHuman, "default: [{text: yes}]", saying("And?"), "passed", "", "completed", 2, 1},
		{"nobody to ask", scriptPhase + laterHuman, "default: [{text: yes}]", person(nil), "passed", "", "human_turn_timeout", 1, 1},
		{"a person who says nothing", scriptPhase + laterHuman, "default: [{text: yes}]", saying(" "), "passed", "", "human_turn_timeout", 1, 1},
		{"a store that cannot be asked", scriptPhase + laterHuman, "default: [{text: yes}]", person(func(context.Context, engine.HumanTurn) (string, error) { return "", errors.New("disk full") }), "invalid", "infra_error", "human_turn_timeout", 1, 2},
		{"the cap", scriptPhase + `, {id: more, actor: scripted, trigger: manual, turns: [{message: a}, {message: b}, {message: c}, {message: d}]}`, "default: [{text: yes}]", saying(""), "passed", "", "max_turns", 4, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := talk(t, c.phases, c.script)
			h.people = c.people
			h.run(t)
			trials := h.trials(t)
			last := trials[len(trials)-1]
			if last.Outcome != c.outcome || last.Code != c.code || last.StopReason != c.stop || len(trials) != c.tries {
				t.Errorf("got %s %q, stop reason %q (%s) after %d attempts; want %s %q, %q, %d", last.Outcome, last.Code, last.StopReason, last.Reason, len(trials), c.outcome, c.code, c.stop, c.tries)
			}
			if n := countFacts(h, event.TurnDone, last.Attempt); n != c.turns {
				t.Errorf("got %d turns, want %d", n, c.turns)
			}
			if n := countFacts(h, event.ConversationDone, last.Attempt); n != 1 {
				t.Errorf("got %d ends of the conversation", n)
			}
		})
	}
}

// What users take of the time is not the agent's.
func TestASlowPersonIsNotTheAgentsFailure(t *testing.T) {
	t.Parallel()
	h := talk(t, scriptPhase+laterHuman, "default: [{text: yes}]", "runtime_limits: {max_duration_ms: 1000}")
	h.people = person(func(context.Context, engine.HumanTurn) (string, error) {
		time.Sleep(1500 * time.Millisecond)
		return "Sorry, I was away.", nil
	})
	h.run(t)
	if trial := h.only(t); trial.Outcome != scoring.OutcomePassed || *trial.LatencyMS != 0 {
		t.Errorf("got %s %s after %d ms: %s", trial.Outcome, trial.Code, *trial.LatencyMS, trial.Reason)
	}
}

// A run that ends while a person is awaited leaves the trial unfinished, and its
// turn unanswered.
func TestAnInterruptionWhileAPersonIsAwaited(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	h := talk(t, scriptPhase+laterHuman, "default: [{text: yes}]")
	h.people = person(func(ctx context.Context, _ engine.HumanTurn) (string, error) {
		cancel(engine.ErrInterrupted)
		<-ctx.Done()
		return "", ctx.Err()
	})
	if result := h.runOnly(t, ctx, h.plan(t)); result.Status != "interrupted" {
		t.Errorf("got %s", result.Status)
	}
	got := h.types("one")
	if last := got[len(got)-1]; last != string(event.TurnAwaiting) {
		t.Errorf("the last fact is %s", last)
	}
}

// A person's message is what they wrote; what is written down of it has no secrets.
func TestWhatAPersonSaysIsRedacted(t *testing.T) {
	t.Parallel()
	const secret = "sk-a-real-secret-value"
	h := talk(t, scriptPhase+laterHuman, "default: [{text: yes}, {echo: true}]")
	h.secrets = []string{secret}
	h.people = saying("the key is " + secret + "\x1b[31m \u202e")
	h.run(t)
	for _, e := range h.facts {
		if strings.Contains(string(e.Payload), secret) {
			t.Errorf("%s holds the secret: %s", e.Type, e.Payload)
		}
	}
	if out := *h.only(t).FinalOutput; !strings.Contains(out, "the key is ") {
		t.Errorf("the agent was told %q", out)
	}
}

const belowJudge = `llm_judges: [{key: tone, mode: assertion, assertion: It is warm., model: openai/judge, samples: 1, context_from: [final_output]}]`

// A judge that decides how a conversation goes on, and cannot be reached, makes the
// trial invalid; so does a wrong key, for all of the run agent's trials.
func TestAJudgeThatDecidesIsNotReached(t *testing.T) {
	t.Parallel()
	for code, tries := range map[string]int{"unavailable": 2, "auth": 1} {
		h := decided(t, "judges: [{error: {code: "+code+", message: away}}]")
		h.run(t)
		trials := h.trials(t)
		if last := trials[len(trials)-1]; last.Outcome != scoring.OutcomeInvalid || last.Code != code || last.Phase != "scoring" || len(trials) != tries {
			t.Errorf("%s: got %s %s in %s after %d attempts: %s", code, last.Outcome, last.Code, last.Phase, len(trials), last.Reason)
		}
	}
}

// decided is a conversation whose second phase depends on a judge, and what that says.
func decided(t *testing.T, judge string) *harness {
	t.Helper()
	src := strings.Replace(talkPack, "judge_mode: deterministic", "judge_mode: hybrid", 1)
	src = strings.Replace(src, "[correctness]", "[correctness, {key: tone, source: llm_judge, judge_key: tone, pass_threshold: 0.8}]", 1)
	src = strings.Replace(src, "PHASES", scriptPhase+`, {id: cold, actor: scripted, trigger: on_judge_below, turns: [{message: That was cold.}]}`, 1)
	h := newHarness(parse(t, src, belowJudge), `default: [{text: "yes, first"}, {text: "yes, second"}]`)
	s, err := scripted.Load("judge.yaml", []byte(judge))
	if err != nil {
		t.Fatal(err)
	}
	h.judges = map[string]provider.Client{"openai/judge": scripted.NewJudge(s)}
	return h
}

// An attempt that lacks nothing but its judges is carried on with, what they said on
// the way included: they are not asked that again.
func TestWhatAJudgeDecidedIsCarried(t *testing.T) {
	t.Parallel()
	h := decided(t, `judges:
  - {text: '{"pass": false}', usage: {input_tokens: 10, output_tokens: 1}}
  - {error: {code: unavailable, message: away}}
  - {error: {code: unavailable, message: away}}
  - {error: {code: unavailable, message: away}}
  - {text: '{"pass": true}', usage: {input_tokens: 10, output_tokens: 1}}
`)
	h.run(t)
	trials := h.trials(t)
	if len(trials) != 2 || trials[0].Outcome != "invalid" || trials[1].Outcome != "passed" || !trials[1].Carried {
		t.Fatalf("got %d attempts, the last %+v", len(trials), trials[len(trials)-1])
	}
	var sources []string
	for _, e := range h.facts {
		if e.Type == event.JudgeDone && e.Attempt == 2 {
			sources = append(sources, e.Source)
		}
	}
	if want := []string{event.SourceMultiTurn, event.SourceScoring}; !slices.Equal(sources, want) {
		t.Errorf("replies of the second attempt are from %v, want %v", sources, want)
	}
	if countFacts(h, event.TurnDone, 2) != 2 || countFacts(h, event.CallDone, 1) != 2 {
		t.Error("the conversation is not all there, or was had again")
	}
}

func TestSimulatorModels(t *testing.T) {
	t.Parallel()
	phases := scriptPhase + `, {id: a, actor: llm, trigger: manual, persona: x}, {id: b, actor: llm, trigger: manual, persona: x, model: small},
          {id: c, actor: llm, trigger: manual, persona: x, model: anthropic/big}, {id: d, actor: llm, trigger: manual, persona: x, model: acme/some}`
	h := talk(t, phases, "default: [{text: yes}]")
	h.agents = []plan.Deployment{
		{Name: "one", Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1:1", Account: "env://ONE"},
		{Name: "two", Provider: "anthropic", Model: "n", Account: "env://TWO"},
		{Name: "three", Provider: "scripted", Model: "dir/s.yaml"},
	}
	var got []string
	for _, m := range h.plan(t).Simulators {
		got = append(got, fmt.Sprintf("%d %q %s %s %s %s %s", m.Lane, m.Name, m.Provider, m.Model, m.BaseURL, m.Account, m.Script))
	}
	want := []string{
		`0 "" openai m http://127.0.0.1:1 env://ONE `, `0 "small" openai small http://127.0.0.1:1 env://ONE `,
		`0 "anthropic/big" anthropic big  env://TWO `, `0 "acme/some" openai acme/some http://127.0.0.1:1 env://ONE `,
		`1 "" anthropic n  env://TWO `, `1 "small" anthropic small  env://TWO `, `1 "anthropic/big" anthropic big  env://TWO `, `1 "acme/some" openrouter acme/some   `,
		`2 "" scripted dir/s.yaml   dir/s.yaml`, `2 "small" scripted small   dir/s.yaml`, `2 "anthropic/big" anthropic big  env://TWO `, `2 "acme/some" openrouter acme/some   `,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
