package browse

import (
	"strings"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
)

// draw is the screen: at most height lines of at most width cells.
func (m *model) draw() string {
	if m.width < 1 || m.height < 1 {
		return ""
	}
	lines := []string{m.crumbs(), m.tabs()}
	if m.help {
		lines = append(lines, widget.Help(keys[m.helped:], legend, m.width, m.body(), m.o.Color)...)
	} else {
		lines = append(lines, m.parts()...)
	}
	lines = lines[:min(len(lines), max(0, m.height-footLines))]
	for len(lines) < m.height-footLines {
		lines = append(lines, "")
	}
	lines = append(lines, m.footer())
	for i := range lines {
		lines[i] = view.Fit(lines[i], m.width)
	}
	return strings.Join(lines, "\n")
}

// crumbs says where one is, the end of it where there is no room for all.
func (m *model) crumbs() string {
	right := ""
	if m.base != nil {
		right = view.Waiting.Paint("base "+view.FitLine(m.base.Name, 24)+" "+view.ShortID(m.base.RunID), m.o.Color)
	}
	if m.top().live(m.layout()) {
		right = strings.TrimSpace(view.Busy.Paint("live", m.o.Color) + " " + right)
	}
	room := m.width
	if w := view.Width(right); w > 0 && m.width-w-2 >= minCrumbs {
		room -= w + 2
	} else {
		right = ""
	}
	text := ""
	for i := len(m.pages) - 1; i >= 0; i-- {
		next := view.FitLine(m.pages[i].crumb, m.width)
		if text != "" {
			next += " › " + text
		}
		if text != "" && view.Width(next) > room {
			text = ellipsis + " › " + text
			break
		}
		text = next
	}
	text = view.Bold.Paint(view.Fit(text, room), m.o.Color)
	if right == "" {
		return text
	}
	return view.Pad(text, room+2, false) + right
}

// minCrumbs is how much room there is at least for where one is.
const minCrumbs = 24

// tabs are the parts of the page, with a mark at the one that has the keys.
func (m *model) tabs() string {
	p := m.top()
	boxes := map[int]box{}
	for _, s := range m.layout() {
		boxes[s.at] = s.box
	}
	var first string
	var others []string
	for i, part := range p.panes {
		b, visible := boxes[i]
		if !visible {
			b = box{m.width, m.body()}
		}
		name := part.name(b)
		switch {
		case i == p.focus && len(p.panes) > 1:
			name = view.Busy.Paint("▸ ", m.o.Color) + view.Bold.Paint(name, m.o.Color)
		case i != p.focus:
			name = view.Faint.Paint(name, m.o.Color)
		}
		if i == p.focus {
			first = name
		}
		others = append(others, name)
	}
	line := strings.Join(others, "   ")
	if view.Width(line) > m.width {
		return first
	}
	return line
}

// parts draws what is shown of the page.
func (m *model) parts() []string {
	all, p := m.layout(), m.top()
	left := all[0].pane.draw(m, all[0].box, all[0].at == p.focus)
	if len(all) == 1 {
		return left
	}
	right := all[1].pane.draw(m, all[1].box, all[1].at == p.focus)
	bar := view.Faint.Paint(divider, m.o.Color)
	lines := make([]string, all[0].box.height)
	for i := range lines {
		var l, r string
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		lines[i] = view.Pad(view.Fit(l, all[0].box.width), all[0].box.width, false) + bar + view.Fit(r, all[1].box.width)
	}
	return lines
}

// unread is what stands in the place of what could not be read.
func unread(err error) string {
	return "it could not be read: " + view.SanitizeLine(err.Error()) + " · r reads again"
}

// aside is what stands in a part that shows nothing else.
func (m *model) aside(text string, b box) []string {
	lines := widget.Wrap(text, b.width-widget.Margin)
	for i := range lines {
		lines[i] = strings.Repeat(" ", widget.Margin) + view.Faint.Paint(lines[i], m.o.Color)
	}
	return lines[:min(len(lines), b.height)]
}

// footer is the line that is written, what came of the last key, or the keys that
// matter most here.
func (m *model) footer() string {
	switch {
	case m.prompt != nil:
		return m.prompt.input.View()
	case m.notice != "":
		return view.Waiting.Paint(m.notice, m.o.Color)
	case m.help:
		return view.Faint.Paint("? back · ↑↓ scroll · q leave", m.o.Color)
	}
	p := m.top()
	parts := []string{"q leave", "? help"}
	if m.focused().pane.search() != "" {
		parts = append(parts, "esc drops /")
	} else if len(m.pages) > 1 {
		parts = append(parts, "esc back")
	}
	parts = append(parts, p.hints...)
	if len(p.panes) > 1 {
		parts = append(parts, "tab parts")
	}
	return view.Faint.Paint(widget.Join(m.width, " · ", parts...), m.o.Color)
}
