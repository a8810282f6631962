package browse

import (
	"bytes"
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
)

// text is a document of something that is selected, or of the page itself.
type text struct {
	scrolled
	label string
	of    func() string // what it is of; "" for nothing
	read  func(ctx context.Context, of string) (Document, error)
	none  string // what stands where it is of nothing

	lines  widget.Text
	doc    Document
	have   string // what doc is of
	asked  string // what is being read
	bad    string // what could not be read
	why    string // why not
	stale  bool
	width  int // that it was laid out for; 0: it has to be
	cancel context.CancelFunc
}

func newText(t text) *text {
	t.in = &t.lines
	return &t
}

func (t *text) name(b box) string { return t.label + t.place(b) }

func (t *text) need(m *model, p *page, b box) tea.Cmd {
	of := t.of()
	if t.have != "" && t.have == of && t.width != b.width {
		t.lay(m, b)
	}
	if of == "" || of == t.asked || of == t.bad || of == t.have && !t.stale {
		return nil
	}
	if t.cancel != nil {
		t.cancel() // the one before is not waited for
	}
	var ctx context.Context
	ctx, t.cancel = context.WithCancel(p.ctx)
	t.asked, t.bad = of, ""
	read := t.read
	return m.ask(ctx, p, func(ctx context.Context) (func(error), error) {
		doc, err := read(ctx, of)
		return func(err error) { t.heard(of, doc, err) }, err
	})
}

func (t *text) heard(of string, doc Document, err error) {
	if of != t.asked {
		return
	}
	t.asked = ""
	t.stale, t.width = false, 0
	if err != nil {
		t.bad, t.why = of, unread(err)
		return
	}
	if t.have != of {
		t.lines, t.moved, t.whole = widget.Text{}, false, false
		t.found.Restart()
	}
	t.have, t.doc = of, doc
}

// lay writes the document for the width.
func (t *text) lay(m *model, b box) {
	var w bytes.Buffer
	o := view.Options{Color: m.o.Color, Width: max(1, b.width-widget.Margin), Whole: true, Now: m.now}
	if err := t.doc.Write(&w, o); err != nil {
		w.WriteString(view.SanitizeLine(err.Error()))
	}
	written := strings.Trim(w.String(), "\n")
	if written == "" {
		written = view.Faint.Paint("there is nothing", m.o.Color)
	}
	t.lines.Lay(strings.Split(written, "\n"))
	t.width = b.width
	t.laid(m, b, true)
}

func (t *text) draw(m *model, b box, _ bool) []string {
	of := t.of()
	word := ""
	switch {
	case of == "":
		word = t.none
	case of == t.bad:
		word = t.why
	case of != t.have || t.width == 0:
		word = "reading" + ellipsis
	default:
		return t.window(m, b)
	}
	return m.aside(word, b)
}

func (t *text) again() { t.stale, t.bad = true, "" }
func (t *text) live() bool {
	return t.doc.Live && t.have == t.of() && t.bad == ""
}
