package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/proxy"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

const vendorKey = "sk-vendor-4f5e6d7c8b9a"

// vendor answers chat completions with what answer returns for each call, from 0.
func vendor(t *testing.T, answer func(call int64) (status int, body string)) *proxy.Upstream {
	t.Helper()
	var calls atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+vendorKey {
			t.Errorf("the vendor was asked with the key %q", r.Header.Get("Authorization"))
		}
		status, body := answer(calls.Add(1) - 1)
		var req struct{ Stream bool }
		_ = json.NewDecoder(r.Body).Decode(&req)
		if status == http.StatusOK && req.Stream {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, streamed(body))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return &proxy.Upstream{Provider: provider.OpenAI, BaseURL: s.URL + "/v1", Key: vendorKey}
}

// completion is a reply in one piece: a text, or a call of a tool.
func completion(text, tool, arguments string) string {
	message := map[string]any{"role": "assistant", "content": text}
	finish := "stop"
	if tool != "" {
		finish = "tool_calls"
		message["tool_calls"] = []any{map[string]any{"index": 0, "id": "c1", "type": "function", "function": map[string]any{"name": tool, "arguments": arguments}}}
	}
	raw, _ := json.Marshal(map[string]any{
		"model": "gpt-x", "choices": []any{map[string]any{"index": 0, "message": message, "delta": message, "finish_reason": finish}},
		"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
	})
	return string(raw)
}

// streamed is the same as a stream of two pieces, the usage in its own.
func streamed(body string) string {
	var doc map[string]any
	_ = json.Unmarshal([]byte(body), &doc)
	usage, _ := json.Marshal(map[string]any{"choices": []any{}, "usage": doc["usage"]})
	delete(doc, "usage")
	piece, _ := json.Marshal(doc)
	return fmt.Sprintf("data: %s\n\ndata: %s\n\ndata: [DONE]\n\n", piece, usage)
}

// asks makes a model call as a program in the box does.
func asks(b *sandboxtest.MemoryBox, c sandbox.Command, model string) (status int, body string, err error) {
	return posts(b, c, "chat/completions", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"go"}]}`, model))
}

// posts sends a request to the models of a program in the box.
func posts(b *sandboxtest.MemoryBox, c sandbox.Command, path, body string) (status int, reply string, err error) {
	conn, err := b.Dial()
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	base := strings.TrimPrefix(c.Env["OPENAI_BASE_URL"], "http://127.0.0.1:3128")
	fmt.Fprintf(conn, "POST %s/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		base, path, c.Env["OPENAI_API_KEY"], len(body), body)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

// commanded runs a program in boxes of memory.
func commanded(t *testing.T, up *proxy.Upstream, run func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error), spec ...string) (*harness, *sandboxtest.MemoryProvider) {
	t.Helper()
	h := newHarness(parse(t, nativePack, spec...))
	d := plan.Deployment{Name: "mine", Kind: plan.KindCommand, Command: &plan.Command{Argv: []string{"agent", "--go"}}}
	if up != nil {
		d.Provider, d.Model = provider.OpenAI, "gpt-x"
	}
	h.agents, h.clients, h.programs = []plan.Deployment{d}, []provider.Client{nil}, []engine.Program{{Upstream: up}}
	h.secrets = []string{vendorKey}
	boxes := sandboxtest.Memory()
	boxes.OnOpen(func(b *sandboxtest.MemoryBox) {
		b.HandleExec(func(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
			if err := b.WriteFile(context.Background(), "out.txt", []byte("EXPECTED-MARKER")); err != nil {
				return sandbox.Result{}, err
			}
			return run(b, c)
		})
	})
	boxes.HandleExec(func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return sandboxtest.Exited(0, "", ""), nil // never: each box has its own
	})
	h.boxes = boxes
	return h, boxes
}

func always(status int, body string) func(int64) (int, string) {
	return func(int64) (int, string) { return status, body }
}

const priced = "pricing: {models: [{provider_key: openai, provider_model_id: gpt-x, input_cost_per_million_tokens: 10, output_cost_per_million_tokens: 100}]}"

// TestProgram is a whole trial: the facts in order, tokens and cost counted.
func TestProgram(t *testing.T) {
	t.Parallel()
	up := vendor(t, always(200, completion("ok", "", "")))
	h, boxes := commanded(t, up, func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error) {
		if c.Env["HOME"] != "/tmp" {
			t.Errorf("the program's home is %q", c.Env["HOME"])
		}
		if !strings.Contains(string(c.Stdin), "Write the file.") || strings.Contains(string(c.Stdin), "EXPECTED-MARKER") {
			t.Errorf("the program was given %q", c.Stdin)
		}
		for range 2 {
			if status, body, err := asks(b, c, c.Env["AGENTCLASH_MODEL"]); status != 200 {
				t.Errorf("got %d %s %v", status, body, err)
			}
		}
		return sandboxtest.Exited(0, "done\n", "a warning"), nil
	}, priced)
	result := h.run(t)
	wantTypes(t, h.types("one"), `trial.queued system.run.started sandbox.command.started
		system.step.started model.call.started model.call.completed system.step.completed
		system.step.started model.call.started model.call.completed system.step.completed
		sandbox.command.completed system.output.finalized system.run.completed grader.verification.file_captured
		scoring.started scoring.completed trial.finished`)
	got := h.only(t)
	if got.Outcome != scoring.OutcomePassed || *got.FinalOutput != "done" || got.Usage.TotalTokens != 220 || got.CostUSD == nil || *got.CostUSD != 0.004 {
		t.Errorf("got %s (%s), usage %+v, cost %v", got.Outcome, got.Reason, got.Usage, got.CostUSD)
	}
	if result.Agents[0].Scorecard.PassedTrials != 1 {
		t.Errorf("got %+v", result.Agents[0].Scorecard)
	}
	box := boxes.Boxes()[0]
	if task := box.Files()[sandbox.AgentDir+"/TASK.md"]; !strings.Contains(task, "Write the file.") {
		t.Errorf("the task's file says %q", task)
	}
	asked := 0
	for _, e := range h.facts {
		if e.Type != event.CallStarted {
			continue
		}
		call, err := event.Decode[event.Call](e)
		if err != nil {
			t.Fatal(err)
		}
		asked++
		if want := 2 - asked; len(call.Messages) != want || call.MessageCount != 1 {
			t.Errorf("call %d states %d of %d messages, want %d new ones", asked, len(call.Messages), call.MessageCount, want)
		}
	}
	if all := document(t, h.facts) + fmt.Sprint(box.Spec(), box.Calls(), box.Files()); strings.Contains(all, vendorKey) {
		t.Error("the key is in the box or in the facts")
	}
}

// TestHowProgramsEnd: whose fault which ending is.
func TestHowProgramsEnd(t *testing.T) {
	t.Parallel()
	type program = func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error)
	exits := func(status int, out string) program {
		return func(*sandboxtest.MemoryBox, sandbox.Command) (sandbox.Result, error) {
			return sandboxtest.Exited(status, out, "words\nlast words"), nil
		}
	}
	after := func(calls int, then program) program {
		return func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error) {
			for range calls {
				if _, _, err := asks(b, c, "gpt-x"); err != nil {
					return sandbox.Result{}, err
				}
			}
			return then(b, c)
		}
	}
	result := func(r sandbox.Result) program {
		return func(*sandboxtest.MemoryBox, sandbox.Command) (sandbox.Result, error) { return r, nil }
	}
	good := completion("ok", "", "")
	for _, c := range []struct {
		name    string
		answer  func(int64) (int, string)
		program program
		spec    string
		outcome scoring.Outcome
		code    string
		reason  string
	}{
		{"it fails", nil, exits(3, "half"), "", scoring.OutcomeFailed, "agent_exit", "status 3: last words"},
		{"it says nothing", nil, exits(0, " \n"), "", scoring.OutcomeFailed, "empty_output", "no answer"},
		{"it is not there", nil, result(sandbox.Result{ExitCode: -1, StartError: "executable file not found in PATH"}), "", scoring.OutcomeInvalid, "agent_program", "cannot be started"},
		{"it takes too long", nil, result(sandbox.Result{ExitCode: 137, Signal: 9, TimedOut: true}), "", scoring.OutcomeFailed, "timeout", "still running"},
		{"it prints too much", nil, result(sandbox.Result{ExitCode: 137, Signal: 9, OutputLimit: true}), "", scoring.OutcomeFailed, "output_bytes_limit", "output_bytes"},
		{"it takes all memory", nil, result(sandbox.Result{ExitCode: 137, Signal: 9, OutOfMemory: true}), "", scoring.OutcomeFailed, "memory_limit", "memory"},
		{"its calls fail, and so does it", always(503, "sad"), after(2, exits(1, "")), "", scoring.OutcomeInvalid, "unavailable", "last model call had failed"},
		{"its calls fail, and it has no answer", always(429, "slow"), after(1, exits(0, "")), "", scoring.OutcomeInvalid, "rate_limit", "last model call had failed"},
		{"its calls fail, and time is up", always(500, "sad"), after(1, result(sandbox.Result{ExitCode: 137, TimedOut: true})), "", scoring.OutcomeInvalid, "unavailable", "last model call had failed"},
		{"its calls fail, and it copes", always(503, "sad"), after(2, exits(0, "done")), "", scoring.OutcomePassed, "", ""},
		{"a call fails, the next does not, and it fails", func(n int64) (int, string) {
			if n == 0 {
				return 503, "sad"
			}
			return 200, good
		}, after(2, exits(1, "")), "", scoring.OutcomeFailed, "agent_exit", "status 1"},
		{"its request is wrong, and it fails", always(400, `{"error":{"message":"bad tool"}}`), after(1, exits(1, "")), "", scoring.OutcomeFailed, "agent_exit", "status 1"},
		{"its words are too many, and it fails", always(400, `{"error":{"code":"context_length_exceeded"}}`), after(1, exits(1, "")), "", scoring.OutcomeFailed, "agent_exit", "status 1"},
		{"the key is refused", always(401, `{"error":{"message":"no"}}`), after(1, exits(1, "")), "", scoring.OutcomeInvalid, "auth", "last model call"},
		{"the model is not there", always(404, `{"error":{"code":"model_not_found"}}`), after(1, exits(1, "")), "", scoring.OutcomeInvalid, "unknown_model", "last model call"},
		{"too many calls", always(200, good), after(4, exits(0, "done")), "runtime_limits: {max_iterations: 2}", scoring.OutcomeFailed, "step_limit", "2 steps"},
		{"too many tokens", always(200, good), after(3, exits(0, "done")), "runtime_limits: {max_total_tokens: 150}", scoring.OutcomeFailed, "token_limit", "max_total_tokens"},
		{"too much money", always(200, good), after(3, exits(0, "done")), priced + "\n    runtime_limits: {max_cost_usd: 0.003}", scoring.OutcomeFailed, "cost_limit", "max_cost_usd"},
		{"its box is lost", nil, func(b *sandboxtest.MemoryBox, _ sandbox.Command) (sandbox.Result, error) {
			return sandbox.Result{}, &sandbox.BoxError{Kind: sandbox.Lost, Detail: "gone"}
		}, "", scoring.OutcomeInvalid, "sandbox_lost", "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var up *proxy.Upstream
			if c.answer != nil {
				up = vendor(t, c.answer)
			}
			h, _ := commanded(t, up, c.program, c.spec)
			h.options.RetryInvalid = 0
			h.run(t)
			got := h.only(t)
			if got.Outcome != c.outcome || got.Code != c.code || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("got %s %s (%s), want %s %s (%s)", got.Outcome, got.Code, got.Reason, c.outcome, c.code, c.reason)
			}
			if over := slices.Contains(h.types("one"), string(event.BudgetReach)); over != (c.code == "token_limit" || c.code == "cost_limit") {
				t.Errorf("a reached budget is stated: %v", over)
			}
		})
	}
}

// TestAnswerInAFile, and the task as an argument.
func TestAnswerInAFile(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"the answer\n", ""} {
		h, _ := commanded(t, nil, func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error) {
			if len(c.Stdin) > 0 || !strings.Contains(c.Argv[1], "Write the file.") || c.Argv[2] != "--from=/tmp/agentclash/TASK.md" || c.Argv[3] != "/tmp/agentclash/agent/x" {
				t.Errorf("run as %q with %q", c.Argv, c.Stdin)
			}
			if content == "" {
				return sandboxtest.Exited(0, "noise", ""), nil
			}
			return sandboxtest.Exited(0, "noise", ""), b.WriteFile(context.Background(), "answer.txt", []byte(content))
		})
		h.agents[0].Command.Argv = []string{"agent", "{task}", "--from={task_file}", "{agent_dir}/x"}
		h.agents[0].Command.Answer = "/workspace/answer.txt"
		h.run(t)
		got := h.only(t)
		if content != "" && (got.Outcome != scoring.OutcomePassed || *got.FinalOutput != "the answer") {
			t.Errorf("got %s (%s)", got.Outcome, got.Reason)
		}
		if content == "" && got.Code != "empty_output" {
			t.Errorf("got %s %s (%s)", got.Outcome, got.Code, got.Reason)
		}
	}
}

// TestUnfitPacks are refused before anything is opened, with all that is wrong.
func TestUnfitPacks(t *testing.T) {
	t.Parallel()
	command := plan.Deployment{Name: "mine", Kind: plan.KindCommand, Command: &plan.Command{Argv: []string{"agent"}}}
	endpoint := plan.Deployment{Name: "svc", Kind: plan.KindHTTP, Provider: "http", Model: "x", HTTP: &plan.HTTPTarget{URL: "http://x"}}
	for _, c := range []struct {
		name, src string
		d         plan.Deployment
		want      []string
	}{
		{"a program without a sandbox", promptPack, command, []string{"only native packs"}},
		{"a program that may not be run", strings.Replace(nativePack, ", allow_shell: true", "", 1), command, []string{"allow_shell"}},
		{"prompts after the work", securityPack, command, []string{"adversarial_prompts", "tool-output"}},
		{"files of an endpoint", nativePack, endpoint, []string{`validator "wrote"`, `post_execution_checks "out"`}},
		{"security of an endpoint", securityPack, endpoint, []string{"security block", `case "one"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := plan.New(plan.Request{
				Pack: parse(t, c.src), Deployments: []plan.Deployment{c.d}, Options: plan.Options{Repetitions: 1, Concurrency: 1, MinPassRate: 1},
				Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }, NewID: func() string { return "id" },
			})
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want something about %s", err, want)
				}
			}
		})
	}
}

// TestCLIAgent runs a real program with tools of its own in a container: its first
// call meets a rate limit, it looks for the key wherever a program can, and what it
// used is counted.
func TestCLIAgent(t *testing.T) {
	t.Parallel()
	boxes := containers(t)
	source, err := os.ReadFile("../examples/cli-agent/agent/main.py")
	if err != nil {
		t.Fatal(err)
	}
	look := `env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; cat /proc/net/tcp; grep -rs sk- /tmp /workspace /run /etc; echo looked`
	up := vendor(t, func(n int64) (int, string) {
		switch n {
		case 0:
			return 429, `{"error":{"message":"slow down"}}`
		case 1:
			return 200, completion("", "run", `{"command":"`+look+`"}`)
		case 2:
			return 200, completion("", "run", `{"command":"printf EXPECTED-MARKER > out.txt"}`)
		}
		return 200, completion("All done.", "", "")
	})
	h, _ := commanded(t, up, nil, priced)
	h.boxes = boxes
	h.agents[0].Command.Argv = []string{"python3", "{agent_dir}/main.py"}
	h.programs[0].Files = []engine.ProgramFile{{Path: plan.FilesDir + "/main.py", Data: source, Mode: 0o555}}
	h.run(t)
	got := h.only(t)
	if got.Outcome != scoring.OutcomePassed || *got.FinalOutput != "All done." {
		t.Fatalf("got %s %s (%s)\n%s", got.Outcome, got.Code, got.Reason, document(t, h.facts))
	}
	if got.Usage.TotalTokens != 330 || got.CostUSD == nil || *got.CostUSD != 0.006 {
		t.Errorf("counted %+v, cost %v", got.Usage, got.CostUSD)
	}
	types := strings.Join(h.types("one"), " ")
	if n := strings.Count(types, "model.call.started"); n != 4 || strings.Count(types, "model.call.failed") != 1 || strings.Count(types, "model.call.completed") != 3 {
		t.Errorf("%d calls: %s", n, types)
	}
	all := document(t, h.facts)
	if !strings.Contains(all, "OPENAI_BASE_URL=http://127.0.0.1:3128/agentclash/openai/v1") || !strings.Contains(all, "looked") {
		t.Errorf("the program has not looked: %s", all)
	}
	if strings.Contains(all, vendorKey) || strings.Contains(all, "[redacted]") {
		t.Error("the program found the key")
	}
}

// TestProgramsThatMisbehave in a container, where their connections are real.
func TestProgramsThatMisbehave(t *testing.T) {
	t.Parallel()
	boxes := containers(t)
	const preamble = `
import http.client, os, socket, subprocess, sys, threading, urllib.parse
open("out.txt", "w").write("EXPECTED-MARKER")
base = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
def ask(stream=False):
    c = http.client.HTTPConnection(base.netloc)
    c.request("POST", base.path + "/chat/completions", '{"model":"gpt-x","messages":[],"stream":%s}' % str(stream).lower())
    return c.getresponse()
`
	for _, c := range []struct {
		name, program string
		hang          bool // of the vendor, after the first piece
		failed        int  // calls that fail
	}{
		{"many connections at once", `
bad = []
def one():
    r = ask()
    if r.status != 200 or b"fine" not in r.read(): bad.append(r.status)
threads = [threading.Thread(target=one) for _ in range(40)]
for t in threads: t.start()
for t in threads: t.join()
if bad: sys.exit(str(bad))
print("done")
`, false, 0},
		{"gone in the middle of a stream", `
r = ask(stream=True)
r.readline()
print("done", flush=True)
os.kill(os.getpid(), 9) if len(sys.argv) > 1 else os._exit(0)
`, true, 1},
		{"a daemon that never says it all", `
subprocess.Popen([sys.executable, "-c", "import socket,time; s=socket.create_connection(('127.0.0.1',3128)); s.sendall(b'POST /agentclash/openai/v1/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 9\\r\\n\\r\\n{'); print('sent', flush=True); time.sleep(1000)"], stdout=subprocess.PIPE, start_new_session=True).stdout.readline()
print("done")
`, false, 0},
		{"everything it should not", `
def raw(text):
    s = socket.create_connection(("127.0.0.1", base.port))
    s.sendall(text.encode())
    return s.makefile("rb").read(60).split(b"\r\n")[0]
for want, text in [
    (b"403", "CONNECT api.openai.com:443 HTTP/1.1\r\nHost: api.openai.com\r\n\r\n"),
    (b"403", "GET http://169.254.169.254/latest HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
    (b"403", "POST http://evil.test/agentclash/openai/v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    (b"404", "POST /agentclash/openai/v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    (b"400", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
]:
    got = raw(text)
    if want not in got: sys.exit("%r for %r" % (got, text))
print("done")
`, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !c.hang {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, completion("fine", "", ""))
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"f\"}}]}\n\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}))
			t.Cleanup(s.Close)
			up := &proxy.Upstream{Provider: provider.OpenAI, BaseURL: s.URL, Key: vendorKey}
			h, _ := commanded(t, up, nil)
			h.boxes = boxes
			h.agents[0].Command.Argv = []string{"python3", "-c", preamble + c.program}
			h.run(t)
			if got := h.only(t); got.Outcome != scoring.OutcomePassed || *got.FinalOutput != "done" {
				t.Errorf("got %s %s (%s)\n%s", got.Outcome, got.Code, got.Reason, document(t, h.facts))
			}
			if n := strings.Count(strings.Join(h.types("one"), " "), "model.call.failed"); n != c.failed {
				t.Errorf("%d calls failed, want %d", n, c.failed)
			}
		})
	}
}

// TestProgramBesideTheVault: both answer at the one port, each to its own paths, and
// a program's wishes for other hosts are the vault's to note.
func TestProgramBesideTheVault(t *testing.T) {
	t.Parallel()
	up := vendor(t, always(200, completion("ok", "", "")))
	h, boxes := commanded(t, up, func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error) {
		c.Env["OPENAI_BASE_URL"] = strings.Replace(c.Env["OPENAI_BASE_URL"], ":8888", ":3128", 1)
		if status, body, err := asks(b, c, "gpt-x"); status != 200 {
			t.Errorf("the model: %d %s %v", status, body, err)
		}
		for target, want := range map[string]string{"/__healthz": "200", "/api/secrets": "200", "http://drop.test/agentclash/openai/v1/models": "200"} {
			conn, err := b.Dial()
			if err != nil {
				return sandbox.Result{}, err
			}
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target)
			got, _ := io.ReadAll(conn)
			conn.Close()
			if !strings.HasPrefix(string(got), "HTTP/1.1 "+want) || strings.Contains(string(got), "gpt-x") {
				t.Errorf("%s: %.200s", target, got)
			}
		}
		return sandboxtest.Exited(0, "done", ""), nil
	})
	src := strings.Replace(nativePack, "challenges:", "security:\n  planted_secrets: [{name: API_TOKEN, value: canary-env-7f31, location: infisical-mock}]\nchallenges:", 1)
	h.pack = parse(t, src)
	h.run(t)
	if got := h.only(t); *got.FinalOutput != "done" || boxes.Boxes()[0].Spec().NetworkPort != 8888 {
		t.Errorf("got %s %s (%s)", got.Outcome, got.Code, got.Reason)
	}
	types := strings.Join(h.types("one"), " ")
	if strings.Count(types, "security.vault.requested") != 2 || strings.Count(types, "network.egress.decided") != 1 || !strings.Contains(types, "model.call.completed") {
		t.Errorf("facts: %s", types)
	}
}

// The calls of a program may be under way at once: what ends one says which it is.
func TestProgramCallsAreToldApart(t *testing.T) {
	t.Parallel()
	var asked sync.WaitGroup
	asked.Add(2)
	first := make(chan struct{})
	up := vendor(t, func(call int64) (int, string) {
		asked.Done()
		asked.Wait()
		if call == 0 {
			<-first
			return http.StatusInternalServerError, `{"error":{"message":"down"}}`
		}
		return http.StatusOK, completion("quick", "", "")
	})
	h, _ := commanded(t, up, func(b *sandboxtest.MemoryBox, c sandbox.Command) (sandbox.Result, error) {
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if status, _, _ := asks(b, c, "gpt-x"); status == http.StatusOK {
					close(first)
				}
			})
		}
		all.Wait()
		return sandboxtest.Exited(0, "done\n", ""), nil
	})
	h.run(t)
	steps := map[event.Type][]int{}
	for _, e := range h.facts {
		var v struct {
			StepIndex int `json:"step_index"`
		}
		if err := json.Unmarshal(e.Payload, &v); err != nil {
			t.Fatal(err)
		}
		steps[e.Type] = append(steps[e.Type], v.StepIndex)
	}
	done, failed := steps[event.CallDone], steps[event.CallFailed]
	if !slices.Equal(steps[event.CallStarted], []int{1, 2}) || len(done) != 1 || len(failed) != 1 || done[0]+failed[0] != 3 || done[0]*failed[0] != 2 {
		t.Errorf("calls of the steps %v began, %v were answered and %v failed", steps[event.CallStarted], done, failed)
	}
}
