package tui_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
)

const (
	benchLanes  = 16
	benchTrials = 10_000
	// benchTokens is how many pieces of text come in for each lane in a second:
	// what a fast model writes.
	benchTokens = 60
)

// crowded is a screen of a run of 16 lanes and 10,000 trials, nearly all of which
// have ended, and the facts of one second of what runs: text in each lane, and in
// four of them a reply, a tool call and the next question.
func crowded(b *testing.B) (s *tui.Screen, second []event.Event, now *time.Time) {
	b.Helper()
	now = &time.Time{}
	*now = noon
	s = tui.New(tui.Options{Now: func() time.Time { return *now }})
	told := newStory(func(e event.Event) { _ = s.Emit(b.Context(), e) })
	told.starts(benchLanes, benchTrials/benchLanes)
	for n := range benchTrials/benchLanes - 1 {
		for lane := range benchLanes {
			switch {
			case n%3 == 0:
				told.ends(lane, n, failed())
			case n%50 == 1:
				told.ends(lane, n, invalid())
			default:
				told.ends(lane, n, passed())
			}
		}
	}
	for lane := range benchLanes {
		told.trialStarts(lane, 700)
	}
	make := newStory(func(e event.Event) { second = append(second, e) })
	for i := range benchTokens {
		for lane := range benchLanes {
			make.tell(event.OutputDelta, trial(lane, 700), event.TextDelta{ProviderKey: "openai", ProviderModelID: "gpt-4.1", StreamKind: "text", TextDelta: " several"})
			if i == 30 && lane%4 == 0 {
				replies(make, lane)
			}
		}
	}
	return s, second, now
}

// replies is the end of a call, a tool and the next call.
func replies(s *story, lane int) {
	e, text := trial(lane, 700), strings.Repeat("what the model said at some length ", 40)
	s.tell(event.CallDone, e, event.CallEnd{OutputText: text, Usage: &provider.Usage{Input: 4000, Output: 300}})
	s.tell(event.ToolStarted, e, event.Tool{ToolName: "exec", Arguments: json.RawMessage(`{"command":["pytest","-q"]}`)})
	s.tell(event.ToolDone, e, event.Tool{ToolName: "exec", Result: &event.ToolResult{Content: strings.Repeat("a line of output\n", 100)}})
	s.tell(event.StepStarted, e, event.Step{StepIndex: 7})
	s.tell(event.CallStarted, e, event.Call{Messages: []provider.Message{{Role: "tool", Content: strings.Repeat("a line of output\n", 100)}}})
}

// BenchmarkSecond is what the screen takes of a core while a crowded run goes on:
// an op is a second of it, facts, five frames and all, without the terminal's part.
func BenchmarkSecond(b *testing.B) {
	for name, filter := range map[string]string{"all": "", "filtered": "model-b failed"} {
		b.Run(name, func(b *testing.B) {
			s, second, now := crowded(b)
			p := tui.NewPage(s, 160, 48)
			p.Filter(filter)
			before := spent(b)
			for b.Loop() {
				for frame := range 5 {
					part := len(second) / 5
					for _, e := range second[frame*part : (frame+1)*part] {
						_ = s.Emit(b.Context(), e)
					}
					*now = now.Add(200 * time.Millisecond)
					p.Paint(*now)
				}
			}
			b.ReportMetric(float64(spent(b)-before)/float64(b.N)/1e7, "%core")
			b.ReportMetric(float64(len(second)), "facts/op")
		})
	}
}

// spent is the processor time of the process so far, which other programs on the
// machine are no part of.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkFrame(b *testing.B) {
	s, second, now := crowded(b)
	p := tui.NewPage(s, 160, 48)
	for b.Loop() {
		_ = s.Emit(b.Context(), second[0])
		*now = now.Add(100 * time.Millisecond)
		p.Paint(*now)
	}
}

func BenchmarkFact(b *testing.B) {
	s, second, _ := crowded(b)
	i := 0
	for b.Loop() {
		_ = s.Emit(b.Context(), second[i%len(second)])
		i++
	}
}
