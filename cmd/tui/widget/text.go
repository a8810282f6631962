package widget

import (
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
// last. The zero value looks for nothing.
type Search struct {
	Text string
	At   int // of the line; -1: it was not found, or not looked for yet
}

// NewSearch looks for a text, of which case does not matter.
func NewSearch(text string) Search { return Search{Text: text, At: -1} }

// Next finds the next line that has the text, before the present one when by is -1,
// around the ends; the first one is looked for from the line at the top on. It scrolls
// to it and says whether there is one.
func (s Search) Next(in Scrolled, by, room int) (Search, bool) {
	lines, from := in.Lines(), s.At
	n := len(lines)
	if n == 0 || s.Text == "" {
		s.At = -1
		return s, false
	}
	if from < 0 || from >= n {
		from = in.Top(room) - by
	}
	for i := 1; i <= n; i++ {
		at := ((from+by*i)%n + n) % n
		if s.in(lines[at]) {
			s.At = at
			if top := in.Top(room); at < top || at >= top+room {
				in.Scroll(at-room/3-top, room)
			}
			return s, true
		}
	}
	s.At = -1
	return s, false
}

// Count says how many lines have the text, and which of them, from 1, is the present
// one.
func (s Search) Count(in Scrolled) (at, of int) {
	for i, l := range in.Lines() {
		if s.in(l) {
			of++
			if i == s.At {
				at = of
			}
		}
	}
	return at, of
}

func (s Search) in(line string) bool {
	return s.Text != "" && strings.Contains(strings.ToLower(ansi.Strip(line)), strings.ToLower(s.Text))
}

// Window is what is shown of a text with so many lines, with a margin in which the
// line is marked that was found.
func (s Search) Window(in Scrolled, room int, mark string) []string {
	top := in.Top(room)
	lines := make([]string, 0, room)
	for i, l := range in.Window(room) {
		margin := "  "
		if s.Text != "" && top+i == s.At {
			margin = mark + " "
		}
		lines = append(lines, margin+l)
	}
	return lines
}

// Margin is how wide the margin of a window is.
const Margin = 2
