package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

func native(t *testing.T, script string, spec ...string) (*harness, *sandboxtest.MemoryProvider) {
	t.Helper()
	h := newHarness(parse(t, nativePack, spec...), script)
	boxes := sandboxtest.Memory()
	h.boxes = boxes
	return h, boxes
}

const writeAndSubmit = `
default:
  - tool_calls: [{name: write_file, arguments: {path: out.txt, content: EXPECTED-MARKER}}]
  - tool_calls: [{name: submit, arguments: {answer: done}}]
`

func TestNativeTrial(t *testing.T) {
	t.Parallel()
	h, boxes := native(t, writeAndSubmit)
	result := h.run(t)
	wantTypes(t, h.types("one"), `trial.queued system.run.started
		system.step.started model.call.started model.output.delta model.call.completed tool.call.started tool.call.completed system.step.completed
		system.step.started model.call.started model.output.delta model.call.completed tool.call.started tool.call.completed system.step.completed
		system.output.finalized system.run.completed grader.verification.file_captured scoring.started scoring.completed trial.finished`)
	if got := h.only(t); got.Outcome != scoring.OutcomePassed || *got.FinalOutput != "done" {
		t.Errorf("got %s (%s)", got.Outcome, got.Reason)
	}
	if result.Agents[0].Scorecard.PassedTrials != 1 {
		t.Errorf("got %+v", result.Agents[0].Scorecard)
	}
	box := boxes.Boxes()[0]
	if !box.Closed() {
		t.Error("the box is still open")
	}
	for i, c := range box.Calls() {
		if c.Op == sandboxtest.OpQuiesce {
			for _, before := range box.Calls()[:i] {
				if before.Op == sandboxtest.OpRead {
					t.Error("a capture was taken before the agent's processes were stopped")
				}
			}
		}
	}
}

// TestAgentBehaviour is what the loop tells an agent, and when it has enough.
func TestAgentBehaviour(t *testing.T) {
	t.Parallel()
	const list = `{tool_calls: [{name: list_files, arguments: {}}]}`
	const submit = `{tool_calls: [{name: submit, arguments: {answer: done}}]}`
	for _, row := range []struct {
		name, script, spec string
		code               string
		says               string // in some fact
	}{
		{"text gets one reminder, then counts", `default: [{text: thinking}, ` + submit + `]`, "", "", "call `submit`"},
		{"text twice is no submit", `default: [{text: thinking}]`, "", "no_submit", ""},
		{"submit with others is refused", `default: [{tool_calls: [{name: list_files, arguments: {}}, {name: submit, arguments: {answer: x}}]}, ` + submit + `]`, "", "", "call submit alone"},
		{"an empty answer is refused", `default: [{tool_calls: [{name: submit, arguments: {answer: " "}}]}, ` + submit + `]`, "", "", "the answer is empty"},
		{"an unknown tool is refused", `default: [{tool_calls: [{name: fly, arguments: {}}]}, ` + submit + `]`, "", "", "not available in this runtime"},
		{"bad arguments are told", `default: [{tool_calls: [{name: read_file, arguments: {file: x}}]}, ` + submit + `]`, "", "", "do not fit"},
		{"broken JSON is told", `default: [{tool_calls: [{name: read_file, arguments: '{"path":'}]}, ` + submit + `]`, "", "", "not valid JSON"},
		{"a missing file is told", `default: [{tool_calls: [{name: read_file, arguments: {path: nope}}]}, ` + submit + `]`, "", "", "no such file"},
		{"a path outside is told", `default: [{tool_calls: [{name: read_file, arguments: {path: ../etc/passwd}}]}, ` + submit + `]`, "", "", "outside the workspace"},
		{"steps run out", `default: [` + list + `]`, "runtime_limits: {max_iterations: 3}", "step_limit", ""},
		{"tokens run out", `default: [{tool_calls: [{name: list_files, arguments: {}}], usage: {input_tokens: 60, output_tokens: 1}}]`, "runtime_limits: {max_total_tokens: 100}", "token_limit", "max_total_tokens"},
		{"money runs out", `default: [{tool_calls: [{name: list_files, arguments: {}}], usage: {input_tokens: 1000000, output_tokens: 0}}]`,
			"runtime_limits: {max_cost_usd: 1.5}\n    pricing: {models: [{provider_key: scripted, provider_model_id: agent.yaml, input_cost_per_million_tokens: 1, output_cost_per_million_tokens: 1}]}", "cost_limit", "max_cost_usd"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h, _ := native(t, row.script, row.spec)
			h.run(t)
			got := h.only(t)
			if got.Code != row.code && (row.code != "" || got.StopReason != "completed") {
				t.Errorf("got %s %q (%s), want code %q", got.Outcome, got.Code, got.Reason, row.code)
			}
			said := false
			for _, e := range h.facts {
				said = said || strings.Contains(string(e.Payload), row.says)
			}
			if !said {
				t.Errorf("no fact says %q", row.says)
			}
		})
	}
}

func TestToolLimitSparesSubmit(t *testing.T) {
	t.Parallel()
	const list = `{tool_calls: [{name: list_files, arguments: {}}]}`
	for script, want := range map[string]string{
		`default: [` + list + `, {tool_calls: [{name: submit, arguments: {answer: x}}]}]`: "completed",
		`default: [` + list + `, ` + list + `]`:                                           "tool_limit",
	} {
		h, _ := native(t, script)
		h.agents[0].Limits.MaxToolCalls = 1
		h.run(t)
		if got := h.only(t).StopReason; got != want {
			t.Errorf("%s: stopped by %q, want %q", script, got, want)
		}
	}
}

// TestBrokenBoxes is whose failure a broken box is.
func TestBrokenBoxes(t *testing.T) {
	t.Parallel()
	box := func(kind sandbox.Kind, limit string) error {
		return &sandbox.BoxError{Kind: kind, Limit: limit, Detail: "exit 137"}
	}
	for _, row := range []struct {
		name     string
		op       sandboxtest.Op
		err      error
		outcome  scoring.Outcome
		code     string
		phase    string
		attempts int
	}{
		{"engine refuses", sandboxtest.OpOpen, box(sandbox.Engine, ""), scoring.OutcomePassed, "", "", 2},
		{"image missing", sandboxtest.OpOpen, box(sandbox.Image, ""), scoring.OutcomePassed, "", "", 2},
		{"lost under the agent", sandboxtest.OpWrite, box(sandbox.Lost, ""), scoring.OutcomePassed, "", "", 2},
		{"killed from inside", sandboxtest.OpWrite, box(sandbox.Tampered, ""), scoring.OutcomeFailed, "tampered", "", 1},
		{"out of memory", sandboxtest.OpWrite, box(sandbox.Limit, "memory"), scoring.OutcomeFailed, "memory_limit", "", 1},
		{"lost while captured", sandboxtest.OpRead, box(sandbox.Lost, ""), scoring.OutcomePassed, "", "", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h, boxes := native(t, writeAndSubmit+"  - tool_calls: [{name: write_file, arguments: {path: out.txt, content: EXPECTED-MARKER}}]\n  - tool_calls: [{name: submit, arguments: {answer: done}}]\n"+
				"  - tool_calls: [{name: write_file, arguments: {path: out.txt, content: EXPECTED-MARKER}}]\n  - tool_calls: [{name: submit, arguments: {answer: done}}]\n")
			if row.op == sandboxtest.OpOpen {
				boxes.Fail(row.op, 1, row.err)
			} else {
				var once sync.Once
				boxes.OnOpen(func(b *sandboxtest.MemoryBox) { once.Do(func() { b.Fail(row.op, 1, row.err) }) })
			}
			if row.name == "lost under the agent" {
				// the script's position goes on after the broken attempt
				h.clients = newHarness(h.pack, "default:\n"+strings.Repeat("  - tool_calls: [{name: write_file, arguments: {path: out.txt, content: EXPECTED-MARKER}}]\n", 2)+
					"  - tool_calls: [{name: submit, arguments: {answer: done}}]\n").clients
			}
			h.run(t)
			trials := h.trials(t)
			got := trials[len(trials)-1]
			if len(trials) != row.attempts || got.Outcome != row.outcome || got.Code != row.code {
				t.Errorf("got %d attempts, the last %s %q (%s); want %d, %s %q", len(trials), got.Outcome, got.Code, got.Reason, row.attempts, row.outcome, row.code)
			}
			if row.attempts == 2 && (trials[0].Outcome != scoring.OutcomeInvalid || !strings.HasPrefix(trials[0].Code, "sandbox_")) {
				t.Errorf("the first attempt: got %s %q, want invalid with a sandbox code", trials[0].Outcome, trials[0].Code)
			}
			for _, b := range boxes.Boxes() {
				if !b.Closed() {
					t.Error("a box is still open")
				}
			}
		})
	}
}

const codePack = `
pack: {slug: code, name: Code, family: code}
version:
  number: 1
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file]}
  assets:
    - {key: hidden, path: hidden_test.txt}
  evaluation_spec:
    name: code
    version_number: 1
    judge_mode: deterministic
    post_execution_checks: [{key: sol, type: file_capture, path: /workspace/solution.py}]
    validators:
      - {key: tests, type: code_execution, target: "file:sol", config: {test_command: "run {{word}}", scoring: all_or_nothing}}
    scorecard: {dimensions: [correctness], pass_threshold: 1}
challenges:
  - {key: write, title: Write, category: code, difficulty: easy, instructions: "Write it.", definition: {note: VISIBLE-MARKER}}
input_sets:
  - key: default
    name: Default
    cases:
      - challenge_key: write
        case_key: one
        payload: {word: hello}
        inputs: [{key: given, kind: text, value: INPUT-MARKER}]
        expectations: [{key: tests, kind: file, artifact_key: hidden}, {key: gold, kind: text, value: GOLD-MARKER}]
      - {challenge_key: write, case_key: two, payload: {word: OTHER-CASE-MARKER}}
`

func TestCodeExecution(t *testing.T) {
	t.Parallel()
	h := newHarness(packWithAsset(t, codePack, "hidden_test.txt", "HIDDEN-MARKER"), `
cases:
  one:
    - tool_calls: [{name: write_file, arguments: {path: solution.py, content: "x"}}]
    - tool_calls: [{name: submit, arguments: {answer: done}}]
  two: [{tool_calls: [{name: submit, arguments: {answer: nothing}}]}]
`)
	var homes sync.Map // an agent could leave a .profile in one that it knows
	boxes := sandboxtest.Memory()
	boxes.HandleExec(func(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
		if c.Argv[1] == "-c" { // whether there is a shell
			return sandboxtest.Exited(0, "", ""), nil
		}
		if got := strings.Join(c.Argv, "|"); got != "sh|-lc|run hello" && got != "sh|-lc|run OTHER-CASE-MARKER" {
			return sandbox.Result{}, fmt.Errorf("unexpected command %q", got)
		}
		if _, used := homes.LoadOrStore(c.Env["HOME"], true); used || c.Env["HOME"] == "" {
			return sandbox.Result{}, fmt.Errorf("the tests run in a home directory that is not their own: %q", c.Env["HOME"])
		}
		return sandboxtest.Exited(0, "2 passed", ""), nil
	})
	h.boxes = boxes
	h.run(t)
	trials := h.trials(t)
	if trials[0].Outcome != scoring.OutcomePassed {
		t.Errorf("case one: got %s (%s)", trials[0].Outcome, trials[0].Reason)
	}
	if trials[1].Outcome != scoring.OutcomeFailed || trials[1].Code != "no_output" {
		t.Errorf("case two wrote no file: got %s %q", trials[1].Outcome, trials[1].Code)
	}
	files := boxes.Boxes()[0].Files()
	if files["/workspace/hidden_test.txt"] != "HIDDEN-MARKER" {
		t.Errorf("the graders' file was not staged: %v", files)
	}
}

// TestImageWithoutAShell: tests that could not run make the trial invalid
// before the agent is asked for anything.
func TestImageWithoutAShell(t *testing.T) {
	t.Parallel()
	h := newHarness(packWithAsset(t, codePack, "hidden_test.txt", "HIDDEN-MARKER"), writeAndSubmit)
	boxes := sandboxtest.Memory()
	boxes.HandleExec(func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{ExitCode: -1, StartError: "no such program"}, nil
	})
	h.boxes = boxes
	h.run(t)
	for _, got := range h.trials(t) {
		if got.Outcome != scoring.OutcomeInvalid || got.Code != "sandbox_image" || !strings.Contains(got.Reason, "--image") || got.Usage != (scoring.Usage{}) {
			t.Errorf("got %s %q (%s), usage %+v; want invalid, with what to type, before a model was called", got.Outcome, got.Code, got.Reason, got.Usage)
		}
	}
}

// listener records what a model is asked.
type listener struct {
	provider.Client
	mu    sync.Mutex
	asked []provider.Request
}

func (l *listener) Complete(ctx context.Context, req provider.Request, d func(provider.Delta)) (provider.Response, error) {
	l.mu.Lock()
	l.asked = append(l.asked, req)
	l.mu.Unlock()
	return l.Client.Complete(ctx, req, d)
}

// TestTheAgentSeesOnlyItsOwn looks for the secrets of a case, one by one, in
// everything that reaches the agent: prompts, tools, and files before it ends.
func TestTheAgentSeesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	h := newHarness(packWithAsset(t, codePack, "hidden_test.txt", "HIDDEN-MARKER"), `
cases: {one: [{tool_calls: [{name: list_files, arguments: {}}]}, {tool_calls: [{name: submit, arguments: {answer: x}}]}]}
default: [{tool_calls: [{name: submit, arguments: {answer: x}}]}]
`)
	boxes := sandboxtest.Memory()
	boxes.HandleExec(func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return sandboxtest.Exited(1, "", ""), nil
	})
	h.boxes = boxes
	ear := &listener{Client: h.clients[0]}
	h.clients[0] = ear
	var before map[string]string
	h.onFact = func(e event.Event) {
		if e.CaseKey == "one" && (e.Type == event.Completed || e.Type == event.Failed) {
			before = boxes.Boxes()[0].Files()
		}
	}
	h.run(t)
	var seen strings.Builder
	for _, r := range ear.asked {
		if r.Ref.Case == "one" {
			fmt.Fprintf(&seen, "%+v %s", r.Messages, r.Tools)
		}
	}
	for name, text := range before {
		seen.WriteString(name + text)
	}
	for _, want := range []string{"VISIBLE-MARKER", "INPUT-MARKER", "hello", "Write it."} {
		if !strings.Contains(seen.String(), want) {
			t.Errorf("the agent does not see %q, which is its own", want)
		}
	}
	for _, secret := range []string{"GOLD-MARKER", "HIDDEN-MARKER", "hidden_test.txt", "OTHER-CASE-MARKER", "test_command", "code_execution", "all_or_nothing", "pass_threshold"} {
		if strings.Contains(seen.String(), secret) {
			t.Errorf("the agent sees %q, which is the graders'", secret)
		}
	}
}

func TestNoBoxesIsRefused(t *testing.T) {
	t.Parallel()
	h, _ := native(t, writeAndSubmit)
	h.boxes = nil
	_, err := runErr(t, h)
	if !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
}
