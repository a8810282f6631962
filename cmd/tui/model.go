package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// model is the screen as Bubble Tea sees it: what was last looked at, and how
// it is to be drawn.
type model struct {
	screen *Screen
	state  State
	frame  Frame
	answer *answering // nil: no message is being written
	left   bool
}

// tick is the time to look at the state again.
type tick time.Time

func (m model) Init() tea.Cmd { return m.next() }

// next waits for the next frame.
func (m model) next() tea.Cmd {
	now := m.screen.o.Now
	return tea.Tick(time.Second/framesPerSecond, func(time.Time) tea.Msg { return tick(now()) })
}

// Update does no I/O: it looks at the state in memory, and what a key asks of
// the engine is a command.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tick:
		state, done := m.screen.look()
		if m.frame.Scroll > 0 && (m.frame.Focus == Balanced || m.frame.Focus == Problems) {
			m.frame.Scroll += state.Problem - m.state.Problem // new ones come in above what is being read
		}
		m.state, m.frame.Now = state, time.Time(msg)
		m = m.still()
		m.scroll(0)
		if done {
			return m, tea.Quit
		}
		return m, m.next()
	case tea.WindowSizeMsg:
		m.frame.Width, m.frame.Height = msg.Width, msg.Height
		m.scroll(0)
	case answered:
		m.frame.Refused = ""
		if msg.err != nil {
			m.frame.Refused = clean(msg.err.Error())
		}
	case tea.KeyMsg:
		if m.answer != nil {
			return m.write(msg)
		}
		return m.keys(msg)
	}
	return m, nil
}

// keys takes the keys of a message one by one: characters that were typed
// quickly arrive together. What is pasted is not typed.
func (m model) keys(msg tea.KeyMsg) (tea.Model, tea.Cmd) {
	if msg.Type != tea.KeyRunes {
		return m.key(msg.String())
	}
	if msg.Paste {
		return m, nil
	}
	var all []tea.Cmd
	for i, r := range msg.Runes {
		if m.answer != nil { // the rest is written
			written, cmd := m.write(tea.KeyMsg{Type: tea.KeyRunes, Runes: msg.Runes[i:]})
			return written, tea.Batch(append(all, cmd)...)
		}
		next, cmd := m.key(string(r))
		m, all = next, append(all, cmd)
	}
	return m, tea.Batch(all...)
}

func (m model) key(key string) (model, tea.Cmd) {
	switch key {
	case "q", "ctrl+c":
		return m.stop()
	case "?":
		m.frame.Help = !m.frame.Help
	case "esc":
		m.frame.Help = false
	case "tab":
		m.frame.Focus, m.frame.Scroll = (m.frame.Focus+1)%focuses, 0
	case "shift+tab":
		m.frame.Focus, m.frame.Scroll = (m.frame.Focus+focuses-1)%focuses, 0
	case "up", "k":
		m.scroll(-1)
	case "down", "j":
		m.scroll(1)
	case "pgup":
		m.scroll(-m.frame.Height / 2)
	case "pgdown":
		m.scroll(m.frame.Height / 2)
	case "home", "g":
		m.frame.Scroll = 0
	case "a":
		m = m.begin()
	case "m":
		if m.screen.o.People.Manual != nil {
			m.frame.Manual = !m.frame.Manual
			m.screen.o.People.Manual(m.frame.Manual)
		}
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
	return m, func() tea.Msg {
		m.screen.o.Interrupt()
		return nil
	}
}

// scroll moves by a number of entries, within what there is.
func (m *model) scroll(by int) {
	m.frame.Scroll = max(0, min(m.frame.Scroll+by, maxScroll(m.state, m.frame)))
}

// View is pure but for one thing: a panic while drawing is noted, so that the
// program ends in good order and the terminal is given back.
func (m model) View() (text string) {
	defer func() {
		if what := recover(); what != nil {
			m.screen.fail(what)
			text = ""
		}
	}()
	return m.screen.draw(m.state, m.frame)
}
