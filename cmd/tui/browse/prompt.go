package browse

import (
	"context"
	"fmt"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentclash/agentclash/cmd/tui/widget"
)

// prompt is a line that is being written.
type prompt struct {
	input textinput.Model
	// changed is called with each change, done with enter, and dropped with esc.
	changed func(text string)
	done    func(text string) tea.Cmd
	dropped func()
}

// The longest line: a filter or a search, and a path.
const (
	maxSearch = 200
	maxPath   = 4096
)

func (m *model) write(msg tea.KeyMsg) tea.Cmd {
	p := m.prompt
	switch msg.String() {
	case "ctrl+c":
		return tea.Quit
	case "esc":
		m.prompt = nil
		p.dropped()
		return nil
	case "enter":
		m.prompt = nil
		return p.done(p.input.Value())
	}
	input, cmd := p.input.Update(msg)
	p.input = input
	p.changed(input.Value())
	return cmd
}

// askSearch has a filter or a search written. A list follows what is written.
func (m *model) askSearch() {
	look := func(text string, done bool) {
		f := m.focused() // the terminal may have another size by now
		m.notice = f.pane.look(text, done, f.box)
	}
	m.prompt = &prompt{
		input:   widget.NewInput("/ ", m.focused().pane.search(), maxSearch, m.width),
		changed: func(text string) { look(text, false) },
		done:    func(text string) tea.Cmd { look(text, true); return nil },
		dropped: func() { look("", true) },
	}
}

// askSave has the file named that an artifact is saved to.
func (m *model) askSave(p *page) {
	if p.save == nil {
		m.notice = "there is nothing to save here: a lists the artifacts"
		return
	}
	a, ok := p.save()
	if !ok {
		m.notice = "no artifact is selected"
		return
	}
	src := m.o.Source
	m.prompt = &prompt{
		input:   widget.NewInput("save to: ", a.File, maxPath, m.width),
		changed: func(string) {}, dropped: func() {},
		done: func(file string) tea.Cmd {
			if file == "" {
				m.notice = "not saved: no file was named"
				return nil
			}
			return m.tell(func(ctx context.Context) string {
				path, err := src.Save(ctx, a.ID, file)
				if err != nil {
					return "not saved: " + err.Error()
				}
				return fmt.Sprintf("saved to %s", path)
			})
		},
	}
}
