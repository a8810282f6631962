package tui_test

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/engine/event"
)

// sent is a message that was sent to a conversation.
type sent struct {
	trial   string
	turn    int
	message string
}

// waits is a screen of a run in which two conversations wait for a person.
func waits(t *testing.T, answer func(sent) error) (*shown, *story, *atomic.Bool) {
	t.Helper()
	manual := &atomic.Bool{}
	s := &shown{page: &page{}, result: make(chan error, 1)}
	s.Screen = tui.New(tui.Options{Width: 100, Height: 24, Now: func() time.Time { return noon }, People: tui.People{
		Answer: func(to tui.Awaited, message string) error { return answer(sent{to.TrialID, to.Turn, message}) },
		Manual: manual.Store,
	}})
	in, keys := io.Pipe()
	s.keys = keys
	t.Cleanup(func() { keys.Close() })
	go func() { s.result <- s.Run(t.Context(), in, s.page) }()
	story := newStory(func(e event.Event) { _ = s.Emit(t.Context(), e) })
	story.starts(1, 3)
	for n := range 2 {
		story.trialStarts(0, n)
		story.tell(event.TurnAssistant, trial(0, n), event.AssistantTurn{Content: "Which \x1b[31mone?"})
		story.tell(event.TurnAwaiting, trial(0, n), event.HumanWait{TurnIndex: 3, PhaseID: "person", PromptHint: "say \x1b]0;no", TimeoutMS: 90_000})
	}
	return s, story, manual
}

func TestAPersonAnswersOnTheScreen(t *testing.T) {
	t.Parallel()
	got := make(chan sent, 4)
	s, _, _ := waits(t, func(m sent) error { got <- m; return nil })
	s.page.waitFor(t, "model-a, case-0#1 waits for you")
	s.page.waitFor(t, "a answer")
	s.press(t, "a")
	s.page.waitFor(t, "enter sends, esc leaves")
	s.press(t, "the quick a")
	s.press(t, "\x7fone?\r")
	if diff := cmp.Diff(sent{"trial0-0", 3, "the quick one?"}, <-got, cmp.AllowUnexported(sent{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.press(t, "a") // quickly, before its fact has come; tab goes to the next
	s.press(t, "\tto the next\r")
	if diff := cmp.Diff(sent{"trial0-1", 3, "to the next"}, <-got, cmp.AllowUnexported(sent{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Close()
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
}

func TestKeysAreKeysAgainAfterAMessage(t *testing.T) {
	t.Parallel()
	s, story, manual := waits(t, func(sent) error { return errors.New("it has\nexpired") })
	s.page.waitFor(t, "waits for you")
	s.press(t, "aq?m") // written, not done
	s.page.waitFor(t, "q?m")
	again := func(key, text string) { // which has been painted before
		before := len(s.page.String())
		s.press(t, key)
		for start := time.Now(); !strings.Contains(s.page.String()[before:], text); time.Sleep(5 * time.Millisecond) {
			if time.Since(start) > time.Minute {
				t.Fatalf("%q was not painted again", text)
			}
		}
	}
	again("\x1b", "q stop") // leaves it
	s.press(t, "m")
	s.press(t, "ax\r")
	s.page.waitFor(t, "not sent: it has expired")
	if !manual.Load() {
		t.Error("m is no key any more")
	}
	again("a", "To model-a, case-0#1")
	story.tell(event.TurnExpired, trial(0, 0), event.HumanWait{TurnIndex: 3})
	story.tell(event.TurnExpired, trial(0, 1), event.HumanWait{TurnIndex: 3})
	s.page.waitFor(t, "does not wait any more")
	s.press(t, "q")
	s.page.waitFor(t, "again leaves now")
	s.press(t, "q")
	if err := s.wait(t); !errors.Is(err, tui.ErrLeave) {
		t.Errorf("got %v", err)
	}
}
