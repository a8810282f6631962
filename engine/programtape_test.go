package engine_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/scripted"
	"github.com/agentclash/agentclash/engine/proxy"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

// TestProgramTape records programs that end in every way, and plays them back with
// no model and in boxes that nothing is wrong with: the same comes of it.
func TestProgramTape(t *testing.T) {
	t.Parallel()
	type run = func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error)
	good := completion("ok", "", "")
	ends := func(calls int, r sandbox.Result, err error) run {
		return func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error) {
			for i := range calls {
				body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"call %d of %s"}]}`, c.Env["AGENTCLASH_MODEL"], i, vendorKey)
				if _, _, err := posts(b, c, "chat/completions", body); err != nil {
					return sandbox.Result{}, err
				}
			}
			return r, err
		}
	}
	done := sandboxtest.Exited(0, "done", "")
	killed := sandbox.Result{ExitCode: 137, Signal: 9, TimedOut: true}
	for name, row := range map[string]struct {
		answer  func(int64) (int, string)
		script  string
		program run
		again   run // on the replay, nil: the same
		spec    string
		code    string
		drift   string
		file    string // of its answer
	}{
		"good":                    {answer: always(200, good), program: ends(2, done, nil)},
		"it fails":                {answer: always(200, good), program: ends(1, sandboxtest.Exited(3, "half", "why"), nil), code: "agent_exit"},
		"it fails, and does not":  {answer: always(200, good), program: ends(1, sandboxtest.Exited(3, "", "why"), nil), again: ends(1, done, nil), code: "agent_exit", drift: "exit_code"},
		"its calls fail":          {answer: always(503, "sad"), program: ends(2, sandboxtest.Exited(1, "", ""), nil), code: "unavailable"},
		"it makes fewer calls":    {answer: always(200, good), program: ends(3, done, nil), again: ends(1, done, nil), drift: "calls"},
		"no room for its calls":   {answer: always(200, good), program: ends(4, done, nil), spec: "runtime_limits: {max_iterations: 2}", code: "step_limit"},
		"too many tokens":         {answer: always(200, good), program: ends(4, done, nil), spec: "runtime_limits: {max_total_tokens: 150}", code: "token_limit"},
		"its time is up":          {answer: always(200, good), program: ends(1, killed, nil), code: "timeout"},
		"there is more time now":  {answer: always(200, good), program: ends(1, killed, nil), again: ends(3, killed, nil), code: "timeout"},
		"it breaks its box":       {program: ends(0, sandbox.Result{}, &sandbox.BoxError{Kind: sandbox.Tampered, Detail: "x"}), again: ends(0, done, nil), code: "tampered"},
		"no file with its answer": {program: ends(0, done, nil), file: "/workspace/answer.txt", code: "empty_output"},
		"a file with its answer": {file: "/workspace/answer.txt", program: func(b *sandboxtest.MemoryBox, _ sandbox.Command) (sandbox.Result, error) {
			return done, b.WriteFile(context.Background(), "answer.txt", []byte("the answer\n"))
		}, again: func(b *sandboxtest.MemoryBox, _ sandbox.Command) (sandbox.Result, error) {
			return done, b.WriteFile(context.Background(), "answer.txt", []byte("another\n"))
		}, drift: "answer"},
		"what is refused": {answer: always(200, good), program: func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error) {
			for range 25 {
				if _, _, err := asks(b, c, "gpt-other"); err != nil {
					return sandbox.Result{}, err
				}
			}
			return sandboxtest.Exited(1, "", ""), nil
		}, code: "agent_exit"},
		"a script": {script: "default: [{text: hello, usage: {input_tokens: 7, output_tokens: 3}}, {error: {code: rate_limit}}, {text: more}]", program: ends(3, done, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var up *proxy.Upstream
			if row.answer != nil {
				up = vendor(t, row.answer)
			}
			h, _ := commanded(t, up, row.program, row.spec)
			h.agents[0].Command.Answer = row.file
			h.options.RetryInvalid = 0
			if row.script != "" {
				s, err := scripted.Load("s.yaml", []byte(row.script))
				if err != nil {
					t.Fatal(err)
				}
				h.clients[0], h.agents[0].Provider, h.agents[0].Model = scripted.New(s), provider.Scripted, "s.yaml"
			}
			dir := t.TempDir() + "/tape"
			recorder, err := record.Create(taken(t, dir), record.Options{RunID: "r", Now: time.Now, Secrets: []string{vendorKey},
				Subject: record.Subject{Repetitions: 1, Cases: []string{"one"}, Agents: []record.Agent{{Label: "mine"}}}})
			if err != nil {
				t.Fatal(err)
			}
			was, result := h.taped(t, recorder, h.clients)
			if got := h.only(t); got.Code != row.code {
				t.Fatalf("got %s %q (%s), want %q", got.Outcome, got.Code, got.Reason, row.code)
			}
			if _, missing, err := recorder.Finish(false); err != nil || missing != nil {
				t.Fatal(missing, err)
			}
			if raw, err := os.ReadFile(dir + "/trials/mine/one.r1.jsonl"); err != nil || strings.Contains(string(raw), vendorKey) {
				t.Errorf("the recording holds the key, or is not there: %v", err)
			}
			player, err := record.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			player.OnMiss(func(m *record.Miss) { t.Error(m) })
			player.Hide([]string{vendorKey})
			if row.again == nil {
				row.again = row.program
			}
			next, _ := commanded(t, nil, row.again, row.spec)
			h.boxes, h.clients = next.boxes, []provider.Client{nil}
			if up != nil {
				h.programs = []engine.Program{{Upstream: &proxy.Upstream{Provider: provider.OpenAI, BaseURL: "http://127.0.0.1:1/v1"}}}
			}
			now, again := h.taped(t, player, h.clients)
			if row.drift != "" {
				if !strings.Contains(now, `"field":"`+row.drift) {
					t.Errorf("no drift of %s is stated:\n%s", row.drift, now)
				}
				was, now = withoutDrift(was), withoutDrift(now)
			}
			if d := cmp.Diff(strings.Split(was, "\n"), strings.Split(now, "\n")); d != "" {
				t.Errorf("other facts on replay (-recorded +replayed):\n%s", d)
			}
			if d := cmp.Diff(result.Agents[0].Scorecard, again.Agents[0].Scorecard); d != "" {
				t.Errorf("another scorecard on replay (-recorded +replayed):\n%s", d)
			}
		})
	}
}

// withoutDrift leaves out what is stated of drift, and the trial's last fact, which
// comes one later for it.
func withoutDrift(facts string) string {
	var kept []string
	for line := range strings.Lines(facts) {
		if !strings.Contains(line, "drift") && !strings.Contains(line, " trial.finished ") && !strings.Contains(line, " scoring.completed ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
