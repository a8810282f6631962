package widget

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/agentclash/agentclash/cmd/view"
)

// Transcript shows entries: wrapped to a width, scrolled, its end followed until
// somebody scrolls away from it. The zero value is empty. Lay costs what is new.
type Transcript struct {
	lines []string
	parts []part // one for each entry
	width int
	color bool
	top   int
	away  bool // from the end
}

// part is an entry that is laid out.
type part struct {
	id, rev int
	lines   []string
}

// Lay sets what is shown. missing says how many entries came before.
func (t *Transcript) Lay(entries []Entry, missing, width int, color bool) {
	if width != t.width || color != t.color {
		t.parts, t.width, t.color = nil, width, color
	}
	id, offset := t.anchor()
	parts := make([]part, len(entries))
	old := 0
	for i, e := range entries {
		for old < len(t.parts) && t.parts[old].id < e.ID {
			old++
		}
		if old < len(t.parts) && t.parts[old].id == e.ID && t.parts[old].rev == e.Rev {
			parts[i] = t.parts[old]
		} else {
			parts[i] = part{e.ID, e.Rev, e.lay(width, color)}
		}
	}
	t.parts, t.lines = parts, nil
	if missing > 0 {
		t.lines = append(t.lines, view.Faint.Paint("… what came before is in the store", color))
	}
	for _, p := range parts {
		if p.id == id {
			t.top = len(t.lines) + offset
		}
		t.lines = append(t.lines, p.lines...)
	}
}

// anchor is the entry at the top, and how many of its lines are passed over.
func (t *Transcript) anchor() (id, offset int) {
	line := 0
	if n := len(t.parts); n > 0 {
		for _, p := range t.parts {
			line += len(p.lines)
		}
		line = len(t.lines) - line // a line that is no entry's
	}
	for _, p := range t.parts {
		if t.top < line+len(p.lines) {
			return p.id, max(0, t.top-line)
		}
		line += len(p.lines)
	}
	return -1, 0
}

// Scroll moves by so many lines; room is how many are shown. Who comes to the
// end follows it again.
func (t *Transcript) Scroll(by, room int) {
	end := max(0, len(t.lines)-room)
	if !t.away {
		t.top = end
	}
	t.top = max(0, min(t.top+by, end))
	t.away = t.top < end
}

// Window is what is shown in so many lines.
func (t *Transcript) Window(room int) []string {
	top := t.Top(room)
	return t.lines[top:min(len(t.lines), top+max(0, room))]
}

// Below is how many lines are below those shown.
func (t *Transcript) Below(room int) int {
	if !t.away {
		return 0
	}
	return max(0, len(t.lines)-room-t.top)
}

// Lines are all there are, as they are drawn.
func (t *Transcript) Lines() []string { return t.lines }

// Top is the first line of those shown in so many.
func (t *Transcript) Top(room int) int {
	end := max(0, len(t.lines)-room)
	if t.away {
		return min(t.top, end)
	}
	return end
}

// looks are how the kinds of entries are marked.
var looks = map[Kind]struct {
	mark string
	head view.Style
	text view.Style
}{
	System:  {"▪ ", view.Bold, view.Faint},
	User:    {"▪ ", view.Bold, view.Plain},
	Model:   {"", view.Plain, view.Plain},
	Call:    {"→ ", view.Busy, view.Faint},
	Result:  {"← ", view.Good, view.Faint},
	Broken:  {"✗ ", view.Bad, view.Plain},
	Trouble: {"! ", view.Waiting, view.Plain},
	Note:    {"· ", view.Faint, view.Plain},
}

// lay is an entry as lines of at most width cells. What the model says stands at
// the margin, all else under a mark.
func (e Entry) lay(width int, color bool) []string {
	look, margin := looks[e.Kind], ""
	var lines []string
	if e.Kind != Model {
		for i, l := range Wrap(view.SanitizeLine(e.Head), width-2) {
			mark := look.mark
			if i > 0 {
				mark = "  "
			}
			lines = append(lines, look.head.Paint(mark+l, color))
		}
		margin = "  "
	}
	text := strings.TrimRight(strings.ReplaceAll(view.Sanitize(e.Text), "\t", "    "), "\n ")
	if text != "" {
		for _, l := range Wrap(text, width-len(margin)) {
			lines = append(lines, margin+look.text.Paint(l, color))
		}
	}
	switch e.Kind {
	case Model, User, System, Result, Broken:
		lines = append(lines, "")
	}
	return slices.Clip(lines)
}

// Wrap breaks clean text into lines of at most width cells.
func Wrap(text string, width int) []string {
	lines := strings.Split(ansi.Wrap(text, max(width, 4), ""), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
