package tui

import (
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
)

// People is what a screen asks of whoever runs conversations.
type People struct {
	// Answer says something to a conversation that waits. It may take its time.
	Answer func(to Awaited, message string) error
	// Manual says whether phases with the trigger manual are wanted from now on.
	Manual func(on bool)
}

// Awaited is a conversation that waits for a person.
type Awaited struct {
	TrialID string
	Attempt int
	Turn    int // from 0
	Lane    int // index in State.Lanes, -1 when unknown
	Name    string
	Phase   string
	Hint    string
	Said    string // by the agent, last
	Until   time.Time
}

func (w Awaited) same(other Awaited) bool {
	return w.TrialID == other.TrialID && w.Attempt == other.Attempt && w.Turn == other.Turn
}

// awaiting notes that a conversation waits for a person, or does so no more.
func (s *State) awaiting(r *Running, e event.Event, at time.Time) {
	switch e.Type {
	case event.TurnAssistant:
		v, _ := event.Decode[event.AssistantTurn](e)
		r.said = clean(v.Content)
		return
	case event.TurnAwaiting:
		v, err := event.Decode[event.HumanWait](e)
		if err != nil || r.carried || v.TimeoutMS == 0 { // nobody is waited for
			return
		}
		s.Awaiting = append(s.Awaiting, Awaited{
			TrialID: e.TrialID, Attempt: e.Attempt, Turn: v.TurnIndex, Lane: r.Lane, Name: r.Name, Phase: clean(v.PhaseID),
			Hint: clean(v.PromptHint), Said: r.said, Until: at.Add(time.Duration(v.TimeoutMS) * time.Millisecond),
		})
		return
	}
	s.Awaiting = slices.DeleteFunc(s.Awaiting, func(w Awaited) bool { return w.TrialID == e.TrialID })
}

// answering is a message that is being written.
type answering struct {
	to    Awaited
	input textinput.Model
}

// answered is what came of sending one.
type answered struct{ err error }

// begin opens the message to the conversation that has waited the longest, or, when
// one is open, to the next.
func (m model) begin() model {
	if m.screen.o.People.Answer == nil || len(m.state.Awaiting) == 0 {
		return m
	}
	next := 0
	if m.answer != nil {
		next = (slices.IndexFunc(m.state.Awaiting, m.answer.to.same) + 1) % len(m.state.Awaiting)
	}
	input := widget.NewInput("> ", "", maxAnswer, m.frame.Width)
	m.answer = &answering{to: m.state.Awaiting[next], input: input}
	return m.show()
}

// maxAnswer is how many characters a message has that is written here.
const maxAnswer = 16 << 10

// show puts the message into the frame.
func (m model) show() model {
	m.frame.To, m.frame.Input = nil, ""
	if m.answer != nil {
		m.frame.To, m.frame.Input = &m.answer.to, m.answer.input.View()
	}
	return m
}

// write takes a key while a message is open.
func (m model) write(msg tea.KeyMsg) (model, tea.Cmd) {
	switch msg.String() {
	case "ctrl+c":
		m.answer = nil
		m = m.show()
		return m.stop()
	case "esc":
		m.answer = nil
		return m.show(), nil
	case "tab":
		return m.begin(), nil
	case "enter":
		to, text, send := m.answer.to, m.answer.input.Value(), m.screen.o.People.Answer
		m.answer = nil
		return m.show(), m.screen.guard(func() tea.Msg { return answered{send(to, text)} })
	}
	input, cmd := m.answer.input.Update(msg)
	m.answer = &answering{m.answer.to, input}
	return m.show(), cmd
}

// still closes a message that nobody waits for any more, and a question about a
// trial that has ended.
func (m model) still() model {
	if m.question != nil && m.frame.Question != "" {
		of := m.question.of
		if !slices.ContainsFunc(m.state.Running, func(r Running) bool { return r.TrialID == of.TrialID && r.Attempt == of.Attempt }) {
			m.question, m.frame.Question, m.frame.Notice = nil, "", of.Name+" has ended"
		}
	}
	if m.answer != nil && !slices.ContainsFunc(m.state.Awaiting, m.answer.to.same) {
		m.frame.Notice = m.answer.to.Name + " does not wait any more"
		m.answer = nil
		return m.show()
	}
	return m
}

// prompt are the lines of a message that is open: to whom it is, what they said
// last, and what is written so far.
func prompt(s State, f Frame) []string {
	to := "To " + speaker(s, *f.To)
	if f.To.Hint != "" {
		to += " (" + f.To.Hint + ")"
	}
	lines := []string{view.Bold.Paint(to+" · enter sends, esc leaves", f.Color)}
	if f.To.Said != "" {
		lines = append(lines, view.Faint.Paint("it said: ", f.Color)+f.To.Said)
	}
	return append(lines, f.Input)
}

func speaker(s State, w Awaited) string {
	if label := s.Label(w.Lane); label != "" {
		return label + ", " + w.Name
	}
	return w.Name
}

// call says that somebody is waited for.
func call(s State, f Frame) string {
	w := s.Awaiting[0]
	text := speaker(s, w) + " waits for you"
	if rest := w.Until.Sub(f.Now); rest > 0 {
		text += " (" + clock(rest) + ")"
	}
	if w.Hint != "" {
		text += ": " + w.Hint
	}
	return view.Waiting.Paint(text, f.Color)
}
