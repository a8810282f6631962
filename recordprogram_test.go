package main_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// crew is a program that asks three things at once in Anthropic's format, in an
// order of its own each time, then one more, with what it has been told.
const crew = `import json, os, random, sys, threading, time, urllib.request
def ask(text):
    body = {"model": os.environ["ANTHROPIC_MODEL"], "max_tokens": 100, "system": "PROMPT at " + time.strftime("%H:%M:%S"),
            "messages": [{"role": "user", "content": text}]}
    r = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(r))["content"][0]["text"]
parts, told = ["one", "two", "three"], {}
random.shuffle(parts)
def part(name): told[name] = ask("part " + name)
threads = [threading.Thread(target=part, args=(n,)) for n in parts]
for t in threads: t.start()
for t in threads: t.join()
open("total.txt", "w").write("42")
try: urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/v1/nowhere")
except Exception as e: print(e, file=sys.stderr)
print(ask("sum " + json.dumps(told, sort_keys=True)))
`

// chatReply is one step of the example's agent, as a stream of OpenAI's format.
func chatReply(call int) string {
	delta := map[string]any{"role": "assistant", "content": "The sum is 42."}
	if call < 2 {
		command := []string{"cat sales.csv; date +%H:%M:%S", "echo 42 > total.txt; echo $OPENAI_API_KEY"}[call]
		arguments, _ := json.Marshal(map[string]string{"command": command})
		delta = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
			"index": 0, "id": "call_" + rand.Text(), "type": "function", "function": map[string]any{"name": "run", "arguments": string(arguments)},
		}}}
	}
	piece, _ := json.Marshal(map[string]any{"id": rand.Text(), "model": "gpt-x", "choices": []any{map[string]any{"index": 0, "delta": delta}}})
	return fmt.Sprintf("data: %s\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"+
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10,\"total_tokens\":110}}\n\ndata: [DONE]\n\n", piece)
}

// vendors answer a program's calls in two formats, a rate limit first.
func vendors(t *testing.T) *httptest.Server {
	var mu sync.Mutex
	limited := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var body struct {
			Messages []struct{ Role string }
		}
		if err := json.Unmarshal(raw, &body); err != nil || !strings.Contains(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), tapedKey) {
			t.Errorf("the vendor was asked %s with %v (%v)", raw, r.Header, err)
		}
		mu.Lock()
		first := !limited
		limited = true
		mu.Unlock()
		w.Header().Set("X-Request-Id", rand.Text())
		switch {
		case strings.HasSuffix(r.URL.Path, "/messages"):
			text := "whole"
			if i := strings.Index(string(raw), "part "); i >= 0 {
				text = "the part " + string(raw[i+5:i+8])
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":%q,"type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":3}}`, rand.Text(), text+" 42")
		case first:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":{"message":"slow down"}}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			calls := 0
			for _, m := range body.Messages {
				if m.Role == "tool" {
					calls++
				}
			}
			fmt.Fprint(w, chatReply(calls))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// recordedProgram is a program whose run was recorded, and whose provider is gone.
func recordedProgram(t *testing.T, name, source, model string) program {
	t.Helper()
	if !dockerAnswers(t) {
		t.Skip("no Docker engine")
	}
	p := newProgram(t)
	bare := p.env
	var base []string
	if model != "" {
		server := vendors(t)
		defer server.Close()
		at := server.URL
		if strings.HasPrefix(model, "openai/") {
			at += "/v1"
		}
		base = []string{"--model", model, "--base-url", at, "--account", "env://MODEL_KEY"}
	}
	p.env = append(slices.Clone(bare), "MODEL_KEY="+tapedKey)
	p.write(t, "pack.yaml", read(t, "examples/cli-agent/pack.yaml"))
	p.write(t, "main.py", source)
	p.must(t, append(append([]string{"deployment", "create", "--name", name, "--kind", "command", "--files", "main.py"}, base...), "--", "python3", "{agent_dir}/main.py")...)
	out := p.must(t, "eval", "start", "--pack", "pack.yaml", "--deployment", name, "--image", "agentclash/sandbox:local", "--name", "live", "--record", "tape")
	if !strings.Contains(out, "recorded in tape") {
		t.Fatalf("it does not say what was recorded:\n%s", out)
	}
	p.env = bare
	return p
}

func (p program) replayProgram(t *testing.T, name, as string) (string, int) {
	t.Helper()
	return p.try(t, "eval", "start", "--pack", "pack.yaml", "--deployment", name, "--image", "agentclash/sandbox:local", "--name", as, "--replay", "tape")
}

// TestReplayedPrograms records programs with a model over HTTP and plays them back
// with no key and no provider: the same scorecards and the same history come out.
func TestReplayedPrograms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source, model string
		want          []string
	}{
		"mine": {read(t, "examples/cli-agent/agent/main.py"), "openai/gpt-x", []string{"model.call.failed", "The sum is 42.", `"total_tokens": 330`}},
		"crew": {strings.Replace(crew, "PROMPT", "Be brief", 1), "anthropic/claude-x", []string{"the part thr 42", "model.call.refused", `"total_tokens": 48`}},
		"bare": {"print(open('sales.csv').read(), 42); open('total.txt', 'w').write('42')", "", []string{"sandbox.command.completed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := recordedProgram(t, name, c.source, c.model)
			if out, status := p.replayProgram(t, name, "again"); status != 0 {
				t.Fatalf("the replay ended with %d:\n%s", status, out)
			}
			live, again := p.canonical(t, "live"), p.canonical(t, "again")
			for _, want := range append(c.want, `"passed": true`) {
				if !strings.Contains(live, want) {
					t.Errorf("the run lacks %q:\n%s", want, live)
				}
			}
			if d := gocmp.Diff(strings.Split(live, "\n"), strings.Split(again, "\n")); d != "" {
				t.Errorf("a replayed run is not the recorded one (-recorded +replayed):\n%s", d)
			}
			raw := read(t, filepath.Join(p.dir, "tape", "trials", name, "march.r1.jsonl"))
			if strings.Contains(raw, tapedKey) {
				t.Error("the recording holds the key")
			}
			if _, status := p.try(t, "eval", "start", "--pack", "pack.yaml", "--replay", "tape", "--image", "agentclash/sandbox:local"); status != 64 {
				t.Errorf("a program that was not named was replayed: status %d", status)
			}
		})
	}
}

// TestReplayedProgramMisses changes what a program asks, and what it prints.
func TestReplayedProgramMisses(t *testing.T) {
	t.Parallel()
	p := recordedProgram(t, "crew", strings.Replace(crew, "PROMPT", "Be brief", 1), "anthropic/claude-x")
	for name, c := range map[string]struct {
		old, new string
		status   int
		want     string
	}{
		"prompt": {"Be brief", "Be long", 1, `system: recorded "Be brief at`},
		"words":  {`"sum "`, `"SUM "`, 1, `messages[0].content: recorded "sum`},
		"bound":  {`"max_tokens": 100`, `"max_tokens": 99`, 1, "max_tokens: recorded 100, now 99"},
		"more":   {"print(ask(", "ask('part one'); print(ask(", 1, "replay_miss"},
		"prints": {"print(ask(", "print('x', ask(", 0, ""},
	} {
		source := strings.Replace(crew, "PROMPT", "Be brief", 1)
		if !strings.Contains(source, c.old) {
			t.Fatalf("%s: the program has no %q", name, c.old)
		}
		p.write(t, "main.py", strings.Replace(source, c.old, c.new, 1))
		out, status := p.replayProgram(t, "crew", name)
		if status != c.status || !strings.Contains(out, c.want) || status == 1 && !strings.Contains(out, "replay_miss") {
			t.Errorf("%s: status %d, want %d and %q:\n%s", name, status, c.status, c.want, out)
		}
	}
	drift := p.must(t, "run", "events", "prints", "--filter", "tool_drift")
	if !strings.Contains(drift, `stdout`) {
		t.Errorf("what the program prints otherwise is no drift:\n%s", drift)
	}
	if got, want := p.canonicalCards(t, "prints"), p.canonicalCards(t, "live"); !slices.Equal(got, want) {
		t.Errorf("drift changed a score: %v, was %v", got, want)
	}
}

// TestKilledProgramRecording kills a run that is recorded while its program waits
// for a reply: the run is resumed, and its recording is whole.
func TestKilledProgramRecording(t *testing.T) {
	t.Parallel()
	if !dockerAnswers(t) {
		t.Skip("no Docker engine")
	}
	p := newProgram(t)
	asked, held := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	answering := vendors(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if strings.Contains(string(raw), "sum ") {
			once()
			select {
			case <-held:
			case <-r.Context().Done():
				return
			}
		}
		out, _ := http.NewRequestWithContext(r.Context(), r.Method, answering.URL+r.URL.Path, strings.NewReader(string(raw)))
		out.Header = r.Header.Clone()
		res, err := http.DefaultClient.Do(out)
		if err != nil {
			return
		}
		defer res.Body.Close()
		w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		_, _ = io.Copy(w, res.Body)
	}))
	t.Cleanup(server.Close)
	bare := p.env
	p.env = append(slices.Clone(bare), "MODEL_KEY="+tapedKey)
	p.write(t, "pack.yaml", read(t, "examples/cli-agent/pack.yaml"))
	p.write(t, "main.py", crew)
	p.must(t, "deployment", "create", "--name", "crew", "--kind", "command", "--files", "main.py", "--model", "anthropic/claude-x", "--base-url", server.URL,
		"--account", "env://MODEL_KEY", "--", "python3", "{agent_dir}/main.py")
	c := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--deployment", "crew", "--image", "agentclash/sandbox:local", "--name", "live", "--record", "tape")
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	close(held)
	if out, status := p.replayProgram(t, "crew", "early"); status != 64 || !strings.Contains(out, "never completed") {
		t.Errorf("an incomplete recording was replayed: status %d\n%s", status, out)
	}
	if out := p.must(t, "run", "resume", "live"); !strings.Contains(out, "recorded in tape") {
		t.Errorf("the resumed run does not complete its recording:\n%s", out)
	}
	server.Close()
	p.env = bare
	if out, status := p.replayProgram(t, "crew", "again"); status != 0 {
		t.Fatalf("the replay ended with %d:\n%s", status, out)
	}
	if got, want := p.canonicalCards(t, "again"), p.canonicalCards(t, "live"); !slices.Equal(got, want) {
		t.Errorf("the replay scored %v, the run %v", got, want)
	}
}
