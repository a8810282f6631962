package diverge_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/event/diverge"
)

func events(t *testing.T, offset int64, list ...any) (out []event.Event) {
	t.Helper()
	for i := 0; i < len(list); i += 2 {
		raw, err := json.Marshal(list[i+1])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, event.Event{ID: string(rune('a' + offset)), RunID: "r", Sequence: int64(i) + offset, Type: list[i].(event.Type),
			OccurredAt: time.Unix(offset, 0), Payload: raw})
	}
	return out
}

func call(id, name, args string, ms int64) event.Tool {
	return event.Tool{ToolCallID: id, ToolName: name, Arguments: json.RawMessage(args), DurationMS: ms}
}

func TestFirst(t *testing.T) {
	t.Parallel()
	base := events(t, 1, event.StepStarted, map[string]any{"step_index": 1}, event.CallDone, event.CallEnd{OutputText: "I look"},
		event.ToolStarted, call("c1", "read_file", `{"path": "a", "offset": 1}`, 5), event.OutputFinal, event.Output{FinalOutput: "42"})
	same := events(t, 9, event.CallDone, event.CallEnd{OutputText: "I look", ChargedUSD: 1},
		event.ToolStarted, call("zz", "read_file", `{"offset":1,"path":"a"}`, 900), event.OutputFinal, event.Output{FinalOutput: "42", Source: "submit"})
	if p := diverge.First(base, same); p != nil {
		t.Errorf("ids, dates, durations and the order of keys are no difference: %+v", p)
	}
	other := events(t, 9, event.CallDone, event.CallEnd{OutputText: "I look"}, event.ToolStarted, call("c1", "read_file", `{"path":"b","offset":1}`, 5))
	p := diverge.First(base, other)
	if p == nil || p.Shared != 1 || p.Baseline.Tool != "read_file" || p.Baseline.Text != `{"offset":1,"path":"a"}` ||
		p.Candidate.Text != `{"offset":1,"path":"b"}` || p.Candidate.Sequence != 11 || p.Baseline.Digest == p.Candidate.Digest {
		t.Errorf("other arguments: got %+v", p)
	}
	if p := diverge.First(base, same[:2]); p == nil || p.Shared != 2 || p.Candidate != nil || p.Baseline.Type != event.OutputFinal {
		t.Errorf("one that ends early: got %+v", p)
	}
	if p := diverge.First(nil, same); p == nil || p.Baseline != nil || p.Shared != 0 {
		t.Errorf("nothing on one side: got %+v", p)
	}
	if diverge.First(nil, nil) != nil {
		t.Error("nothing on both sides differs")
	}
	broken := []event.Event{{Type: event.ToolStarted, Payload: []byte("{")}}
	if diverge.First(broken, broken) != nil || diverge.First(broken, nil) == nil {
		t.Error("what cannot be read is compared as it stands")
	}
}
