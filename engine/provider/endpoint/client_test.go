package endpoint_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/endpoint"
)

const token = "token-0123456789"

func ask(t *testing.T, answer http.HandlerFunc) (provider.Response, error) {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	c, err := endpoint.New(endpoint.Options{URL: s.URL + "/run", Headers: map[string]string{"Authorization": "Bearer " + token}, Secrets: []string{token}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	return c.Complete(ctx, provider.Request{
		Ref: provider.Ref{Agent: "a", Case: "one", Repetition: 2, Attempt: 1}, Model: "m", Task: map[string]string{"k": "v"},
		Messages: []provider.Message{{Role: provider.User, Content: "do <it>"}},
	}, nil)
}

func says(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind, body, text string
		total                  int64
		cost                   float64
	}{
		{"a text", "text/plain; charset=utf-8", "42", "42", 0, 0},
		{"an output", "application/json", `{"output":"42","metadata":{"trace":"x"}}`, "42", 0, 0},
		{"usage and cost", "application/json", `{"output":"42","usage":{"input_tokens":10,"output_tokens":5},"cost_usd":0.25}`, "42", 15, 0.25},
		{"an output that is JSON", "application/json", `{"output":{"sum":42}}`, `{"sum":42}`, 0, 0},
		{"a cost that cannot be", "application/problem+json", `{"output":"42","cost_usd":-1,"usage":{"input_tokens":-5}}`, "42", 0, 0},
		{"nothing", "application/json", `{"output":""}`, "", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, err := ask(t, says(c.kind, c.body))
			if err != nil || res.Text != c.text || res.Model != "m" || res.Finish != provider.FinishStop {
				t.Errorf("got %+v, %v", res, err)
			}
			if (res.Usage != nil) != (c.total > 0) || res.Usage != nil && res.Usage.Total != c.total {
				t.Errorf("got the usage %+v", res.Usage)
			}
			note := ""
			if strings.Contains(c.body, "-1") {
				note = "left out, since it cannot be: usage (-5 in, 0 out, 0 in all), cost_usd (-1)"
			}
			if res.Note != note {
				t.Errorf("got the note %q, want %q", res.Note, note)
			}
			if (res.CostUSD != nil) != (c.cost > 0) || res.CostUSD != nil && *res.CostUSD != c.cost {
				t.Errorf("got the cost %v", res.CostUSD)
			}
		})
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	var got map[string]any
	_, err := ask(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/run" || r.Header.Get("Authorization") != "Bearer "+token || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("asked %s %s with %v", r.Method, r.URL, r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		says("text/plain", "ok")(w, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	deadline, _ := got["deadline_ms"].(float64)
	message, _ := got["messages"].([]any)[0].(map[string]any)
	if got["case_key"] != "one" || got["repetition"] != 2.0 || got["task"].(map[string]any)["k"] != "v" || message["content"] != "do <it>" || deadline < 1 || deadline > 60_000 {
		t.Errorf("asked %v", got)
	}
	if len(got) != 5 {
		t.Errorf("something else was said: %v", got)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed elsewhere") }))
	t.Cleanup(other.Close)
	status := func(n int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(n)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		code   provider.Code
		says   string
	}{
		{"busy", status(429, "busy"), provider.RateLimit, "busy"},
		{"broken", status(500, "<html>oops</html>"), provider.Unavailable, "HTML page"},
		{"refused", status(401, "no "+token), provider.Auth, "[header]"},
		{"not understood", status(422, `{"detail":"no case"}`), provider.InvalidRequest, "no case"},
		{"a page", says("text/html", "<html>"), provider.MalformedResponse, "neither JSON nor plain text"},
		{"no type", says("", "\x00\x01"), provider.MalformedResponse, "neither"},
		{"half of it", says("application/json", `{"output":"4`), provider.MalformedResponse, "not as documented"},
		{"no output", says("application/json", `{"answer":"42"}`), provider.MalformedResponse, "no output"},
		{"an error in a 200", says("application/json", `{"error":{"message":"sad","type":"server_error"}}`), provider.Unavailable, "sad"},
		{"50 MB", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			junk := make([]byte, 1<<20)
			for range 50 {
				if _, err := w.Write(junk); err != nil {
					return
				}
			}
		}, provider.MalformedResponse, "passes"},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"output":`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, provider.Unavailable, "broke off"},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, provider.InvalidRequest, "redirects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := ask(t, c.answer)
			if provider.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), token) {
				t.Errorf("got %v, want %s", err, c.code)
			}
		})
	}
}

func TestMovedOnTheSameServer(t *testing.T) {
	t.Parallel()
	res, err := ask(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/run" {
			http.Redirect(w, r, "/v2", http.StatusPermanentRedirect)
			return
		}
		says("text/plain", r.Method+" "+r.Header.Get("Authorization")[:6])(w, r)
	})
	if err != nil || res.Text != "POST Bearer" {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []endpoint.Options{
		{URL: "ftp://x"}, {URL: "http://"}, {URL: "http://u:p@x/"}, {URL: "http://x/?token=1"}, {URL: "http://x/#a"}, {URL: ":"},
		{URL: "http://x", Headers: map[string]string{"Host": "y"}}, {URL: "http://x", Headers: map[string]string{"a b": "y"}},
		{URL: "http://x", Headers: map[string]string{"A": "b\r\nC: d"}},
	} {
		if _, err := endpoint.New(o); err == nil || strings.Contains(err.Error(), "token=1") || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
