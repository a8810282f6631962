package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// scoreAgain holds every attempt that has ended against the same attempt scored
// again, byte by byte. The harness does so after each run, so that whatever a
// test makes of an ending is covered.
func (h *harness) scoreAgain(t *testing.T, planned *plan.Plan) {
	t.Helper()
	own := readBack(t, h.pack)
	r, err := engine.NewRescoring(stored(t, planned), own, own)
	if err != nil {
		t.Fatal(err)
	}
	byAttempt := map[string][]event.Event{}
	for _, e := range h.facts {
		if e.TrialID == "" {
			continue
		}
		key := fmt.Sprint(e.TrialID, "/", e.Attempt)
		if e.Type != event.TrialDone {
			byAttempt[key] = append(byAttempt[key], e)
			continue
		}
		end, err := event.Decode[event.TrialEnd](e)
		if err != nil {
			t.Fatal(err)
		}
		again, scored, err := r.Trial(end.Trial, byAttempt[key])
		if err != nil {
			t.Fatal(err)
		}
		if scored != (end.Scorecard != nil) {
			t.Errorf("%s: scored again: %v, its scorecard: %v", key, scored, end.Scorecard != nil)
		}
		raw, err := engine.ResultOf(again)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSuffix(string(e.Payload), `,"will_retry":true}`); string(raw) != want && string(raw) != want+"}" {
			t.Errorf("%s, %s %q (-stored +scored again):\n%s", key, end.Outcome, end.Code, cmp.Diff(want, string(raw)))
		}
	}
}

// readBack is a pack as a store gives it back.
func readBack(t *testing.T, p *pack.Pack) *pack.Pack {
	t.Helper()
	doc, err := p.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	again, err := pack.FromManifest(doc, p.Assets(), p.Reference())
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// stored is a plan as a store gives it back.
func stored(t *testing.T, planned *plan.Plan) plan.Plan {
	t.Helper()
	doc, err := json.Marshal(planned)
	if err != nil {
		t.Fatal(err)
	}
	var back plan.Plan
	if err := json.Unmarshal(doc, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

const codeScript = `
default:
  - {tool_calls: [{name: write_file, arguments: {path: solution.py, content: x}}], usage: {input_tokens: 7, output_tokens: 2}, delay_ms: 30}
  - tool_calls: [{name: submit, arguments: {answer: "done <&> it"}}]
`

// TestEveryEndingIsScoredAgain makes the endings of native trials that no other
// test makes; the harness compares.
func TestEveryEndingIsScoredAgain(t *testing.T) {
	t.Parallel()
	broken := func(op sandboxtest.Op, at int, kind sandbox.Kind, limit string) func(*sandboxtest.MemoryBox) {
		return func(b *sandboxtest.MemoryBox) {
			b.Fail(op, at, &sandbox.BoxError{Kind: kind, Limit: limit, Detail: strings.Repeat("<long> detail ", 300)})
		}
	}
	exited := func(status int, out string) sandboxtest.Handler {
		return func(context.Context, sandbox.Command) (sandbox.Result, error) {
			return sandboxtest.Exited(status, out, ""), nil
		}
	}
	for _, row := range []struct {
		name, script string
		open         func(*sandboxtest.MemoryBox)
		exec         sandboxtest.Handler
		code         string
	}{
		{name: "tests pass", exec: exited(0, "2 passed")},
		{name: "tests fail", exec: exited(1, "1 failed, 1 passed")},
		{name: "no file", script: `default: [{tool_calls: [{name: submit, arguments: {answer: x}}]}]`, exec: exited(0, "2 passed"), code: "no_output"},
		{name: "tests that do not start", exec: func(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
			if c.Argv[1] == "-c" { // whether there is a shell
				return sandbox.Result{}, nil
			}
			return sandbox.Result{StartError: "no such program"}, nil
		}, code: "blocked_graders"},
		{name: "tests that run out of time", exec: func(context.Context, sandbox.Command) (sandbox.Result, error) {
			return sandbox.Result{TimedOut: true}, nil
		}},
		{name: "tampered with while tested", exec: exited(0, ""), open: broken(sandboxtest.OpQuiesce, 1, sandbox.Tampered, ""), code: "tampered"},
		{name: "memory used up while captured", exec: exited(0, ""), open: broken(sandboxtest.OpRead, 1, sandbox.Limit, "memory"), code: "memory_limit"},
		{name: "disk used up while staged", exec: exited(0, ""), open: broken(sandboxtest.OpWrite, 1, sandbox.Limit, "disk"), code: "disk_limit"},
		{name: "tampered with by the agent", exec: exited(0, ""), open: broken(sandboxtest.OpWrite, 2, sandbox.Tampered, ""), code: "tampered"},
		{name: "graders kept out", exec: exited(0, ""), code: "blocked_graders",
			script: `default: [{tool_calls: [{name: write_file, arguments: {path: hidden_test.txt/x, content: x}}]}, {tool_calls: [{name: submit, arguments: {answer: x}}]}]`},
		{name: "no submit", script: `default: [{text: well}]`, exec: exited(0, "2 passed"), code: "no_submit"},
		{name: "a usage that nobody knows", script: `default: [{tool_calls: [{name: write_file, arguments: {path: solution.py, content: x}}]}, {tool_calls: [{name: submit, arguments: {answer: x}}]}]`, exec: exited(0, "")},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			src := strings.Replace(codePack, "payload: {word: hello}", "payload: {word: hello, workspace_files: [{path: notes.txt, content: note}]}", 1)
			script := row.script
			if script == "" {
				script = codeScript
			}
			h := newHarness(packWithAsset(t, src, "hidden_test.txt", "HIDDEN-MARKER"), script)
			boxes := sandboxtest.Memory()
			boxes.HandleExec(row.exec)
			if row.open != nil {
				boxes.OnOpen(row.open)
			}
			h.boxes = boxes
			planned := h.plan(t)
			planned.Trials = planned.Trials[:1]
			h.runPlan(t, t.Context(), planned)
			trials := h.trials(t)
			if got := trials[len(trials)-1]; got.Code != row.code || got.Scorecard == nil {
				t.Errorf("got %s %q (%s), want code %q after scoring", got.Outcome, got.Code, got.Reason, row.code)
			}
		})
	}
}

// again runs a pack and scores its first trial by another version of it.
func again(t *testing.T, h *harness, with *pack.Pack) (r *engine.Rescoring, was, is scoring.Trial) {
	t.Helper()
	planned := h.plan(t)
	planned.Trials = planned.Trials[:1]
	h.runPlan(t, t.Context(), planned)
	r, err := engine.NewRescoring(stored(t, planned), readBack(t, h.pack), with)
	if err != nil {
		t.Fatal(err)
	}
	was = h.only(t)
	if r.LeftOut(was.CaseKey) != "" {
		return r, was, scoring.Trial{}
	}
	var facts []event.Event
	for _, e := range h.facts {
		if e.TrialID != "" {
			facts = append(facts, e)
		}
	}
	is, scored, err := r.Trial(was, facts)
	if err != nil || !scored {
		t.Fatalf("scored %v, %v", scored, err)
	}
	return r, was, is
}

// What rescoring is for: all that judges may change.
func TestAnotherVerdict(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		from, to string
		outcome  scoring.Outcome
	}{
		"an expectation": {`value: "3"`, `value: "4"`, scoring.OutcomeFailed},
		"a validator":    {"type: exact_match, target: final_output, expected_from: case.expectations.sum", `type: contains, target: final_output, expected_from: "literal:9"`, scoring.OutcomeFailed},
		"a dimension":    {"dimensions: [correctness, reliability]", "dimensions: [{key: correctness, source: validators, weight: 2}]", scoring.OutcomePassed},
		"a title":        {"title: Add", "title: Sum up", scoring.OutcomePassed}, // which prompt_eval does not show
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(parse(t, promptPack, ""), `default: [{text: "3", usage: {input_tokens: 1000000, output_tokens: 0}}]`)
			r, was, is := again(t, h, parse(t, strings.Replace(promptPack, row.from, row.to, 1), ""))
			if why := r.LeftOut("small"); why != "" {
				t.Fatalf("left out: %s", why)
			}
			if was.Outcome != scoring.OutcomePassed || is.Outcome != row.outcome {
				t.Errorf("got %s -> %s (%s), want passed -> %s", was.Outcome, is.Outcome, is.Reason, row.outcome)
			}
		})
	}
}

// Costs are worked out by the prices of the new pack, else by the list that the
// run was planned with.
func TestRescoredCosts(t *testing.T) {
	t.Parallel()
	priced := "pricing: {models: [{provider_key: openai, provider_model_id: gpt-4.1-mini, input_cost_per_million_tokens: 7, output_cost_per_million_tokens: 7}]}"
	if _, was, is := again(t, listed(t, ""), parse(t, promptPack, priced)); *was.CostUSD != 0.4 || *is.CostUSD != 7 {
		t.Errorf("got $%v -> $%v, want 0.4 -> 7", *was.CostUSD, *is.CostUSD)
	}
	if _, was, is := again(t, listed(t, priced), parse(t, promptPack, "")); *was.CostUSD != 7 || *is.CostUSD != 0.4 {
		t.Errorf("got $%v -> $%v, want 7 -> 0.4", *was.CostUSD, *is.CostUSD)
	}
}

// An answer to another question is not judged.
func TestOtherQuestionsAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ src, from, to, why string }{
		"payload":      {promptPack, "payload: {a: 1, b: 2}", "payload: {a: 1, b: 2, c: 3}", "the payload"},
		"instructions": {promptPack, "What is {{a}}", "How much is {{a}}", "the instructions"},
		"inputs":       {promptPack, "payload: {a: 1, b: 2},", "payload: {a: 1, b: 2}, inputs: [{key: x, kind: text, value: y}],", "the inputs"},
		"no such case": {promptPack, "case_key: small", "case_key: tiny", "no such case"},
		"title":        {nativePack, "title: Write", "title: Compose", "the challenge"},
		"files":        {nativePack, "payload: {word: hello}", "payload: {word: hello, workspace_files: [{path: a, content: b}]}", "the files in the workspace"},
		"tools":        {nativePack, ", allow_shell: true", "", "the tools"},
		"a mock":       {ownTools, "{Lima: dry}", "{Lima: wet}", "the tools"},
		"mode":         {strings.ReplaceAll(nativePack, "file:out", "final_output"), "native", "prompt_eval", "the execution mode is prompt_eval, it was native"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := strings.Replace(row.src, row.from, row.to, 1)
			if name == "mode" {
				row.src = nativePack
				now = strings.Replace(promptPack, "slug: sums", "slug: files", 1)
				now = strings.Replace(now, "case_key: small", "case_key: one", 1)
			}
			h := newHarness(parse(t, row.src, ""), `default: [{text: "3"}]`)
			h.boxes = sandboxtest.Memory()
			r, was, _ := again(t, h, parse(t, now, ""))
			if got := r.LeftOut(was.CaseKey); !strings.Contains(got, row.why) {
				t.Errorf("got %q, want it to say %q", got, row.why)
			}
		})
	}
}

// What the run never took is missing: a capture of another file under the same
// key, another command, the same command with other tests.
func TestUntakenEvidence(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ from, to, hidden, reason string }{
		"the same":        {"number: 1", "number: 2", "HIDDEN-MARKER", ""},
		"elsewhere":       {"path: /workspace/solution.py", "path: /srv/solution.py", "HIDDEN-MARKER", "never run"},
		"another command": {"run {{word}}", "run all {{word}}", "HIDDEN-MARKER", "never run"},
		"other tests":     {"number: 1", "number: 2", "MENDED", "never run"},
		"a new test": {"validators:\n", "validators:\n      - {key: more, type: code_execution, target: \"file:sol\", config: {test_command: more}}\n",
			"HIDDEN-MARKER", "never run"},
		"a new capture": {"validators:\n", "validators:\n      - {key: more, type: file_exists, target: \"file:log\"}\n", "HIDDEN-MARKER", "never captured"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(packWithAsset(t, codePack, "hidden_test.txt", "HIDDEN-MARKER"), codeScript)
			boxes := sandboxtest.Memory()
			boxes.HandleExec(func(context.Context, sandbox.Command) (sandbox.Result, error) {
				return sandboxtest.Exited(0, "2 passed", ""), nil
			})
			h.boxes = boxes
			now := strings.Replace(codePack, row.from, row.to, 1)
			if name == "a new capture" {
				now = strings.Replace(now, "post_execution_checks: [", "post_execution_checks: [{key: log, type: file_capture, path: /workspace/log}, ", 1)
			}
			_, was, is := again(t, h, packWithAsset(t, now, "hidden_test.txt", row.hidden))
			if was.Outcome != scoring.OutcomePassed {
				t.Fatalf("the run: got %s (%s)", was.Outcome, was.Reason)
			}
			if row.reason == "" {
				if is.Outcome != scoring.OutcomePassed {
					t.Errorf("got %s (%s), want it passed as before", is.Outcome, is.Reason)
				}
				return
			}
			if is.Outcome != scoring.OutcomeInvalid || !strings.Contains(is.Reason, row.reason) {
				t.Errorf("got %s (%s), want it invalid for something %s", is.Outcome, is.Reason, row.reason)
			}
		})
	}
}

// A capture of another path is not the one that was taken.
func TestAnotherCapture(t *testing.T) {
	t.Parallel()
	h, _ := native(t, writeAndSubmit)
	_, was, is := again(t, h, parse(t, strings.Replace(nativePack, "path: /workspace/out.txt", "path: /workspace/other.txt", 1), ""))
	if was.Outcome != scoring.OutcomePassed || is.Outcome != scoring.OutcomeInvalid || !strings.Contains(is.Reason, "never captured") {
		t.Errorf("got %s -> %s (%s)", was.Outcome, is.Outcome, is.Reason)
	}
}

// A trial that failed for what it did not produce passes where nothing reads it;
// one that a limit ended stays failed.
func TestOnlyTheAgentsOwnFailuresStay(t *testing.T) {
	t.Parallel()
	reads := `key: wrote, type: file_content_match, target: "file:out", expected_from: case.expectations.content, config: {match_mode: exact}`
	with := parse(t, strings.Replace(nativePack, reads, `key: wrote, type: regex_match, target: final_output, expected_from: "literal:."`, 1), "")
	for script, want := range map[string][2]string{
		`default: [{tool_calls: [{name: submit, arguments: {answer: x}}]}]`: {"no_output", ""},
		`default: [{text: x}]`: {"no_submit", "no_submit"},
	} {
		h, _ := native(t, script)
		_, was, is := again(t, h, with)
		if was.Code != want[0] || is.Code != want[1] || (is.Outcome == scoring.OutcomePassed) != (want[1] == "") {
			t.Errorf("got %q -> %s %q (%s), want %q -> %q", was.Code, is.Outcome, is.Code, is.Reason, want[0], want[1])
		}
	}
}

func TestNewRescoringRefuses(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack, ""), `default: [{text: "3"}]`)
	planned := stored(t, h.plan(t))
	for _, row := range []struct {
		from, to string
		want     error
		says     string
	}{
		{"slug: sums", "slug: others", engine.ErrOtherPack, `of pack "sums", not of "others"`},
		{"key: default", "key: other", pack.ErrNotFound, `"other"`},
		{"key: default\n    name: Default", "key: other\n    name: default", pack.ErrNotFound, `the nearest is "other"`},
	} {
		with := parse(t, strings.Replace(promptPack, row.from, row.to, 1), "")
		if _, err := engine.NewRescoring(planned, h.pack, with); !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: got %v, want %q", row.to, err, row.says)
		}
	}
}
