package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// answer is what the loopback server says to one request; Status 0 is 200.
type answer struct {
	status int
	body   string
	header map[string]string
}

// background is a server of responses made in the background.
type background struct {
	mu       sync.Mutex
	requests []string // method and path
	bodies   []string
	made     answer
	looks    []answer // the last repeats
}

func (b *background) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body strings.Builder
	buf := make([]byte, 1<<16)
	for {
		n, err := r.Body.Read(buf)
		body.Write(buf[:n])
		if err != nil {
			break
		}
	}
	b.mu.Lock()
	b.requests = append(b.requests, r.Method+" "+r.URL.Path)
	b.bodies = append(b.bodies, body.String())
	a := answer{body: `{"id":"resp_1","status":"cancelled"}`}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/responses":
		a = b.made
	case r.Method == http.MethodGet:
		a = b.looks[0]
		if len(b.looks) > 1 {
			b.looks = b.looks[1:]
		}
	}
	b.mu.Unlock()
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = w.Write([]byte(a.body))
}

func (b *background) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.requests...)
}

// research makes a client of the server, and counts its pauses.
func research(t *testing.T, b *background, pause func(context.Context, time.Duration) error) *openai.Research {
	t.Helper()
	h := httptest.NewServer(b)
	t.Cleanup(h.Close)
	c, err := openai.NewResearch(openai.ResearchOptions{Pause: pause, Options: wire.Options{BaseURL: h.URL + "/v1", Key: "sk-research-1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func question() provider.Request {
	return provider.Request{Model: "o3-deep-research", Messages: []provider.Message{
		{Role: provider.System, Content: "Be brief."}, {Role: provider.User, Content: "What is a euro in dollars?"}}}
}

const (
	queued = `{"id":"resp_1","status":"queued"}`
	made   = "POST /v1/responses"
	look   = "GET /v1/responses/resp_1"
	cancel = "POST /v1/responses/resp_1/cancel"
)

func completed(usage string) string {
	return `{"id":"resp_1","model":"o3-deep-research-2026","status":"completed","usage":` + usage + `,"output":[{"type":"reasoning"},{"type":"web_search_call"},
		{"type":"message","content":[{"type":"output_text","text":"1.08"},{"type":"output_text","text":"today"}]}]}`
}

func TestResearch(t *testing.T) {
	t.Parallel()
	const usage = `{"input_tokens":100,"output_tokens":50,"total_tokens":150,"input_tokens_details":{"cached_tokens":10},"output_tokens_details":{"reasoning_tokens":30}}`
	want := &provider.Usage{Input: 100, Output: 50, Total: 150, CacheRead: 10, Reasoning: 30}
	for name, row := range map[string]struct {
		made   string
		looks  []answer
		text   string
		finish provider.FinishReason
		usage  *provider.Usage
		seen   []string
		waits  int
	}{
		"done at once":      {completed(usage), nil, "1.08\n\ntoday", provider.FinishStop, want, []string{made}, 0},
		"at the first look": {queued, []answer{{body: completed(usage)}}, "1.08\n\ntoday", provider.FinishStop, want, []string{made, look}, 0},
		"later":             {queued, []answer{{body: queued}, {body: `{"id":"resp_1","status":"in_progress"}`}, {body: completed(usage)}}, "1.08\n\ntoday", provider.FinishStop, want, []string{made, look, look, look}, 2},
		"output_text":       {`{"id":"resp_1","status":"completed","output_text":"1.08"}`, nil, "1.08", provider.FinishStop, nil, []string{made}, 0},
		"the other usage":   {completed(`{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}`), nil, "1.08\n\ntoday", provider.FinishStop, &provider.Usage{Input: 7, Output: 5, Total: 12}, []string{made}, 0},
		"cut":               {`{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output_text":"1.0"}`, nil, "1.0", provider.FinishMaxTokens, nil, []string{made}, 0},
		"withheld":          {`{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"content_filter"}}`, nil, "", provider.FinishContentFilter, nil, []string{made}, 0},
		"looks that fail for a while": {queued, []answer{{status: 500}, {status: 503, body: "<html>", header: map[string]string{"Content-Type": "text/html"}},
			{status: 429, header: map[string]string{"Retry-After": "1"}}, {body: "<html>", header: map[string]string{"Content-Type": "text/html"}}, {body: `{"id":`}, {body: completed("null")}},
			"1.08\n\ntoday", provider.FinishStop, nil, []string{made, look, look, look, look, look, look}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &background{made: answer{body: row.made}, looks: row.looks}
			waits := 0
			c := research(t, b, func(_ context.Context, d time.Duration) error {
				if waits++; d < 3*time.Second {
					t.Errorf("waited %v", d)
				}
				return nil
			})
			res, err := c.Complete(t.Context(), question(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if res.Text != row.text || res.Finish != row.finish || res.TTFT != 0 || res.Elapsed <= 0 {
				t.Errorf("got %+v", res)
			}
			if diff := cmp.Diff(row.usage, res.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.seen, b.seen()); diff != "" || waits != row.waits {
				t.Errorf("waited %d times, want %d; requests (-want +got):\n%s", waits, row.waits, diff)
			}
		})
	}
}

func TestResearchOnTheWire(t *testing.T) {
	t.Parallel()
	b := &background{made: answer{body: completed("null")}}
	if _, err := research(t, b, nil).Complete(t.Context(), question(), nil); err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal([]byte(b.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"model":"o3-deep-research","background":true,"reasoning":{"summary":"auto"},"tools":[{"type":"web_search_preview"}],
		"input":[{"role":"developer","content":[{"type":"input_text","text":"Be brief."}]},{"role":"user","content":[{"type":"input_text","text":"What is a euro in dollars?"}]}]}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestResearchFailures(t *testing.T) {
	t.Parallel()
	many := make([]answer, 10)
	for i := range many {
		many[i] = answer{status: 500}
	}
	for name, row := range map[string]struct {
		made  answer
		looks []answer
		code  provider.Code
		says  string
		again bool // the same call may be made again
		seen  []string
	}{
		"refused":              {answer{status: 401, body: `{"error":{"message":"bad key sk-research-1"}}`}, nil, provider.Auth, "bad key [key]", false, []string{made}},
		"busy":                 {answer{status: 429}, nil, provider.RateLimit, "", true, []string{made}},
		"unknown model":        {answer{status: 404, body: `{"error":{"message":"no model x"}}`}, nil, provider.UnknownModel, "no model x", false, []string{made}},
		"a page":               {answer{body: "<html>", header: map[string]string{"Content-Type": "text/html"}}, nil, provider.MalformedResponse, "not a JSON document", false, []string{made}},
		"no id":                {answer{body: `{"status":"queued"}`}, nil, provider.MalformedResponse, "no usable id", false, []string{made}},
		"an id that is a path": {answer{body: `{"id":"../../x","status":"queued"}`}, nil, provider.MalformedResponse, "no usable id", false, []string{made}},
		"nothing said":         {answer{body: `{"id":"resp_1","status":"completed","output":[]}`}, nil, provider.MalformedResponse, "no text", false, []string{made}},
		"no status":            {answer{body: `{"id":"resp_1","status":"banana"}`}, nil, provider.MalformedResponse, `status "banana"`, false, []string{made, cancel}},
		"no status later":      {answer{body: queued}, []answer{{body: `{"id":"resp_1"}`}}, provider.MalformedResponse, `status ""`, false, []string{made, look, cancel}},
		"failed":               {answer{body: queued}, []answer{{body: `{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"it broke"}}`}}, provider.Unavailable, "it broke", false, []string{made, look}},
		"failed, not said why": {answer{body: queued}, []answer{{body: `{"id":"resp_1","status":"failed"}`}}, provider.Unavailable, "ended as failed", false, []string{made, look}},
		"cancelled there":      {answer{body: queued}, []answer{{body: `{"id":"resp_1","status":"cancelled"}`}}, provider.Unavailable, "ended as cancelled", false, []string{made, look}},
		"filtered":             {answer{body: queued}, []answer{{body: `{"id":"resp_1","status":"failed","error":{"code":"invalid_prompt","message":"flagged"}}`}}, provider.ContentFilter, "flagged", false, []string{made, look}},
		"lost":                 {answer{body: queued}, []answer{{status: 404, body: `{"error":{"message":"no response resp_1"}}`}}, provider.Unavailable, "no response", false, []string{made, look, cancel}},
		"key gone":             {answer{body: queued}, []answer{{status: 401}}, provider.Auth, "", false, []string{made, look, cancel}},
		"never again reached":  {answer{body: queued}, many, provider.Unavailable, "", false, append(append([]string{made}, strings.Split(strings.Repeat(look+",", 10), ",")[:10]...), cancel)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &background{made: row.made, looks: row.looks}
			_, err := research(t, b, func(context.Context, time.Duration) error { return nil }).Complete(t.Context(), question(), nil)
			var failed *provider.Error
			if !errors.As(err, &failed) || failed.Code != row.code || failed.Retryable() != row.again || !strings.Contains(failed.Error(), row.says) || failed.Provider != provider.OpenAI {
				t.Errorf("got %v (%#v), want %s that says %q", err, failed, row.code, row.says)
			}
			if diff := cmp.Diff(row.seen, b.seen()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// The server is told to stop when nobody waits any more.
func TestResearchIsCancelled(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]provider.Code{"stopped": provider.Cancelled, "out of time": provider.Timeout} {
		b := &background{made: answer{body: queued}, looks: []answer{{body: queued}}}
		ctx, stop := context.WithCancel(t.Context())
		if want == provider.Timeout {
			ctx, stop = context.WithDeadline(t.Context(), time.Now().Add(200*time.Millisecond))
		}
		c := research(t, b, func(ctx context.Context, _ time.Duration) error {
			if want == provider.Cancelled {
				stop()
			}
			<-ctx.Done()
			return ctx.Err()
		})
		_, err := c.Complete(ctx, question(), nil)
		stop()
		if provider.CodeOf(err) != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
		if diff := cmp.Diff([]string{made, look, cancel}, b.seen()); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", name, diff)
		}
	}
}

func TestResearchCannotBeSent(t *testing.T) {
	t.Parallel()
	b := &background{}
	c := research(t, b, nil)
	for name, change := range map[string]func(*provider.Request){
		"an empty question": func(r *provider.Request) { r.Messages[1].Content = " " },
		"a result of a tool": func(r *provider.Request) {
			r.Messages = append(r.Messages, provider.Message{Role: provider.ToolRole, ToolCallID: "1"})
		},
		"tools":    func(r *provider.Request) { r.Tools = []provider.Tool{{Name: "x"}} },
		"a seed":   func(r *provider.Request) { r.Sampling.Seed = new(int64(1)) },
		"a stop":   func(r *provider.Request) { r.Sampling.Stop = []string{"x"} },
		"no model": func(r *provider.Request) { r.Model = "" },
	} {
		req := question()
		change(&req)
		if _, err := c.Complete(t.Context(), req, nil); provider.CodeOf(err) != provider.InvalidRequest {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if n := len(b.seen()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
