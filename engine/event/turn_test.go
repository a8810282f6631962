package event_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// gather folds payloads in order.
func gather(t *testing.T, facts ...any) scoring.Evidence {
	t.Helper()
	f := event.NewFold(scoring.Case{Key: "c", Watched: true})
	for i := 0; i < len(facts); i += 2 {
		raw, err := json.Marshal(facts[i+1])
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Apply(event.Event{Type: facts[i].(event.Type), Sequence: int64(i + 1), Payload: raw}); err != nil {
			t.Fatal(err)
		}
	}
	return f.Evidence()
}

func TestATurnThatNobodyTookIsNone(t *testing.T) {
	t.Parallel()
	ev := gather(t,
		event.TurnUser, event.UserTurn{TurnIndex: 0, PhaseID: "open", Actor: "scripted", Content: "hello"},
		event.TurnAssistant, event.AssistantTurn{TurnIndex: 0, PhaseID: "open", Content: "yes"},
		event.TurnDone, event.TurnEnd{TurnIndex: 0, PhaseID: "open", Actor: "scripted", Mismatch: true},
		event.TurnAwaiting, event.HumanWait{TurnIndex: 1, PhaseID: "person", Actor: "human"},
		event.TurnExpired, event.HumanWait{TurnIndex: 1, PhaseID: "person", Actor: "human"},
	)
	if len(ev.Turns) != 1 || ev.Turns[0].User != "hello" || ev.Turns[0].Assistant != "yes" || !ev.Turns[0].Mismatched {
		t.Errorf("got %+v", ev.Turns)
	}
}

// What users used is no part of what the agent did, and what they say is none of its
// doing.
func TestUsersAreKeptApart(t *testing.T) {
	t.Parallel()
	use := &provider.Usage{Input: 100, Output: 7, Total: 107}
	ev := gather(t,
		event.CallFailed, event.CallError{Code: "content_filter", PhaseID: "sim"},
		event.TurnSimulated, event.SimulatedTurn{PhaseID: "sim", Actor: "llm", ProviderKey: "p", ProviderModelID: "m", Usage: use},
		event.TurnUser, event.UserTurn{PhaseID: "sim", Actor: "llm", Content: "SECRET"},
		event.CallDone, event.CallEnd{ProviderKey: "p", ProviderModelID: "m", OutputText: "no", Usage: &provider.Usage{Input: 10, Output: 5, Total: 15}},
		event.TurnSimulated, event.SimulatedTurn{TurnIndex: 1, PhaseID: "sim", Actor: "llm", ProviderKey: "p", ProviderModelID: "m", Usage: use},
		event.TurnSimulated, event.SimulatedTurn{TurnIndex: 2, PhaseID: "sim", Actor: "llm", ProviderKey: "p", ProviderModelID: "a"},
	)
	want := []scoring.ModelUsage{
		{ProviderKey: "p", ProviderModelID: "a", Calls: 1},
		{ProviderKey: "p", ProviderModelID: "m", InputTokens: 200, OutputTokens: 14, TotalTokens: 214, Known: true, Calls: 2},
	}
	if diff := cmp.Diff(want, ev.Simulators); diff != "" {
		t.Errorf("simulators (-want +got):\n%s", diff)
	}
	if ev.TotalTokens == nil || *ev.TotalTokens != 15 || len(ev.Models) != 1 {
		t.Errorf("the agent's: %v, %+v", ev.TotalTokens, ev.Models)
	}
	for _, s := range ev.Said {
		if s.Withheld || s.Role == scoring.SaidByUser && !s.Authored {
			t.Errorf("held against the agent: %+v", s)
		}
	}
}

func TestReplayOfAConversation(t *testing.T) {
	t.Parallel()
	var facts []event.Event
	tell := func(typ event.Type, payload any) {
		raw, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, event.Event{Type: typ, Sequence: int64(len(facts) + 1), Payload: raw})
	}
	tell(event.Started, event.TrialStart{})
	tell(event.CallFailed, event.CallError{Code: "unavailable", PhaseID: "sim"})
	tell(event.TurnAwaiting, event.HumanWait{PhaseID: "person"})
	tell(event.TurnUser, event.UserTurn{PhaseID: "person", Actor: "human", Content: "hi"})
	tell(event.CallStarted, event.Call{})
	tell(event.CallDone, event.CallEnd{})
	tell(event.TurnAssistant, event.AssistantTurn{Content: "ho"})
	tell(event.TurnDone, event.TurnEnd{Mismatch: true})
	tell(event.TurnAwaiting, event.HumanWait{TurnIndex: 1, PhaseID: "person2"})
	tell(event.TurnExpired, event.HumanWait{TurnIndex: 1, PhaseID: "person2"})
	tell(event.TurnUser, event.UserTurn{TurnIndex: 1, PhaseID: "x", Actor: "scripted", Content: "left"})
	tell(event.Failed, event.Failure{Error: "out of time"})
	type row struct{ Type, Status, User, Assistant string }
	var got []row
	for _, s := range event.NewReplay(facts).Steps {
		got = append(got, row{s.Type, s.Status, s.UserMessage, s.AssistantMessage})
	}
	want := []row{
		{"run", "failed", "", ""}, {"simulated_user", "failed", "", ""}, {"human", "completed", "", ""}, {"turn", "completed", "hi", "ho"},
		{"model_call", "completed", "", ""}, {"human", "failed", "", ""}, {"turn", "interrupted", "left", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
