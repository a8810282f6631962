package tui_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/cmd/tui/tuitest"
	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

// crowd is sixteen lanes, each with a trial running and failures behind it.
func crowd() tui.State {
	var state tui.State
	s := newStory(into(&state))
	s.starts(16, 625)
	for n := range 5 {
		for lane := range 16 {
			s.trialStarts(lane, n)
			switch (lane + n) % 5 {
			case 0:
				s.ends(lane, n, failed())
			case 1:
				s.ends(lane, n, invalid())
			default:
				s.ends(lane, n, passed())
			}
		}
	}
	for lane := range 16 {
		s.trialStarts(lane, 5)
		s.step(lane, 5, 2, "exec")
	}
	return state.Snapshot()
}

func finished() tui.State {
	state := busy()
	s := newStory(into(&state))
	s.at = noon.Add(90 * time.Second)
	s.tell(event.RunFinished, event.Event{}, event.RunEnd{Status: "cancelled", Reason: "interrupted"})
	return state.Snapshot()
}

// draw is the screen of a state as it is painted.
func draw(s tui.State, f tui.Frame) string { return tui.Draw(s, tui.Arrange(s, f)) }

// talking is a run with a budget and a pace, in which a trial says and does much;
// its transcript is shown.
func talking() tui.State {
	var state tui.State
	s := newStory(into(&state))
	for i := range 2 {
		s.agents = append(s.agents, event.AgentRef{ID: fmt.Sprintf("agent%d", i), Label: fmt.Sprintf("model-%c", 'a'+i)})
	}
	s.tell(event.RunStarted, event.Event{}, event.RunStart{Name: "nightly", Pack: event.PackRef{Slug: "fizz", Version: 2}, InputSet: "default",
		Sandbox: "docker", Agents: s.agents, Cases: 6, Repetitions: 1, Trials: 12, Concurrency: 4, BudgetUSD: 2})
	state.Watch("trial0-1")
	s.trialStarts(1, 1)
	s.ends(1, 1, passed())
	s.trialStarts(0, 1)
	s.tell(event.StepStarted, trial(0, 1), event.Step{StepIndex: 1})
	s.tell(event.CallStarted, trial(0, 1), event.Call{Messages: []provider.Message{
		{Role: "system", Content: "You repair programs."}, {Role: "user", Content: "Make the tests pass. Change nothing but the parser, and say what was wrong."}}})
	s.tell(event.OutputDelta, trial(0, 1), event.TextDelta{StreamKind: "text", TextDelta: "I look at "})
	s.tell(event.OutputDelta, trial(0, 1), event.TextDelta{StreamKind: "text", TextDelta: "the failing test first."})
	s.tell(event.CallDone, trial(0, 1), event.CallEnd{OutputText: "I look at the failing test first.", ChargedUSD: 1.8, Usage: &provider.Usage{Input: 1200, Output: 34}})
	s.tell(event.ToolStarted, trial(0, 1), event.Tool{ToolName: "exec", Arguments: json.RawMessage(`{"command":["pytest","-q"],"timeout":30}`)})
	s.tell(event.ToolFailed, trial(0, 1), event.Tool{ToolName: "exec", DurationMS: 812, Result: &event.ToolResult{Content: "F..\ntest_parser.py:12: AssertionError", IsError: true}})
	s.tell(event.ToolStarted, trial(0, 1), event.Tool{ToolName: "write_file", Arguments: json.RawMessage(`{"path":"parser.py","content":"def parse(s):\n\treturn int(s)\n"}`)})
	s.tell(event.ToolDone, trial(0, 1), event.Tool{ToolName: "write_file", DurationMS: 3, Result: &event.ToolResult{Content: "16 bytes written"}})
	s.tell(event.CallStarted, trial(0, 1), event.Call{StepIndex: 2})
	s.tell(event.CallFailed, trial(0, 1), event.CallError{Code: "rate_limit", Status: 429, Message: "slow down", Try: 1})
	s.tell(event.CallRetried, trial(0, 1), event.CallError{Code: "rate_limit", Status: 429, Message: "slow down", Try: 1, WaitMS: 1500})
	s.tell(event.OutputDelta, trial(0, 1), event.TextDelta{StreamKind: "text", TextDelta: "The parser took the empty text for a number"})
	s.trialStarts(1, 2)
	held := s.at.Add(time.Minute)
	s.tell(event.RunPaced, event.Event{}, event.Pacing{Provider: "openai", Model: "gpt-4.1", Window: 3, UnderWay: 2, HeldUntil: &held})
	return state.Snapshot()
}

func TestDrawGolden(t *testing.T) {
	t.Parallel()
	later := noon.Add(95 * time.Second)
	states := map[string]tui.State{"waiting": {}, "busy": busy(), "crowd": crowd(), "finished": finished(), "talking": talking()}
	for name, state := range states {
		for _, size := range [][2]int{{80, 24}, {160, 48}, {40, 10}} {
			got := draw(state, tui.Frame{Width: size[0], Height: size[1], Now: later})
			tuitest.Golden(t, *update, fmt.Sprintf("%s.%dx%d", name, size[0], size[1]), got)
		}
	}
	for name, change := range map[string]func(*tui.Frame){
		"help":     func(f *tui.Frame) { f.Help = true },
		"stopping": func(f *tui.Frame) { f.Stopping = true },
		"question": func(f *tui.Frame) { f.Question = "cancel case-3#1 of model-a?" },
		"filter":   func(f *tui.Frame) { f.Filter, f.Filtering = "invalid", "/ invalid" },
		"nothing":  func(f *tui.Frame) { f.Filter = "no such" },
		"color":    func(f *tui.Frame) { f.Color = true },
	} {
		f := tui.Frame{Width: 80, Height: 24, Now: later}
		change(&f)
		tuitest.Golden(t, *update, "busy."+name+".80x24", draw(busy(), f))
	}
	for name, f := range map[string]tui.Frame{
		"lanes":    {Focus: tui.OnLanes, Lanes: widget.List{Cursor: 15}},
		"scrolled": {Trials: widget.List{Cursor: 30}},
	} {
		f.Width, f.Height, f.Now = 80, 24, later
		tuitest.Golden(t, *update, "crowd."+name+".80x24", draw(crowd(), f))
	}
	open := tui.Frame{Width: 80, Height: 24, Now: later, Open: true}
	tuitest.Golden(t, *update, "talking.open.80x24", draw(talking(), open))
	open.Width, open.Height = 80, 50
	open.Open = false
	tuitest.Golden(t, *update, "talking.below.80x50", draw(talking(), open))
}

// Whatever the facts and the size, the screen fits the terminal and holds
// nothing that a terminal would obey.
func TestDrawFits(t *testing.T) {
	t.Parallel()
	states := []tui.State{{}, busy(), crowd(), finished(), talking(), hostile()}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		f := tui.Frame{Width: random.IntN(140), Height: random.IntN(50), Now: noon.Add(time.Duration(random.IntN(1e6)) * time.Second),
			Focus: tui.Focus(random.IntN(3)), Help: random.IntN(9) == 0, Stopping: random.IntN(9) == 0, Open: random.IntN(4) == 0,
			Lanes: widget.List{Cursor: random.IntN(30), Top: random.IntN(30)}, Trials: widget.List{Cursor: random.IntN(50), Top: random.IntN(50)},
			Filter: []string{"", "", "model-b", "fail", "\x1b[31m"}[random.IntN(5)]}
		i := random.IntN(len(states))
		got := draw(states[i], f)
		lines := strings.Split(got, "\n")
		if f.Width > 0 && f.Height > 0 && len(lines) != f.Height {
			t.Fatalf("state %d, %+v: got %d lines", i, f, len(lines))
		}
		for _, line := range lines {
			if w := view.Width(line); w > f.Width {
				t.Fatalf("state %d, %+v: line of %d cells: %q", i, f, w, line)
			}
			for _, r := range line {
				if unicode.IsControl(r) || r == '\u202e' {
					t.Fatalf("state %d, %+v: %q in %q", i, f, r, line)
				}
			}
		}
	}
}

// hostile is a run whose every name and text is out to harm.
func hostile() tui.State {
	evil := "\x1b[2J\x1b]0;owned\a\u202e数\r\n\t\u009b31m" + strings.Repeat("x数", 5000)
	var state tui.State
	s := newStory(into(&state))
	s.tell(event.RunStarted, event.Event{}, event.RunStart{Pack: event.PackRef{Slug: evil}, InputSet: evil, Sandbox: evil,
		Agents: []event.AgentRef{{ID: "agent0", Label: evil, Model: evil}}, Cases: 1, Repetitions: 3, Trials: 3})
	e := trial(0, 1)
	e.CaseKey = evil
	end := invalid()
	end.Code, end.Phase, end.Reason = evil, evil, evil
	s.tell(event.TrialDone, e, end)
	e.TrialID = "another"
	state.Watch("another")
	s.tell(event.CallStarted, e, event.Call{Messages: []provider.Message{{Role: "user", Content: evil}}})
	for _, piece := range []string{"\x1b", "]0;owned", "\a", evil} { // a sequence that comes in pieces
		s.tell(event.OutputDelta, e, event.TextDelta{TextDelta: piece})
	}
	s.tell(event.ToolStarted, e, event.Tool{ToolName: evil, Arguments: json.RawMessage(`{"a\u001b[2J":"\u001b[31m\r\n\u202e"}`)})
	s.tell(event.ToolFailed, e, event.Tool{ToolName: evil, Result: &event.ToolResult{Content: evil}})
	s.tell(event.RunPaced, event.Event{}, event.Pacing{Provider: evil, Model: evil, Account: evil})
	return state.Snapshot()
}

func TestTheBarIsFullWhenAllIsDoneAndNotBefore(t *testing.T) {
	t.Parallel()
	for _, done := range []int{0, 1, 2, 3} {
		state := tui.State{Trials: 3, Passed: min(done, 1), Failed: max(0, done-1)}
		bar := strings.Split(draw(state, tui.Frame{Width: 20, Height: 5, Now: noon}), "\n")[1]
		if open := strings.Contains(bar, "░"); open == (done == 3) {
			t.Errorf("%d of 3 done: got %q", done, bar)
		}
		if got := view.Width(bar); got != 20 {
			t.Errorf("%d of 3 done: bar of %d cells, want 20", done, got)
		}
	}
}

// A message that is written hides nothing of what it answers.
func TestDrawKeepsTheEndOfTheTranscriptAboveAMessage(t *testing.T) {
	t.Parallel()
	to := &tui.Awaited{TrialID: "trial0-1", Name: "case-1#1", Said: "Which one?"}
	lines := strings.Split(draw(talking(), tui.Frame{Width: 80, Height: 24, Now: noon, Open: true, To: to, Input: "> this"}), "\n")
	if got, want := strings.Join(lines[19:], "|"), "The parser took the empty text for a number||To model-a, case-1#1 · enter sends, esc leaves|it said: Which one?|> this"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
