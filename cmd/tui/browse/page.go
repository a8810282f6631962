package browse

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// page is something that is looked at: one part or several, of which a wide terminal
// shows two beside each other.
type page struct {
	crumb string
	panes []pane
	focus int // the part that has the keys
	side  int // the part beside the first one
	run   *Run
	enter func() // goes into what is selected; nil: there is nothing
	// selected is the run that keys are about.
	selected func() (Run, bool)
	hints    []string
	save     func() (Artifact, bool) // what s saves; nil: nothing
	against  bool                    // it is a comparison
	ctx      context.Context
	leave    context.CancelFunc
	pending  int           // answers that are waited for
	took     time.Duration // reading, at most
}

// pane is a part of a page.
type pane interface {
	name(box box) string
	// need lays out what there is, and reads what is missing of what is shown.
	need(m *model, p *page, box box) tea.Cmd
	draw(m *model, box box, focus bool) []string
	// move takes a key that moves within it, find one that searches in it.
	move(key string, box box)
	// search is what it is narrowed to or looks for.
	search() string
	// look sets it; done says that it has been written.
	look(text string, done bool, box box) (notice string)
	next(by int, box box) (notice string)
	again()
	live() bool
}

// box is how much room a part has.
type box struct{ width, height int }

// shown is a part that is shown, and where.
type shown struct {
	pane pane
	box  box
	at   int // its place in the page
}

const (
	// beside is the width from which on two parts are shown beside each other.
	beside = 120
	// divider stands between them.
	divider = " │ "
	// headLines and footLines are what is above and below.
	headLines = 2
	footLines = 1
)

func (m *model) body() int { return max(0, m.height-headLines-footLines) }

// layout is what of the page is shown.
func (m *model) layout() []shown {
	p := m.top()
	whole := box{m.width, m.body()}
	if m.width < beside || len(p.panes) == 1 {
		return []shown{{p.panes[p.focus], whole, p.focus}}
	}
	left := m.width / 2
	return []shown{
		{p.panes[0], box{left, whole.height}, 0},
		{p.panes[p.side], box{m.width - left - len(" | "), whole.height}, p.side},
	}
}

// focused is the part that has the keys.
func (m *model) focused() shown {
	all := m.layout()
	for _, s := range all {
		if s.at == m.top().focus {
			return s
		}
	}
	return all[0]
}

// turn gives the keys to the next part.
func (p *page) turn(by int) {
	n := len(p.panes)
	p.to((p.focus + by + n) % n)
}

func (p *page) to(focus int) {
	p.focus = focus
	if focus > 0 {
		p.side = focus
	}
}

// live says that something that is shown may change.
func (p *page) live(all []shown) bool {
	for _, s := range all {
		if s.pane.live() {
			return true
		}
	}
	return false
}
