package tui_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/engine/event"
)

// paged is a screen without a terminal, of a run that is told to it.
func paged(o tui.Options) (*tui.Page, *story) {
	o.Now = func() time.Time { return noon }
	s := tui.New(o)
	return tui.NewPage(s, 80, 24), newStory(func(e event.Event) { _ = s.Emit(context.Background(), e) })
}

func keysOf(text string) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text)} }

func last(page string) string {
	lines := strings.Split(ansi.Strip(page), "\n")
	return lines[len(lines)-1]
}

// What is being written follows the width of the terminal, with its end in sight.
func TestAWrittenLineFollowsTheWidth(t *testing.T) {
	t.Parallel()
	page, told := paged(tui.Options{People: tui.People{Answer: func(tui.Awaited, string) error { return nil }}})
	told.starts(1, 2)
	told.trialStarts(0, 0)
	told.tell(event.TurnAwaiting, trial(0, 0), event.HumanWait{TurnIndex: 3, TimeoutMS: 90_000})
	page.Paint(noon)
	for _, begin := range []string{"/", "a"} {
		page.Take(keysOf(begin))
		page.Take(keysOf(strings.Repeat("words ", 20) + "end"))
		for _, width := range []int{40, 12, 1, 100, 30} {
			shown := last(page.Take(tea.WindowSizeMsg{Width: width, Height: 24}))
			if ansi.StringWidth(shown) > width {
				t.Errorf("%s at %d columns: %q is wider", begin, width, shown)
			}
			if width >= 12 && !strings.Contains(shown, "end") {
				t.Errorf("%s at %d columns: the end is not seen in %q", begin, width, shown)
			}
		}
		page.Take(tea.KeyMsg{Type: tea.KeyEsc})
	}
}

// Before the run has said how many trials run at once, nothing can be one more.
func TestConcurrencyIsNotRaisedBeforeItIsKnown(t *testing.T) {
	t.Parallel()
	c := steered{asked: make(chan string, 9)}
	page, told := paged(tui.Options{Controls: c})
	for _, key := range []string{"+", "-"} {
		if shown := last(page.Take(keysOf(key))); shown != "the run has not begun" {
			t.Errorf("%s: got %q", key, shown)
		}
	}
	told.tell(event.RunStarted, event.Event{}, event.RunStart{Trials: 8, Concurrency: 8})
	page.Paint(noon)
	if shown := last(page.Take(keysOf("+"))); strings.Contains(shown, "not begun") {
		t.Errorf("afterwards: got %q", shown)
	}
}

// An agent whose name another's begins with has its own trials alone.
func TestEnterOnAnAgentShowsItsTrialsOnly(t *testing.T) {
	t.Parallel()
	page, told := paged(tui.Options{})
	for i, label := range []string{"gpt", "gpt-mini"} {
		told.agents = append(told.agents, event.AgentRef{ID: trial(i, 0).RunAgentID, Label: label})
	}
	told.tell(event.RunStarted, event.Event{}, event.RunStart{Agents: told.agents, Trials: 4, Cases: 2, Repetitions: 1})
	told.ends(0, 0, passed())
	told.ends(1, 1, passed())
	page.Paint(noon)
	page.Take(tea.KeyMsg{Type: tea.KeyTab})
	shown := ansi.Strip(page.Take(tea.KeyMsg{Type: tea.KeyEnter}))
	if !strings.Contains(shown, "case-0#1") || strings.Contains(shown, "case-1#1") {
		t.Errorf("got trials of others, or none:\n%s", shown)
	}
}

// That a conversation does not wait any more is said until the next key, not for good.
func TestWhatIsSaidOfAMessageGoesAway(t *testing.T) {
	t.Parallel()
	page, told := paged(tui.Options{People: tui.People{Answer: func(tui.Awaited, string) error { return nil }}})
	told.starts(1, 2)
	told.trialStarts(0, 0)
	told.tell(event.TurnAwaiting, trial(0, 0), event.HumanWait{TurnIndex: 3, TimeoutMS: 90_000})
	page.Paint(noon)
	page.Take(keysOf("a"))
	told.tell(event.TurnExpired, trial(0, 0), event.HumanWait{TurnIndex: 3})
	if shown := last(page.Paint(noon)); shown != "case-0#1 does not wait any more" {
		t.Errorf("got %q", shown)
	}
	if shown := last(page.Take(keysOf("j"))); !strings.HasPrefix(shown, "q stop") {
		t.Errorf("after a key: got %q", shown)
	}
}

// What there is to know does not take the place of how to stop, at any size.
func TestNewsLeaveTheKeysInSight(t *testing.T) {
	t.Parallel()
	s := tui.New(tui.Options{Now: func() time.Time { return noon }})
	page, told := tui.NewPage(s, 80, 24), newStory(func(e event.Event) { _ = s.Emit(context.Background(), e) })
	told.starts(1, 2)
	told.trialStarts(0, 0)
	s.Note("pulling the image\x1b[2J of all images")
	for _, awaited := range []bool{false, true} {
		want := "pulling the image"
		if awaited {
			told.tell(event.TurnAwaiting, trial(0, 0), event.HumanWait{TurnIndex: 3, TimeoutMS: 90_000})
			want = "a answer"
		}
		page.Paint(noon)
		for _, size := range [][2]int{{80, 24}, {160, 48}, {80, 14}, {40, 10}} {
			shown := ansi.Strip(page.Take(tea.WindowSizeMsg{Width: size[0], Height: size[1]}))
			if !strings.HasPrefix(last(shown), "q stop · ") || !strings.Contains(shown, want) {
				t.Errorf("at %v:\n%s", size, shown)
			}
			if awaited && size[0] > 40 && !strings.Contains(shown, "waits for you") {
				t.Errorf("nobody is said to wait at %v:\n%s", size, shown)
			}
		}
	}
}

// Whoever filters wants to see the trials, not the help.
func TestFilterLeavesTheHelp(t *testing.T) {
	t.Parallel()
	page, told := paged(tui.Options{})
	told.starts(1, 2)
	told.ends(0, 0, passed())
	page.Paint(noon)
	page.Take(keysOf("?"))
	if shown := ansi.Strip(page.Take(keysOf("/"))); !strings.Contains(shown, "case-0#1") {
		t.Errorf("got\n%s", shown)
	}
}

// Nothing of what a person does, in whatever order and at whatever size, ends the
// screen, and no line is ever wider than the terminal, no page longer.
func TestNoKeysAtNoSizeBreakTheScreen(t *testing.T) {
	t.Parallel()
	names := []string{"/", "a", "x", "y", "n", "p", "+", "-", "R", "o", "m", "?", "j", "k", "g", "G", "q"}
	types := []tea.KeyType{tea.KeyEnter, tea.KeyEsc, tea.KeyTab, tea.KeyShiftTab, tea.KeyPgUp, tea.KeyPgDown, tea.KeyHome, tea.KeyEnd, tea.KeyUp, tea.KeyDown, tea.KeyBackspace, tea.KeyCtrlV}
	sizes := [][2]int{{80, 24}, {20, 5}, {1, 1}, {0, 0}, {3, 2}, {160, 48}, {40, 10}, {120, 3}, {5, 60}}
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 7))
		page, told := paged(tui.Options{Controls: steered{asked: make(chan string, 1<<10)},
			People: tui.People{Answer: func(tui.Awaited, string) error { return nil }, Manual: func(bool) {}}})
		told.starts(3, 40)
		size := sizes[0]
		for range 400 {
			shown := ""
			switch n := rng.IntN(40); rng.IntN(6) {
			case 0:
				size = sizes[rng.IntN(len(sizes))]
				shown = page.Take(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			case 1:
				lane := rng.IntN(3)
				told.trialStarts(lane, n)
				told.tell(event.OutputDelta, trial(lane, n), event.TextDelta{TextDelta: strings.Repeat("a\x1b[31m \u202eb e\u0301 \u5b57 ", rng.IntN(9))})
				told.tell(event.TurnAwaiting, trial(lane, n), event.HumanWait{TurnIndex: n, TimeoutMS: 90_000})
				shown = page.Paint(told.at)
			case 2:
				told.ends(rng.IntN(3), n, []event.TrialEnd{passed(), failed(), invalid()}[n%3])
				shown = page.Paint(told.at)
			case 3:
				shown = page.Take(tea.KeyMsg{Type: types[n%len(types)]})
			case 4:
				shown = page.Take(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(strings.Repeat("p\x1b\n\u202e\u5b57 ", 100)), Paste: true})
			default:
				shown = page.Take(keysOf(names[n%len(names)]))
			}
			lines := strings.Split(shown, "\n")
			if size[0] > 0 && size[1] > 0 && len(lines) > size[1] {
				t.Fatalf("seed %d: %d lines at %v", seed, len(lines), size)
			}
			for _, l := range lines {
				if ansi.StringWidth(l) > size[0] {
					t.Fatalf("seed %d: %q is wider than %v", seed, l, size)
				}
			}
		}
		if err := page.Failure(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
