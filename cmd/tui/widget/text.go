package widget

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Text shows lines from their beginning, scrolled. The zero value is empty.
type Text struct {
	lines []string
	top   int
}

// Lay sets what is shown, at the place at which it was scrolled to.
func (t *Text) Lay(lines []string) { t.lines = lines }

// Lines are all there are, as they are drawn.
func (t *Text) Lines() []string { return t.lines }

// Scroll moves by so many lines; room is how many are shown.
func (t *Text) Scroll(by, room int) { t.top = max(0, min(t.Top(room)+by, len(t.lines)-room)) }

// Top is the first line of those shown in so many.
func (t *Text) Top(room int) int { return max(0, min(t.top, len(t.lines)-room)) }

// Window is what is shown in so many lines.
func (t *Text) Window(room int) []string {
	top := t.Top(room)
	return t.lines[top:min(len(t.lines), top+max(0, room))]
}

// Scrolled is what can be scrolled and searched: a text, or a transcript.
type Scrolled interface {
	Lines() []string
	Top(room int) int
	Scroll(by, room int)
	Window(room int) []string
}

// Search is a text that is looked for in lines, and the one at which it was found
// last. The zero value looks for nothing. Lines are looked through once for each text,
// and read once for all.
type Search struct {
	Text string
	at   int // of the line; -1: it was not found, or not looked for yet

	lines  []string // that were looked through
	plain  []string // the same in lower case, without colours
	finds  []int    // those of them that have the text
	sought bool     // finds is what there is
}

// For looks for another text, of which case does not matter, from the beginning.
func (s *Search) For(text string) {
	*s = Search{Text: text, at: -1, lines: s.lines, plain: s.plain}
	if text == "" {
		s.lines, s.plain = nil, nil
	}
}

// Restart has the first find looked for again from the top on.
func (s *Search) Restart() { s.at = -1 }

// in is which lines have the text.
func (s *Search) in(lines []string) []int {
	if len(lines) == 0 || s.Text == "" {
		return nil
	}
	if len(lines) != len(s.lines) || &lines[0] != &s.lines[0] {
		s.lines, s.plain, s.sought = lines, make([]string, len(lines)), false
		for i, l := range lines {
			s.plain[i] = strings.ToLower(ansi.Strip(l))
		}
	}
	if s.sought {
		return s.finds
	}
	s.finds, s.sought = nil, true
	text := strings.ToLower(s.Text)
	for i, l := range s.plain {
		if strings.Contains(l, text) {
			s.finds = append(s.finds, i)
		}
	}
	return s.finds
}

// Next finds the next line that has the text, before the present one when by is -1,
// around the ends; the first one is looked for from the line at the top on. It scrolls
// to it and says whether there is one.
func (s *Search) Next(in Scrolled, by, room int) bool {
	finds, from := s.in(in.Lines()), s.at
	if len(finds) == 0 {
		s.at = -1
		return false
	}
	if from < 0 || from >= len(in.Lines()) {
		from = in.Top(room) - by
	}
	i, found := slices.BinarySearch(finds, from)
	switch {
	case by < 0:
		i--
	case found:
		i++
	}
	s.at = finds[(i+len(finds))%len(finds)]
	if top := in.Top(room); s.at < top || s.at >= top+room {
		in.Scroll(s.at-room/3-top, room)
	}
	return true
}

// Count says how many lines have the text, and which of them, from 1, is the present
// one.
func (s *Search) Count(in Scrolled) (at, of int) {
	finds := s.in(in.Lines())
	if i, found := slices.BinarySearch(finds, s.at); found {
		at = i + 1
	}
	return at, len(finds)
}

// Window is what is shown of a text with so many lines, with a margin in which the
// line is marked that was found.
func (s *Search) Window(in Scrolled, room int, mark string) []string {
	top := in.Top(room)
	lines := make([]string, 0, room)
	for i, l := range in.Window(room) {
		margin := "  "
		if s.Text != "" && top+i == s.at {
			margin = mark + " "
		}
		lines = append(lines, margin+l)
	}
	return lines
}

// Margin is how wide the margin of a window is.
const Margin = 2
