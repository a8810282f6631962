package vendortest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/providertest"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// redirects: a key goes where it was configured to go, and a redirect does not
// change the call into another one.
func (s Subject) redirects(t *testing.T) {
	const key = "sk-redirected-secret"
	var leaked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	t.Cleanup(func() {
		if leaked.Load() != 0 {
			t.Error("a call followed a redirect to another origin")
		}
		elsewhere.Close()
	})
	for name, row := range map[string]struct {
		status int
		to     string
		want   provider.Code
	}{
		"same origin":       {307, "/moved", ""},
		"permanently":       {308, "/moved", ""},
		"other origin":      {307, elsewhere.URL + "/moved?k=" + key, provider.InvalidRequest},
		"turned into a GET": {302, "/moved", provider.InvalidRequest},
		"a loop":            {307, "", provider.InvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := NewFunc(t, s.Dialect, func(r Request) Reply {
				if r.URL == "/moved" {
					return Text("ok")
				}
				to := row.to
				if to == "" {
					to = r.URL
				}
				return Reply{Status: row.status, Header: map[string]string{"Location": to}}
			})
			server.Demand(key)
			_, err := s.client(t, server, wire.Options{Key: key}).Complete(t.Context(), providertest.Ask(t), nil)
			if provider.CodeOf(err) != row.want {
				t.Errorf("got %v, want %q", err, row.want)
			}
			if err != nil && strings.Contains(err.Error(), key) {
				t.Errorf("the key is in %v", err)
			}
		})
	}
}

// keys go in their header and nowhere else, and come back in no error.
func (s Subject) keys(t *testing.T) {
	const key = "sk-leak-0123456789"
	for name, r := range map[string]Reply{
		"an error document":   {Status: 401, Body: `{"error":{"type":"authentication_error","message":"bad key ` + key + `"}}`},
		"a page":              {Status: 500, Body: "your key " + key},
		"a 200 with an error": {Status: 200, Body: `{"error":{"message":"` + key + `"}}`},
		"the stream":          {Raw: []string{"data: " + key + "\n\n"}},
		"an error in it":      {Raw: []string{`data: {"error":{"message":"` + key + `"}}` + "\n\n"}},
		"where text is cut":   {Status: 500, Body: strings.Repeat("x", 485) + key + strings.Repeat("x", 200)},
		"a content type":      {Status: 200, Header: map[string]string{"Content-Type": "text/html; x=" + key}, Body: "<p>"},
	} {
		t.Run("echoed in "+name, func(t *testing.T) {
			t.Parallel()
			_, err := s.call(t, r, wire.Options{Key: key})
			if err == nil {
				t.Fatal("no error")
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), key[:8]) {
					t.Errorf("the key is in %q", e.Error())
				}
			}
		})
	}
	t.Run("on the wire", func(t *testing.T) {
		t.Parallel()
		server := New(t, s.Dialect, Text("ok"))
		if _, err := s.client(t, server, wire.Options{Key: key}).Complete(t.Context(), providertest.Ask(t), nil); err != nil {
			t.Fatal(err)
		}
		req := server.Requests()[0]
		if strings.Contains(req.URL, key) || strings.Contains(string(req.Body), key) || req.Header.Get(s.Dialect.KeyHeader) != s.Dialect.KeyPrefix+key {
			t.Errorf("got the key elsewhere than in %s: %s %v", s.Dialect.KeyHeader, req.URL, req.Header)
		}
		known := map[string]bool{"Accept": true, "Accept-Encoding": true, "Content-Length": true, "Content-Type": true, "User-Agent": true,
			"Anthropic-Version": true, "Connection": true, s.Dialect.KeyHeader: true}
		for name := range req.Header {
			if !known[name] {
				t.Errorf("unasked header %s: %q", name, req.Header.Get(name))
			}
		}
		if got := req.Header.Get("User-Agent"); got != "agentclash" {
			t.Errorf("got user agent %q", got)
		}
	})
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		server := New(t, s.Dialect, Text("ok"))
		if _, err := s.client(t, server, wire.Options{}).Complete(t.Context(), providertest.Ask(t), nil); err != nil {
			t.Fatal(err)
		}
		if got := server.Requests()[0].Header.Get(s.Dialect.KeyHeader); got != "" {
			t.Errorf("got %q, want nothing from the environment", got)
		}
	})
}

// state that the vendor must see again goes back with the next request, and only
// with it.
func (s Subject) state(t *testing.T) {
	t.Parallel()
	if s.Dialect.Stated == "" {
		t.Skip("this vendor is shown nothing again")
	}
	server := New(t, s.Dialect, Reply{Thought: "hm", Pieces: []string{"let me see"}, Calls: []Call{{"submit", `{"n":12345678901234567890}`}}}, Text("ok"))
	c := s.client(t, server, wire.Options{})
	req := providertest.Ask(t)
	req.Sampling.ReasoningEffort = "low"
	res, err := c.Complete(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(res.State), s.Dialect.Stated) || strings.Contains(res.Text, "hm") {
		t.Fatalf("got state %s and text %q", res.State, res.Text)
	}
	again := func(state []byte) string {
		next := req
		next.Messages = append(next.Messages[:len(next.Messages):len(next.Messages)],
			provider.Message{Role: provider.Assistant, Content: res.Text, ToolCalls: res.ToolCalls, State: state},
			provider.Message{Role: provider.ToolRole, ToolCallID: res.ToolCalls[0].ID, Content: "no", IsError: true})
		if _, err := c.Complete(t.Context(), next, nil); err != nil {
			t.Fatal(err)
		}
		all := server.Requests()
		return string(all[len(all)-1].Body)
	}
	for name, state := range map[string][]byte{"with its state": res.State, "without": nil, "with another vendor's": []byte(`{"vendor":"x","content":["signed-thought"]}`)} {
		body := again(state)
		if got, want := strings.Contains(body, s.Dialect.Stated), name == "with its state"; got != want {
			t.Errorf("%s: got the state %v, want %v: %s", name, got, want, body)
		}
		if strings.Count(body, "let me see") != 1 || !strings.Contains(body, "12345678901234567890") {
			t.Errorf("%s: what was said is not there once and exactly: %s", name, body)
		}
	}
}
