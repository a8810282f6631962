package browse

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
)

const (
	// chunk is how many entries of a list are read at once, and kept how many times.
	chunk = 64
	kept  = 6
)

// list is a list that is read as far as it is shown.
type list[T any] struct {
	noun    string   // of several
	fields  []string // of its filter; nil: it has none
	read    func(ctx context.Context, words []widget.Word, limit, offset int) (Listed[T], error)
	columns func(width int) []view.Column
	cells   func(entry T, width int) []view.Cell
	id      func(T) string
	called  func(T) string // what is said of the selected one above the list; nil: nothing
	none    []string       // what stands where there is nothing at all

	at     widget.List
	total  int // -1: not known
	chunks map[int]part[T]
	asked  map[int]bool
	why    string // something could not be read; "": all that was asked for could
	filter string
	era    int             // of the filter; answers of earlier ones are dropped
	picked string          // the entry that a person selected; "" follows the first
	ctx    context.Context // of what is read with the filter; nil: nothing yet
	stop   context.CancelFunc
}

// part is a chunk that was read.
type part[T any] struct {
	items []T
	live  bool
	stale bool // it is to be read again
}

func newList[T any](l list[T]) *list[T] {
	l.total, l.chunks, l.asked = -1, map[int]part[T]{}, map[int]bool{}
	return &l
}

func (l *list[T]) name(b box) string {
	text := l.noun
	if l.total > 0 {
		text += span(l.at, l.total, b.height-1)
	}
	if l.filter != "" {
		text += " /" + view.SanitizeLine(l.filter)
	}
	if e, ok := l.selected(); ok && l.called != nil {
		text += " · " + view.FitLine(l.called(e), maxCalled)
	}
	return text
}

// maxCalled is how wide the name of what is selected is at most.
const maxCalled = 40

// span says which entries of a list are shown.
func span(l widget.List, n, room int) string {
	if n <= room {
		return fmt.Sprintf(" %d", n)
	}
	l = l.Keep(n, room)
	return fmt.Sprintf(" %s-%s of %s", view.Tokens(int64(l.Top+1)), view.Tokens(int64(min(n, l.Top+max(1, room)))), view.Tokens(int64(n)))
}

// visible are the first and the last chunk of which something is shown.
func (l *list[T]) visible(room int) (first, last int) {
	at := l.at.Keep(max(l.total, 0), room)
	return at.Top / chunk, max(0, at.Top+max(1, room)-1) / chunk
}

func (l *list[T]) need(m *model, p *page, b box) tea.Cmd {
	room := b.height - 1
	l.at = l.at.Keep(max(l.total, 0), room)
	if l.why != "" {
		return nil
	}
	first, last := l.visible(room)
	if l.total >= 0 {
		last = min(last, max(0, l.total-1)/chunk)
	} else {
		last = first
	}
	var all []tea.Cmd
	for n := first; n <= last; n++ {
		have, ok := l.chunks[n]
		if (!ok || have.stale) && !l.asked[n] {
			all = append(all, l.readPart(m, p, n))
		}
	}
	for n := range l.chunks { // what is far from what is shown is let go of
		if len(l.chunks) > kept && (n < first-1 || n > last+1) {
			delete(l.chunks, n)
		}
	}
	return tea.Batch(all...)
}

func (l *list[T]) readPart(m *model, p *page, n int) tea.Cmd {
	l.asked[n] = true
	era, read, words := l.era, l.read, widget.Words(l.filter, l.fields...)
	if l.ctx == nil {
		l.ctx, l.stop = context.WithCancel(p.ctx)
	}
	return m.ask(l.ctx, p, func(ctx context.Context) (func(error), error) {
		got, err := read(ctx, words, chunk, n*chunk)
		return func(err error) { l.heard(n, era, got, err) }, err
	})
}

// heard takes a part that was read.
func (l *list[T]) heard(n, era int, got Listed[T], err error) {
	if era != l.era {
		return
	}
	delete(l.asked, n)
	if err != nil {
		l.why = unread(err)
		return
	}
	l.total = got.Total
	l.chunks[n] = part[T]{items: got.Items, live: got.Live}
	if l.picked == "" {
		return
	}
	for i, e := range got.Items { // what was selected may have another place now
		if l.id(e) == l.picked {
			l.at = l.at.Follow(n*chunk + i)
		}
	}
}

// entry is the one at a place, when it has been read.
func (l *list[T]) entry(i int) (e T, ok bool) {
	have := l.chunks[i/chunk].items
	if i < 0 || i%chunk >= len(have) {
		return e, false
	}
	return have[i%chunk], true
}

// selected is the one at the cursor, when it has been read.
func (l *list[T]) selected() (T, bool) { return l.entry(l.at.Cursor) }

func (l *list[T]) draw(m *model, b box, focus bool) []string {
	switch {
	case l.why != "" && l.total < 0:
		return m.aside(l.why, b)
	case l.total < 0:
		return []string{"  " + view.Faint.Paint("reading"+ellipsis, m.o.Color)}
	case l.total == 0 && l.filter != "":
		return []string{"  " + view.Faint.Paint("none matches "+view.SanitizeLine(l.filter)+" · esc shows all", m.o.Color)}
	case l.total == 0:
		var lines []string
		for _, n := range l.none {
			lines = append(lines, "  "+n)
		}
		return lines
	}
	look := widget.Look{Width: b.width, Height: b.height, Color: m.o.Color, Focus: focus, Cursor: true}
	return l.at.Draw(l.total, look, func(from, to int) view.Table {
		t := view.Table{Columns: l.columns(b.width)}
		for i := from; i < to; i++ {
			e, ok := l.entry(i)
			if !ok {
				t.Add(view.Text(l.missing()))
				continue
			}
			t.Add(l.cells(e, b.width)...)
		}
		return t
	})
}

// ellipsis stands for what is not there yet.
const ellipsis = "…"

// missing stands for an entry that there is and that was not read.
func (l *list[T]) missing() string {
	if l.why != "" {
		return "not read"
	}
	return ellipsis
}

// all is further than any list goes.
const all = 1 << 30

// steps are how far the keys move that move, in a part of a height.
func steps(key string, height int) (by int, moves bool) {
	switch key {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup", "ctrl+b":
		return -max(1, height-2), true
	case "pgdown", "ctrl+f", " ":
		return max(1, height-2), true
	case "ctrl+u":
		return -max(1, height/2), true
	case "ctrl+d":
		return max(1, height/2), true
	case "home", "g":
		return -all, true
	case "end", "G":
		return all, true
	}
	return 0, false
}

func (l *list[T]) move(key string, b box) {
	by, moves := steps(key, b.height)
	if !moves || l.total < 1 {
		return
	}
	l.at = l.at.Move(by, l.total, b.height-1)
	l.picked = ""
	if e, ok := l.selected(); ok && by != -all {
		l.picked = l.id(e)
	}
}

func (l *list[T]) search() string { return l.filter }

// look narrows the list: what was read with another filter is dropped.
func (l *list[T]) look(text string, _ bool, _ box) string {
	if text == l.filter {
		return ""
	}
	l.filter, l.at, l.picked = text, widget.List{}, ""
	l.total, l.chunks, l.asked, l.why = -1, map[int]part[T]{}, map[int]bool{}, ""
	l.era++
	if l.stop != nil {
		l.stop()
		l.ctx, l.stop = nil, nil
	}
	return ""
}

func (l *list[T]) next(int, box) string { return "" }

func (l *list[T]) again() {
	l.why = ""
	for n, c := range l.chunks {
		c.stale = true
		l.chunks[n] = c
	}
}

func (l *list[T]) live() bool {
	if l.why != "" {
		return false
	}
	for _, c := range l.chunks {
		if c.live {
			return true
		}
	}
	return false
}
