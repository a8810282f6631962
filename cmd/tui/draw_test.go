package tui_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// crowd is sixteen lanes, each with a trial running and failures behind it.
func crowd() tui.State {
	var state tui.State
	s := newStory(state.Apply)
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
	return state
}

func finished() tui.State {
	state := busy()
	s := newStory(state.Apply)
	s.at = noon.Add(90 * time.Second)
	s.tell(event.RunFinished, event.Event{}, event.RunEnd{Status: "cancelled", Reason: "interrupted"})
	return state
}

func TestDrawGolden(t *testing.T) {
	t.Parallel()
	later := noon.Add(95 * time.Second)
	states := map[string]tui.State{"waiting": {}, "busy": busy(), "crowd": crowd(), "finished": finished()}
	for name, state := range states {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 10}} {
			got := tui.Draw(state, tui.Frame{Width: size[0], Height: size[1], Now: later})
			golden(t, fmt.Sprintf("%s.%dx%d", name, size[0], size[1]), got+"\n")
		}
	}
	f := tui.Frame{Width: 80, Height: 24, Now: later}
	f.Help = true
	golden(t, "help.80x24", tui.Draw(busy(), f)+"\n")
	f.Help, f.Stopping = false, true
	golden(t, "stopping.80x24", tui.Draw(busy(), f)+"\n")
	for focus, name := range map[tui.Focus]string{tui.Lanes: "lanes", tui.RunningTrials: "running", tui.Problems: "problems"} {
		golden(t, "crowd."+name+".80x24", tui.Draw(crowd(), tui.Frame{Width: 80, Height: 24, Now: later, Focus: focus, Scroll: 2})+"\n")
	}
	golden(t, "busy.color.80x24", tui.Draw(busy(), tui.Frame{Width: 80, Height: 24, Now: later, Color: true})+"\n")
}

// Whatever the facts and the size, the screen fits the terminal and holds
// nothing that a terminal would obey.
func TestDrawFits(t *testing.T) {
	t.Parallel()
	states := []tui.State{{}, busy(), crowd(), finished(), hostile()}
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		f := tui.Frame{Width: random.IntN(140), Height: random.IntN(50), Now: noon.Add(time.Duration(random.IntN(1e6)) * time.Second),
			Focus: tui.Focus(random.IntN(4)), Scroll: random.IntN(100), Help: random.IntN(9) == 0, Stopping: random.IntN(9) == 0}
		i := random.IntN(len(states))
		got := tui.Draw(states[i], f)
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
	s := newStory(state.Apply)
	s.tell(event.RunStarted, event.Event{}, event.RunStart{Pack: event.PackRef{Slug: evil}, InputSet: evil, Sandbox: evil,
		Agents: []event.AgentRef{{ID: "agent0", Label: evil, Model: evil}}, Cases: 1, Repetitions: 3, Trials: 3})
	e := trial(0, 1)
	e.CaseKey = evil
	end := invalid()
	end.Code, end.Phase, end.Reason = evil, evil, evil
	s.tell(event.TrialDone, e, end)
	e.TrialID = "another"
	s.tell(event.ToolStarted, e, event.Tool{ToolName: evil, Arguments: json.RawMessage(`{}`)})
	return state
}

func TestTheBarIsFullWhenAllIsDoneAndNotBefore(t *testing.T) {
	t.Parallel()
	for _, done := range []int{0, 1, 2, 3} {
		state := tui.State{Trials: 3, Passed: min(done, 1), Failed: max(0, done-1)}
		bar := strings.Split(tui.Draw(state, tui.Frame{Width: 20, Height: 5, Now: noon}), "\n")[1]
		if open := strings.Contains(bar, "░"); open == (done == 3) {
			t.Errorf("%d of 3 done: got %q", done, bar)
		}
		if got := view.Width(bar); got != 20 {
			t.Errorf("%d of 3 done: bar of %d cells, want 20", done, got)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	state := crowd()
	for b.Loop() {
		tui.Draw(state, tui.Frame{Width: 160, Height: 48, Now: noon, Color: true})
	}
}

func BenchmarkEmit(b *testing.B) {
	s := tui.New(tui.Options{Now: func() time.Time { return noon }})
	story := newStory(func(e event.Event) { _ = s.Emit(b.Context(), e) })
	story.starts(16, 625)
	for b.Loop() { // the facts of one short trial
		story.trialStarts(1, 1)
		story.step(1, 1, 1, "exec")
		story.ends(1, 1, passed())
	}
}
