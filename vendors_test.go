package main_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/vendortest"
)

// TestVendors runs one pack with an agent of each vendor, at once, against
// servers that speak their wire formats: a rate limit first, then reasoning with
// a tool, then the answer. What a vendor must see again it sees, and no output
// shows it; no key is kept or printed.
func TestVendors(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write(t, "pack.yaml", nativeFiles)
	keys := map[string]string{}
	servers := map[string]*vendortest.Server{}
	args := []string{"eval", "start", "--pack", "pack.yaml", "--sandbox", "scratch", "--name", "all", "--follow"}
	for _, row := range []struct {
		name, model, api string
		dialect          vendortest.Dialect
	}{
		{"claude", "anthropic/claude-test", "", vendortest.Anthropic()},
		{"gem", "gemini/gemini-test", "", vendortest.Gemini()},
		{"resp", "openai/gpt-5-test", "responses", vendortest.Responses()},
		{"chat", "openai/gpt-test", "", vendortest.Chat(provider.OpenAI)},
		{"grok", "xai/grok-test", "", vendortest.XAI()},
	} {
		key := "sk-" + row.name + "-0123456789abcdef"
		_, limited := row.dialect.Told(provider.RateLimit)
		server := vendortest.New(t, row.dialect,
			vendortest.Reply{Status: 429, Header: map[string]string{"Retry-After": "0.01"}, Body: limited},
			vendortest.Reply{Thought: "hidden thoughts", Pieces: []string{"Let me write."}, Calls: []vendortest.Call{{Name: "write_file", Arguments: `{"path":"notes.txt","content":"hello"}`}},
				Usage: &provider.Usage{Input: 100, Output: 20, CacheRead: 60, Reasoning: 5}},
			vendortest.Reply{Calls: []vendortest.Call{{Name: "submit", Arguments: `{"answer":"done, your key is ` + key + `"}`}}, Usage: &provider.Usage{Input: 150, Output: 10}})
		server.Demand(key)
		keys[row.name], servers[row.name] = key, server
		p.env = append(p.env, strings.ToUpper(row.name)+"_KEY="+key)
		create := []string{"deployment", "create", "--name", row.name, "--model", row.model, "--base-url", server.URL, "--account", "env://" + strings.ToUpper(row.name) + "_KEY"}
		if row.api != "" {
			create = append(create, "--api", row.api)
		}
		p.must(t, create...)
		args = append(args, "--deployment", row.name)
	}
	out := p.must(t, args...) + p.must(t, "run", "events", "all", "--json") + p.must(t, "deployment", "list")
	for name, server := range servers {
		var card scorecard
		p.query(t, &card, "eval", "scorecard", "all", "--agent", name)
		if trial := card.Scorecard.Trials[0]; trial.Outcome != "passed" || card.Scorecard.Usage.TotalTokens != 280 {
			t.Errorf("%s: got %+v", name, card.Scorecard)
		}
		if n := len(server.Requests()); n != 3 {
			t.Errorf("%s: got %d requests, want 3", name, n)
		}
		if strings.Contains(out, keys[name]) {
			t.Errorf("%s: the key was printed", name)
		}
	}
	for name, want := range map[string]string{"claude": "signed-thought", "gem": "c2lnbmVk", "resp": "sealed-reasoning"} {
		if body := string(servers[name].Requests()[2].Body); !strings.Contains(body, want) {
			t.Errorf("%s was not shown its state again: %s", name, body)
		}
		if strings.Contains(out, want) || strings.Contains(out, "hidden thoughts") {
			t.Errorf("the state of %s is shown", name)
		}
	}
	if body := string(servers["claude"].Requests()[2].Body); strings.Count(body, "cache_control") != 2 || !strings.Contains(body, `"max_tokens":8192`) {
		t.Errorf("got %s", body)
	}
}

// TestVendorFaults is what failing vendors make of a run.
func TestVendorFaults(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		model   string
		dialect vendortest.Dialect
		code    provider.Code
		status  int
	}{
		"a key that Anthropic refuses": {"anthropic/x", vendortest.Anthropic(), provider.Auth, 77},
		"a key that Gemini refuses":    {"gemini/x", vendortest.Gemini(), provider.Auth, 77},
		"no such model at Gemini":      {"gemini/x", vendortest.Gemini(), provider.UnknownModel, 64},
		"Anthropic is overloaded":      {"anthropic/x", vendortest.Anthropic(), provider.RateLimit, 75},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event, doc := row.dialect.Told(row.code)
			reply := vendortest.Reply{Status: row.dialect.Status(row.code), Body: doc}
			if row.code == provider.RateLimit {
				reply = vendortest.Reply{Raw: []string{event}}
			}
			p := newProgram(t)
			p.must(t, "deployment", "create", "--name", "served", "--model", row.model, "--base-url", vendortest.New(t, row.dialect, reply).URL)
			c := p.command(t.Context(), "eval", "start", "--pack", "builtin:quickstart", "--deployment", "served", "--name", "x", "--case", "capital", "--retry-invalid", "0")
			out, _ := c.CombinedOutput()
			if got := c.ProcessState.ExitCode(); got != row.status || !strings.Contains(string(out), string(row.code)) {
				t.Errorf("exit status %d, want %d and %s:\n%s", got, row.status, row.code, out)
			}
		})
	}
}

const researchPack = `pack: {slug: rate, name: Rate, family: rate}
version:
  number: 1
  execution_mode: responses
  evaluation_spec:
    name: rate
    version_number: 1
    judge_mode: deterministic
    validators: [{key: number, type: contains, target: final_output, expected_from: "literal:1.08"}]
    scorecard: {dimensions: [correctness], pass_threshold: 1}
challenges: [{key: rate, title: Rate, category: research, difficulty: easy, instructions: "What is a euro in {{currency}}?"}]
input_sets: [{key: default, name: Default, cases: [{challenge_key: rate, case_key: today, payload: {currency: dollars}}]}]
`

// TestResponsesMode runs a responses pack in the background of a server, by the
// events of a prompt_eval trial.
func TestResponsesMode(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	looks := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body := make([]byte, r.ContentLength+1)
		n, _ := r.Body.Read(body)
		asked = append(asked, r.Method+" "+r.URL.Path+" "+string(body[:n]))
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			_, _ = w.Write([]byte(`{"id":"resp_7","status":"queued","output":[]}`))
			return
		}
		if looks++; looks == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write([]byte(`{"id":"resp_7","model":"o3-deep-research","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"It is 1.08."}]}],
			"usage":{"input_tokens":40,"output_tokens":9,"total_tokens":49}}`))
	}))
	t.Cleanup(server.Close)
	p := newProgram(t)
	p.write(t, "pack.yaml", researchPack)
	p.write(t, "deployment.yaml", "name: deep\nmodel: openai/o3-deep-research\nbase_url: "+server.URL+"/v1\nsystem: Be brief.\noutput_schema: {type: object}\n")
	p.must(t, "deployment", "create", "--from-file", "deployment.yaml")
	p.must(t, "eval", "start", "--pack", "pack.yaml", "--deployment", "deep", "--name", "one", "--exit-code")
	if len(asked) != 3 || !strings.HasPrefix(asked[0], "POST /v1/responses ") || !strings.HasPrefix(asked[2], "GET /v1/responses/resp_7") {
		t.Fatalf("got %q", asked)
	}
	for _, want := range []string{`"background":true`, `"web_search_preview"`, `"developer"`, "Be brief.", `\"type\": \"object\"`, "What is a euro in dollars?"} {
		if !strings.Contains(asked[0], want) {
			t.Errorf("the request has no %s: %s", want, asked[0])
		}
	}
	if strings.Contains(asked[0], "max_output_tokens") {
		t.Errorf("research is cut at the tokens of a reply: %s", asked[0])
	}
	out := p.must(t, "run", "events", "one", "--json", "--query", `select(.source == "responses_engine") | [.event_type, .payload.api_surface]`)
	want := []string{`["system.run.started","responses"]`, `["model.call.started","responses"]`, `["model.call.completed",null]`,
		`["system.output.finalized",null]`, `["system.run.completed",null]`}
	if diff := cmp.Diff(want, strings.Fields(strings.ReplaceAll(out, " ", ""))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	var card scorecard
	p.query(t, &card, "eval", "scorecard", "one")
	if card.Scorecard.Usage.TotalTokens != 49 || card.Scorecard.Trials[0].Outcome != "passed" {
		t.Errorf("got %+v", card.Scorecard)
	}
}
