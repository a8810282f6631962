package anthropic_test

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/anthropic"
	"github.com/agentclash/agentclash/engine/provider/providertest"
	"github.com/agentclash/agentclash/engine/provider/vendortest"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

var update = flag.Bool("update", false, "rewrite golden files")

func subject(noCache bool) vendortest.Subject {
	return vendortest.Subject{Dialect: vendortest.Anthropic(), New: func(o wire.Options) (provider.Client, error) {
		return anthropic.New(anthropic.Options{Options: o, NoPromptCache: noCache})
	}}
}

func TestSuite(t *testing.T) { vendortest.Run(t, subject(false)) }

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	reasons, plain := vendortest.FullRequest(), vendortest.FullRequest()
	reasons.Sampling.Temperature = nil
	plain.Sampling.ReasoningEffort, plain.Sampling.Stop = "none", []string{"END"}
	vendortest.Golden(t, subject(false), reasons, "request.golden.json", *update)
	vendortest.Golden(t, subject(true), plain, "request.nocache.golden.json", *update)
}

// Where nothing is sent again, nothing is cached: a single question has one
// mark, on what other questions begin with too, or none.
func TestCacheMarks(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*provider.Request)
		want   int
	}{
		"tools and system": {func(*provider.Request) {}, 2},
		"tools":            {func(r *provider.Request) { r.Messages = r.Messages[1:] }, 2},
		"system":           {func(r *provider.Request) { r.Tools = nil }, 1},
		"neither":          {func(r *provider.Request) { r.Tools, r.Messages = nil, r.Messages[1:] }, 0},
		"no effort":        {func(r *provider.Request) { r.Sampling.ReasoningEffort = "none" }, 2},
	} {
		req := providertest.Ask(t)
		row.change(&req)
		server := vendortest.New(t, vendortest.Anthropic(), vendortest.Text("ok"))
		c, err := anthropic.New(anthropic.Options{Options: wire.Options{BaseURL: server.URL + "/v1/"}}) // the version may be there
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Complete(t.Context(), req, nil); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Count(string(server.Requests()[0].Body), `"cache_control":{"type":"ephemeral"}`); got != row.want {
			t.Errorf("%s: got %d marks, want %d: %s", name, got, row.want, server.Requests()[0].Body)
		}
	}
}

// The environment's settings for the vendor's own programs are not ours.
func TestEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_PROFILE"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	server := vendortest.New(t, vendortest.Anthropic(), vendortest.Text("ok"))
	c, err := anthropic.New(anthropic.Options{Options: wire.Options{BaseURL: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Complete(t.Context(), providertest.Ask(t), nil); err != nil {
		t.Fatal(err)
	}
	if h := server.Requests()[0].Header; h.Get("X-Api-Key")+h.Get("Authorization") != "" {
		t.Errorf("got %v", h)
	}
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	server := vendortest.New(t, vendortest.Anthropic(), vendortest.Text("ok"))
	c, err := anthropic.New(anthropic.Options{Options: wire.Options{BaseURL: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*provider.Request){
		"no model":          func(r *provider.Request) { r.Model = "" },
		"has no seed":       func(r *provider.Request) { r.Sampling.Seed = new(int64(1)) },
		"takes 0 to 1":      func(r *provider.Request) { r.Sampling.Temperature = new(1.5) },
		"leave one of them": func(r *provider.Request) { r.Sampling.Temperature, r.Sampling.ReasoningEffort = new(0.5), "low" },
		`not "heroic"`:      func(r *provider.Request) { r.Sampling.ReasoningEffort = "heroic" },
		"unknown role":      func(r *provider.Request) { r.Messages[0].Role = "wizard" },
		"says anything":     func(r *provider.Request) { r.Messages = r.Messages[:1] },
		"not a JSON object": func(r *provider.Request) { r.Tools[0].Parameters = json.RawMessage("[]") },
	} {
		req := providertest.Ask(t)
		change(&req)
		if _, err := c.Complete(t.Context(), req, nil); provider.CodeOf(err) != provider.InvalidRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// Streams that no good server sends, and some that one may.
func TestStreams(t *testing.T) {
	t.Parallel()
	const start = `{"type":"message_start","message":{"id":"m","model":"c","role":"assistant","content":[]}}`
	block := func(kind string) string {
		return `{"type":"content_block_start","index":0,"content_block":{"type":"` + kind + `","id":"t","name":"x","text":""}}`
	}
	end := func(reason string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"}}`
	}
	const stop = `{"type":"message_stop"}`
	for name, row := range map[string]struct {
		events []string
		want   string // the finish reason, or a part of the error
	}{
		"a stop sequence":       {[]string{start, end("stop_sequence"), stop}, "stop"},
		"a pause":               {[]string{start, end("pause_turn"), stop}, "other"},
		"the window is full":    {[]string{start, end("model_context_window_exceeded"), stop}, "max_tokens"},
		"no last event":         {[]string{start, end("end_turn")}, "stop"},
		"an end that is none":   {[]string{start, stop}, "before the reply did"},
		"end_turn with a call":  {[]string{start, block("tool_use"), end("end_turn"), stop}, "tool_calls"},
		"an unknown block":      {[]string{start, block("novelty"), end("end_turn"), stop}, "stop"},
		"an unknown event":      {[]string{start, `{"type":"novelty"}`, end("end_turn"), stop}, "stop"},
		"begun twice":           {[]string{start, block("text"), block("text")}, "began twice"},
		"a piece of nothing":    {[]string{start, `{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}`}, "has not begun"},
		"arguments of a text":   {[]string{start, block("text"), `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"x"}}`}, "is no tool call"},
		"a call without a name": {[]string{start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t"}}`, end("tool_use"), stop}, "no name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var raw []string
			for _, e := range row.events {
				raw = append(raw, "data: "+e+"\n\n")
			}
			c, err := anthropic.New(anthropic.Options{Options: wire.Options{BaseURL: vendortest.New(t, vendortest.Anthropic(), vendortest.Reply{Raw: raw}).URL}})
			if err != nil {
				t.Fatal(err)
			}
			res, err := c.Complete(t.Context(), providertest.Ask(t), nil)
			if err != nil && !strings.Contains(err.Error(), row.want) || err == nil && string(res.Finish) != row.want {
				t.Errorf("got %q, %v; want %q", res.Finish, err, row.want)
			}
		})
	}
}
