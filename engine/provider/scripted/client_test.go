package scripted_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/providertest"
	"github.com/agentclash/agentclash/engine/provider/scripted"
)

// load fails the test when the script is not good.
func load(tb testing.TB, src string) *scripted.Script {
	tb.Helper()
	s, err := scripted.Load("test.yaml", []byte(src))
	if err != nil {
		tb.Fatalf("load:\n%v", err)
	}
	return s
}

func TestContract(t *testing.T) {
	providertest.Run(t, providertest.Subject{
		Provider: provider.Scripted,
		Recorded: true,
		New: func(t *testing.T, replies ...providertest.Reply) provider.Client {
			t.Helper()
			list := make([]map[string]any, len(replies))
			for i, r := range replies {
				list[i] = scriptReply(r)
			}
			src, err := yaml.Marshal(map[string]any{"default": list})
			if err != nil {
				t.Fatal(err)
			}
			return scripted.New(load(t, string(src)))
		},
	})
}

func scriptReply(r providertest.Reply) map[string]any {
	if r.Fail != nil {
		return map[string]any{"error": map[string]any{"code": string(r.Fail.Code), "message": "as asked",
			"retry_after_ms": r.Fail.RetryAfter.Milliseconds()}}
	}
	out := map[string]any{"text": strings.Join(r.Pieces, "")}
	for _, c := range r.Calls {
		calls, _ := out["tool_calls"].([]any)
		out["tool_calls"] = append(calls, map[string]any{"name": c.Name, "arguments": c.Arguments})
	}
	if r.Finish != "" {
		out["finish_reason"] = string(r.Finish)
	}
	if r.Usage != nil {
		out["usage"] = map[string]any{"input_tokens": r.Usage.Input, "output_tokens": r.Usage.Output}
	}
	if r.Slow {
		out["delay_ms"] = 60_000
	}
	return out
}

// trial makes calls for one trial and describes what came in a word each.
type trial struct {
	client *scripted.Client
	ref    provider.Ref
}

func (tr trial) say(t *testing.T, messages ...provider.Message) string {
	t.Helper()
	res, err := tr.client.Complete(t.Context(), provider.Request{Ref: tr.ref, Model: "m", Messages: messages}, nil)
	if err != nil {
		return "error " + string(provider.CodeOf(err))
	}
	return res.Text
}

func of(c *scripted.Client, caseKey string) trial {
	return trial{client: c, ref: provider.Ref{Agent: "a", Case: caseKey, Repetition: 1, Attempt: 1}}
}

// issueScript is the format as it was first written down.
const issueScript = `
default:                       # replies used for every case without its own entry, in order; the last repeats
  - text: "4"
    usage: {input_tokens: 12, output_tokens: 3}
cases:
  fizzbuzz:                    # a case_key
    - tool_calls: [{name: write_file, arguments: {path: solution.py, content: "print(1)\n"}}]
    - delay_ms: 20
      tool_calls: [{name: submit, arguments: {answer: "done"}}]
  flaky:
    - error: {code: rate_limit, message: slow down, retry_after_ms: 50}
    - text: "fine"
`

func TestDefault(t *testing.T) {
	c := scripted.New(load(t, issueScript))
	for range 3 {
		res, err := c.Complete(t.Context(), provider.Request{Ref: provider.Ref{Case: "other"}, Model: "p.yaml"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := provider.Response{Model: "p.yaml", Text: "4", Finish: provider.FinishStop, Recorded: true,
			Usage: &provider.Usage{Input: 12, Output: 3, Total: 15}}
		if diff := cmp.Diff(want, res); diff != "" {
			t.Errorf("response (-want +got):\n%s", diff)
		}
	}
}

func TestToolCallsAndDelay(t *testing.T) {
	c := scripted.New(load(t, issueScript))
	req := provider.Request{Ref: provider.Ref{Case: "fizzbuzz"}, Model: "m"}
	first, err := c.Complete(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.ToolCall{{ID: "call_1_1", Name: "write_file",
		Arguments: json.RawMessage(`{"path":"solution.py","content":"print(1)\n"}`)}}
	if diff := cmp.Diff(want, first.ToolCalls); diff != "" {
		t.Errorf("tool calls (-want +got):\n%s", diff)
	}
	start := time.Now()
	second, err := c.Complete(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 20*time.Millisecond {
		t.Errorf("the call took %v, want the 20ms that its delay is", took)
	}
	if second.Elapsed != 20*time.Millisecond || second.TTFT != 20*time.Millisecond || second.Usage != nil {
		t.Errorf("got elapsed %v, first piece %v, usage %v; want exactly 20ms, 20ms, none", second.Elapsed, second.TTFT, second.Usage)
	}
	if second.ToolCalls[0].ID != "call_2_1" {
		t.Errorf("got id %q, want one of the second call's own", second.ToolCalls[0].ID)
	}
}

func TestError(t *testing.T) {
	c := scripted.New(load(t, `
default:
  - {delay_ms: 1, error: {code: rate_limit, message: slow down, retry_after_ms: 50}}
`))
	_, err := c.Complete(t.Context(), provider.Request{}, nil)
	want := &provider.Error{Provider: "scripted", Code: provider.RateLimit, Message: "slow down",
		RetryAfter: 50 * time.Millisecond, FromRecording: true, Recorded: time.Millisecond}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// A retried call and a later attempt go on in the list; other trials have
// places of their own.
func TestPositionIsTheTrials(t *testing.T) {
	c := scripted.New(load(t, `default: [{text: one}, {text: two}, {text: three}]`))
	base := provider.Ref{Agent: "a", Case: "c", Repetition: 1, Attempt: 1}
	for _, step := range []struct {
		change func(*provider.Ref)
		want   string
	}{
		{func(*provider.Ref) {}, "one"},
		{func(r *provider.Ref) { r.Call = 1 }, "two"},
		{func(r *provider.Ref) { r.Repetition = 2 }, "one"},
		{func(r *provider.Ref) { r.Agent = "b" }, "one"},
		{func(r *provider.Ref) { r.Case = "d" }, "one"},
		{func(r *provider.Ref) { r.Attempt = 2 }, "three"},
		{func(r *provider.Ref) { r.Attempt = 3 }, "three"},
	} {
		ref := base
		step.change(&ref)
		if got := (trial{c, ref}).say(t); got != step.want {
			t.Errorf("%+v: got %q, want %q", ref, got, step.want)
		}
	}
}

func TestRetryGoesOnInTheList(t *testing.T) {
	c := scripted.New(load(t, issueScript))
	var waits []time.Duration
	retry := provider.Retry{Sleep: func(context.Context, time.Duration) error { return nil }}
	res, err := retry.Do(t.Context(), c, provider.Request{Ref: provider.Ref{Case: "flaky"}}, provider.Observer{
		Failed: func(f provider.FailedTry) { waits = append(waits, f.Wait) }})
	if err != nil || res.Text != "fine" {
		t.Errorf("got %q, %v; want fine", res.Text, err)
	}
	if diff := cmp.Diff([]time.Duration{50 * time.Millisecond}, waits); diff != "" {
		t.Errorf("waits, exactly as the script says (-want +got):\n%s", diff)
	}
}

func TestForget(t *testing.T) {
	c := scripted.New(load(t, `default: [{text: one}, {text: two}]`))
	kept, dropped := of(c, "kept"), of(c, "dropped")
	kept.say(t)
	dropped.say(t)
	c.Forget(provider.Ref{Agent: "a", Case: "dropped", Repetition: 1, Attempt: 2, Call: 9})
	if got := dropped.say(t); got != "one" {
		t.Errorf("a forgotten trial got %q, want one", got)
	}
	if got := kept.say(t); got != "two" {
		t.Errorf("another trial got %q, want two", got)
	}
}

func TestEnd(t *testing.T) {
	for name, src := range map[string]string{
		"top":               "end: error\ndefault: [{text: one}]",
		"default's":         "default: {replies: [{text: one}], end: error}",
		"case's":            "cases: {c: {replies: [{text: one}], end: error}}",
		"entry's":           "cases: [{case: c, replies: [{text: one}], end: error}]",
		"last item":         "default: [{text: one}, {end: error}]",
		"with the last":     "default: [{text: one, end: error}]",
		"overrides the top": "end: repeat\ndefault: [{text: one}, {end: error}]",
	} {
		t.Run(name, func(t *testing.T) {
			tr := of(scripted.New(load(t, src)), "c")
			if got := tr.say(t); got != "one" {
				t.Errorf("first: got %q, want one", got)
			}
			if got := tr.say(t); got != "error invalid_request" {
				t.Errorf("second: got %q, want the end to be an error", got)
			}
		})
	}
}

func TestEndNamesScriptAndCase(t *testing.T) {
	c := scripted.New(load(t, "cases: {c: [{text: one, end: error}]}"))
	req := provider.Request{Ref: provider.Ref{Case: "c"}}
	_, _ = c.Complete(t.Context(), req, nil)
	_, err := c.Complete(t.Context(), req, nil)
	want := `scripted: invalid_request: script "test.yaml", model: out of replies for case "c" after 1 (end: error)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = c.Complete(t.Context(), provider.Request{Ref: provider.Ref{Case: "z"}}, nil)
	want = `scripted: invalid_request: script "test.yaml", model: no replies for case "z": neither an entry of its own nor a default`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestEcho(t *testing.T) {
	tr := of(scripted.New(load(t, `default: [{echo: true}]`)), "c")
	got := tr.say(t, provider.Message{Role: provider.User, Content: "first"},
		provider.Message{Role: provider.Assistant, Content: "no"},
		provider.Message{Role: provider.User, Content: "last"},
		provider.Message{Role: provider.ToolRole, Content: "result"})
	if got != "last" {
		t.Errorf("got %q, want the last user message", got)
	}
}

func TestWhen(t *testing.T) {
	c := scripted.New(load(t, `
cases:
  - when: {tool: FAILED}
    replies: [{text: fix it}]
  - when: {system: pirate, user: "2+2"}
    replies: [{text: "arr, 4"}]
  - case: c
    replies: [{text: for the case}]
  - when: {user: "2+2"}
    replies: [{text: "4"}]
default: [{text: no idea}]
`))
	sys := func(s string) provider.Message { return provider.Message{Role: provider.System, Content: s} }
	user := func(s string) provider.Message { return provider.Message{Role: provider.User, Content: s} }
	call := provider.Message{Role: provider.Assistant, ToolCalls: []provider.ToolCall{{ID: "1", Name: "exec"}}}
	result := func(s string) provider.Message { return provider.Message{Role: provider.ToolRole, Content: s} }
	for _, test := range []struct {
		name, caseKey string
		messages      []provider.Message
		want          string
	}{
		{"user", "x", []provider.Message{user("What is 2+2?")}, "4"},
		{"nothing matches", "x", []provider.Message{user("What is 2+3?")}, "no idea"},
		{"all parts", "x", []provider.Message{sys("You are a pirate."), user("What is 2+2?")}, "arr, 4"},
		{"an earlier when comes before the case", "c", []provider.Message{sys("You are a pirate."), user("What is 2+2?")}, "arr, 4"},
		{"the case comes before a later when", "c", []provider.Message{user("What is 2+2?")}, "for the case"},
		{"another role's text", "x", []provider.Message{sys("2+2"), user("hello")}, "no idea"},
		{"the latest tool result", "x", []provider.Message{user("go"), call, result("ok"), result("1 FAILED")}, "fix it"},
		{"an older tool result", "x", []provider.Message{user("go"), call, result("1 FAILED"), call, result("ok")}, "no idea"},
		{"a user message that looks like a result", "x", []provider.Message{user("FAILED")}, "no idea"},
	} {
		if got := of(c, test.caseKey).say(t, test.messages...); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// A trial that changes from list to list has a place in each.
func TestPlacesInSeveralLists(t *testing.T) {
	c := scripted.New(load(t, `
cases:
  - when: {user: red}
    replies: [{text: r1}, {text: r2}]
  - when: {user: blue}
    replies: [{text: b1}, {text: b2}]
`))
	tr := of(c, "c")
	var got []string
	for _, colour := range []string{"red", "blue", "red", "blue", "blue"} {
		got = append(got, tr.say(t, provider.Message{Role: provider.User, Content: colour}))
	}
	if diff := cmp.Diff([]string{"r1", "b1", "r2", "b2", "b2"}, got); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
}

func TestJudgesAndSimulators(t *testing.T) {
	s := load(t, `
default: [{text: model}]
judges:
  - when: {user: polite}
    replies: [{text: "5"}]
  - case: c
    replies: [{text: "1"}]
simulators: [{text: hello}, {echo: true}]
`)
	if got := of(scripted.NewJudge(s), "c").say(t, provider.Message{Role: provider.User, Content: "how polite is it"}); got != "5" {
		t.Errorf("judge: got %q, want 5", got)
	}
	if got := of(scripted.NewJudge(s), "c").say(t); got != "1" {
		t.Errorf("judge: got %q, want 1", got)
	}
	if got := of(scripted.NewJudge(s), "other").say(t); got != "error invalid_request" {
		t.Errorf("judge without a reply: got %q, want an error and not the model's default", got)
	}
	user := of(scripted.NewSimulator(s), "c")
	if got := user.say(t) + " " + user.say(t, provider.Message{Role: provider.User, Content: "there"}); got != "hello there" {
		t.Errorf("simulator: got %q, want hello there", got)
	}
}

// What a caller does to a reply must not reach the next one.
func TestRepliesAreTheCallersOwn(t *testing.T) {
	c := scripted.New(load(t, `default: [{usage: {input_tokens: 1}, tool_calls: [{name: submit, arguments: {answer: x}}]}]`))
	first, err := c.Complete(t.Context(), provider.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first.Usage.Input = 99
	first.ToolCalls[0].Name = "broken"
	copy(first.ToolCalls[0].Arguments, "XXXXXX")
	second, err := c.Complete(t.Context(), provider.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if second.Usage.Input != 1 || second.ToolCalls[0].Name != "submit" || string(second.ToolCalls[0].Arguments) != `{"answer":"x"}` {
		t.Errorf("got %+v %+v, want the script's", *second.Usage, second.ToolCalls[0])
	}
}

func TestManyTrialsAtOnce(t *testing.T) {
	c := scripted.New(load(t, `default: [{text: "0"}, {text: "1"}, {text: "2"}, {text: "3"}]`))
	var wg sync.WaitGroup
	for n := range 50 {
		wg.Go(func() {
			ref := provider.Ref{Agent: "a", Case: fmt.Sprint(n), Repetition: 1}
			for i := range 4 {
				res, err := c.Complete(t.Context(), provider.Request{Ref: ref}, nil)
				if err != nil || res.Text != fmt.Sprint(i) {
					t.Errorf("trial %d, call %d: got %q, %v", n, i, res.Text, err)
				}
			}
			c.Forget(ref)
		})
	}
	wg.Wait()
}

func TestStoppedBeforeTheCall(t *testing.T) {
	tr := of(scripted.New(load(t, `default: [{text: one}, {text: two}]`)), "c")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tr.client.Complete(ctx, provider.Request{Ref: tr.ref}, nil)
	if provider.CodeOf(err) != provider.Cancelled {
		t.Errorf("got %v, want cancelled", err)
	}
	if got := tr.say(t); got != "one" {
		t.Errorf("got %q, want one: a call that was not made takes no reply", got)
	}
}

func BenchmarkComplete(b *testing.B) {
	c := scripted.New(load(b, `default: [{text: "4", usage: {input_tokens: 12, output_tokens: 3}}]`))
	req := provider.Request{Model: "m", Messages: []provider.Message{{Role: provider.User, Content: "2+2"}}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		req.Ref = provider.Ref{Agent: "a", Case: "c", Repetition: i}
		if _, err := c.Complete(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
		c.Forget(req.Ref)
	}
}

func BenchmarkCompleteManyCases(b *testing.B) {
	var src strings.Builder
	src.WriteString("cases:\n")
	for i := range 20_000 {
		fmt.Fprintf(&src, "  case-%d: [{text: \"%d\"}]\n", i, i)
	}
	c := scripted.New(load(b, src.String()))
	for i := 0; b.Loop(); i++ {
		req := provider.Request{Ref: provider.Ref{Case: fmt.Sprintf("case-%d", i%20_000)}}
		if _, err := c.Complete(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
		c.Forget(req.Ref)
	}
}

// A list is drawn by seed, case and repetition, and by nothing else: a trial has
// the same one in all its calls, and over many trials each comes as often as it
// should.
func TestDraw(t *testing.T) {
	s := load(t, `
draw:
  - {p: 0.9, replies: [{text: right, usage: {input_tokens: 1, output_tokens: 2}}, {text: still right}]}
  - {p: 0.1, replies: [{text: wrong}], end: error}
cases:
  - {when: {user: other}, draw: [{p: 0.5, replies: [{text: heads}]}, {p: 0.5, replies: [{text: tails}]}]}
`)
	ask := func(c *scripted.Client, seed int64, agent, kase string, repetition int, said string) (string, int64) {
		t.Helper()
		req := provider.Request{Ref: provider.Ref{Agent: agent, Case: kase, Repetition: repetition}, Seed: seed,
			Messages: []provider.Message{{Role: provider.User, Content: said}}}
		forecast := c.Forecast(req)
		res, err := c.Complete(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		return res.Text, forecast.Output
	}
	a, b := scripted.New(s), scripted.New(s)
	right, heads, alike := 0, 0, 0
	const trials = 20_000
	for n := range trials {
		kase, repetition := fmt.Sprint("case-", n%100), n/100
		first, forecast := ask(a, 7, "a", kase, repetition, "?")
		if got, _ := ask(b, 7, "b", kase, repetition, "?"); got != first {
			t.Fatalf("another agent draws %q, not %q", got, first)
		}
		if first == "right" {
			right++
			if second, _ := ask(a, 7, "a", kase, repetition, "?"); second != "still right" || forecast != 2 {
				t.Fatalf("the second call has %q, the forecast was %d", second, forecast)
			}
		}
		side, _ := ask(a, 7, "c", kase, repetition, "the other")
		if side == "heads" {
			heads++
		}
		if other, _ := ask(a, 8, "c", kase, repetition+trials, "the other"); other == side {
			alike++
		}
	}
	// four standard errors: 0.0085 and 0.0142
	if share := float64(right) / trials; share < 0.8915 || share > 0.9085 {
		t.Errorf("the branch of 0.9 came in a share of %g", share)
	}
	for name, n := range map[string]int{"heads": heads, "the same under another seed": alike} {
		if share := float64(n) / trials; share < 0.4858 || share > 0.5142 {
			t.Errorf("%s came in a share of %g, want a half", name, share)
		}
	}
}
