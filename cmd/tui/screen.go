package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentclash/agentclash/cmd/tui/terminal"
	"github.com/agentclash/agentclash/engine/event"
)

// ErrLeave is returned by [Screen.Run] when a person asked a second time to
// stop: the process is to leave now.
var ErrLeave = errors.New("left at once")

// Options are what a Screen takes from the world.
type Options struct {
	Color bool
	// Width and Height are the terminal's until it says otherwise; 80 by 24
	// when they are 0.
	Width, Height int
	Now           func() time.Time
	// Interrupt asks the engine to stop. It is called once, from a goroutine
	// of its own, and may take its time.
	Interrupt func()
	// Controls steer the run; nil: its keys say that this cannot be done here.
	Controls Controls
	// Report says where the run's report is; nil: it is not offered.
	Report func(context.Context) (string, error)
	// People is how a person takes part in conversations; zero: not at all.
	People People
}

// Screen shows a run as it goes on. It is an event.Sink that never waits for
// the terminal: facts are folded into a state, and the state is looked at
// five times a second and painted ten times at most.
type Screen struct {
	o    Options
	draw func(State, Frame) string

	mu     sync.Mutex
	state  State
	closed bool
	failed error              // what went wrong on the screen
	leave  context.CancelFunc // ends Run at once; nil before it
	ended  chan struct{}      // closed when Run has returned
}

// New makes a screen; nothing is shown until Run.
func New(o Options) *Screen {
	return &Screen{o: o, draw: Draw, ended: make(chan struct{})}
}

// Emit takes a fact into account. It returns nil and never waits for more than
// another fact being taken into account. A panic ends the screen, not the run.
func (s *Screen) Emit(_ context.Context, e event.Event) error {
	at := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return nil // the state may be half of what it was to be
	}
	defer func() {
		if what := recover(); what != nil {
			s.failed = failure(what)
		}
	}()
	s.state.Apply(e, at)
	return nil
}

// Close makes Run return. It may be called at any time, more than once, and
// need not be called after run.finished.
func (s *Screen) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Note shows a line until another takes its place.
func (s *Screen) Note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Note = clean(line)
	s.state.version++
}

// Leave gives the terminal back and returns when that is done, or a second later
// when the terminal takes nothing. It is for a process that is about to exit.
func (s *Screen) Leave() {
	s.mu.Lock()
	leave := s.leave
	s.mu.Unlock()
	if leave == nil {
		return
	}
	leave()
	select {
	case <-s.ended:
	case <-time.After(time.Second):
	}
}

// fail notes what went wrong on the screen; Run will return it.
func (s *Screen) fail(what any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = failure(what)
}

func failure(what any) error { return fmt.Errorf("draw the follow screen: %v", what) }

// guard has a panic in a command end the screen and not the process.
func (s *Screen) guard(do func() tea.Msg) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if what := recover(); what != nil {
				s.fail(what)
				msg = nil
			}
		}()
		return do()
	}
}

// look is a copy of the state, or what was seen before when nothing has changed
// since, and whether the screen has had its day.
func (s *Screen) look(seen State) (State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := s.closed || s.failed != nil || s.state.Status != ""
	if s.state.version == seen.version {
		return seen, done
	}
	return s.state.snapshot(), done
}

// watch keeps the transcript of a trial from now on.
func (s *Screen) watch(trialID string) Watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.watch(trialID)
	return s.state.Watched.snapshot()
}

func (s *Screen) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

const (
	// framesPerSecond is how often the screen is painted at most, such as after keys.
	framesPerSecond = 10
	// looksPerSecond is how often it looks for news.
	looksPerSecond = 5
)

// Run shows the screen until the run has finished, Close is called or ctx is
// done, and leaves the terminal as it was. The keys that stop do not end it:
// the first asks the engine through Interrupt, whose run.finished or Close
// ends it; the second returns ErrLeave. It is called once. Any other error means that the screen
// could not be shown; the run need not care.
func (s *Screen) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	within, leave := context.WithCancel(ctx)
	defer leave()
	s.mu.Lock()
	s.leave = leave
	s.mu.Unlock()
	defer close(s.ended)
	first := model{screen: s, ctx: ctx, painted: &painted{}, changes: 1,
		frame: Frame{Width: cmp.Or(s.o.Width, 80), Height: cmp.Or(s.o.Height, 24), Color: s.o.Color, Now: s.o.Now()}}
	last, err := terminal.Show(within, first, in, out, framesPerSecond)
	if failed := s.failure(); failed != nil {
		return failed
	}
	if within.Err() != nil {
		return within.Err()
	}
	if err != nil {
		return fmt.Errorf("show the follow screen: %w", err)
	}
	if m, ok := last.(model); ok && m.left {
		return ErrLeave
	}
	return nil
}
