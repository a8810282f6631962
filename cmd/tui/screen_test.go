package tui_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/engine/event"
)

// page collects what is painted.
type page struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

// waitFor waits until the page holds a text.
func (p *page) waitFor(t *testing.T, text string) {
	t.Helper()
	for start := time.Now(); !strings.Contains(p.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%q was never painted; got %q", text, p.String())
		}
	}
}

// shown is a screen that is being run with a keyboard.
type shown struct {
	*tui.Screen
	keys        *io.PipeWriter
	page        *page
	result      chan error
	interrupted atomic.Int32
}

func show(t *testing.T, ctx context.Context, change func(*tui.Screen)) *shown {
	t.Helper()
	s := &shown{page: &page{}, result: make(chan error, 1)}
	s.Screen = tui.New(tui.Options{Width: 80, Height: 24, Now: func() time.Time { return noon },
		Interrupt: func() { s.interrupted.Add(1) }})
	change(s.Screen)
	in, keys := io.Pipe()
	s.keys = keys
	t.Cleanup(func() { keys.Close() })
	go func() { s.result <- s.Run(ctx, in, s.page) }()
	return s
}

func (s *shown) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		t.Fatal(err)
	}
}

func (s *shown) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.result:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("the screen did not end")
		return nil
	}
}

// restored says whether the last words to the terminal gave it back.
func restored(text string) bool {
	return strings.LastIndex(text, "\x1b[?1049l") > strings.LastIndex(text, "\x1b[?1049h") &&
		strings.LastIndex(text, "\x1b[?25h") > strings.LastIndex(text, "\x1b[?25l")
}

func asIs(*tui.Screen) {}

func TestTheScreenEndsWithTheRun(t *testing.T) {
	t.Parallel()
	s := show(t, t.Context(), asIs)
	story := newStory(func(e event.Event) {
		if err := s.Emit(t.Context(), e); err != nil {
			t.Error(err)
		}
	})
	story.starts(2, 3)
	s.page.waitFor(t, "fizz v2")
	story.tell(event.RunFinished, event.Event{}, event.RunEnd{Status: "completed"})
	if err := s.wait(t); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if !restored(s.page.String()) {
		t.Errorf("the terminal was not given back: %q", s.page.String())
	}
}

func TestTheScreenEndsWhenItIsClosed(t *testing.T) {
	t.Parallel()
	s := show(t, t.Context(), asIs)
	s.Close()
	s.Close()
	if err := s.wait(t); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestTheFirstStopAsksAndTheSecondLeaves(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"q", "\x03"} {
		s := show(t, t.Context(), asIs)
		s.page.waitFor(t, "q stop")
		s.press(t, key)
		s.page.waitFor(t, "again leaves now")
		s.press(t, key)
		if err := s.wait(t); !errors.Is(err, tui.ErrLeave) {
			t.Errorf("%q: got %v, want ErrLeave", key, err)
		}
		if got := s.interrupted.Load(); got != 1 {
			t.Errorf("%q: the engine was asked %d times, want once", key, got)
		}
		if !restored(s.page.String()) {
			t.Errorf("%q: the terminal was not given back", key)
		}
	}
}

// A slow engine does not hold up the screen.
func TestAskingTheEngineMayTakeItsTime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	p, result := &page{}, make(chan error, 1)
	screen := tui.New(tui.Options{Width: 80, Height: 24, Now: func() time.Time { return noon }, Interrupt: func() { <-release }})
	in, keys := io.Pipe()
	defer keys.Close()
	go func() { result <- screen.Run(t.Context(), in, p) }()
	p.waitFor(t, "q stop")
	if _, err := io.WriteString(keys, "qq"); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, tui.ErrLeave) {
		t.Errorf("got %v, want ErrLeave", err)
	}
}

func TestTheScreenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := show(t, ctx, asIs)
	s.page.waitFor(t, "q stop")
	cancel()
	if err := s.wait(t); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if !restored(s.page.String()) {
		t.Error("the terminal was not given back")
	}
}

func TestAPanicWhileDrawingGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	s := show(t, t.Context(), func(s *tui.Screen) {
		s.SetDraw(func(tui.State, tui.Frame) string { panic("a bug") })
	})
	err := s.wait(t)
	if want := "draw the follow screen: a bug"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
	if !restored(s.page.String()) {
		t.Errorf("the terminal was not given back: %q", s.page.String())
	}
	if err := s.Emit(t.Context(), event.Event{}); err != nil { // the run goes on
		t.Errorf("Emit after the screen failed: %v", err)
	}
}

func TestKeysScrollAndHelp(t *testing.T) {
	t.Parallel()
	s := show(t, t.Context(), asIs)
	story := newStory(func(e event.Event) { _ = s.Emit(t.Context(), e) })
	story.starts(2, 100)
	for n := range 60 {
		story.ends(0, n, failed())
	}
	s.page.waitFor(t, "TRIAL 1-11 of 60")
	s.press(t, "jjjjjjjjjjj") // which arrive together
	s.page.waitFor(t, "TRIAL 2-12 of 60")
	s.press(t, "G")
	s.page.waitFor(t, "TRIAL 50-60 of 60")
	s.press(t, "\t") // to the agents, and from there to one's trials
	s.page.waitFor(t, "▍ AGENT")
	s.press(t, "j\r")
	s.page.waitFor(t, "no trial matches agent:=model-b")
	s.press(t, "\x1b")
	s.press(t, "?")
	s.page.waitFor(t, "select, or scroll")
	s.Close()
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
}

// Facts may come from many trials at once while the screen paints.
func TestEmitIsSafeForConcurrentTrials(t *testing.T) {
	t.Parallel()
	s := show(t, t.Context(), asIs)
	story := newStory(func(e event.Event) { _ = s.Emit(t.Context(), e) })
	story.starts(4, 50)
	var wg sync.WaitGroup
	for lane := range 4 {
		wg.Go(func() {
			mine := newStory(func(e event.Event) { _ = s.Emit(context.Background(), e) })
			for n := range 50 {
				mine.trialStarts(lane, n)
				mine.step(lane, n, 1, "exec")
				mine.ends(lane, n, passed())
			}
		})
	}
	wg.Wait()
	s.page.waitFor(t, "200/200")
	s.Close()
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
}

// A terminal that takes nothing holds up the screen, never the run.
func TestEmitDoesNotWaitForTheTerminal(t *testing.T) {
	t.Parallel()
	screen := tui.New(tui.Options{Width: 80, Height: 24, Now: func() time.Time { return noon }})
	stuck, unstick := io.Pipe()
	result := make(chan error, 1)
	go func() { result <- screen.Run(t.Context(), strings.NewReader(""), unstick) }()
	story := newStory(func(e event.Event) { _ = screen.Emit(t.Context(), e) })
	story.starts(4, 500)
	for n := range 500 { // nobody reads; this returns all the same
		story.ends(0, n, passed())
	}
	go func() { _, _ = io.Copy(io.Discard, stuck) }()
	screen.Close()
	if err := <-result; err != nil {
		t.Error(err)
	}
}
