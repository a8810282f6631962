package widget

import (
	"bytes"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
)

// List is where a list stands: the entry that is selected and the first one that
// is shown. The zero value is the list's beginning.
type List struct {
	Cursor int
	Top    int
}

// Move selects another of n entries and keeps it among the room that are shown.
func (l List) Move(by, n, room int) List {
	l.Cursor += by
	return l.Keep(n, room)
}

// Follow selects an entry that now has another place, and leaves it at the line
// at which it was.
func (l List) Follow(cursor int) List {
	return List{Cursor: cursor, Top: l.Top + cursor - l.Cursor}
}

// Keep holds cursor and top within n entries of which room are shown.
func (l List) Keep(n, room int) List {
	room = max(1, room)
	l.Cursor = max(0, min(l.Cursor, n-1))
	l.Top = max(0, min(l.Top, n-room))
	l.Top = max(l.Cursor-room+1, min(l.Top, l.Cursor))
	return l
}

// Look is how a list is drawn.
type Look struct {
	Width, Height int // with the heading
	Color         bool
	Focus         bool // the keys are the list's
	Cursor        bool // the selected entry is marked
}

// marker is the width of what stands before each entry.
const marker = 2

// Draw is a heading and as many of the n entries as there is room for. table makes the entries from one up to another.
func (l List) Draw(n int, look Look, table func(from, to int) view.Table) []string {
	if look.Height < 1 || n == 0 {
		return nil
	}
	room := look.Height - 1
	l = l.Keep(n, room)
	from, to := l.Top, min(n, l.Top+room)
	t := table(from, max(to, from+1)) // a table without rows has no heading
	var b bytes.Buffer
	_ = t.Write(&b, view.Options{Color: look.Color, Width: max(look.Width-marker, 1)}) // a buffer takes everything
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	lines = lines[:min(len(lines), look.Height)]
	for i := range lines {
		switch {
		case i == 0 && look.Focus:
			lines[i] = view.Busy.Paint("▍", look.Color) + " " + lines[i]
		case i > 0 && look.Cursor && from+i-1 == l.Cursor:
			lines[i] = view.Busy.Paint("›", look.Color) + " " + lines[i]
		default:
			lines[i] = "  " + lines[i]
		}
	}
	return lines
}
