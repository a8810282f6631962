package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/scripted"
	"github.com/agentclash/agentclash/engine/proxy"
)

const realKey = "sk-real-0123456789"

// watch keeps what it hears.
type watch struct {
	mu     sync.Mutex
	begun  []*proxy.Call
	first  []provider.Delta
	done   []provider.Response
	failed []*provider.Error
	stated []*proxy.Refusal
	refuse *proxy.Refusal
	lower  int64         // 0: no call's bound is lowered
	ended  chan struct{} // gets one for each call that ended
}

func newWatch() *watch { return &watch{ended: make(chan struct{}, 1000)} }

func (w *watch) Begin(c *proxy.Call) *proxy.Refusal {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return w.refuse
	}
	w.begun = append(w.begun, c)
	if w.lower > 0 {
		c.Output = w.lower
	}
	c.Number = len(w.begun)
	c.Ref = provider.Ref{Agent: "a", Case: "c", Repetition: 1, Attempt: 1, Call: c.Number - 1}
	return nil
}

func (w *watch) Refused(r *proxy.Refusal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stated = append(w.stated, r)
}

func (w *watch) First(_ *proxy.Call, d provider.Delta) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first = append(w.first, d)
}

func (w *watch) Done(_ *proxy.Call, r provider.Response) {
	w.mu.Lock()
	w.done = append(w.done, r)
	w.mu.Unlock()
	w.ended <- struct{}{}
}

func (w *watch) Failed(_ *proxy.Call, e *provider.Error) {
	w.mu.Lock()
	w.failed = append(w.failed, e)
	w.mu.Unlock()
	w.ended <- struct{}{}
}

// wait waits for n calls to have ended.
func (w *watch) wait(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-w.ended:
		case <-time.After(time.Minute):
			t.Fatal("a call has not ended")
		}
	}
}

// upstream is a vendor's server that keeps what it was asked.
type upstream struct {
	*httptest.Server
	mu    sync.Mutex
	asked []ask
}

type ask struct {
	path, query string
	header      http.Header
	body        map[string]any
}

func newUpstream(t *testing.T, answer func(w http.ResponseWriter, a ask)) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := ask{path: r.URL.Path, query: r.URL.RawQuery, header: r.Header.Clone()}
		if err := json.NewDecoder(r.Body).Decode(&a.body); err != nil {
			t.Errorf("the provider got what is not JSON: %v", err)
		}
		u.mu.Lock()
		u.asked = append(u.asked, a)
		u.mu.Unlock()
		answer(w, a)
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) only(t *testing.T) ask {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.asked) != 1 {
		t.Fatalf("the provider was asked %d times, want once", len(u.asked))
	}
	return u.asked[0]
}

// box is a proxy that programs reach at URL.
type box struct {
	*httptest.Server
	s *proxy.Server
	w *watch
}

func newBox(t *testing.T, o proxy.Options) *box {
	t.Helper()
	w := newWatch()
	o.Watch = w
	if o.CallTime == 0 {
		o.CallTime = time.Minute
	}
	if o.MaxOutputTokens == 0 {
		o.MaxOutputTokens = 1000
	}
	if o.Models == nil {
		o.Models = []string{"good", "small"}
	}
	s, err := proxy.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !proxy.Mine(r) {
			http.Error(rw, "not for the models", http.StatusTeapot)
			return
		}
		s.ServeHTTP(rw, r)
	}))
	t.Cleanup(srv.Close)
	return &box{srv, s, w}
}

func to(t *testing.T, providerKey string, answer func(w http.ResponseWriter, a ask)) (*box, *upstream) {
	t.Helper()
	u := newUpstream(t, answer)
	base := u.URL
	if proxy.WireOf(providerKey) == proxy.OpenAI {
		base += "/v1"
	}
	return newBox(t, proxy.Options{Upstream: &proxy.Upstream{Provider: providerKey, BaseURL: base, Key: realKey}}), u
}

func (b *box) post(t *testing.T, path, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"/agentclash/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer of-the-box")
	req.Header.Set("X-Api-Key", "of-the-box")
	req.Header.Set("X-Forwarded-Host", "evil.test")
	req.Header.Set("Anthropic-Beta", "tools-1")
	req.Header.Set("OpenAI-Organization", "org-other")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return res, string(data) + "\n[broken: " + err.Error() + "]"
	}
	return res, string(data)
}

func sse(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if name, data, ok := strings.Cut(e, "|"); ok {
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
		} else {
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
		w.(http.Flusher).Flush()
	}
}

func jsonReply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

const chatBody = `{"model":"good","messages":[{"role":"system","content":"be"},{"role":"user","content":[{"type":"text","text":"hi"}]}],"tools":[{"type":"function","function":{"name":"read"}}]%s}`

// formats are a good call of each endpoint, streamed and not.
var formats = []struct {
	name, provider, path, body string
	reply                      string   // in one piece
	events                     []string // or in several
	sent                       string   // path at the provider
	auth                       string   // header with the key
	bound                      func(map[string]any) any
	whole                      bool // the events come as they were sent
}{
	{
		name: "chat", provider: provider.OpenAI, path: "openai/v1/chat/completions", body: fmt.Sprintf(chatBody, ""),
		reply: `{"model":"good-2026","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"p\":1}"}}]}}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`,
		sent:  "/v1/chat/completions", auth: "Authorization", bound: func(b map[string]any) any { return b["max_tokens"] },
	},
	{
		name: "chat streamed", provider: provider.OpenAI, path: "openai/v1/chat/completions", body: fmt.Sprintf(chatBody, `,"stream":true,"max_tokens":99999`),
		events: []string{
			`{"model":"good-2026","choices":[{"index":0,"delta":{"role":"assistant","content":"h"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"m","tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"p\""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}`,
			`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`,
			`[DONE]`,
		},
		sent: "/v1/chat/completions", auth: "Authorization", bound: func(b map[string]any) any { return b["max_tokens"] },
	},
	{
		name: "responses", provider: provider.OpenAI, path: "openai/v1/responses",
		body:  `{"model":"good","instructions":"be","input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}],"tools":[{"type":"function","name":"read"}]}`,
		reply: `{"object":"response","status":"completed","model":"good-2026","output":[{"type":"reasoning","id":"r"},{"type":"message","content":[{"type":"output_text","text":"hm"}]},{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"p\":1}"}],"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":2}}}`,
		sent:  "/v1/responses", auth: "Authorization", bound: func(b map[string]any) any { return b["max_output_tokens"] },
	},
	{
		name: "responses streamed", provider: provider.OpenAI, path: "openai/v1/responses",
		body: `{"model":"good","instructions":"be","input":"hi","stream":true,"tools":[{"type":"function","name":"read"}]}`,
		events: []string{
			`response.created|{"type":"response.created","response":{"status":"in_progress","model":"good-2026","error":null}}`,
			`response.output_text.delta|{"type":"response.output_text.delta","delta":"hm"}`,
			`response.completed|{"type":"response.completed","response":{"status":"completed","model":"good-2026","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"hm"}]},{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"p\":1}"}],"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":2}}}}`,
		},
		sent: "/v1/responses", auth: "Authorization", bound: func(b map[string]any) any { return b["max_output_tokens"] }, whole: true,
	},
	{
		name: "messages", provider: provider.Anthropic, path: "anthropic/v1/messages?beta=true",
		body:  `{"model":"good","max_tokens":5000,"system":[{"type":"text","text":"be"}],"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"read","input_schema":{}},{"type":"bash_20250124","name":"bash"}]}`,
		reply: `{"type":"message","model":"good-2026","role":"assistant","content":[{"type":"text","text":"hm"},{"type":"tool_use","id":"c1","name":"read","input":{"p":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":3,"output_tokens":5}}`,
		sent:  "/v1/messages", auth: "X-Api-Key", bound: func(b map[string]any) any { return b["max_tokens"] },
	},
	{
		name: "messages streamed", provider: provider.Anthropic, path: "anthropic/v1/messages",
		body: `{"model":"good","max_tokens":5000,"stream":true,"system":"be","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"tools":[{"name":"read","input_schema":{}}]}`,
		events: []string{
			`message_start|{"type":"message_start","message":{"model":"good-2026","usage":{"input_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":3,"output_tokens":1}}}`,
			`ping|{"type":"ping"}`,
			`content_block_start|{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hm"}}`,
			`content_block_start|{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"read","input":{}}}`,
			`content_block_delta|{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"p\":1}"}}`,
			`message_delta|{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}`,
			`message_stop|{"type":"message_stop"}`,
		},
		sent: "/v1/messages", auth: "X-Api-Key", bound: func(b map[string]any) any { return b["max_tokens"] }, whole: true,
	},
	{
		name: "generate", provider: provider.Gemini, path: "gemini/v1beta/models/good:generateContent?key=of-the-box",
		body:  `{"system_instruction":{"parts":[{"text":"be"}]},"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generation_config":{"max_output_tokens":5000,"temperature":0.5},"tools":[{"functionDeclarations":[{"name":"read"}]}]}`,
		reply: `{"modelVersion":"good-2026","candidates":[{"content":{"role":"model","parts":[{"text":"mm","thought":true},{"text":"hm"},{"functionCall":{"id":"c1","name":"read","args":{"p":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2,"totalTokenCount":15}}`,
		sent:  "/v1beta/models/good:generateContent", auth: "X-Goog-Api-Key",
		bound: func(b map[string]any) any { return b["generationConfig"].(map[string]any)["maxOutputTokens"] },
	},
	{
		name: "generate streamed", provider: provider.Gemini, path: "gemini/v1beta/models/good:streamGenerateContent?alt=sse",
		body: `{"systemInstruction":{"parts":[{"text":"be"}]},"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"read"}]}]}`,
		events: []string{
			`{"modelVersion":"good-2026","candidates":[{"content":{"role":"model","parts":[{"text":"h"}]}}],"usageMetadata":{"promptTokenCount":10}}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"m"},{"functionCall":{"id":"c1","name":"read","args":{"p":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2,"totalTokenCount":15}}`,
		},
		sent: "/v1beta/models/good:streamGenerateContent", auth: "X-Goog-Api-Key",
		bound: func(b map[string]any) any { return b["generationConfig"].(map[string]any)["maxOutputTokens"] }, whole: true,
	},
}

func TestEachFormat(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			b, u := to(t, f.provider, func(w http.ResponseWriter, _ ask) {
				if f.events != nil {
					sse(w, f.events...)
					return
				}
				jsonReply(w, http.StatusOK, f.reply)
			})
			res, got := b.post(t, f.path, f.body)
			b.w.wait(t, 1)
			if res.StatusCode != http.StatusOK || len(b.w.done) != 1 {
				t.Fatalf("status %d, %s; failed: %v", res.StatusCode, got, b.w.failed)
			}
			if f.reply != "" && got != f.reply {
				t.Errorf("the reply was changed:\n%s", got)
			}
			if want := recorded(f.events...); f.whole && got != want {
				t.Errorf("the stream was changed:\ngot  %q\nwant %q", got, want)
			}
			checkAsked(t, u.only(t), f.sent, f.auth, f.bound)
			checkHeard(t, b.w)
		})
	}
}

func recorded(events ...string) string {
	rec := httptest.NewRecorder()
	sse(rec, events...)
	return rec.Body.String()
}

func checkAsked(t *testing.T, a ask, path, auth string, bound func(map[string]any) any) {
	t.Helper()
	if a.path != path || !strings.HasSuffix(a.header.Get(auth), realKey) {
		t.Errorf("asked %s with %q in %s", a.path, a.header.Get(auth), auth)
	}
	for name, values := range a.header {
		if strings.Contains(strings.Join(values, ""), "of-the-box") || name == "X-Forwarded-Host" || name == "Openai-Organization" {
			t.Errorf("the program's header %s was sent on: %q", name, values)
		}
	}
	if strings.Contains(a.query, "key") {
		t.Errorf("the program's query was sent on: %q", a.query)
	}
	if got := bound(a.body); got != 1000.0 {
		t.Errorf("the reply is bound to %v tokens, want 1000", got)
	}
}

func checkHeard(t *testing.T, w *watch) {
	t.Helper()
	c, r := w.begun[0], w.done[0]
	if len(c.Messages) != 2 || c.Messages[0].Content != "be" || c.Messages[0].Role != provider.System || c.Messages[1].Content != "hi" || c.Tools[0] != "read" {
		t.Errorf("heard %+v, tools %v", c.Messages, c.Tools)
	}
	if r.Text != "hm" || r.Model != "good-2026" || r.Finish != provider.FinishToolCalls {
		t.Errorf("heard %+v", r)
	}
	if len(r.ToolCalls) != 1 || r.ToolCalls[0].ID != "c1" || r.ToolCalls[0].Name != "read" || string(r.ToolCalls[0].Arguments) != `{"p":1}` {
		t.Errorf("heard the calls %+v", r.ToolCalls)
	}
	u := r.Usage
	if u == nil || u.Input != 10 || u.Output != 5 || u.Total != 15 || u.CacheRead != 4 {
		t.Errorf("heard the usage %+v", u)
	}
}

// TestTheUsageChunk: who asks for it gets it, and who does not, does not.
func TestTheUsageChunk(t *testing.T) {
	t.Parallel()
	f := formats[1]
	for _, asks := range []bool{false, true} {
		b, u := to(t, provider.OpenAI, func(w http.ResponseWriter, _ ask) { sse(w, f.events...) })
		body := f.body
		if asks {
			body = strings.Replace(body, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1)
		}
		_, got := b.post(t, f.path, body)
		if strings.Contains(got, `"usage"`) != asks || !strings.Contains(got, "[DONE]") {
			t.Errorf("asked for it: %v; got\n%s", asks, got)
		}
		if o := u.only(t).body["stream_options"].(map[string]any); o["include_usage"] != true {
			t.Errorf("asked the provider with %v", o)
		}
	}
}

// TestRefusedRequests reach no provider, and are answered in the format of whoever
// asked.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	chat := "openai/v1/chat/completions"
	deep := strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300)
	for _, c := range []struct {
		name, provider, path, body string
		status                     int
		says                       string
	}{
		{"another model", provider.OpenAI, chat, `{"model":"expensive","messages":[]}`, 404, "model_not_found"},
		{"no model", provider.OpenAI, chat, `{"messages":[]}`, 404, "model_not_found"},
		{"another model, said twice", provider.OpenAI, chat, `{"model":"expensive","model":"good"}`, 400, "twice"},
		{"another model, in another spelling", provider.OpenAI, chat, `{"model":"good","Model":"expensive"}`, 400, `must be written \"model\"`},
		{"models to fall back on", provider.OpenRouter, chat, `{"model":"good","models":["expensive"]}`, 400, "models"},
		{"a list for a model", provider.OpenAI, chat, `{"model":["good"]}`, 404, "model_not_found"},
		{"an escape in the key", provider.OpenAI, chat, `{"model":"good","mode\u006c":"expensive"}`, 400, "twice"},
		{"several replies", provider.OpenAI, chat, `{"model":"good","n":8}`, 400, "n must be 1"},
		{"a limit that is none", provider.OpenAI, chat, `{"model":"good","max_tokens":"99999"}`, 400, "whole number"},
		{"in the background", provider.OpenAI, "openai/v1/responses", `{"model":"good","background":true}`, 400, "background"},
		{"a search by the provider", provider.OpenAI, "openai/v1/responses", `{"model":"good","tools":[{"type":"web_search"}]}`, 400, "web_search"},
		{"a search with chat", provider.OpenAI, chat, `{"model":"good","web_search_options":{}}`, 400, "web_search_options"},
		{"a tool of two kinds", provider.OpenAI, "openai/v1/responses", `{"model":"good","tools":[{"type":"web_search","type":"function"}]}`, 400, "twice"},
		{"an image by its address", provider.OpenAI, chat, `{"model":"good","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x.test/?q=secret"}}]}]}`, 400, "network_not_permitted"},
		{"another price", provider.OpenAI, chat, `{"model":"good","service_tier":"priority"}`, 400, "service_tier"},
		{"not JSON", provider.OpenAI, chat, `model=good`, 400, "cannot be read"},
		{"a list", provider.OpenAI, chat, `[]`, 400, "not a JSON object"},
		{"too deep", provider.OpenAI, chat, deep, 400, "deep"},
		{"more after it", provider.OpenAI, chat, `{"model":"good"}{"model":"expensive"}`, 400, "invalid_json"},
		{"another endpoint", provider.OpenAI, "openai/v1/files", `{}`, 404, "not let through"},
		{"embeddings", provider.OpenAI, "openai/v1/embeddings", `{"model":"good"}`, 404, "not let through"},
		{"up and down again", provider.OpenAI, "openai/v1/files/../chat/completions", `{"model":"good"}`, 404, "not let through"},
		{"escaped", provider.OpenAI, "openai/v1/chat%2fcompletions", `{"model":"good"}`, 404, "not let through"},
		{"doubled slashes", provider.OpenAI, "openai/v1//chat/completions", `{"model":"good"}`, 404, "not let through"},
		{"no format", provider.OpenAI, "else/v1/chat/completions", `{"model":"good"}`, 404, "base URLs"},
		{"the wrong format", provider.OpenAI, "anthropic/v1/messages", `{"model":"good"}`, 400, "format of openai"},
		{"a server of tools", provider.Anthropic, "anthropic/v1/messages", `{"model":"good","mcp_servers":[{"url":"http://x.test"}]}`, 400, "mcp_servers"},
		{"a fetch by the provider", provider.Anthropic, "anthropic/v1/messages", `{"model":"good","tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}`, 400, "web_fetch"},
		{"a document by its address", provider.Anthropic, "anthropic/v1/messages", `{"model":"good","messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"http://x.test"}}]}]}`, 400, "invalid_request_error"},
		{"batches", provider.Anthropic, "anthropic/v1/messages/batches", `{}`, 404, "not_found_error"},
		{"another gemini", provider.Gemini, "gemini/v1beta/models/expensive:generateContent", `{}`, 404, "NOT_FOUND"},
		{"another gemini, by a path", provider.Gemini, "gemini/v1beta/models/good/../expensive:generateContent", `{}`, 404, "NOT_FOUND"},
		{"another method", provider.Gemini, "gemini/v1beta/models/good:batchGenerateContent", `{}`, 404, "NOT_FOUND"},
		{"a search of gemini's", provider.Gemini, "gemini/v1beta/models/good:generateContent", `{"tools":[{"google_search":{}}]}`, 400, "google_search"},
		{"both spellings", provider.Gemini, "gemini/v1beta/models/good:generateContent", `{"generationConfig":{},"generation_config":{"maxOutputTokens":99999}}`, 400, "must be written"},
		{"both inner spellings", provider.Gemini, "gemini/v1beta/models/good:generateContent", `{"generationConfig":{"maxOutputTokens":1,"max_output_tokens":99999}}`, 400, "must be written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, u := to(t, c.provider, func(w http.ResponseWriter, _ ask) { jsonReply(w, 200, `{}`) })
			res, got := b.post(t, c.path, c.body)
			if res.StatusCode != c.status || !strings.Contains(got, c.says) {
				t.Errorf("got %d: %s", res.StatusCode, got)
			}
			if len(u.asked) > 0 || len(b.w.begun) > 0 {
				t.Error("it was let through")
			}
			var doc map[string]any
			if err := json.Unmarshal([]byte(got), &doc); err != nil || doc["error"] == nil {
				t.Errorf("the answer is not an error of the format: %s", got)
			}
		})
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, func(w http.ResponseWriter, _ ask) { jsonReply(w, 200, formats[4].reply) })
	b := newBox(t, proxy.Options{Upstream: &proxy.Upstream{Provider: provider.Anthropic, BaseURL: u.URL + "/v1", Key: realKey}, Reach: true})
	if res, got := b.post(t, "anthropic/v1/messages", `{"model":"small","tools":[{"type":"web_search_20250305","name":"web_search"}]}`); res.StatusCode != 200 {
		t.Errorf("got %d: %s", res.StatusCode, got)
	}
	if at := u.only(t).path; at != "/v1/messages" {
		t.Errorf("asked %s", at)
	}
}

func TestModelsAreThePermittedOnes(t *testing.T) {
	t.Parallel()
	b, u := to(t, provider.OpenAI, func(http.ResponseWriter, ask) {})
	for path, want := range map[string]string{
		"openai/v1/models": `"object":"list"`, "openai/v1/models/small": `"id":"small"`, "openai/v1/models/expensive": "model_not_found",
		"anthropic/v1/models": `"has_more":false`, "gemini/v1beta/models": `"name":"models/good"`,
	} {
		res, err := http.Get(b.URL + "/agentclash/" + path)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if len(u.asked) > 0 {
		t.Error("the provider was asked")
	}
}

// TestFailuresOfTheProvider are passed on as they are, but for the key, and told.
func TestFailuresOfTheProvider(t *testing.T) {
	t.Parallel()
	half := formats[1].events[:2]
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter, a ask)
		status int
		code   provider.Code
		says   string
	}{
		{"rate limit", func(w http.ResponseWriter, _ ask) {
			w.Header().Set("Retry-After", "7")
			jsonReply(w, 429, `{"error":{"message":"slow down","type":"rate_limit"}}`)
		}, 429, provider.RateLimit, "slow down"},
		{"its key said back", func(w http.ResponseWriter, a ask) {
			w.Header().Set("X-Request-Id", a.header.Get("Authorization"))
			jsonReply(w, 401, `{"error":{"message":"no such key: `+a.header.Get("Authorization")+`"}}`)
		}, 401, provider.Auth, "no such key: Bearer [key]"},
		{"a server's error", func(w http.ResponseWriter, _ ask) { jsonReply(w, 503, "upstream sad") }, 503, provider.Unavailable, "upstream sad"},
		{"a page", func(w http.ResponseWriter, _ ask) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>log in</html>")
		}, 200, provider.MalformedResponse, "<html>"},
		{"an error in a 200", func(w http.ResponseWriter, _ ask) {
			jsonReply(w, 200, `{"error":{"message":"overloaded","code":"rate_limit_exceeded"}}`)
		}, 200, provider.RateLimit, "overloaded"},
		{"an error in a stream", func(w http.ResponseWriter, _ ask) {
			sse(w, append(half[:1:1], `{"error":{"message":"gone","type":"server_error"}}`)...)
		}, 200, provider.Unavailable, "gone"},
		{"a stream that ends", func(w http.ResponseWriter, _ ask) { sse(w, half...) }, 200, provider.Unavailable, "[broken"},
		{"a stream that is cut", func(w http.ResponseWriter, _ ask) {
			sse(w, half...)
			panic(http.ErrAbortHandler)
		}, 200, provider.Unavailable, "[broken"},
		{"a redirect", func(w http.ResponseWriter, _ ask) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(302)
		}, 502, provider.MalformedResponse, "redirects"},
		{"a line without end", func(w http.ResponseWriter, _ ask) {
			w.Header().Set("Content-Type", "text/event-stream")
			junk := bytes.Repeat([]byte("x"), 1<<20)
			for range 20 {
				if _, err := w.Write(junk); err != nil {
					return
				}
			}
		}, 200, provider.MalformedResponse, "[broken"},
		{"a request that is none", func(w http.ResponseWriter, _ ask) { jsonReply(w, 400, `{"error":{"message":"bad tool"}}`) }, 400, provider.InvalidRequest, "bad tool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, _ := to(t, provider.OpenAI, c.answer)
			res, got := b.post(t, formats[1].path, formats[1].body)
			b.w.wait(t, 1)
			if res.StatusCode != c.status || !strings.Contains(got, c.says) {
				t.Errorf("got %d: %.500s", res.StatusCode, got)
			}
			if len(b.w.failed) != 1 || b.w.failed[0].Code != c.code {
				t.Errorf("told %v %v, want %s", b.w.failed, b.w.done, c.code)
			}
			if c.status == 429 && (res.Header.Get("Retry-After") != "7" || b.w.failed[0].RetryAfter != 7*time.Second) {
				t.Errorf("the wait was lost: %v", res.Header)
			}
			if all := fmt.Sprint(got, res.Header, b.w.failed); strings.Contains(all, realKey) {
				t.Errorf("the key came back: %s", all)
			}
		})
	}
}

// TestTheKeyInAStream is taken out of what the model says, too.
func TestTheKeyInAStream(t *testing.T) {
	t.Parallel()
	b, _ := to(t, provider.OpenAI, func(w http.ResponseWriter, a ask) {
		sse(w, `{"choices":[{"index":0,"delta":{"content":"`+a.header.Get("Authorization")+`"},"finish_reason":"stop"}]}`, "[DONE]")
	})
	if _, got := b.post(t, formats[1].path, formats[1].body); strings.Contains(got, realKey) || !strings.Contains(got, "[key]") {
		t.Errorf("got %s", got)
	}
}

// TestEndlessStream ends at the limit.
func TestEndlessStream(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, func(w http.ResponseWriter, _ ask) {
		w.Header().Set("Content-Type", "text/event-stream")
		piece := `data: {"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 1<<10) + `"}}]}` + "\n\n"
		for {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	})
	b := newBox(t, proxy.Options{
		Upstream: &proxy.Upstream{Provider: provider.OpenAI, BaseURL: u.URL}, Limits: proxy.Limits{ReplyBytes: 8 << 20},
	})
	_, got := b.post(t, formats[1].path, formats[1].body)
	b.w.wait(t, 1)
	if !strings.Contains(got, "[broken") || len(got) > 9<<20 || len(b.w.failed) != 1 || b.w.failed[0].Code != provider.MalformedResponse {
		t.Errorf("got %d bytes, told %v", len(got), b.w.failed)
	}
}

func TestLargeRequest(t *testing.T) {
	t.Parallel()
	b, u := to(t, provider.OpenAI, func(w http.ResponseWriter, _ ask) { jsonReply(w, 200, formats[0].reply) })
	body := `{"model":"good","messages":[{"role":"user","content":"` + strings.Repeat("x", 50<<20) + `"}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"/agentclash/"+formats[0].path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err == nil { // else the connection was closed on who talked on, which is as good
		defer res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("got %d", res.StatusCode)
		}
	}
	if len(u.asked) > 0 {
		t.Error("it was let through")
	}
}

// TestAbsoluteForm: a client that asks by way of a proxy for the proxy itself means
// the models; one that asks for another host does not.
func TestAbsoluteForm(t *testing.T) {
	t.Parallel()
	b, u := to(t, provider.OpenAI, func(w http.ResponseWriter, _ ask) { jsonReply(w, 200, formats[0].reply) })
	for target, want := range map[string]string{
		"http://127.0.0.1:3128/agentclash/openai/v1/chat/completions":      "200",
		"http://evil.test/agentclash/openai/v1/chat/completions":           "418",
		"http://me@127.0.0.1:3128/agentclash/openai/v1/chat/completions":   "418",
		"https://127.0.0.1/agentclash/openai/v1/chat/completions":          "418",
		"http://127.0.0.1.evil.test/agentclash/openai/v1/chat/completions": "418",
	} {
		conn, err := net.Dial("tcp", b.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: api.openai.com\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", target, len(formats[0].body), formats[0].body)
		got, _ := io.ReadAll(conn)
		conn.Close()
		if !strings.HasPrefix(string(got), "HTTP/1.1 "+want) {
			t.Errorf("%s: %.100s", target, got)
		}
	}
	if len(u.asked) != 1 {
		t.Errorf("the provider was asked %d times", len(u.asked))
	}
}

// TestSmuggledRequests: two lengths, and a body that is another request, are not
// read as more than one.
func TestSmuggledRequests(t *testing.T) {
	t.Parallel()
	b, u := to(t, provider.OpenAI, func(w http.ResponseWriter, _ ask) { jsonReply(w, 200, formats[0].reply) })
	for _, head := range []string{
		"Content-Length: 5\r\nContent-Length: 500\r\n",
		"Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"X: a\r\n b\x00: c\r\n",
	} {
		conn, err := net.Dial("tcp", b.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /agentclash/%s HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\n\r\n{}", formats[0].path, head)
		_ = conn.(*net.TCPConn).CloseWrite()
		got, _ := io.ReadAll(conn)
		conn.Close()
		if strings.Contains(string(got), " 200 ") {
			t.Errorf("%q: %.200s", head, got)
		}
	}
	if len(u.asked) > 0 {
		t.Error("something was let through")
	}
}

// TestManyAtOnce: more connections than there are slots all get their answer, and
// no more than the slots are at the provider.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now, most := 0, 0
	b, _ := to(t, provider.OpenAI, func(w http.ResponseWriter, _ ask) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		jsonReply(w, 200, formats[0].reply)
		mu.Lock()
		now--
		mu.Unlock()
	})
	var all sync.WaitGroup
	for range 33 {
		all.Go(func() {
			if res, got := b.post(t, formats[0].path, formats[0].body); res.StatusCode != 200 {
				t.Errorf("got %d: %s", res.StatusCode, got)
			}
		})
	}
	all.Wait()
	b.w.wait(t, 33)
	if most > 8 {
		t.Errorf("%d calls at once", most)
	}
}

// TestAProgramThatLeaves: the reply is read to its end, and what it used counts.
func TestAProgramThatLeaves(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	b, _ := to(t, provider.OpenAI, func(w http.ResponseWriter, _ ask) {
		sse(w, formats[1].events[0])
		<-left
		sse(w, formats[1].events[1:]...)
	})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL+"/agentclash/"+formats[1].path, strings.NewReader(formats[1].body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	res.Body.Close()
	close(left)
	b.w.wait(t, 1)
	if len(b.w.done) != 1 || b.w.done[0].Usage == nil || b.w.done[0].Usage.Total != 15 {
		t.Errorf("heard %+v, failed %v", b.w.done, b.w.failed)
	}
}

// TestAProgramThatDoesNotRead keeps no reply from being counted.
func TestAProgramThatDoesNotRead(t *testing.T) {
	t.Parallel()
	b, _ := to(t, provider.OpenAI, func(w http.ResponseWriter, _ ask) {
		long := `{"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 1<<20) + `"}}]}`
		for range 20 {
			sse(w, long)
		}
		sse(w, formats[1].events[2:]...)
	})
	conn, err := net.Dial("tcp", b.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /agentclash/%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", formats[1].path, len(formats[1].body), formats[1].body)
	b.w.wait(t, 1)
	if len(b.w.done) != 1 || b.w.done[0].Usage == nil {
		t.Errorf("heard %+v, failed %v", b.w.done, b.w.failed)
	}
}

// TestClose ends what a program has not waited for, and lets nothing in.
func TestClose(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	hang := make(chan struct{})
	b, _ := to(t, provider.OpenAI, func(http.ResponseWriter, ask) { close(asked); <-hang })
	t.Cleanup(func() { close(hang) }) // before the server is closed
	go func() {
		_, _ = http.Post(b.URL+"/agentclash/"+formats[1].path, "application/json", strings.NewReader(formats[1].body))
	}()
	<-asked
	b.s.Close(0)
	if len(b.w.failed) != 1 || b.w.failed[0].Code != provider.Cancelled {
		t.Errorf("told %v", b.w.failed)
	}
	if res, got := b.post(t, formats[0].path, formats[0].body); res.StatusCode != 503 {
		t.Errorf("got %d: %s", res.StatusCode, got)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	u := newUpstream(t, func(http.ResponseWriter, ask) { <-hang })
	t.Cleanup(func() { close(hang) }) // before the server is closed
	b := newBox(t, proxy.Options{Upstream: &proxy.Upstream{Provider: provider.OpenAI, BaseURL: u.URL}, CallTime: 50 * time.Millisecond})
	res, got := b.post(t, formats[1].path, formats[1].body)
	b.w.wait(t, 1)
	if res.StatusCode != 504 || b.w.failed[0].Code != provider.Timeout {
		t.Errorf("got %d: %s; told %v", res.StatusCode, got, b.w.failed)
	}
}

func TestALimitIsToldInTheFormat(t *testing.T) {
	t.Parallel()
	b, u := to(t, provider.Anthropic, func(http.ResponseWriter, ask) {})
	b.w.refuse = &proxy.Refusal{Status: 400, Code: "token_limit", Message: "used up"}
	res, got := b.post(t, formats[4].path, formats[4].body)
	if res.StatusCode != 400 || !strings.Contains(got, `"type":"invalid_request_error"`) || !strings.Contains(got, "used up") || len(u.asked) > 0 {
		t.Errorf("got %d: %s", res.StatusCode, got)
	}
}

// TestScripts answer in every format, and what is answered can be read again as
// what the script says.
func TestScripts(t *testing.T) {
	t.Parallel()
	script, err := scripted.Load("s.yaml", []byte(`
default:
  - {text: hm, tool_calls: [{name: read, arguments: {p: 1}}], usage: {input_tokens: 10, output_tokens: 5}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			inner := newBox(t, proxy.Options{Client: scripted.New(script), Models: []string{"good"}, Rename: "s.yaml"})
			// a proxy before the proxy reads what this one writes
			o := proxy.Options{Upstream: &proxy.Upstream{Provider: f.provider, BaseURL: inner.URL + "/agentclash/" + string(proxy.WireOf(f.provider))}}
			outer := newBox(t, o)
			res, got := outer.post(t, f.path, f.body)
			outer.w.wait(t, 1)
			inner.w.wait(t, 1)
			if res.StatusCode != 200 || len(outer.w.done) != 1 {
				t.Fatalf("got %d: %s; %v", res.StatusCode, got, outer.w.failed)
			}
			r := outer.w.done[0]
			if r.Text != "hm" || len(r.ToolCalls) != 1 || r.ToolCalls[0].Name != "read" || string(r.ToolCalls[0].Arguments) != `{"p":1}` ||
				r.Usage == nil || r.Usage.Input != 10 || r.Usage.Output != 5 || r.Finish != provider.FinishToolCalls {
				t.Errorf("read %+v, usage %+v\n%s", r, r.Usage, got)
			}
			if in := inner.w.done[0]; in.Model != "s.yaml" {
				t.Errorf("asked %s", in.Model)
			}
		})
	}
}

func TestFailuresOfScripts(t *testing.T) {
	t.Parallel()
	script, err := scripted.Load("s.yaml", []byte(`
default:
  - error: {code: rate_limit, message: slow down, retry_after_ms: 1500}
`))
	if err != nil {
		t.Fatal(err)
	}
	b := newBox(t, proxy.Options{Client: scripted.New(script), Rename: "s.yaml"})
	res, got := b.post(t, formats[0].path, formats[0].body)
	b.w.wait(t, 1)
	if res.StatusCode != 429 || res.Header.Get("Retry-After") != "2" || !strings.Contains(got, "slow down") || len(b.w.failed) != 1 {
		t.Errorf("got %d %v: %s", res.StatusCode, res.Header, got)
	}
}

// TestAProviderThatIsNotThere is told, but not where it would have been.
func TestAProviderThatIsNotThere(t *testing.T) {
	t.Parallel()
	const at = "127.0.0.1:1" // nobody listens
	b := newBox(t, proxy.Options{Upstream: &proxy.Upstream{Provider: provider.OpenAI, BaseURL: "http://" + at, Key: realKey}})
	res, got := b.post(t, formats[1].path, formats[1].body)
	b.w.wait(t, 1)
	if res.StatusCode != 503 || strings.Contains(got, at) || b.w.failed[0].Code != provider.Unavailable {
		t.Errorf("got %d: %s; told %v", res.StatusCode, got, b.w.failed)
	}
}
