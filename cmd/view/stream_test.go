package view_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
)

func TestFollowJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := emitAll(func(_ io.Writer, _ view.Options) event.Sink { return view.FollowJSON(&b) })(nil, facts(), view.Options{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if got, want := len(lines), len(facts()); got != want { // one more for run.created, one less for the delta
		t.Fatalf("got %d lines, want %d", got, want)
	}
	var first struct {
		Type string `json:"type"`
		Run  struct {
			RunID string           `json:"run_id"`
			Pack  event.PackRef    `json:"pack"`
			Agent []event.AgentRef `json:"agents"`
		} `json:"run"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if first.Type != "run.created" || first.Run.RunID != runID || first.Run.Pack.Slug != "fizz" || len(first.Run.Agent) != 1 {
		t.Errorf("first line: got %s", lines[0])
	}
	for i, line := range lines[1:] {
		var e event.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("line %d: %v", i+2, err)
		}
		if e.RunID != runID || e.Type == event.OutputDelta {
			t.Errorf("line %d: got %s", i+2, line)
		}
	}
}

func TestFollowJSONNamesARunItJoinsLate(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := view.FollowJSON(&b).Emit(t.Context(), facts()[2]); err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"run.created","run":{"run_id":"` + runID + `"`; !strings.HasPrefix(b.String(), want) {
		t.Errorf("got %q, want it to begin with %q", b.String(), want)
	}
}

// Facts of many trials arrive at once; no line is torn and none is lost.
func TestFollowersAreSafeForConcurrentTrials(t *testing.T) {
	t.Parallel()
	var plain, lines bytes.Buffer
	sinks := []event.Sink{view.Follow(&plain, view.Options{Now: noon}), view.FollowJSON(&lines)}
	started := facts()[0]
	const trials = 50
	started.Payload = mustJSON(event.RunStart{Trials: trials, Agents: []event.AgentRef{{ID: agentID, Label: "gpt"}}})
	for _, s := range sinks {
		if err := s.Emit(t.Context(), started); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range trials {
		wg.Go(func() {
			e := event.Event{RunID: runID, RunAgentID: agentID, CaseKey: fmt.Sprintf("case%d", i), Repetition: 1, Attempt: 1,
				Type: event.TrialDone, OccurredAt: noon.Add(time.Second), Payload: mustJSON(event.TrialEnd{})}
			for _, s := range sinks {
				if err := s.Emit(context.Background(), e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := strings.Count(plain.String(), "\n"); got != trials+1 {
		t.Errorf("plain: got %d lines, want %d", got, trials+1)
	}
	if !strings.Contains(plain.String(), fmt.Sprintf("[%d/%d]", trials, trials)) {
		t.Errorf("the last trial does not say that all are done:\n%s", plain.String())
	}
	dec := json.NewDecoder(&lines)
	for n := 0; ; n++ {
		var v map[string]any
		if dec.More() {
			if err := dec.Decode(&v); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if n != trials+2 {
			t.Errorf("JSON: got %d documents, want %d", n, trials+2)
		}
		break
	}
}

func TestFollowSaysWhenAPayloadIsUnreadable(t *testing.T) {
	t.Parallel()
	for _, kind := range []event.Type{event.RunStarted, event.TrialDone, event.CallDone, event.ToolDone, event.RunFinished} {
		var b bytes.Buffer
		e := event.Event{Type: kind, OccurredAt: noon, Payload: json.RawMessage(`"nonsense"`)}
		if err := view.Follow(&b, view.Options{Now: noon}).Emit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if kind != event.RunFinished && !strings.Contains(b.String(), "unreadable payload") {
			t.Errorf("%s: got %q", kind, b.String())
		}
	}
}

func TestEventsLeaveOutWhatIsNeverStored(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	for _, e := range facts() {
		if err := view.EventsJSON(&b).Emit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(b.String(), "never stored") {
		t.Error("a transient delta was written")
	}
	if got, want := strings.Count(b.String(), "\n"), len(facts())-1; got != want {
		t.Errorf("got %d lines, want %d", got, want)
	}
}
