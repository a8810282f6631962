package main_test

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
	"github.com/agentclash/agentclash/store"
)

const tapedPack = `pack: {slug: taped, name: Taped, family: taped}
version:
  number: 1
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file, network]}
  sandbox: {network_access: true, network_allowlist: [127.0.0.0/8]}
  evaluation_spec:
    name: taped
    version_number: 1
    judge_mode: hybrid
    post_execution_checks: [{key: notes, type: file_capture, path: /workspace/notes.txt}]
    metrics:
      - {key: cost, type: numeric, collector: run_model_cost_usd}
      - {key: took, type: numeric, collector: run_total_latency_ms}
    pricing:
      models:
        - {provider_key: openai, provider_model_id: gpt-test, input_cost_per_million_tokens: 1, output_cost_per_million_tokens: 2}
        - {provider_key: openai, provider_model_id: gpt-judge, input_cost_per_million_tokens: 3, output_cost_per_million_tokens: 4}
    validators:
      - {key: said, type: file_content_match, target: "file:notes", expected_from: "literal:hello", config: {match_mode: contains}}
    llm_judges:
      - {key: tone, mode: rubric, model: openai/gpt-judge, rubric: "5 is warm, 1 is cold.", context_from: [final_output], samples: 2}
    scorecard:
      strategy: hybrid
      dimensions:
        - {key: correctness, gate: true, pass_threshold: 1}
        - {key: manners, source: llm_judge, judge_key: tone}
        - {key: latency, source: latency, better_direction: lower, normalization: {target: 1, max: 60000}}
tools:
  custom:
    - name: ask
      description: Ask the shop.
      parameters: {type: object, properties: {what: {type: string}}, required: [what], additionalProperties: false}
      implementation:
        primitive: http_request
        args: {method: GET, url: "http://@SHOP@/shop?q=${what}", headers: {X-Token: "Bearer ${secrets.SHOP_KEY}"}}
    - name: weather
      parameters: {type: object, properties: {city: {type: string}}}
      implementation: {type: mock, lookup_key: city, responses: {Lima: "dry since 10:20:30"}}
challenges:
  - {key: write, title: Write, category: files, difficulty: easy, instructions: Write what the shop says into notes.txt.}
input_sets:
  - key: default
    name: Default
    cases:
      - {challenge_key: write, case_key: One Case, payload: {n: 1}}
      - {challenge_key: write, case_key: two, payload: {n: 2}}
`

const (
	tapedKey  = "sk-test-0123456789abcdef"
	tapedShop = "shop-secret-987654321"
)

// tapedModel plays an agent and its judge over OpenAI's wire format: it is rate
// limited at first, asks the shop, fetches a picture, writes and submits. Its
// ids are random, as a vendor's are.
func tapedModel(t *testing.T, shop string) *openaitest.Server {
	var mu sync.Mutex
	limited := map[string]bool{}
	return openaitest.NewFunc(t, func(r openaitest.Request) openaitest.Reply {
		said := r.Decoded.Messages
		if r.Decoded.Model == "gpt-judge" {
			return openaitest.Reply{Pieces: []string{`{"score": 4, `, `"reasoning": "It greets."}`}, Usage: &openaitest.Usage{Prompt: 300, Completion: 30}}
		}
		calls := 0
		for _, m := range said {
			if m.Role == "tool" {
				calls++
			}
		}
		first := *said[len(said)-1].Content
		mu.Lock()
		again := limited[first]
		limited[first] = true
		mu.Unlock()
		if calls == 0 && !again {
			return openaitest.RateLimited("0.01")
		}
		call := func(name, arguments string) openaitest.ToolCall {
			return openaitest.ToolCall{ID: "call_" + rand.Text(), Name: name, Arguments: arguments}
		}
		reply := openaitest.Reply{Usage: &openaitest.Usage{Prompt: int64(100 + calls), Completion: 20}}
		switch calls {
		case 0:
			reply.Pieces = []string{"Let me ", "ask."}
			reply.ToolCalls = []openaitest.ToolCall{
				call("ask", `{"what": "tea"}`),
				call("http_request", `{"method":"GET","url":"http://`+shop+`/picture","output_path":"picture.bin"}`),
			}
		case 2:
			reply.ToolCalls = []openaitest.ToolCall{call("write_file", `{"path":"notes.txt","content":"hello from the shop"}`), call("read_file", `{"path":"picture.bin"}`)}
		case 4:
			reply.ToolCalls = []openaitest.ToolCall{call("weather", `{"city": "Lima"}`)}
		default:
			reply.ToolCalls = []openaitest.ToolCall{call("submit", `{"answer":"Hello, it is written."}`)}
		}
		return reply
	})
}

// taped is a program with a run that was recorded, and whose servers are gone.
func taped(t *testing.T) program {
	t.Helper()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/picture" {
			_, _ = w.Write(bytes.Repeat([]byte{0xff, 0x00, 0x1b}, 1000))
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "cookie-secret-value"})
		fmt.Fprintf(w, "%s at %d: %s", r.URL, time.Now().UnixNano(), r.Header.Get("X-Token"))
	}))
	server := tapedModel(t, shop.Listener.Addr().String())
	p := newProgram(t)
	p.write(t, "pack.yaml", strings.ReplaceAll(tapedPack, "@SHOP@", shop.Listener.Addr().String()))
	bare := p.env
	p.env = append(slices.Clone(bare), "MODEL_KEY="+tapedKey, "OPENAI_API_KEY="+tapedKey, "AGENTCLASH_SECRET_SHOP_KEY="+tapedShop)
	p.must(t, "deployment", "create", "--name", "served", "--model", "openai/gpt-test", "--base-url", server.URL, "--account", "env://MODEL_KEY")
	out := p.must(t, "eval", "start", "--pack", "pack.yaml", "--deployment", "served", "--sandbox", "scratch", "--name", "live",
		"--repetitions", "2", "--seed", "7", "--record", "tape")
	if !strings.Contains(out, "recorded in tape") || !strings.Contains(out, "Trials: ") {
		t.Fatalf("it does not say what was recorded:\n%s", out)
	}
	shop.Close()
	dead := "http://127.0.0.1:1"
	p.env = append(slices.Clone(bare), "HTTP_PROXY="+dead, "HTTPS_PROXY="+dead, "http_proxy="+dead, "https_proxy="+dead)
	server.Close()
	return p
}

// TestReplay records a run over HTTP, then plays it back with every server gone
// and no key: the same scorecards and the same history come out.
func TestReplay(t *testing.T) {
	t.Parallel()
	p := taped(t)
	c := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--deployment", "served", "--sandbox", "scratch", "--name", "again", "--replay", "tape")
	if alone, err := exec.LookPath("unshare"); err == nil && exec.Command(alone, "-rn", "true").Run() == nil {
		t.Log("the replay has no network interface")
		c.Path, c.Args = alone, append([]string{alone, "-rn", c.Path}, c.Args[1:]...)
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("replay: %v\n%s", err, out)
	}
	live, again := p.canonical(t, "live"), p.canonical(t, "again")
	if len(live) < 1000 || !strings.Contains(live, "tool.call.completed") || !strings.Contains(live, "model.call.retried") || !strings.Contains(live, "network.egress.decided") {
		t.Fatalf("the canonical document lacks what the run did:\n%s", live)
	}
	if d := gocmp.Diff(strings.Split(live, "\n"), strings.Split(again, "\n")); d != "" {
		t.Errorf("a replayed run is not the recorded one (-recorded +replayed):\n%s", d)
	}
	var run struct {
		Recording struct{ Mode, Digest string }
	}
	p.query(t, &run, "run", "get", "again")
	if run.Recording.Mode != "replay" || len(run.Recording.Digest) != 64 {
		t.Errorf("run get says %+v of the recording", run.Recording)
	}
	err := filepath.WalkDir(filepath.Join(p.dir, "tape"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, secret := range []string{tapedKey, tapedShop, "cookie-secret-value"} {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s holds the secret %s", path, secret)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// canonical is what a run came to and how, without ids, dates and what is the
// machine's.
func (p program) canonical(t *testing.T, run string) string {
	t.Helper()
	var card any
	p.query(t, &card, "eval", "scorecard", run)
	stderr := new(bytes.Buffer)
	c := p.command(t.Context(), "run", "events", run, "--json")
	c.Stderr = stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("run events %s: %v\n%s", run, err, stderr)
	}
	type fact struct {
		at   time.Time
		doc  map[string]any
		sort string
	}
	var facts []fact
	began := map[string]time.Time{}
	for text := range strings.Lines(string(out)) {
		var doc map[string]any
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if doc["trial_id"] == nil {
			continue // the run's own facts name it
		}
		at, err := time.Parse(time.RFC3339Nano, doc["occurred_at"].(string))
		if err != nil {
			t.Fatal(err)
		}
		trial := fmt.Sprint(doc["case_key"], doc["repetition"], doc["attempt"])
		if doc["sequence_number"].(float64) == 1 {
			began[trial] = at
		}
		doc["occurred_at"] = at.Sub(began[trial]).String()
		facts = append(facts, fact{at, doc, trial + fmt.Sprintf("%06.0f", doc["sequence_number"])})
	}
	if len(facts) < 8 {
		t.Fatalf("run %s has %d facts", run, len(facts))
	}
	slices.SortFunc(facts, func(a, b fact) int { return cmp.Compare(a.sort, b.sort) })
	all := []any{anonymous(card, "")}
	for _, f := range facts {
		all = append(all, anonymous(f.doc, ""))
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// anonymous takes ids and dates out of a document.
func anonymous(v any, under string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			switch {
			case strings.HasSuffix(key, "_at") && key != "occurred_at", slices.Contains([]string{"run_id", "run_agent_id", "trial_id", "event_id", "tool_call_id",
				"sandbox_id", "run_name", "source", "id"}, key):
			default:
				out[key] = anonymous(value, key)
			}
		}
		return out
	case []any:
		for i := range v {
			v[i] = anonymous(v[i], under)
		}
	}
	return v
}

// TestReplayMisses changes what is asked: the run fails, and says where.
func TestReplayMisses(t *testing.T) {
	t.Parallel()
	p := taped(t)
	text, err := os.ReadFile(filepath.Join(p.dir, "pack.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	start := func(pack string) (string, int) {
		c := p.command(t.Context(), "eval", "start", "--pack", pack, "--deployment", "served", "--sandbox", "scratch", "--replay", "tape")
		out, _ := c.CombinedOutput()
		return string(out), c.ProcessState.ExitCode()
	}
	for name, row := range map[string]struct{ old, new, want string }{
		"instructions": {"Write what the shop says", "Write what the ship says", `messages[`},
		"description":  {"Ask the shop.", "Ask the ship.", `tools[0].description: recorded "Ask the shop.", now "Ask the ship."`},
		"rubric":       {"5 is warm", "4 is warm", "call 1 of the judge openai/gpt-judge"},
		"url":          {"/shop?q=", "/shop?p=", "http_request 1"},
	} {
		p.write(t, name+".yaml", strings.ReplaceAll(string(text), row.old, row.new))
		out, status := start(name + ".yaml")
		if status != 1 {
			t.Errorf("%s: exit status %d, want 1", name, status)
		}
		for _, want := range []string{"replay_miss", row.want, "--record", "the nearest recording is line", "note: the pack is not the one that was recorded"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: the output does not say %q:\n%s", name, want, out)
			}
		}
	}
	var list struct {
		Items []struct{ Status, Reason string }
	}
	p.query(t, &list, "run", "list")
	if run := list.Items[0]; run.Status != "failed" || !strings.HasPrefix(run.Reason, "replay_miss") {
		t.Errorf("the run is %+v, want failed for replay_miss", run)
	}
	// what only scores differently is no miss
	p.write(t, "scores.yaml", strings.ReplaceAll(string(text), "literal:hello", "literal:nothing of the kind"))
	if out, status := start("scores.yaml"); status != 0 || !strings.Contains(out, "failed") {
		t.Errorf("another expectation: exit status %d:\n%s", status, out)
	}
}

// TestReplayDrift has a tool say something else than it did: the model is told
// what was recorded, and a fact tells the difference.
func TestReplayDrift(t *testing.T) {
	t.Parallel()
	p := taped(t)
	text, err := os.ReadFile(filepath.Join(p.dir, "pack.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		now, want string
	}{
		"same":    {"dry since 10:20:31", ""}, // times of day are volatile
		"drifted": {"wet since 10:20:30", `tool drift: weather: content: was recorded as "dry since <time>", is now "wet since <time>"`},
	} {
		p.write(t, "pack.yaml", strings.Replace(string(text), "dry since 10:20:30", row.now, 1))
		out := p.must(t, "eval", "start", "--pack", "pack.yaml", "--deployment", "served", "--sandbox", "scratch", "--name", name, "--replay", "tape", "--follow")
		if got := strings.Count(out, "tool drift"); row.want == "" && got > 0 || row.want != "" && strings.Count(out, row.want) != 4 {
			t.Errorf("%s: the drift that is shown is not %q once a trial:\n%s", name, row.want, out)
		}
	}
	live, drifted := p.canonicalCards(t, "live"), p.canonicalCards(t, "drifted")
	if d := gocmp.Diff(live, drifted); d != "" {
		t.Errorf("drift changed a score:\n%s", d)
	}
}

func (p program) canonicalCards(t *testing.T, run string) []float64 {
	t.Helper()
	var card struct {
		Scorecard struct {
			OverallScore float64 `json:"overall_score"`
			PassRate     float64 `json:"pass_rate"`
		}
	}
	p.query(t, &card, "eval", "scorecard", run)
	return []float64{card.Scorecard.OverallScore, card.Scorecard.PassRate}
}

// TestBadRecordings are refused before anything runs, each for what it is.
func TestBadRecordings(t *testing.T) {
	t.Parallel()
	p := taped(t)
	tape := filepath.Join(p.dir, "tape")
	trial := filepath.Join(tape, "trials", "served", "two.r1.jsonl")
	was := map[string][]byte{}
	for _, path := range []string{trial, filepath.Join(tape, "recording.json")} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		was[path] = raw
	}
	header := filepath.Join(tape, "recording.json")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name   string
		spoil  func()
		status int
		want   string
	}{
		{"another version", func() {
			must(os.WriteFile(header, bytes.Replace(was[header], []byte(`"version": 2`), []byte(`"version": 3`), 1), 0o644))
		}, 64, "it has the format version 3, and this program reads 2"},
		{"another seed", func() {
			must(os.WriteFile(header, bytes.Replace(was[header], []byte(`"seed": 7`), []byte(`"seed": 0`), 1), 0o644))
		}, 64, "recording.json was changed after it was recorded"},
		{"not finished", func() {
			must(os.WriteFile(header, bytes.Replace(was[header], []byte(`"complete": true`), []byte(`"complete": false`), 1), 0o644))
		}, 64, "recording.json was changed after it was recorded"},
		{"no header", func() { must(os.WriteFile(header, []byte("{"), 0o644)) }, 64, "recording.json cannot be read"},
		{"some other file", func() { must(os.WriteFile(header, []byte("{}"), 0o644)) }, 64, "is not of a recording"},
		{"edited", func() {
			must(os.WriteFile(trial, bytes.Replace(was[trial], []byte("hello"), []byte("hallo"), 1), 0o644))
		}, 64, "two.r1.jsonl was changed after it was recorded"},
		{"torn", func() { must(os.WriteFile(trial, was[trial][:len(was[trial])-9], 0o644)) }, 64, "two.r1.jsonl was changed"},
		{"missing", func() { must(os.Remove(trial)) }, 64, "two.r1.jsonl is missing"},
		{"a link", func() { must(os.Remove(trial)); must(os.Symlink("/etc/passwd", trial)) }, 64, "two.r1.jsonl is a link"},
		{"huge", func() { must(os.Truncate(trial, 1<<30)) }, 64, "more than 512 MiB"},
		{"a stranger", func() { must(os.WriteFile(trial+".more.jsonl", nil, 0o644)) }, 64, "was not recorded: remove it"},
		{"no directory", func() { must(os.RemoveAll(tape)) }, 66, "no such file"},
		{"none", func() { must(os.MkdirAll(tape, 0o755)) }, 64, "it is no recording"},
	} {
		must(os.MkdirAll(filepath.Dir(trial), 0o755))
		row.spoil()
		c := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--deployment", "served", "--sandbox", "scratch", "--replay", "tape")
		out, _ := c.CombinedOutput()
		if got := c.ProcessState.ExitCode(); got != row.status || !strings.Contains(string(out), row.want) {
			t.Errorf("%s: exit status %d, want %d and %q:\n%s", row.name, got, row.status, row.want, out)
		}
		_ = os.Remove(trial)
		_ = os.Remove(trial + ".more.jsonl")
		if row.name != "no directory" {
			for path, raw := range was {
				must(os.MkdirAll(filepath.Dir(path), 0o755))
				must(os.WriteFile(path, raw, 0o644))
			}
		}
	}
	var list struct{ Total int }
	p.query(t, &list, "run", "list")
	if list.Total != 1 {
		t.Errorf("%d runs are stored, want the recorded one alone: nothing may run", list.Total)
	}
}

// TestRecordingIsKilled ends the program in the middle of a recorded run, for
// good: the recording is refused until the run is resumed, and whole then.
func TestRecordingIsKilled(t *testing.T) {
	t.Parallel()
	const key = "sk-test-0123456789abcdef"
	waiting, release := make(chan struct{}, 8), make(chan struct{})
	server := openaitest.NewFunc(t, func(r openaitest.Request) openaitest.Reply {
		if question := *r.Decoded.Messages[len(r.Decoded.Messages)-1].Content; strings.Contains(question, "second") {
			waiting <- struct{}{}
			<-release
		}
		return openaitest.Text("The answer is 4.")
	})
	p := newProgram(t)
	p.env = append(p.env, "OPENAI_API_KEY="+key)
	p.write(t, "pack.yaml", `pack: {slug: two, name: Two, family: two}
version:
  number: 1
  execution_mode: prompt_eval
  evaluation_spec:
    name: two
    version_number: 1
    judge_mode: deterministic
    validators: [{key: right, type: contains, target: final_output, expected_from: "literal:4"}]
    scorecard: {dimensions: [correctness]}
challenges: [{key: add, title: Add, category: math, difficulty: easy, instructions: "The {{nth}}: what is 2 + 2?"}]
input_sets:
  - key: default
    name: Default
    cases:
      - {challenge_key: add, case_key: a, payload: {nth: first}}
      - {challenge_key: add, case_key: b, payload: {nth: second}}
`)
	p.must(t, "deployment", "create", "--name", "served", "--model", "openai/gpt-test", "--base-url", server.URL, "--account", "env://OPENAI_API_KEY")
	c := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--deployment", "served", "--name", "cut", "--concurrency", "1", "--record", "tape")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-waiting
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	close(release)
	replay := func() (string, int) {
		c := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--deployment", "served", "--replay", "tape")
		out, _ := c.CombinedOutput()
		return string(out), c.ProcessState.ExitCode()
	}
	if out, status := replay(); status != 64 || !strings.Contains(out, "the recording was never completed: agentclash run resume") {
		t.Errorf("half a recording: exit status %d:\n%s", status, out)
	}
	p.staysWithBadTape(t, "cut", "tape/trials/served/a.r1.jsonl")
	half := filepath.Join(p.dir, "tape", "trials", "served", "a.r1.jsonl")
	whole, err := os.ReadFile(half)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(half, bytes.Replace(whole, []byte("The answer is 4."), []byte("The answer is 5."), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	c = p.command(t.Context(), "run", "resume", "cut")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "was changed after it was recorded") {
		t.Errorf("an edited half of a recording is gone on with: %v\n%s", err, out)
	}
	if err := os.WriteFile(half, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := p.must(t, "run", "resume", "cut"); !strings.Contains(out, "recorded in tape") {
		t.Errorf("the resumed run does not complete its recording:\n%s", out)
	}
	// a process that died when its run lacked nothing but its end
	p.orphan(t, "cut")
	if out := p.must(t, "run", "resume", "cut"); strings.Contains(out, "recorded in tape") {
		t.Errorf("what is complete is recorded again:\n%s", out)
	}
	if got := p.standing(t, "cut"); got != "completed" {
		t.Errorf("the run whose end was missing: %s", got)
	}
	server.Close()
	if out, status := replay(); status != 0 || !strings.Contains(out, "passed") {
		t.Errorf("the whole recording: exit status %d:\n%s", status, out)
	}
}

// standing is how a run stands: its status, and the reason if it has one.
func (p program) standing(t *testing.T, run string) string {
	t.Helper()
	var r struct{ Status, Reason string }
	p.query(t, &r, "run", "get", run)
	return strings.TrimSpace(r.Status + " " + r.Reason)
}

// staysWithBadTape resumes a run while a file of its recording is spoiled: it
// stands as it did.
func (p program) staysWithBadTape(t *testing.T, run, file string) {
	t.Helper()
	p.must(t, "run", "list") // which marks what the dead left
	before := p.standing(t, run)
	at := filepath.Join(p.dir, file)
	sound, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, file, "{")
	c := p.command(t.Context(), "run", "resume", run)
	out, _ := c.CombinedOutput()
	if c.ProcessState.ExitCode() != 64 || !strings.Contains(string(out), "go on with the recording") {
		t.Errorf("resumed with a spoiled recording: exit status %d:\n%s", c.ProcessState.ExitCode(), out)
	}
	p.write(t, file, string(sound))
	if after := p.standing(t, run); after != before {
		t.Errorf("the run stood at %q, and stands at %q after what never began", before, after)
	}
}

// orphan leaves a finished run as a process does that dies before it stores the
// run's end.
func (p program) orphan(t *testing.T, run string) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(p.dir, "home", "agentclash.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.Run(t.Context(), "", run)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.TakeOver(t.Context(), r.ID, r.Owner, r.Owner, func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
}

const secretPack = `pack: {slug: keyed, name: Keyed, family: keyed}
version:
  number: 1
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file]}
  evaluation_spec:
    name: keyed
    version_number: 1
    judge_mode: deterministic
    metrics: [{key: calls, type: numeric, collector: run_tool_call_count}]
    validators: [{key: said, type: contains, target: final_output, expected_from: "literal:read"}]
    scorecard: {dimensions: [correctness]}
challenges: [{key: read, title: Read, category: files, difficulty: easy, instructions: "Use @KEY@ to read note.txt."}]
input_sets:
  - key: default
    name: Default
    cases:
      - {challenge_key: read, case_key: one, payload: {workspace_files: [{path: note.txt, content: "first: @KEY@ and more"}]}}
`

// TestReplayStatesNoSecret: a pack holds the value of a key, in the prompt and in
// a file. Its recording does not, and is replayed where nobody has the key or the
// deployment; nothing that the replay keeps or says has it, drift and misses
// included. What tools say otherwise renumbers no evidence.
func TestReplayStatesNoSecret(t *testing.T) {
	t.Parallel()
	const key = `sk-"live"\0123456789abcdef`
	server := openaitest.NewFunc(t, func(r openaitest.Request) openaitest.Reply {
		if said := r.Decoded.Messages; said[len(said)-1].Role != "tool" {
			return openaitest.Reply{ToolCalls: []openaitest.ToolCall{{ID: "call_" + rand.Text(), Name: "read_file", Arguments: `{"path":"note.txt"}`}}}
		}
		return openaitest.Reply{ToolCalls: []openaitest.ToolCall{{ID: "call_" + rand.Text(), Name: "submit", Arguments: `{"answer":"I have read it."}`}}}
	})
	p := newProgram(t)
	bare := p.env
	p.env = append(slices.Clone(bare), "OPENAI_API_KEY="+key)
	quoted, _ := json.Marshal(key)
	inYAML := string(quoted[1 : len(quoted)-1])
	source := strings.ReplaceAll(secretPack, "@KEY@", inYAML)
	p.write(t, "pack.yaml", source)
	p.write(t, "drift.yaml", strings.Replace(source, "first:", "then:", 1))
	p.write(t, "miss.yaml", strings.Replace(source, "to read", "to look at", 1))
	p.must(t, "deployment", "create", "--name", "served", "--model", "openai/gpt-test", "--base-url", server.URL, "--account", "env://OPENAI_API_KEY")
	p.must(t, "eval", "start", "--pack", "pack.yaml", "--deployment", "served", "--sandbox", "scratch", "--name", "live", "--record", "tape")
	server.Close()
	unkeyed := p
	unkeyed.env = bare
	said := func(who program, status int, args ...string) string {
		t.Helper()
		c := who.command(t.Context(), args...)
		out, _ := c.CombinedOutput()
		if got := c.ProcessState.ExitCode(); got != status {
			t.Fatalf("%v: exit status %d, want %d:\n%s", args, got, status, out)
		}
		for _, bad := range []string{"0123456789abcdef", inYAML} {
			if strings.Contains(string(out), bad) {
				t.Errorf("%v states the key:\n%s", args, out)
			}
		}
		return string(out)
	}
	for name, who := range map[string]program{"without": unkeyed, "with": p} {
		said(who, 0, "eval", "start", "--pack", "pack.yaml", "--sandbox", "scratch", "--name", name, "--replay", "tape")
		said(who, 0, "eval", "start", "--pack", "drift.yaml", "--sandbox", "scratch", "--name", name+"-drift", "--replay", "tape")
		if out := said(who, 1, "eval", "start", "--pack", "miss.yaml", "--sandbox", "scratch", "--name", name+"-miss", "--replay", "tape"); !strings.Contains(out, "look at") {
			t.Errorf("the miss does not say what differs:\n%s", out)
		}
		for _, run := range []string{"", "-drift", "-miss"} {
			said(who, 0, "run", "events", name+run, "--json")
			said(who, 0, "run", "get", name+run, "--json")
		}
		if out := said(who, 0, "run", "events", name+"-drift", "--filter", "tool_drift"); !strings.Contains(out, "then: [redacted]") {
			t.Errorf("no drift is told:\n%s", out)
		}
		var live, drifted any
		p.query(t, &live, "eval", "scorecard", "live")
		p.query(t, &drifted, "eval", "scorecard", name+"-drift")
		if d := gocmp.Diff(anonymous(live, ""), anonymous(drifted, "")); d != "" {
			t.Errorf("drift changed the scorecard (-live +drifted):\n%s", d)
		}
	}
	err := filepath.WalkDir(filepath.Join(p.dir, "tape"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte("0123456789abcdef")) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	// what was named and is not there says what to type
	if out := said(unkeyed, 66, "eval", "start", "--pack", "pack.yaml", "--deployment", "prod", "--replay", "tape"); !strings.Contains(out, "leave out --deployment: --replay") {
		t.Errorf("got %s", out)
	}
	if out := said(unkeyed, 1, "eval", "start", "--pack", "pack.yaml", "--sandbox", "scratch", "--model", "openai/gpt-test", "--replay", "tape"); !strings.Contains(out, `the recording has "served" (openai/gpt-test)`) ||
		!strings.Contains(out, "leave out --deployment and --model") {
		t.Errorf("got %s", out)
	}
}

// TestRecordersDoNotMeet: while one run records into a directory no other does,
// and what is refused leaves no run behind. A cancelled run's recording is not
// said to be resumable.
func TestRecordersDoNotMeet(t *testing.T) {
	t.Parallel()
	waiting, release := make(chan struct{}, 8), make(chan struct{})
	server := openaitest.NewFunc(t, func(openaitest.Request) openaitest.Reply {
		waiting <- struct{}{}
		<-release
		return openaitest.Text("The answer is 4.")
	})
	p := newProgram(t)
	p.env = append(p.env, "OPENAI_API_KEY=sk-test-0123456789abcdef")
	p.write(t, "script.yaml", "default: [{text: 'It is 4.'}]")
	p.write(t, "pack.yaml", `pack: {slug: one, name: One, family: one}
version:
  number: 1
  execution_mode: prompt_eval
  evaluation_spec:
    name: one
    version_number: 1
    judge_mode: deterministic
    validators: [{key: right, type: contains, target: final_output, expected_from: "literal:4"}]
    scorecard: {dimensions: [correctness]}
challenges: [{key: add, title: Add, category: math, difficulty: easy, instructions: "What is 2 + 2?"}]
input_sets: [{key: default, name: Default, cases: [{challenge_key: add, case_key: a}]}]
`)
	p.must(t, "deployment", "create", "--name", "served", "--model", "openai/gpt-test", "--base-url", server.URL)
	first := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--deployment", "served", "--name", "first", "--record", "tape")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	<-waiting
	refused := func(want string, args ...string) {
		t.Helper()
		c := p.command(t.Context(), append([]string{"eval", "start", "--pack", "pack.yaml", "--model", "scripted/script.yaml"}, args...)...)
		out, _ := c.CombinedOutput()
		if got := c.ProcessState.ExitCode(); got != 64 || !strings.Contains(string(out), want) {
			t.Errorf("%v: exit status %d, want 64 and %q:\n%s", args, got, want, out)
		}
	}
	refused("tape: run first (", "--record", "tape", "--overwrite")
	refused("records into it now: wait for it", "--replay", "tape")
	refused("not a directory", "--record", "pack.yaml/below")
	if err := os.Symlink("nowhere/at/all", filepath.Join(p.dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	refused("dangling", "--record", "dangling")
	p.must(t, "run", "cancel", "first")
	_ = first.Wait()
	close(release)
	refused("its run is over: record again with --overwrite", "--replay", "tape")
	var list struct{ Total int }
	p.query(t, &list, "run", "list")
	if list.Total != 1 {
		t.Errorf("%d runs are stored, want the first alone", list.Total)
	}
	p.must(t, "eval", "start", "--pack", "pack.yaml", "--model", "scripted/script.yaml", "--record", "tape", "--overwrite")
	if out := p.must(t, "eval", "start", "--pack", "pack.yaml", "--replay", "tape"); !strings.Contains(out, "passed") {
		t.Errorf("the recording that replaced it:\n%s", out)
	}
}
