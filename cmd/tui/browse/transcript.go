package browse

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentclash/agentclash/cmd/tui/widget"
)

// maxTranscript is how much is kept of a transcript, in bytes.
const maxTranscript = 8 << 20

// transcript is what was said and done in a trial, read some facts at a time.
type transcript struct {
	scrolled
	read func(ctx context.Context, after int64) (Facts, error)

	tail   widget.Tail
	shown  widget.Transcript
	cursor int64
	begun  bool // something was read
	more   bool // there is more to be read
	asking bool
	why    string // it could not be read; "": it could
	going  bool   // the trial goes on
	width  int    // that it was laid out for; 0: it has to be
}

func newTranscript(read func(ctx context.Context, after int64) (Facts, error)) *transcript {
	t := &transcript{read: read, more: true, tail: widget.Tail{Most: maxTranscript}}
	t.in = &t.shown
	return t
}

func (t *transcript) name(b box) string { return "transcript" + t.place(b) }

func (t *transcript) need(m *model, p *page, b box) tea.Cmd {
	if t.begun && t.width != b.width {
		t.shown.Lay(t.tail.Entries(), t.tail.Dropped(), b.width-widget.Margin, m.o.Color)
		if t.width = b.width; !t.moved && !t.going {
			t.shown.Scroll(-all, b.height) // what is over is read from its beginning
		}
		t.laid(m, b, !t.more)
	}
	if !t.more || t.asking || t.why != "" {
		return nil
	}
	t.asking = true
	read, after := t.read, t.cursor
	return m.ask(p.ctx, p, func(ctx context.Context) (func(error), error) {
		got, err := read(ctx, after)
		return func(err error) { t.heard(got, err) }, err
	})
}

func (t *transcript) heard(got Facts, err error) {
	t.asking = false
	if err != nil {
		t.why = unread(err)
		return
	}
	for _, e := range got.Events {
		t.tail.Apply(e)
	}
	t.cursor, t.more, t.going = max(t.cursor, got.Cursor), got.More, got.Live
	if !t.begun || len(got.Events) > 0 || t.waits {
		t.width = 0
	}
	t.begun = true
}

func (t *transcript) draw(m *model, b box, _ bool) []string {
	word := ""
	switch {
	case t.begun && len(t.shown.Lines()) > 0:
		return t.window(m, b)
	case t.why != "":
		word = t.why
	case t.more:
		word = "reading" + ellipsis
	default:
		word = "nothing was said or done"
	}
	return m.aside(word, b)
}

func (t *transcript) again()     { t.more, t.why = true, "" }
func (t *transcript) live() bool { return t.going && t.why == "" }
