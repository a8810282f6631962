package vendortest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// FullRequest uses everything that a request can hold and every vendor has.
func FullRequest() provider.Request {
	return provider.Request{
		Ref:   provider.Ref{Agent: "secret-agent-name", Case: "secret-case-key"},
		Model: "model-test",
		Messages: []provider.Message{
			{Role: provider.System, Content: "Be brief."},
			{Role: provider.User, Content: "<What> is \"2+2\" & why? 🙂"},
			{Role: provider.Assistant, Content: "Let me see.", ToolCalls: []provider.ToolCall{
				{ID: "call_1", Name: "calc", Arguments: json.RawMessage(`{"b": 2, "a": 1.50}`)},
				{ID: "call_2", Name: "calc", Arguments: provider.RawArguments(`{"broken`)},
			}},
			{Role: provider.ToolRole, ToolCallID: "call_1", Content: "4"},
			{Role: provider.ToolRole, ToolCallID: "call_2", Content: "not JSON", IsError: true},
			{Role: provider.System, Content: "Stay brief."},
			{Role: provider.Assistant, ToolCalls: []provider.ToolCall{{ID: "call_3", Name: "submit"}}},
			{Role: provider.ToolRole, ToolCallID: "call_3", Content: ""},
			{Role: provider.Assistant},
			{Role: provider.User, Content: "And now?"},
		},
		Tools: []provider.Tool{
			{Name: "calc", Description: "Calculates.", Parameters: json.RawMessage(`{"$schema":"x","type":"object","properties":{"z":{"type":"number","maximum":10},"a":{"enum":[1.50]},
				"c":{"oneOf":[{"type":"string"},{"type":"array","items":{"type":["string","null"],"format":"uri"}}]}},"required":["z","gone"],"additionalProperties":false}`)},
			{Name: "submit"},
		},
		Sampling: provider.Sampling{Temperature: new(0.0), TopP: new(0.9), MaxOutputTokens: 512, ReasoningEffort: "low"},
	}
}

// Golden compares the body of a request with a golden file of the test's
// directory, or rewrites it.
func Golden(t *testing.T, s Subject, req provider.Request, file string, update bool) []byte {
	t.Helper()
	server := New(t, s.Dialect, Text("4"))
	if _, err := s.client(t, server, wire.Options{}).Complete(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	body := server.Requests()[0].Body
	var got bytes.Buffer
	if err := json.Indent(&got, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", file)
	text := append(bytes.TrimSpace(got.Bytes()), '\n')
	if update {
		if err := os.WriteFile(golden, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	return body
}
