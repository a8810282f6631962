package tui_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
)

// steered are controls that say what was asked of them.
type steered struct {
	asked  chan string
	fail   error
	panics bool
}

func (s steered) Pause(paused bool) {
	if s.panics {
		panic("a bug")
	}
	s.asked <- fmt.Sprint("pause ", paused)
}
func (s steered) SetConcurrency(n int) { s.asked <- fmt.Sprint("concurrency ", n) }
func (s steered) CancelTrial(id string) error {
	s.asked <- "cancel " + id
	return s.fail
}
func (s steered) RetryInvalid() (int, error) {
	s.asked <- "retry"
	return 3, s.fail
}

// keyed is a screen of a run of two lanes with a keyboard.
func keyed(t *testing.T, o tui.Options) (*shown, *story) {
	t.Helper()
	o.Width, o.Height = 80, 24
	o.Now = func() time.Time { return noon.Add(time.Minute) }
	s := &shown{page: &page{}, result: make(chan error, 1)}
	s.Screen = tui.New(o)
	in, keys := io.Pipe()
	s.keys = keys
	t.Cleanup(func() { keys.Close() })
	go func() { s.result <- s.Run(t.Context(), in, s.page) }()
	t.Cleanup(func() { s.Close() })
	told := newStory(func(e event.Event) { _ = s.Emit(t.Context(), e) })
	told.starts(2, 10)
	return s, told
}

func want(t *testing.T, got <-chan string, want string) {
	t.Helper()
	select {
	case got := <-got:
		if got != want {
			t.Errorf("got %q asked, want %q", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("%q was never asked", want)
	}
}

func TestKeysSteerTheRun(t *testing.T) {
	t.Parallel()
	c := steered{asked: make(chan string)} // which takes its time
	s, told := keyed(t, tui.Options{Controls: c, Report: func(context.Context) (string, error) { return "file:///r\x1b[2Jeport.html", nil }})
	told.tell(event.RunAdjusted, event.Event{}, event.Adjustment{Concurrency: 4})
	told.trialStarts(0, 1)
	told.trialStarts(1, 1)
	s.page.waitFor(t, "concurrency 4")
	s.press(t, "p+++-p") // each counts, in this order, before any of it is stated
	for _, asked := range []string{"pause true", "concurrency 5", "concurrency 6", "concurrency 7", "concurrency 6", "pause false"} {
		want(t, c.asked, asked)
	}
	told.tell(event.RunAdjusted, event.Event{}, event.Adjustment{Action: event.ActionPaused, Paused: true, Concurrency: 6})
	s.page.waitFor(t, "paused  ")
	s.page.waitFor(t, "concurrency 6")
	s.page.waitFor(t, "p resume")
	s.press(t, "R")
	want(t, c.asked, "retry")
	s.page.waitFor(t, "3 invalid trials will be run again")
	s.press(t, "jx")
	s.page.waitFor(t, "cancel case-1#1 of model-b? y/n")
	s.press(t, "n")
	s.press(t, "xy")
	want(t, c.asked, "cancel trial1-1")
	s.page.waitFor(t, "case-1#1 is being cancelled")
	s.press(t, "x")
	told.ends(1, 1, passed())
	s.page.waitFor(t, "case-1#1 has ended")
	s.press(t, "x") // the cursor has stayed with it
	s.page.waitFor(t, "does not run: there is nothing to cancel")
	s.press(t, "o")
	s.page.waitFor(t, "report: file:///report.html")
}

func TestKeysSayWhatCannotBeDone(t *testing.T) {
	t.Parallel()
	c := steered{asked: make(chan string, 9), fail: errors.New("the run\nis ending")}
	s, told := keyed(t, tui.Options{Controls: c})
	told.trialStarts(0, 1)
	s.page.waitFor(t, "case-1#1")
	s.press(t, "R")
	s.page.waitFor(t, "not run again: the run is ending")
	s.press(t, "xy")
	s.page.waitFor(t, "not cancelled: the run is ending")
	s.press(t, "o")
	s.page.waitFor(t, "there is no report of this run to open yet")
	none, _ := keyed(t, tui.Options{})
	for _, key := range []string{"p", "+", "-", "R", "x"} {
		none.press(t, key)
	}
	none.page.waitFor(t, "this run cannot be steered from here")
}

func TestATrialStaysSelectedWithItsTranscript(t *testing.T) {
	t.Parallel()
	s, told := keyed(t, tui.Options{})
	for n := range 3 {
		told.trialStarts(0, n)
		told.tell(event.CallStarted, trial(0, n), event.Call{Messages: []provider.Message{{Role: "user", Content: fmt.Sprintf("question %d", n)}}})
	}
	s.page.waitFor(t, "case-2#1")
	s.press(t, "j\r") // the second
	s.page.waitFor(t, "question 1")
	told.tell(event.OutputDelta, trial(0, 1), event.TextDelta{TextDelta: "I am "})
	s.page.waitFor(t, "I am")
	told.tell(event.OutputDelta, trial(0, 1), event.TextDelta{TextDelta: "writing"})
	s.page.waitFor(t, "I am writing")
	told.ends(0, 0, passed()) // moves what stands below
	told.ends(0, 1, failed())
	s.page.waitFor(t, "· trial: failed")
	s.press(t, "\x1b")
	s.page.waitFor(t, "› case-1#1")
	s.press(t, "k\r") // one that ended before anybody looked has none
	s.page.waitFor(t, "question 2")
	s.press(t, "\x1b")
	s.press(t, "/passed\r\r")
	s.page.waitFor(t, "Its transcript is in the store")
	if text := s.page.String(); strings.Contains(text, "question 0") {
		t.Error("the transcript of a trial that was never selected was shown")
	}
}

func TestFilterOfTrials(t *testing.T) {
	t.Parallel()
	s, told := keyed(t, tui.Options{})
	for n := range 20 {
		told.ends(0, n, failed())
		told.ends(1, n, passed())
	}
	s.page.waitFor(t, "of 40")
	s.press(t, "/outcome:FAILED cas")
	s.press(t, "e-1")
	s.page.waitFor(t, "/ outcome:FAILED case-1")
	s.page.waitFor(t, "› case-19#1")
	s.press(t, "\r\x7f") // no key of the line any more
	s.page.waitFor(t, "esc all trials")
	s.press(t, "/qqq") // not stopped by it
	s.page.waitFor(t, "no trial matches")
	s.press(t, "\x1b")
	s.page.waitFor(t, "/ filter")
	if text := s.page.String(); strings.Contains(text, "stopping") {
		t.Error("a letter of the filter stopped the run")
	}
}
