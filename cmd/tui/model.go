package tui

import (
	"context"
	"time"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// model is the screen as Bubble Tea sees it: what was last looked at, and how
// it is to be drawn.
type model struct {
	screen   *Screen
	ctx      context.Context // of Run
	state    State
	done     bool // the screen has had its day
	frame    Frame
	picked   Row              // that a person selected; the zero value follows the first
	answer   *answering       // nil: no message is being written
	filter   *textinput.Model // nil: no filter is being written
	question *question        // nil: nothing is asked of the person
	asks     []ask            // of the run; the first is under way
	wish     wish
	left     bool
	painted  *painted
	changes  int // of what is drawn
}

// painted is the last picture, and after how many changes it was drawn.
type painted struct {
	text    string
	changes int
}

// tick is the time to look at the state again.
type tick time.Time

func (m model) Init() tea.Cmd { return m.next() }

// next waits until it is time to look again.
func (m model) next() tea.Cmd {
	now := m.screen.o.Now
	return tea.Tick(time.Second/looksPerSecond, func(time.Time) tea.Msg { return tick(now()) })
}

// Update does no I/O: it looks at the state in memory, and what a key asks of
// the engine is a command. A panic ends the screen in good order.
func (m model) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	defer func() {
		if what := recover(); what != nil {
			m.screen.fail(what)
			next, cmd = m, tea.Quit
		}
	}()
	if at, is := msg.(tick); is {
		return m.tick(time.Time(at))
	}
	m, cmd = m.take(msg)
	return m.settle(), cmd
}

// tick looks for news. Clocks show whole seconds: without news there is something
// to draw once a second.
func (m model) tick(now time.Time) (model, tea.Cmd) {
	seconds := m.frame.Now.Unix()
	m.frame.Now = now
	before := m.state.version
	if m = m.look(); m.state.version != before || now.Unix() != seconds {
		m = m.still().settle()
	}
	if m.done {
		return m, tea.Quit
	}
	return m, m.next()
}

// look takes the state as it is now.
func (m model) look() model {
	m.state, m.done = m.screen.look(m.state)
	return m
}

// take takes what came from the terminal, or from what was asked.
func (m model) take(msg tea.Msg) (model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.frame.Width, m.frame.Height = msg.Width, msg.Height
		return m.fit(), nil
	case asked:
		return m.heard(msg)
	case answered:
		if msg.err != nil {
			m.frame.Notice = "not sent: " + clean(msg.err.Error())
		}
	case tea.KeyMsg:
		return m.keys(msg)
	}
	return m, nil
}

// keys takes the keys of a message one by one: characters that were typed
// quickly arrive together. What is pasted is not typed.
func (m model) keys(msg tea.KeyMsg) (model, tea.Cmd) {
	if m.answer != nil {
		return m.write(msg)
	}
	if m.filter != nil {
		return m.writeFilter(msg)
	}
	if msg.Type != tea.KeyRunes {
		return m.key(msg.String())
	}
	if msg.Paste {
		return m, nil
	}
	var all []tea.Cmd
	for i, r := range msg.Runes {
		if m.answer != nil || m.filter != nil { // the rest is written
			written, cmd := m.keys(tea.KeyMsg{Type: tea.KeyRunes, Runes: msg.Runes[i:]})
			return written, tea.Batch(append(all, cmd)...)
		}
		next, cmd := m.settle().key(string(r))
		m, all = next, append(all, cmd)
	}
	return m, tea.Batch(all...)
}

func (m model) key(key string) (model, tea.Cmd) {
	if m.question != nil {
		return m.decide(key)
	}
	m.frame.Notice = ""
	switch key {
	case "q", "ctrl+c":
		return m.stop()
	case "p", "+", "=", "-", "R", "x":
		return m.steer(key)
	case "o":
		return m.report()
	case "?":
		m.frame.Help = !m.frame.Help
	case "a":
		return m.begin(), nil
	case "m":
		if m.screen.o.People.Manual != nil {
			m.frame.Manual = !m.frame.Manual
			m.screen.o.People.Manual(m.frame.Manual)
		}
	case "/":
		return m.beginFilter(), nil
	default:
		return m.move(key), nil
	}
	return m, nil
}

// stop asks the engine once, and leaves when asked again.
func (m model) stop() (model, tea.Cmd) {
	if m.frame.Stopping {
		m.left = true
		return m, tea.Quit
	}
	m.frame.Stopping, m.frame.Help = true, false
	if m.screen.o.Interrupt == nil {
		return m, nil
	}
	return m, m.screen.guard(func() tea.Msg {
		m.screen.o.Interrupt()
		return nil
	})
}

// settle brings the frame in line with the state: the trial that a person selected
// stays selected wherever it stands now, and its transcript is the one that is kept.
func (m model) settle() model {
	m.changes++
	m.frame = Arrange(m.state, m.frame)
	if at := m.frame.find(m.state, m.picked); at >= 0 {
		m.frame.Trials = m.frame.Trials.Follow(at)
		m.frame = Arrange(m.state, m.frame)
	} else if m.picked == (Row{}) && m.frame.Trials.Cursor > 0 {
		m.frame.Trials.Cursor, m.frame.Trials.Top = 0, 0
		m.frame = Arrange(m.state, m.frame)
	} else if m.picked != (Row{}) {
		m.picked = m.frame.Selected.key()
	}
	if id := m.frame.Selected.TrialID; id != m.state.Watched.TrialID {
		m.state.Watched = m.screen.watch(id)
		m.frame.Transcript = nil
		m.frame = Arrange(m.state, m.frame)
	}
	if m.frame.Focus == OnTranscript && m.frame.layout(m.state).transcript == 0 {
		m.frame.Focus = OnTrials
	}
	return m
}

// View draws what has changed. A panic while drawing is noted, so that the program
// ends in good order and the terminal is given back.
func (m model) View() (text string) {
	if m.painted.changes == m.changes {
		return m.painted.text
	}
	defer func() {
		if what := recover(); what != nil {
			m.screen.fail(what)
			text = ""
		}
		*m.painted = painted{text, m.changes}
	}()
	return m.screen.draw(m.state, m.frame)
}
