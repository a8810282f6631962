package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
	"github.com/agentclash/agentclash/engine/provider/providertest"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// call makes one call to a server that sends the reply.
func call(t *testing.T, r openaitest.Reply, o wire.Options) (provider.Response, error) {
	t.Helper()
	return client(t, openaitest.New(t, r), o).Complete(t.Context(), providertest.Ask(t), nil)
}

// stream is a stream of raw data lines.
func stream(data ...string) openaitest.Reply {
	r := openaitest.Reply{Raw: []string{}}
	for _, d := range data {
		r.Raw = append(r.Raw, "data: "+d)
	}
	return r
}

const (
	done = "[DONE]"
	stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
)

func text(s string) string {
	return fmt.Sprintf(`{"model":"m-1","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, s)
}

func fragment(index int, id, name, arguments string) string {
	function, _ := json.Marshal(map[string]string{"name": name, "arguments": arguments})
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":%s}]}}]}`, index, id, function)
}

func TestWholeReply(t *testing.T) {
	t.Parallel()
	res, err := call(t, openaitest.Reply{Model: "gpt-test-2026", Pieces: []string{"a", "b"},
		Usage: &openaitest.Usage{Prompt: 100, Completion: 50, Cached: 80, Reasoning: 30}}, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.TTFT <= 0 || res.Elapsed < res.TTFT || res.Recorded {
		t.Errorf("got durations %v, %v, recorded %v", res.TTFT, res.Elapsed, res.Recorded)
	}
	res.TTFT, res.Elapsed = 0, 0
	want := provider.Response{Model: "gpt-test-2026", Text: "ab", Finish: provider.FinishStop,
		Usage: &provider.Usage{Input: 100, Output: 50, Total: 150, CacheRead: 80, Reasoning: 30}}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

// Streams that are odd and still say everything.
func TestToleratedStreams(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]openaitest.Reply{
		"no [DONE]":            stream(text("ok"), stop),
		"error null":           stream(`{"error":null,"choices":[{"index":0,"delta":{"content":"ok"}}]}`, stop, done),
		"comments":             {Raw: []string{": keep-alive", "data: " + text("ok"), ": keep-alive", "data: " + stop, "data: [DONE]"}},
		"event names and ids":  {Raw: []string{"id: 1\nevent: message\ndata: " + text("ok"), "retry: 10", "data: " + stop}},
		"carriage returns":     {Raw: []string{"data: " + text("ok") + "\r", "data: " + stop + "\r"}},
		"no space":             {Raw: []string{"data:" + text("ok"), "data:" + stop}},
		"a first empty chunk":  stream(`{"choices":[],"prompt_filter_results":[]}`, text("ok"), stop, done),
		"an unknown chunk":     stream(`{"ping":true}`, text("ok"), stop, done),
		"finish with the text": stream(`{"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}`, done),
		"refusal":              stream(`{"choices":[{"index":0,"delta":{"refusal":"ok"}}]}`, stop, done),
		"reasoning beside it":  stream(`{"choices":[{"index":0,"delta":{"reasoning_content":"hm","reasoning":"hm","content":null}}]}`, text("ok"), stop, done),
		"words after [DONE]":   stream(text("ok"), stop, done, text("more")),
		"a byte at a time":     {Pieces: []string{"o", "k"}, ByByte: true},
		"no content type":      {Pieces: []string{"ok"}, Header: map[string]string{"Content-Type": "application/octet-stream"}},
		"cut after all of it":  {Pieces: []string{"ok"}, CutAfter: 4, Usage: &openaitest.Usage{Prompt: 1, Completion: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := call(t, r, wire.Options{})
			if err != nil || res.Text != "ok" || res.Finish != provider.FinishStop {
				t.Errorf("got %q, %q, %v; want ok, stop", res.Text, res.Finish, err)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	limits := wire.Limits{StreamBytes: 20_000, ReplyBytes: 3_000, ArgumentBytes: 1_000}
	many := make([]string, 129)
	for i := range many {
		many[i] = fragment(0, fmt.Sprint("id", i), "x", "{}")
	}
	for name, test := range map[string]struct {
		reply openaitest.Reply
		want  string
	}{
		"cut before the end":       {openaitest.Reply{Pieces: []string{"a", "b"}, CutAfter: 2}, "unavailable: the stream broke off: unexpected EOF"},
		"cut before usage":         {openaitest.Reply{Raw: []string{"data: " + text("a"), "data: " + stop, ": x"}, CutAfter: 2}, "unavailable: the stream broke off: unexpected EOF"},
		"ended politely":           {openaitest.Reply{Pieces: []string{"a", "b"}, EndAfter: 2}, "unavailable: the stream ended before the reply did"},
		"[DONE] without a finish":  {stream(text("a"), done), "unavailable: the stream ended before the reply did"},
		"no events":                {openaitest.Reply{Raw: []string{}}, "unavailable: the stream ended before the reply did"},
		"only [DONE]":              {stream(done), "unavailable: the stream ended before the reply did"},
		"not JSON":                 {stream(text("a"), `{"choices": [`, stop), `malformed_response: a piece of the stream is not a chunk: {"choices": [`},
		"not an object":            {stream(`"hello"`, stop), `malformed_response: a piece of the stream is not a chunk: "hello"`},
		"HTML in the stream":       {stream("<html>", stop), "malformed_response: a piece of the stream is not a chunk: <html>"},
		"second choice":            {stream(`{"choices":[{"index":1,"delta":{"content":"a"}}]}`), "malformed_response: choice 1 came where one was asked for"},
		"call without a name":      {stream(fragment(0, "1", "", "{}"), stop, done), "malformed_response: a tool call has no name"},
		"call of another type":     {stream(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"type":"custom"}]}}]}`), `malformed_response: a tool call of type "custom"`},
		"index 128":                {stream(fragment(128, "1", "x", "{}")), "malformed_response: tool call index 128 is not within 0 to 127"},
		"index below 0":            {stream(fragment(-1, "1", "x", "{}")), "malformed_response: tool call index -1 is not within 0 to 127"},
		"too many calls":           {stream(many...), "malformed_response: more than 128 tool calls"},
		"long arguments":           {stream(fragment(0, "1", "x", strings.Repeat("x", 1001))), "malformed_response: the arguments of a tool call pass 1000 bytes"},
		"long name":                {stream(fragment(0, "1", strings.Repeat("x", 257), "")), "malformed_response: a tool call's name or id passes 256 bytes"},
		"long text":                {stream(text(strings.Repeat("x", 3001))), "malformed_response: the reply passes 3000 bytes"},
		"long in sum":              {stream(text(strings.Repeat("x", 2500)), fragment(0, "1", "x", strings.Repeat("x", 500))), "malformed_response: the reply passes 3000 bytes"},
		"endless":                  {openaitest.Reply{Raw: []string{": " + strings.Repeat("x", 30_000)}}, "malformed_response: the stream passes 20000 bytes"},
		"finish error":             {stream(text("a"), `{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`, done), "unavailable: the server ended the reply with an error"},
		"error in the stream":      {stream(text("a"), `{"error":{"message":"The server had an error","type":"server_error"}}`), "unavailable: The server had an error"},
		"rate limit in the stream": {stream(text("a"), `{"error":{"message":"slow down","code":429}}`), "rate_limit: slow down"},
		"too long, in the stream":  {stream(`{"error":{"message":"too long","code":"context_length_exceeded"}}`), "context_length: too long"},
		"200 with an error":        {openaitest.Reply{Status: 200, Body: `{"error":{"message":"No credits","code":402}}`}, "auth: No credits"},
		"200 with a completion":    {openaitest.Reply{Status: 200, Body: `{"choices":[{"message":{"content":"a"}}]}`}, "malformed_response: the server did not stream: it answered with application/json"},
		"200 with a page":          {openaitest.HTML(200), "malformed_response: the server did not stream: it answered with text/html"},
		"429":                      {openaitest.RateLimited("1.5"), "rate_limit (HTTP 429): Rate limit reached for requests"},
		"500":                      {openaitest.Error(500, "server_error", "", "oops"), "unavailable (HTTP 500): oops"},
		"502 page":                 {openaitest.HTML(502), "unavailable (HTTP 502): Bad Gateway: an HTML page came back, not a reply of the API"},
		"401 page":                 {openaitest.HTML(401), "auth (HTTP 401): Unauthorized: an HTML page came back, not a reply of the API"},
		"204":                      {openaitest.Reply{Status: 204}, "malformed_response (HTTP 204): No Content"},
		"a huge error":             {openaitest.Reply{Status: 500, Body: strings.Repeat("x ", 1<<20)}, "unavailable (HTTP 500): " + strings.TrimSpace(strings.Repeat("x ", 250)) + " …"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := call(t, test.reply, wire.Options{Limits: limits})
			if err == nil || err.Error() != "openai: "+test.want {
				t.Errorf("got  %v\nwant openai: %s", err, test.want)
			}
			var e *provider.Error
			if !errors.As(err, &e) {
				t.Errorf("got a %T, want a *provider.Error", err)
			}
		})
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]openaitest.Reply{
		"before the headers": {Pieces: []string{"a"}, Delay: time.Minute},
		"in the stream":      {Pieces: []string{"a", "b"}, StallAfter: 2},
	} {
		_, err := call(t, r, wire.Options{Limits: wire.Limits{Idle: 30 * time.Millisecond}})
		if want := "openai: timeout: the provider fell silent for 30ms"; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// Each piece that comes ends a silence: a slow stream may take far longer than
// the limit.
func TestSlowIsNotSilent(t *testing.T) {
	t.Parallel()
	r := openaitest.Reply{Pieces: []string{"o", "k"}, Pace: 250 * time.Millisecond}
	res, err := call(t, r, wire.Options{Limits: wire.Limits{Idle: time.Second}})
	if err != nil || res.Text != "ok" {
		t.Fatalf("got %q, %v", res.Text, err)
	}
	if res.Elapsed < time.Second {
		t.Errorf("took %v, too short to show anything", res.Elapsed)
	}
}

func TestRetryAfterIsRead(t *testing.T) {
	t.Parallel()
	_, err := call(t, openaitest.RateLimited("1.5"), wire.Options{})
	var e *provider.Error
	if !errors.As(err, &e) || e.RetryAfter != 1500*time.Millisecond || e.Status != 429 || e.FromRecording {
		t.Errorf("got %+v", e)
	}
}

func TestParallelToolCalls(t *testing.T) {
	t.Parallel()
	calls := func(pairs ...string) []provider.ToolCall {
		var out []provider.ToolCall
		for i := 0; i < len(pairs); i += 3 {
			out = append(out, provider.ToolCall{ID: pairs[i], Name: pairs[i+1], Arguments: json.RawMessage(pairs[i+2])})
		}
		return out
	}
	for name, test := range map[string]struct {
		reply openaitest.Reply
		want  []provider.ToolCall
	}{
		"one after the other": {openaitest.Reply{ToolCalls: []openaitest.ToolCall{{ID: "1", Name: "a", Arguments: `{"path":"long enough to be split"}`}, {ID: "2", Name: "b", Arguments: `{}`}}},
			calls("1", "a", `{"path":"long enough to be split"}`, "2", "b", `{}`)},
		"interleaved": {stream(fragment(0, "1", "a", ""), fragment(1, "2", "b", ""), fragment(0, "", "", `{"x"`), fragment(1, "", "", `{"y"`), fragment(0, "", "", `:1}`), fragment(1, "", "", `:2}`), stop, done),
			calls("1", "a", `{"x":1}`, "2", "b", `{"y":2}`)},
		"out of order": {stream(fragment(1, "2", "b", `{}`), fragment(0, "1", "a", `{}`), stop, done),
			calls("1", "a", `{}`, "2", "b", `{}`)},
		"all with index 0": {stream(fragment(0, "1", "a", `{"x":1}`), fragment(0, "2", "b", `{"y":`), fragment(0, "2", "", `2}`), stop, done),
			calls("1", "a", `{"x":1}`, "2", "b", `{"y":2}`)},
		"all with index 0 and no id": {stream(fragment(0, "", "a", `{"x":1}`), fragment(0, "", "b", `{"y":2}`), stop, done),
			calls("call_7_0", "a", `{"x":1}`, "call_7_1", "b", `{"y":2}`)},
		"name repeated": {stream(fragment(0, "1", "a", `{"x"`), fragment(0, "1", "a", `:1}`), stop, done),
			calls("1", "a", `{"x":1}`)},
		"name in pieces": {stream(fragment(0, "1", "sub", ``), fragment(0, "", "mit", `{}`), stop, done),
			calls("1", "submit", `{}`)},
		"no ids": {stream(fragment(0, "", "a", `{}`), fragment(1, "", "b", `{}`), stop, done),
			calls("call_7_0", "a", `{}`, "call_7_1", "b", `{}`)},
		"no arguments": {stream(fragment(0, "1", "a", ""), stop, done), calls("1", "a", `{}`)},
		"broken":       {stream(fragment(0, "1", "a", `{"x":`), stop, done), calls("1", "a", `"{\"x\":"`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := providertest.Ask(t)
			req.Ref.Call = 7
			res, err := client(t, openaitest.New(t, test.reply), wire.Options{}).Complete(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, res.ToolCalls); diff != "" {
				t.Errorf("tool calls (-want +got):\n%s", diff)
			}
			if res.Finish != provider.FinishToolCalls {
				t.Errorf("got finish %q, want tool_calls even where the server says stop", res.Finish)
			}
		})
	}
}

// A reply cut by its token limit is the agent's own doing, with what came.
func TestCutByMaxTokens(t *testing.T) {
	t.Parallel()
	res, err := call(t, openaitest.Reply{Finish: "length", ToolCalls: []openaitest.ToolCall{{ID: "1", Name: "write_file", Arguments: `{"path":"a","content":"half of i`}}}, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Finish != provider.FinishMaxTokens {
		t.Errorf("got finish %q, want max_tokens", res.Finish)
	}
	if _, broken := provider.ArgumentText(res.ToolCalls[0].Arguments); !broken {
		t.Errorf("got arguments %s, want them marked broken", res.ToolCalls[0].Arguments)
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]provider.FinishReason{
		"stop": provider.FinishStop, "length": provider.FinishMaxTokens, "model_length": provider.FinishMaxTokens,
		"content_filter": provider.FinishContentFilter, "function_call": provider.FinishToolCalls, "novel": provider.FinishOther,
	} {
		res, err := call(t, openaitest.Reply{Pieces: []string{"x"}, Finish: reason}, wire.Options{})
		if err != nil || res.Finish != want {
			t.Errorf("%s: got %q, %v; want %q", reason, res.Finish, err, want)
		}
	}
}

func TestUsageShapes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		usage string
		want  *provider.Usage
	}{
		"plain":                   {`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`, &provider.Usage{Input: 10, Output: 5, Total: 15}},
		"no total":                {`{"prompt_tokens":10,"completion_tokens":5}`, &provider.Usage{Input: 10, Output: 5, Total: 15}},
		"zero":                    {`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, &provider.Usage{}},
		"details null":            {`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":null,"completion_tokens_details":null}`, &provider.Usage{Input: 10, Output: 5, Total: 15}},
		"cached":                  {`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8,"cache_write_tokens":1}}`, &provider.Usage{Input: 10, Output: 5, Total: 15, CacheRead: 8, CacheWrite: 1}},
		"more cached than sent":   {`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":80}}`, &provider.Usage{Input: 10, Output: 5, Total: 15, CacheRead: 10}},
		"reasoning within output": {`{"prompt_tokens":10,"completion_tokens":50,"total_tokens":60,"completion_tokens_details":{"reasoning_tokens":30}}`, &provider.Usage{Input: 10, Output: 50, Total: 60, Reasoning: 30}},
		"reasoning beside output": {`{"prompt_tokens":10,"completion_tokens":50,"total_tokens":90,"completion_tokens_details":{"reasoning_tokens":30}}`, &provider.Usage{Input: 10, Output: 80, Total: 90, Reasoning: 30}},
		"null":                    {`null`, nil},
		"negative":                {`{"prompt_tokens":-1,"completion_tokens":5}`, nil},
		"absurd":                  {`{"prompt_tokens":9000000000000000000,"completion_tokens":5}`, nil},
	} {
		res, err := call(t, stream(text("x"), stop, `{"choices":[],"usage":`+test.usage+`}`, done), wire.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(test.want, res.Usage); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Invalid UTF-8 from a server must not reach what is stored.
func TestInvalidUTF8(t *testing.T) {
	t.Parallel()
	var heard string
	s := openaitest.New(t, stream("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xff\"}}]}", stop, done))
	res, err := client(t, s, wire.Options{}).Complete(t.Context(), providertest.Ask(t), func(d provider.Delta) { heard += d.Text })
	if err != nil || res.Text != "a\uFFFD" || heard != res.Text {
		t.Errorf("got %q, heard %q, %v", res.Text, heard, err)
	}
}

// What came is told as it comes, not at the end.
func TestDeltasAreNotHeldBack(t *testing.T) {
	t.Parallel()
	s := openaitest.New(t, openaitest.Reply{Pieces: []string{"first", "second"}, StallAfter: 2})
	c := client(t, s, wire.Options{Limits: wire.Limits{Idle: 500 * time.Millisecond}})
	var heard []provider.Delta
	_, err := c.Complete(t.Context(), providertest.Ask(t), func(d provider.Delta) { heard = append(heard, d) })
	if provider.CodeOf(err) != provider.Timeout {
		t.Fatalf("got %v, want silence after the first piece", err)
	}
	if diff := cmp.Diff([]provider.Delta{{Text: "first"}}, heard); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}
