package event_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// script is a list of facts; each happens a second after the one before.
type fact struct {
	typ     event.Type
	payload any
}

func events(t *testing.T, facts ...fact) []event.Event {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var list []event.Event
	for i, f := range facts {
		raw, err := json.Marshal(f.payload)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, event.Event{Sequence: int64(i + 1), Type: f.typ, OccurredAt: at.Add(time.Duration(i) * time.Second), Payload: raw})
	}
	return list
}

func fold(t *testing.T, list []event.Event) scoring.Evidence {
	t.Helper()
	f := event.NewFold(scoring.Case{Key: "c"})
	for _, e := range list {
		if err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return f.Evidence()
}

func call(model string, usage *provider.Usage) fact {
	return fact{event.CallDone, event.CallEnd{ProviderKey: "p", ProviderModelID: model, Usage: usage}}
}

func TestFoldOfACompletedTrial(t *testing.T) {
	t.Parallel()
	ev := fold(t, events(t,
		fact{event.Started, event.TrialStart{}},
		fact{event.OutputDelta, event.TextDelta{}},
		call("m", &provider.Usage{Input: 10, Output: 5, Total: 15}),
		fact{event.ToolDone, event.Tool{ToolName: " search ", Arguments: json.RawMessage(`{"b":1,"a":2}`)}},
		fact{event.ToolFailed, event.Tool{ToolName: "read", FailureOrigin: "policy", Result: &event.ToolResult{Content: `{"error":"no"}`, IsError: true}}},
		call("m", &provider.Usage{Input: 20, Output: 7, Total: 27}),
		fact{event.OutputFinal, event.Output{FinalOutput: "first"}},
		fact{event.Completed, event.End{FinalOutput: "last", ToolCallCount: 2}},
		fact{event.FileCaptured, scoring.CapturedFile{Key: "f", Exists: true, Content: "x"}},
	))
	if got := ev.EndedAt.Sub(ev.StartedAt); got != 7*time.Second {
		t.Errorf("latency: got %v, want 7s: captures come after the agent's time", got)
	}
	if got := ev.FirstOutputAt.Sub(ev.StartedAt); got != time.Second {
		t.Errorf("first output: got %v, want 1s", got)
	}
	if *ev.FinalOutput != "last" || !*ev.Completed || ev.FailureCount != 1 || *ev.ToolCallCount != 2 {
		t.Errorf("got output %q, completed %v, failures %d, tool calls %d", *ev.FinalOutput, *ev.Completed, ev.FailureCount, *ev.ToolCallCount)
	}
	if *ev.InputTokens != 30 || *ev.OutputTokens != 12 || *ev.TotalTokens != 42 {
		t.Errorf("tokens: got %d/%d/%d, want 30/12/42", *ev.InputTokens, *ev.OutputTokens, *ev.TotalTokens)
	}
	want := []scoring.ToolCall{
		{Sequence: 4, EventType: "tool.call.completed", Name: "search", Arguments: `{"a":2,"b":1}`},
		{Sequence: 5, EventType: "tool.call.failed", Name: "read", Arguments: "{}", Failed: true, FailureOrigin: "policy", Error: "no"},
	}
	if diff := cmp.Diff(want, ev.ToolCalls); diff != "" {
		t.Errorf("tool calls (-want +got):\n%s", diff)
	}
	if got := ev.Sources["final_output"]; got.Kind != "final_output" || got.Sequence != 7 {
		t.Errorf("source of the final output: got %+v, want the finalized event", got)
	}
	if got := ev.Files["f"]; got.Content != "x" {
		t.Errorf("capture: got %+v", got)
	}
}

func TestFoldWithUnknownUsageHasNoTotals(t *testing.T) {
	t.Parallel()
	ev := fold(t, events(t,
		fact{event.Started, event.TrialStart{}},
		call("m", &provider.Usage{Input: 10, Output: 5, Total: 15}),
		call("m", nil),
		fact{event.Failed, event.Failure{Error: "x"}},
	))
	if ev.TotalTokens != nil {
		t.Errorf("total tokens: got %d, want unknown: one call reported none", *ev.TotalTokens)
	}
	if len(ev.Models) != 1 || ev.Models[0].Known {
		t.Errorf("models: got %+v, want one with unknown usage", ev.Models)
	}
	if *ev.Completed || ev.FailureCount != 1 || ev.FinalOutput != nil {
		t.Errorf("got completed %v, failures %d, output %v", *ev.Completed, ev.FailureCount, ev.FinalOutput)
	}
}

func TestFoldRefusesADamagedPayload(t *testing.T) {
	t.Parallel()
	f := event.NewFold(scoring.Case{})
	err := f.Apply(event.Event{Sequence: 3, Type: event.CallDone, Payload: json.RawMessage(`{"usage":`)})
	if err == nil || err.Error()[:7] != "event 3" {
		t.Errorf("got %v, want an error that names event 3", err)
	}
}

func TestReplayPairsStepsAndMarksWhatNeverEnded(t *testing.T) {
	t.Parallel()
	r := event.NewReplay(events(t,
		fact{event.TrialQueued, event.Queue{}},
		fact{event.Started, event.TrialStart{}},
		fact{event.StepStarted, event.Step{StepIndex: 1}},
		fact{event.CallStarted, event.Call{Model: "m"}},
		fact{event.CallDone, event.CallEnd{ProviderModelID: "m", OutputText: "hi"}},
		fact{event.ToolStarted, event.Tool{ToolName: "exec"}},
		fact{event.Failed, event.Failure{Error: "boom"}},
	))
	type row struct{ Type, Status, Headline string }
	var got []row
	for _, s := range r.Steps {
		got = append(got, row{s.Type, s.Status, s.Headline})
	}
	want := []row{
		{"run", "failed", "run failed"},
		{"agent_step", "interrupted", "agent step 1, interrupted"},
		{"model_call", "completed", "model call to m"},
		{"tool_call", "interrupted", "tool call: exec, interrupted"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if r.Status != "failed" || r.TerminalState.ErrorMessage != "boom" || r.Steps[2].ModelOutput != "hi" {
		t.Errorf("got status %q, terminal %+v", r.Status, r.TerminalState)
	}
	if got := event.NewReplay(nil).Status; got != "not_started" {
		t.Errorf("a replay of nothing: got %q", got)
	}
}

func FuzzReplayAndFold(f *testing.F) {
	f.Add("tool.call.completed", []byte(`{"tool_name":"x","result":{"content":"{}"}}`))
	f.Add("system.run.completed", []byte(`{"final_output":null}`))
	f.Fuzz(func(t *testing.T, typ string, payload []byte) {
		e := event.Event{Sequence: 1, Type: event.Type(typ), Payload: payload}
		fold := event.NewFold(scoring.Case{})
		_ = fold.Apply(e) // damaged payloads are errors, never panics
		fold.Evidence()
		event.NewReplay([]event.Event{e, e})
	})
}
