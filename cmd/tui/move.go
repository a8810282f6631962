package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentclash/agentclash/cmd/tui/widget"
)

// all is further than any list goes.
const all = 1 << 20

// move takes the keys that move within the screen.
func (m model) move(key string) model {
	f := &m.frame
	switch key {
	case "up", "k":
		return m.by(-1)
	case "down", "j":
		return m.by(1)
	case "pgup":
		return m.by(-max(1, f.body()/2))
	case "pgdown":
		return m.by(max(1, f.body()/2))
	case "home", "g":
		return m.by(-all)
	case "end", "G":
		return m.by(all)
	case "tab":
		return m.focus(1)
	case "shift+tab":
		return m.focus(focuses - 1)
	case "enter":
		return m.enter()
	case "esc":
		return m.back()
	}
	return m
}

// by moves by so many entries or lines. Whoever goes to the top of the trials has
// the first one shown from then on, whichever it is.
func (m model) by(n int) model {
	f, b := &m.frame, m.frame.layout(m.state)
	switch {
	case f.Open || f.Focus == OnTranscript:
		if f.Transcript != nil {
			f.Transcript.Scroll(n, b.transcript-1)
		}
	case f.Focus == OnLanes:
		f.Lanes = f.Lanes.Move(n, len(m.state.Lanes), b.lanes-1)
	case f.trials(m.state) > 0:
		f.Trials = f.Trials.Move(n, f.trials(m.state), b.trials-1)
		m.picked = Row{}
		if n != -all {
			m.picked = m.state.row(f.place(f.Trials.Cursor)).key()
		}
	}
	return m
}

// focus gives the keys to the next part that is shown.
func (m model) focus(by Focus) model {
	f := &m.frame
	f.Open = false
	f.Focus = (f.Focus + by) % focuses
	if f.Focus == OnTranscript && f.layout(m.state).transcript == 0 {
		f.Focus = (f.Focus + by) % focuses
	}
	return m
}

// enter goes into what is selected.
func (m model) enter() model {
	f := &m.frame
	switch {
	case f.Focus == OnLanes:
		if f.Lanes.Cursor < len(m.state.Lanes) {
			f.Filter, f.Focus = laneFilter(m.state.Lanes[f.Lanes.Cursor]), OnTrials
			m.picked = Row{}
		}
	case f.Focus == OnTrials && f.layout(m.state).transcript > 0:
		f.Focus = OnTranscript
	case f.Selected.TrialID != "":
		f.Open = true
	}
	return m
}

// back leaves what was gone into last.
func (m model) back() model {
	f := &m.frame
	switch {
	case f.Help:
		f.Help = false
	case f.Open:
		f.Open = false
	case f.Focus != OnTrials:
		f.Focus = OnTrials
	default:
		f.Filter = ""
	}
	return m
}

// key is what a row is known by.
func (r Row) key() Row { return Row{TrialID: r.TrialID, Attempt: r.Attempt} }

// maxFilter is how many characters a filter has.
const maxFilter = 200

// beginFilter opens the line in which the filter is written.
func (m model) beginFilter() model {
	input := widget.NewInput("/ ", m.frame.Filter, maxFilter, m.frame.Width)
	m.filter = &input
	m.frame.Filtering, m.frame.Open, m.frame.Help, m.frame.Focus = input.View(), false, false, OnTrials
	return m
}

// fit has a line that is being written follow the width of the terminal.
func (m model) fit() model {
	if m.filter != nil {
		input := *m.filter
		widget.Refit(&input, m.frame.Width)
		m.filter, m.frame.Filtering = &input, input.View()
	}
	if m.answer != nil {
		input := m.answer.input
		widget.Refit(&input, m.frame.Width)
		m.answer = &answering{m.answer.to, input}
		m = m.show()
	}
	return m
}

// writeFilter takes a key while the filter is written; the trials follow it.
func (m model) writeFilter(msg tea.KeyMsg) (model, tea.Cmd) {
	switch msg.String() {
	case "ctrl+c":
		m.filter, m.frame.Filtering = nil, ""
		return m.stop()
	case "esc":
		m.filter, m.frame.Filtering, m.frame.Filter = nil, "", ""
		return m, nil
	case "enter":
		m.filter, m.frame.Filtering = nil, ""
		return m, nil
	}
	input, cmd := m.filter.Update(msg)
	m.filter = &input
	m.frame.Filtering, m.frame.Filter = input.View(), input.Value()
	if widget.ParseFilter(m.frame.Filter).Empty() {
		m.frame.Filter = ""
	}
	return m, cmd
}
