package browse

import (
	"fmt"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
)

// scrolled is what parts have in common that are read line by line.
type scrolled struct {
	in    widget.Scrolled
	found widget.Search
	moved bool // a person has scrolled
	whole bool // all that there is to search has been laid out
	waits bool // it is looked for as soon as that is so
}

func (s *scrolled) move(key string, b box) {
	if by, moves := steps(key, b.height); moves {
		s.in.Scroll(by, b.height)
		s.moved = true
	}
}

func (s *scrolled) search() string { return s.found.Text }

// look sets what is looked for; it is found once it has been written.
func (s *scrolled) look(text string, done bool, b box) string {
	s.found.For(text)
	s.waits = false
	if !done || text == "" {
		return ""
	}
	notice := s.next(1, b)
	if s.waits = notice != "" && !s.whole; s.waits {
		return ""
	}
	return notice
}

// laid is called when more has been laid out. What a person looks for may be there now.
func (s *scrolled) laid(m *model, b box, whole bool) {
	s.whole = whole
	if !s.waits {
		return
	}
	if notice := s.next(1, b); notice == "" || whole {
		s.waits, m.notice = false, notice
	}
}

// next goes to the next place at which the text is, or the one before.
func (s *scrolled) next(by int, b box) string {
	if s.found.Text == "" {
		return "nothing is looked for: / begins"
	}
	if !s.found.Next(s.in, by, b.height) {
		return fmt.Sprintf("%q is not here", view.SanitizeLine(s.found.Text))
	}
	s.moved = true
	return ""
}

// window is what is shown, with a mark at the line that was found.
func (s *scrolled) window(m *model, b box) []string {
	return s.found.Window(s.in, b.height, view.Waiting.Paint("»", m.o.Color))
}

// place says where one is in the lines, and at which place that was found.
func (s *scrolled) place(b box) string {
	n, text := len(s.in.Lines()), ""
	if n > b.height { // how much of it has been seen
		text = fmt.Sprintf(" %d%%", 100*min(n, s.in.Top(b.height)+b.height)/n)
	}
	if s.found.Text != "" {
		at, of := s.found.Count(s.in)
		text += fmt.Sprintf(" /%s %d of %d", view.SanitizeLine(s.found.Text), at, of)
	}
	return text
}
