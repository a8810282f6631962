package event

import (
	"time"

	"github.com/agentclash/agentclash/scoring"
)

// ending is what a terminal event says.
type ending struct {
	FinalOutput text `json:"final_output"`
	tokens
	Usage         tokens `json:"usage"`
	ToolCallCount count  `json:"tool_call_count"`
	LatencyMS     count  `json:"latency_ms"`
}

// completed takes the word of the terminal event over what came before: for
// the output, the counts and, where it measured it itself, the time.
func (f *Fold) completed(e Event) error {
	end, err := members[ending](e)
	if err != nil {
		return err
	}
	f.end(e, end, true)
	if end.FinalOutput.s != nil {
		f.ev.FinalOutput = end.FinalOutput.s
	}
	if said := end.or(end.Usage); said.known() {
		f.ev.InputTokens, f.ev.OutputTokens, f.ev.TotalTokens = said.Input.n, said.Output.n, said.Total.n
		f.source(scoring.AtUsage, scoring.KindRunEvent, e, "")
	}
	if ms := end.LatencyMS.n; ms != nil && !f.ev.StartedAt.IsZero() && *ms <= int64(maxLatency/time.Millisecond) {
		f.ev.EndedAt = f.ev.StartedAt.Add(time.Duration(*ms) * time.Millisecond)
	}
	return nil
}

// maxLatency is what a terminal event may say of itself and be believed.
const maxLatency = 10000 * time.Hour

func (f *Fold) failed(e Event) error {
	end, err := members[ending](e)
	if err != nil {
		return err
	}
	f.end(e, end, false)
	return f.failure(e)
}

func (f *Fold) end(e Event, end ending, completed bool) {
	f.ev.EndedAt, f.ev.Completed = e.OccurredAt, &completed
	f.source(scoring.AtEnd, scoring.KindRunEvent, e, "")
	if n := end.ToolCallCount.n; n != nil {
		f.ev.ToolCallCount = new(int(*n))
		f.source(scoring.AtToolCount, scoring.KindRunEvent, e, "tool_call_count")
	}
}

// failure counts what failed; the first is the one to look at.
func (f *Fold) failure(e Event) error {
	if f.ev.FailureCount == 0 {
		kind := scoring.KindRunEvent
		if e.Type != Failed {
			kind = scoring.KindToolCall
		}
		f.source(scoring.AtFailure, kind, e, "")
	}
	f.ev.FailureCount++
	return nil
}
