package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// SetDraw replaces what a screen paints, so that a test can make it go wrong.
func (s *Screen) SetDraw(draw func(State, Frame) string) { s.draw = draw }

// Break makes the next fact go wrong.
func (s *Screen) Break() { s.state.lane, s.state.Lanes = map[string]int{"agent0": 1}, nil }

// Snapshot is the state as it is drawn.
func (s *State) Snapshot() State { return s.snapshot() }

// Watch has a transcript kept.
func (s *State) Watch(trialID string) { s.watch(trialID) }

// Page is a screen without a terminal.
type Page struct{ m model }

// NewPage is a screen of a size.
func NewPage(s *Screen, width, height int) *Page {
	return &Page{model{screen: s, painted: &painted{}, frame: Frame{Width: width, Height: height, Color: true}}}
}

// Paint looks for news at a time and draws them.
func (p *Page) Paint(now time.Time) string {
	next, _ := p.m.Update(tick(now))
	p.m, _ = next.(model)
	return p.m.View()
}

// Take hands over what came from the terminal and draws what comes of it.
func (p *Page) Take(msg tea.Msg) string {
	next, _ := p.m.Update(msg)
	p.m, _ = next.(model)
	return p.m.View()
}

// Filter sets what the trials must match.
func (p *Page) Filter(text string) { p.m.frame.Filter = text }

// Failure is what went wrong on the page.
func (p *Page) Failure() error { return p.m.screen.failure() }
