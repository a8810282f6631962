package browse

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
)

// keys takes the keys of a message one by one: characters that were typed quickly
// arrive together. What is pasted is not typed.
func (m *model) keys(msg tea.KeyMsg) tea.Cmd {
	if m.prompt != nil {
		return m.write(msg)
	}
	if msg.Type != tea.KeyRunes {
		return m.key(msg.String())
	}
	if msg.Paste {
		return nil
	}
	var cmds []tea.Cmd
	for i, r := range msg.Runes {
		if m.prompt != nil { // the rest is written
			return tea.Batch(append(cmds, m.write(tea.KeyMsg{Type: tea.KeyRunes, Runes: msg.Runes[i:]}))...)
		}
		cmds = append(cmds, m.key(string(r)), m.settle())
	}
	return tea.Batch(cmds...)
}

func (m *model) key(key string) tea.Cmd {
	m.notice = ""
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "?":
		m.help, m.helped = !m.help, 0
		return nil
	case "esc", "backspace", "left", "h":
		m.back(key == "esc")
		return nil
	}
	if m.help { // of which a small terminal shows a part
		by, _ := steps(key, m.body())
		m.helped = max(0, min(m.helped+by, len(keys)-m.body()))
		return nil
	}
	p, f := m.top(), m.focused()
	switch key {
	case "enter", "right", "l":
		if p.enter != nil {
			p.enter()
		}
	case "tab":
		p.turn(1)
	case "shift+tab":
		p.turn(-1)
	case "r":
		m.again()
	case "/":
		m.askSearch()
	case "n":
		m.notice = f.pane.next(1, f.box)
	case "N":
		m.notice = f.pane.next(-1, f.box)
	case "c", "C", "b", "a", "o", "s":
		return m.act(key)
	default:
		f.pane.move(key, f.box)
	}
	return nil
}

// back leaves what was gone into last. Escape drops what a list is narrowed to first.
func (m *model) back(drops bool) {
	f := m.focused()
	switch {
	case m.help:
		m.help = false
	case drops && f.pane.search() != "":
		f.pane.look("", true, f.box)
	default:
		m.pop()
	}
}

// act takes the keys that do something with what is selected.
func (m *model) act(key string) tea.Cmd {
	p := m.top()
	r, ok := p.selected()
	switch key {
	case "a":
		if p.save != nil {
			return nil // it lists them already
		}
		m.push(m.artifactsPage(p.run))
		return nil
	case "s":
		m.askSave(p)
		return nil
	}
	if !ok {
		m.notice = "no run is selected"
		return nil
	}
	if p.against && key != "o" {
		m.notice = "this is a comparison: esc goes back to what can be compared"
		return nil
	}
	switch key {
	case "c", "C":
		m.compare(key, r)
	case "b":
		m.push(m.comparePage(r, nil))
	case "o":
		src := m.o.Source
		m.notice = "writing the report" + ellipsis
		return m.tell(func(ctx context.Context) string {
			file, err := src.Report(ctx, r.RunID)
			if err != nil {
				return "no report: " + err.Error()
			}
			return "report: " + file
		})
	}
	return nil
}

// compare marks a run as the one that others are compared with, or compares with it.
func (m *model) compare(key string, r Run) {
	marked := m.base != nil && m.base.RunID == r.RunID
	switch {
	case marked:
		m.base, m.notice = nil, "no run is marked any more"
	case m.base == nil || key == "C":
		m.base = &r
		m.notice = "marked " + view.FitLine(r.Name, maxCalled) + " " + view.ShortID(r.RunID) + ": c on another run compares it with this one"
	default:
		m.push(m.comparePage(r, m.base))
	}
}

// keys are all that the screen knows.
var keys = []widget.Key{
	{Keys: "↑ ↓ k j", Does: "select, or scroll"},
	{Keys: "pgup pgdn", Does: "by a page"},
	{Keys: "home end", Does: "to the first, to the last"},
	{Keys: "enter →", Does: "open what is selected"},
	{Keys: "esc ←", Does: "back"},
	{Keys: "tab", Does: "the next part of the page"},
	{Keys: "/", Does: "filter, or search"},
	{Keys: "n N", Does: "the next, or previous find"},
	{Keys: "c", Does: "mark, then compare with it"},
	{Keys: "C", Does: "mark another run instead"},
	{Keys: "b", Does: "compare with the baseline"},
	{Keys: "a", Does: "artifacts, of a run or all"},
	{Keys: "s", Does: "save an artifact to a file"},
	{Keys: "o", Does: "write the report"},
	{Keys: "r", Does: "read again"},
	{Keys: "q, ctrl+c", Does: "leave"},
	{Keys: "?", Does: "this help"},
}

// legend says what can be written where filters are.
var legend = []string{
	"A filter's words are looked for in every column. Of runs name:, pack:, status:,",
	"agent:, id: look there only, of trials case:, agent:, outcome:, code:, phase:,",
	"id:. With = after that it is all that stands there, as in agent:=NAME.",
	"Failed is the agent's doing. Invalid is not, and is left out of every score.",
	"Nothing here changes what is stored.",
}

// Keys are all that the screen knows, for the page that says what they do.
func Keys() []widget.Key { return keys }
