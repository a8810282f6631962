package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
)

const anyMode = `
pack: {slug: shop, name: Shop, family: code}
version:
  number: 1
  execution_mode: MODE
  evaluation_spec:
    name: shop
    version_number: 1
    judge_mode: deterministic
    validators:
      - {key: right, type: contains, target: TARGET, expected_from: literal:yes}
    scorecard: {dimensions: [correctness], pass_threshold: 1}
challenges:
  - {key: sell, title: Sell, category: trade, difficulty: easy, instructions: "Sell {{what}}.", definition: {hint: smile}}
input_sets:
  - key: default
    name: Default
    cases:
      - challenge_key: sell
        case_key: one
        payload: {what: lamp, rest: unused}
        inputs: [{key: shelf, kind: text, value: top}]
        PLAY
`

// edits change one thing of a pack each.
var edits = [][2]string{
	{"slug: shop", "slug: store"}, {"name: Shop", "name: Store"}, {"family: code", "family: craft"}, {"number: 1", "number: 2"},
	{"name: shop", "name: other"}, {"pass_threshold: 1", "pass_threshold: 0.5"}, {"literal:yes", "literal:no"},
	{"title: Sell", "title: Trade"}, {"category: trade", "category: sale"}, {"difficulty: easy", "difficulty: hard"},
	{`"Sell {{what}}."`, `"Sell {{rest}}."`}, {"hint: smile", "hint: nod"}, {"what: lamp", "what: sofa"}, {"rest: unused", "rest: used"},
	{"value: top", "value: low"}, {"key: shelf", "key: board"}, {"kind: text", "kind: json"}, {"name: Default", "name: Usual"},
	{"payload: {", "payload: {workspace_files: [{path: a.txt, content: b}], "},
}

// TestWhatIsShownIsTheIdentity changes one field of a pack after the other, in
// every mode and for every kind of agent: what changes the first thing that the
// agent is told changes the identity of its trials.
func TestWhatIsShownIsTheIdentity(t *testing.T) {
	t.Parallel()
	model := Deployment{Name: "a", Provider: provider.OpenAI, Model: "gpt-x"}
	program := Deployment{Name: "a", Kind: KindCommand, Command: &Command{Argv: []string{"sh"}}, Sandbox: SandboxOverrides{AllowShell: new(true)}}
	endpoint := Deployment{Name: "a", Kind: KindHTTP, Provider: "http", Model: "x", HTTP: &HTTPTarget{URL: "http://127.0.0.1:1"}}
	for mode, kinds := range map[string][]Deployment{
		pack.PromptEval: {model, endpoint}, pack.Responses: {model}, pack.Native: {model, program, endpoint}, pack.MultiTurn: {model},
	} {
		target, play := "final_output", ""
		if mode == pack.MultiTurn {
			target = "transcript.full"
			play = `user_simulator: {schema_version: 1, kind: hybrid, max_turns: 4, phases: [{id: open, actor: scripted, turns: [{message: "Hello."}]}]}`
		}
		src := strings.NewReplacer("MODE", mode, "TARGET", target, "PLAY", play).Replace(anyMode)
		for _, d := range kinds {
			t.Run(fmt.Sprintf("%s %s", mode, d.Kind), func(t *testing.T) {
				t.Parallel()
				shown, identity := opening(t, src, d)
				changed := 0
				for _, e := range edits {
					if d.IsHTTP() && strings.Contains(e[1], "workspace_files") {
						continue // an endpoint has none
					}
					if !strings.Contains(src, e[0]) {
						t.Fatalf("the pack has no %q", e[0])
					}
					now, other := opening(t, strings.Replace(src, e[0], e[1], 1), d)
					if now == shown {
						continue
					}
					changed++
					if other == identity {
						t.Errorf("%q in place of %q: the agent is told something else, and an earlier trial would stand for its own", e[1], e[0])
					}
				}
				if changed == 0 {
					t.Error("no edit changed what the agent is told")
				}
			})
		}
	}
}

// opening is all that the agent of a pack's only case is told at first, and the
// execution identity of its trial.
func opening(t *testing.T, src string, d Deployment) (shown, identity string) {
	t.Helper()
	p, problems := pack.Parse("pack.yaml", []byte(src), nil)
	if err := problems.Err(); err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	n := 0
	planned, err := New(Request{
		Pack: p, Deployments: []Deployment{d}, Options: Options{Repetitions: 1, Concurrency: 1}, Sandbox: sandbox.Description{Kind: "memory"},
		Now: time.Now, NewID: func() string { n++; return fmt.Sprint(n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := planned.Case("one")
	if err != nil {
		t.Fatal(err)
	}
	mode, err := NewMode(p, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	var told []any
	if d.IsCommand() {
		task, err := CommandTask(p, c, d)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, task)
	} else {
		messages, err := mode.Open(p, c, d)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, messages, mode.Definitions())
	}
	if d.IsHTTP() {
		told = append(told, p.AgentView(c))
	}
	raw, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	x, err := planned.identify()
	if err != nil {
		t.Fatal(err)
	}
	id, err := x.of(planned.Trials[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), id.Execution()
}

// TestWhereAScriptIsChangesNothing moves the script of an agent and of the users that it
// plays: what it holds is the identity, and no path of a machine.
func TestWhereAScriptIsChangesNothing(t *testing.T) {
	t.Parallel()
	src := strings.NewReplacer("MODE", pack.MultiTurn, "TARGET", "transcript.full", "PLAY",
		`user_simulator: {schema_version: 1, kind: hybrid, max_turns: 4, phases: [{id: open, actor: llm, persona: "You are curious."}]}`).Replace(anyMode)
	d := Deployment{Name: "a", Provider: provider.Scripted, Model: "agent.yaml", Script: "/here/agent.yaml"}
	_, here := opening(t, src, d)
	d.Script = "/there/agent.yaml"
	if _, there := opening(t, src, d); there != here {
		t.Error("the same script at another path is another agent")
	}
	d.Model = "other.yaml"
	if _, other := opening(t, src, d); other == here {
		t.Error("another script is the same agent")
	}
}
