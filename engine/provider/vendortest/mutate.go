package vendortest

import (
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// mutations: whatever bytes a server sends, the outcome is a reply that can be
// stored or an error in the taxonomy. This is not a fuzz test because
// instrumenting the vendors' SDKs for one takes minutes and gigabytes.
func (s Subject) mutations(t *testing.T) {
	t.Parallel()
	var seeds []string
	for _, r := range []Reply{
		Text("é🙂"), {Thought: "hm", Pieces: []string{"a", "b"}, Calls: []Call{{"x", `{"a":1}`}, {"y", ""}}, Usage: &provider.Usage{Input: 3, Output: 2, CacheRead: 1, Reasoning: 1}},
	} {
		seeds = append(seeds, strings.Join(s.Dialect.Events(r, "m"), ""))
	}
	event, _ := s.Dialect.Told(provider.RateLimit)
	seeds = append(seeds, event)
	sent := ""
	c, err := s.New(wire.Options{Provider: s.Dialect.Provider, BaseURL: "http://example.invalid/v1", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: io.NopCloser(strings.NewReader(sent)), Request: r}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	outcomes := map[provider.Code]int{}
	for range 1500 {
		sent = mutate(rng, seeds)
		outcomes[s.outcome(t, c, sent)]++
		if t.Failed() {
			return
		}
	}
	if outcomes[""] == 0 || outcomes[provider.MalformedResponse] == 0 || outcomes[provider.Unavailable] == 0 {
		t.Errorf("got outcomes %v; the mutations show too little", outcomes)
	}
}

// mutate changes a few bytes of a seed: others in their place, fewer, or a
// piece of another seed.
func mutate(rng *rand.Rand, seeds []string) string {
	const marks = `{}[]":,-019eE\ntrufals`
	b := []byte(seeds[rng.IntN(len(seeds))])
	for range 1 + rng.IntN(3) {
		at := rng.IntN(len(b))
		switch rng.IntN(4) {
		case 0:
			b[at] = byte(rng.IntN(256))
		case 1:
			b[at] = marks[rng.IntN(len(marks))]
		case 2:
			b = append(b[:at], b[min(len(b)-1, at+rng.IntN(8)):]...)
		case 3:
			other := seeds[rng.IntN(len(seeds))]
			b = append(b[:at:at], other[rng.IntN(len(other)):]...)
		}
	}
	return string(b)
}

func (s Subject) outcome(t *testing.T, c provider.Client, sent string) provider.Code {
	t.Helper()
	var heard strings.Builder
	req := provider.Request{Model: "m", Messages: []provider.Message{{Role: provider.User, Content: "x"}}}
	res, err := c.Complete(t.Context(), req, func(d provider.Delta) { heard.WriteString(d.Text) })
	if err != nil {
		var e *provider.Error
		if !errors.As(err, &e) || e.Provider != s.Dialect.Provider || e.Code == "" {
			t.Errorf("%q: an error outside the taxonomy: %#v", sent, err)
		}
		return provider.CodeOf(err)
	}
	if res.Text != heard.String() || !utf8.ValidString(res.Text) || res.Finish == "" {
		t.Errorf("%q: heard %q of %+v", sent, heard.String(), res)
	}
	if _, err := json.Marshal(res); err != nil {
		t.Errorf("%q: cannot be stored: %v", sent, err)
	}
	for _, call := range res.ToolCalls {
		if call.ID == "" || call.Name == "" {
			t.Errorf("%q: a tool call that is none: %+v", sent, call)
		}
	}
	if len(res.State) == 0 {
		return ""
	}
	req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, Content: res.Text, ToolCalls: res.ToolCalls, State: res.State})
	if _, err := c.Complete(t.Context(), req, nil); provider.CodeOf(err) == provider.InvalidRequest {
		t.Errorf("%q: its state cannot be sent again: %v", sent, err)
	}
	return ""
}
