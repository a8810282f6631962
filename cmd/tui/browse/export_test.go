package browse

import (
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// Page is a screen without a terminal, which reads when it is told to.
type Page struct {
	m     *model
	Left  bool // a person has left it
	asked []tea.Cmd
}

// NewPage is a screen that has asked for what it shows.
func NewPage(ctx context.Context, o Options) *Page {
	p := &Page{m: newModel(ctx, o)}
	p.m.ticking = true // time does not pass here
	p.asked = append(p.asked, p.m.Init())
	return p
}

// Answer has all that was asked for read, and what that asks for.
func (p *Page) Answer() *Page {
	for len(p.asked) > 0 {
		cmd := p.asked[0]
		p.asked = p.asked[1:]
		if cmd == nil {
			continue
		}
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			p.asked = append(p.asked, msg...)
		case tea.QuitMsg:
			p.Left = true
		default:
			p.take(msg)
		}
	}
	return p
}

func (p *Page) take(msg tea.Msg) {
	_, cmd := p.m.Update(msg)
	p.asked = append(p.asked, cmd)
}

// Type hits keys without waiting for anything: names of keys, and what else is typed.
func (p *Page) Type(keys ...string) *Page {
	names := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "up": tea.KeyUp,
		"down": tea.KeyDown, "home": tea.KeyHome, "end": tea.KeyEnd, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "backspace": tea.KeyBackspace, "ctrl+c": tea.KeyCtrlC, "ctrl+v": tea.KeyCtrlV}
	for _, k := range keys {
		if kind, named := names[k]; named {
			p.take(tea.KeyMsg{Type: kind})
		} else {
			p.take(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)})
		}
	}
	return p
}

// Idle says that the last message has nothing done.
func (p *Page) Idle() bool { return p.asked[len(p.asked)-1] == nil }

// Press is Type and Answer after each key.
func (p *Page) Press(keys ...string) *Page {
	for _, k := range keys {
		p.Type(k).Answer()
	}
	return p
}

// Resize gives the screen another size.
func (p *Page) Resize(width, height int) *Page {
	p.take(tea.WindowSizeMsg{Width: width, Height: height})
	return p
}

// Look is the time to look again; it says whether the screen has waited for it.
func (p *Page) Look() bool {
	waits := p.m.top().live(p.m.layout())
	p.take(look{})
	p.m.ticking = true
	p.Answer()
	return waits
}

// Text is the screen.
func (p *Page) Text() string { return p.m.View() }

// Break makes the next picture go wrong.
func (p *Page) Break() { p.m.pages = p.m.pages[:0] }

// Lines are its lines.
func (p *Page) Lines() []string { return strings.Split(p.Text(), "\n") }

// Err is what went wrong in it.
func (p *Page) Err() error { return p.m.failed }

// Rows is how many entries the first list keeps.
func (p *Page) Rows() (n int) {
	for _, c := range p.m.pages[0].panes[0].(*list[Run]).chunks {
		n += len(c.items)
	}
	return n
}
