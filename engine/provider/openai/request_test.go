package openai_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai"
	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
	"github.com/agentclash/agentclash/engine/provider/providertest"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

var update = flag.Bool("update", false, "rewrite golden files")

// fullRequest uses everything a request can hold.
func fullRequest() provider.Request {
	return provider.Request{
		Ref:   provider.Ref{Agent: "secret-agent-name", Case: "secret-case-key"},
		Model: "gpt-test",
		Messages: []provider.Message{
			{Role: provider.System, Content: "Be brief."},
			{Role: provider.User, Content: "<What> is \"2+2\" & why? 🙂"},
			{Role: provider.Assistant, Content: "Let me see.", ToolCalls: []provider.ToolCall{
				{ID: "call_1", Name: "calc", Arguments: json.RawMessage(`{"b": 2, "a": 1.50}`)},
				{ID: "call_2", Name: "calc", Arguments: provider.RawArguments(`{"broken`)},
			}},
			{Role: provider.ToolRole, ToolCallID: "call_1", Content: "4"},
			{Role: provider.ToolRole, ToolCallID: "call_2", Content: "not JSON", IsError: true},
			{Role: provider.Assistant, ToolCalls: []provider.ToolCall{{ID: "call_3", Name: "submit"}}},
			{Role: provider.ToolRole, ToolCallID: "call_3", Content: ""},
			{Role: provider.Assistant},
		},
		Tools: []provider.Tool{
			{Name: "calc", Description: "Calculates.", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{"type":"number","maximum":12345678901234567890},"a":{"enum":[1.50]}},"required":["z"]}`)},
			{Name: "submit"},
		},
		Sampling: provider.Sampling{Temperature: new(0.0), TopP: new(0.9), Seed: new(int64(7)),
			Stop: []string{"END", "STOP"}, MaxOutputTokens: 512, ReasoningEffort: "low"},
	}
}

// The wire in full. Nothing of the Ref is on it.
func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	s := openaitest.New(t, openaitest.Text("4"))
	if _, err := client(t, s, wire.Options{Key: "sk-test-123456"}).Complete(t.Context(), fullRequest(), nil); err != nil {
		t.Fatal(err)
	}
	req := s.Requests()[0]
	var got bytes.Buffer
	if err := json.Indent(&got, req.Body, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	golden := filepath.Join("testdata", "request.golden.json")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if auth := req.Header.Get("Authorization"); auth != "Bearer sk-test-123456" {
		t.Errorf("got authorization %q", auth)
	}
	headers := map[string]bool{"Accept": true, "Accept-Encoding": true, "Authorization": true,
		"Content-Length": true, "Content-Type": true, "User-Agent": true}
	for name := range req.Header {
		if !headers[name] {
			t.Errorf("unasked header %s: %q", name, req.Header.Get(name))
		}
	}
	if req.Header.Get("User-Agent") != "agentclash" {
		t.Errorf("got user agent %q", req.Header.Get("User-Agent"))
	}
}

func TestNoKeyNoAuthorization(t *testing.T) {
	// The SDK's whole client would read these; this adapter must not.
	t.Setenv("OPENAI_API_KEY", "sk-from-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	t.Setenv("OPENAI_ORG_ID", "org")
	s := openaitest.New(t, openaitest.Text("4"))
	if _, err := client(t, s, wire.Options{}).Complete(t.Context(), providertest.Ask(t), nil); err != nil {
		t.Fatal(err)
	}
	h := s.Requests()[0].Header
	if got := h.Get("Authorization") + h.Get("Openai-Organization"); got != "" {
		t.Errorf("got %q, want nothing from the environment", got)
	}
}

func TestOutputField(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		base  string
		field openai.OutputField
		want  string
	}{
		{"https://api.openai.com/v1", "", "max_completion_tokens"},
		{"https://EU.api.OpenAI.com/v1/", "", "max_completion_tokens"},
		{"https://me.openai.azure.com/openai/v1", "", "max_completion_tokens"},
		{"https://api.openai.com.evil.example/v1", "", "max_tokens"},
		{"http://localhost:11434/v1", "", "max_tokens"},
		{"https://openrouter.ai/api/v1", "", "max_tokens"},
		{"https://api.openai.com/v1", openai.MaxTokens, "max_tokens"},
		{"http://localhost:8000/v1", openai.MaxCompletionTokens, "max_completion_tokens"},
	} {
		body := sentTo(t, test.base, test.field)
		fields := map[string]bool{"max_tokens": body["max_tokens"] != nil, "max_completion_tokens": body["max_completion_tokens"] != nil}
		want := map[string]bool{"max_tokens": test.want == "max_tokens", "max_completion_tokens": test.want == "max_completion_tokens"}
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.base, test.field, diff)
		}
	}
}

// Mistral refuses fields it does not know, reports usage unasked, and calls the
// seed otherwise.
func TestMistral(t *testing.T) {
	t.Parallel()
	body := sentTo(t, "https://api.mistral.ai/v1", "")
	if body["stream_options"] != nil || body["seed"] != nil || body["random_seed"] != 7.0 {
		t.Errorf("got stream_options %v, seed %v, random_seed %v", body["stream_options"], body["seed"], body["random_seed"])
	}
}

// sentTo is the body that would go to a server far away.
func sentTo(t *testing.T, base string, field openai.OutputField) map[string]any {
	t.Helper()
	var body map[string]any
	c, err := openai.New(openai.Options{OutputField: field, Options: wire.Options{BaseURL: base, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		return nil, errUnplugged
	})}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Complete(t.Context(), fullRequest(), nil); provider.CodeOf(err) != provider.Unavailable {
		t.Errorf("%s: got %v, want unavailable", base, err)
	}
	return body
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	s := openaitest.New(t, openaitest.Text("4"))
	c := client(t, s, wire.Options{})
	for name, test := range map[string]struct {
		req  provider.Request
		want string
	}{
		"no model":    {provider.Request{}, "openai: invalid_request: request: no model"},
		"role":        {provider.Request{Model: "m", Messages: []provider.Message{{Role: "wizard"}}}, `openai: invalid_request: message 1: unknown role "wizard"`},
		"schema":      {provider.Request{Model: "m", Tools: []provider.Tool{{Name: "x", Parameters: json.RawMessage(`[]`)}}}, `openai: invalid_request: tool "x": parameters are not a JSON object`},
		"broken JSON": {provider.Request{Model: "m", Tools: []provider.Tool{{Name: "x", Parameters: json.RawMessage(`{`)}}}, `openai: invalid_request: tool "x": parameters are not a JSON object`},
	} {
		_, err := c.Complete(t.Context(), test.req, nil)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		o    openai.Options
		want string
	}{
		"no URL":    {openai.Options{}, `base URL: scheme "" is neither http nor https`},
		"scheme":    {openai.Options{Options: wire.Options{BaseURL: "ftp://x/v1"}}, `base URL: scheme "ftp" is neither http nor https`},
		"host":      {openai.Options{Options: wire.Options{BaseURL: "http:///v1"}}, "base URL: no host"},
		"user":      {openai.Options{Options: wire.Options{BaseURL: "https://me:hunter22@x/v1"}}, "base URL: user information does not belong there; give the key on its own"},
		"query":     {openai.Options{Options: wire.Options{BaseURL: "https://x/v1?api-key=hunter22"}}, "base URL: a query or fragment does not belong there"},
		"not a URL": {openai.Options{Options: wire.Options{BaseURL: "https://x:hunter22:1/"}}, "base URL: not a URL"},
		"key":       {openai.Options{Options: wire.Options{BaseURL: "https://x/v1", Key: "sk-a\nb"}}, "key: it contains control characters"},
		"field":     {openai.Options{Options: wire.Options{BaseURL: "https://x/v1"}, OutputField: "tokens"}, `output field: "tokens" is neither "max_completion_tokens" nor "max_tokens"`},
	} {
		_, err := openai.New(test.o)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

func TestKnownEndpoints(t *testing.T) {
	t.Parallel()
	for _, e := range openai.Endpoints() {
		if _, err := openai.New(openai.Options{Options: wire.Options{Provider: e.Provider, BaseURL: e.BaseURL}}); err != nil {
			t.Errorf("%s: %v", e.Provider, err)
		}
		if e.KeyVar != "" && e.KeyVar != strings.ToUpper(e.Provider)+"_API_KEY" {
			t.Errorf("%s: got key variable %s", e.Provider, e.KeyVar)
		}
	}
}
