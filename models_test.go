package main_test

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
	"github.com/agentclash/agentclash/scoring"
)

const nativeFiles = `pack: {slug: files, name: Files, family: files}
version:
  number: 1
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file]}
  evaluation_spec:
    name: files
    version_number: 1
    judge_mode: deterministic
    post_execution_checks: [{key: notes, type: file_capture, path: /workspace/notes.txt}]
    metrics: [{key: cost, type: numeric, collector: run_model_cost_usd}]
    pricing: {models: [{provider_key: openai, provider_model_id: gpt-test, input_cost_per_million_tokens: 1, output_cost_per_million_tokens: 2}]}
    validators:
      - {key: said, type: file_content_match, target: "file:notes", expected_from: "literal:hello", config: {match_mode: exact}}
    scorecard: {dimensions: [correctness], pass_threshold: 1}
challenges:
  - {key: write, title: Write, category: files, difficulty: easy, instructions: Write hello into notes.txt.}
input_sets:
  - key: default
    name: Default
    cases: [{challenge_key: write, case_key: one, payload: {}}]
`

// scorecard is the part of eval scorecard --json that these tests look at.
type scorecard struct {
	Scorecard struct {
		Usage struct {
			TotalTokens int `json:"total_tokens"`
		}
		CostUSD *float64 `json:"cost_usd"`
		Trials  []struct {
			Outcome, Code, Phase string
			Attempt              int
		}
	}
}

// TestModelServer runs an agent on a server that speaks OpenAI's wire format:
// a rate limit first, then tools, then the answer. The key is in nothing that
// is kept or printed.
func TestModelServer(t *testing.T) {
	t.Parallel()
	const key = "sk-test-0123456789abcdef"
	limited := openaitest.RateLimited("0.01")
	write := openaitest.Call("write_file", `{"path":"notes.txt","content":"hello"}`)
	write.Usage = &openaitest.Usage{Prompt: 100, Completion: 20, Total: 120}
	submit := openaitest.Call("submit", `{"answer":"done, by the way your key is `+key+`"}`)
	submit.Usage = &openaitest.Usage{Prompt: 150, Completion: 10, Total: 160}
	server := openaitest.New(t, limited, write, submit)

	p := newProgram(t)
	p.env = append(p.env, "OPENAI_API_KEY="+key)
	p.write(t, "pack.yaml", nativeFiles)
	p.must(t, "deployment", "create", "--name", "served", "--model", "openai/gpt-test", "--base-url", server.URL, "--account", "env://OPENAI_API_KEY")
	out := p.must(t, "eval", "start", "--pack", "pack.yaml", "--deployment", "served", "--sandbox", "scratch", "--name", "one", "--follow", "--exit-code")
	for _, want := range []string{"rate_limit", "write_file", "passed 1.00"} {
		if !strings.Contains(out, want) {
			t.Errorf("the follow lines do not say %q:\n%s", want, out)
		}
	}
	var card scorecard
	p.query(t, &card, "eval", "scorecard", "one")
	if got := card.Scorecard.Usage.TotalTokens; got != 280 {
		t.Errorf("tokens: got %d, want 280", got)
	}
	if got := card.Scorecard.CostUSD; got == nil || *got < 0.000309 || *got > 0.000311 {
		t.Errorf("cost: got %v, want 250 in at $1 and 30 out at $2 a million", got)
	}
	if got := server.Requests()[1].Header.Get("Authorization"); got != "Bearer "+key {
		t.Errorf("the server saw %q", got)
	}
	events := p.must(t, "run", "events", "one", "--json")
	if strings.Contains(out+events, key) {
		t.Error("the key was printed")
	}
	err := filepath.WalkDir(filepath.Join(p.dir, "home"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(key)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestModelServerFaults is what a failing server makes of a run.
func TestModelServerFaults(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		reply  openaitest.Reply
		status int
		code   string
	}{
		"bad key":       {openaitest.Error(http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "no such key"), 77, "auth"},
		"unknown model": {openaitest.Error(http.StatusNotFound, "invalid_request_error", "model_not_found", "no such model"), 64, "unknown_model"},
		"down":          {openaitest.HTML(http.StatusBadGateway), 75, "unavailable"},
		"cut off":       {openaitest.Reply{Pieces: []string{"ANS", "WER"}, CutAfter: 1}, 75, "unavailable"},
		"nonsense":      {openaitest.Reply{Raw: []string{"data: {not json}\n\n"}}, 31, "malformed_response"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := openaitest.NewFunc(t, func(openaitest.Request) openaitest.Reply { return row.reply })
			p := newProgram(t)
			p.env = append(p.env, "OPENAI_API_KEY=sk-test-0123456789")
			p.must(t, "deployment", "create", "--name", "served", "--model", "openai/gpt-test", "--base-url", server.URL)
			c := p.command(t.Context(), "eval", "start", "--pack", "builtin:quickstart", "--deployment", "served", "--name", "x", "--case", "capital", "--retry-invalid", "0")
			began := time.Now()
			out, _ := c.CombinedOutput()
			if got := c.ProcessState.ExitCode(); got != row.status {
				t.Errorf("exit status %d, want %d:\n%s", got, row.status, out)
			}
			if !strings.Contains(string(out), row.code) {
				t.Errorf("the output does not name %s:\n%s", row.code, out)
			}
			t.Logf("took %v", time.Since(began))
			var card scorecard
			p.query(t, &card, "eval", "scorecard", "x")
			if trial := card.Scorecard.Trials[0]; trial.Outcome != "invalid" || trial.Code != row.code || trial.Phase != "agent" {
				t.Errorf("got %+v, want invalid for %s: no failure of the server's is the agent's", trial, row.code)
			}
		})
	}
}

// must runs a command that has to succeed and returns all it says.
func (p program) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.command(t.Context(), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestModelNames: scoring checks the models of judges and may not import the
// room that calls models, so that both know the rules. They must be the same.
func TestModelNames(t *testing.T) {
	t.Parallel()
	if got, want := scoring.ModelProviders(), provider.Names(); !slices.Equal(got, want) {
		t.Errorf("scoring knows the providers %v, the engine %v", got, want)
	}
	for _, name := range []string{"claude-x", "gpt-4o", "GPT-4o", "o1", "o3-mini", "o4-mini", "text-embedding-3", "gemini-2", "grok-4",
		"mistral-large", "codestral", "deepseek-chat", "chatgpt-4o", "a/b", "a/b/c", "OpenAI/x", "openai/", "/x", "/", "", " gpt-4o ",
		"scripted/a b.yaml", "gpt-oss/x", "gpt-\x00", strings.Repeat("o1", 2049)} {
		want, _, err := provider.ParseModel(name)
		got, ok := scoring.ModelProvider(name)
		if got != want || ok != (err == nil) {
			t.Errorf("%.40q: scoring says %q and %v, the engine %q and %v", name, got, ok, want, err)
		}
	}
}
