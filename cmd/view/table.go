package view

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Table is rows under headings. The same rows are written for a terminal and
// for a pipe; only a terminal cuts cells to fit.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Column is the heading of a column and how its cells stand.
type Column struct {
	Title string // upper case
	Right bool   // numbers stand to the right
	Keep  bool   // never cut to make room: ids, numbers, statuses
	// Min is how many cells the column takes at least where there is room, so
	// that a table that is painted again and again does not jump.
	Min int
	// Spare columns are left out, the last one first, when a terminal is too
	// narrow to keep the text of the others readable.
	Spare bool
	// Last columns are left out in the same way where not even columns that are cut
	// as far as they may be leave room for all.
	Last bool
	// Wrap is for a last column of sentences: what does not fit goes on below.
	Wrap bool
}

// Cell is one value. Its text need not be clean: the table sees to that.
type Cell struct {
	Text  string
	Style Style
}

// Text is a cell without a style.
func Text(s string) Cell { return Cell{Text: s} }

// Status is a cell that has the colour of its word.
func Status(word string) Cell { return Cell{Text: word, Style: StatusStyle(word)} }

// Add appends a row; it has one cell for each column.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

const (
	columnGap  = 2
	minColumn  = 4  // a cut column keeps at least this many cells
	readColumn = 18 // and is readable with this many
	// padded is how many cells a column in a pipe takes at most, where no cell is cut: one
	// long name must not make every row as long.
	padded = 200
)

// Write writes the table. One without rows writes nothing: saying so is talk,
// and belongs to the caller.
func (t *Table) Write(w io.Writer, o Options) error {
	p := newPrinter(w, o)
	p.table(t)
	return p.flush()
}

func (p *printer) table(t *Table) {
	if len(t.Rows) == 0 {
		return
	}
	rows := t.text(p.o)
	widths := t.widths(rows)
	if p.o.Terminal() {
		t.leaveOut(widths, p.o.Width, readColumn, func(c Column) bool { return c.Spare })
		t.leaveOut(widths, p.o.Width, minColumn, func(c Column) bool { return c.Last })
		t.shrink(widths, p.o.Width)
	} else {
		for i, w := range widths {
			widths[i] = min(w, padded)
		}
	}
	for i, row := range rows {
		for _, line := range t.folded(row, widths, p.o) {
			p.line(t.layOut(i-1, line, widths, p.o))
		}
	}
}

// folded is a row as one line or, where its last cell is wrapped, several.
func (t *Table) folded(row []string, widths []int, o Options) [][]string {
	last := len(row) - 1
	if !o.Terminal() || !t.Columns[last].Wrap || Width(row[last]) <= widths[last] {
		return [][]string{row}
	}
	var lines [][]string
	for i, part := range strings.Split(ansi.Wrap(row[last], widths[last], ""), "\n") {
		line := make([]string, len(row))
		if i == 0 {
			copy(line, row)
		}
		line[last] = part
		lines = append(lines, line)
	}
	return lines
}

// text is the clean text of every cell, headings first.
func (t *Table) text(o Options) [][]string {
	rows := make([][]string, 0, len(t.Rows)+1)
	head := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = c.Title
	}
	rows = append(rows, head)
	for _, cells := range t.Rows {
		row := make([]string, len(t.Columns))
		for i := range row {
			if i < len(cells) {
				row[i] = cells[i].Text
				if o.Terminal() { // which cuts it as well
					row[i] = begins(row[i], o.Width)
				}
				row[i] = SanitizeLine(row[i])
			}
			row[i] = or(row[i])
		}
		rows = append(rows, row)
	}
	return rows
}

func (t *Table) widths(rows [][]string) []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = c.Min
	}
	for _, row := range rows {
		for i, s := range row {
			widths[i] = max(widths[i], Width(s))
		}
	}
	return widths
}

// dropped is the width of a column that is left out.
const dropped = -columnGap

// leaveOut leaves columns out, the last one first, until the rest fits, with so many
// cells at most for each that may be cut.
func (t *Table) leaveOut(widths []int, total, most int, may func(Column) bool) {
	takes := func(i int) int {
		if t.Columns[i].Keep {
			return widths[i] + columnGap
		}
		return min(widths[i], most) + columnGap
	}
	need := -columnGap
	for i := range widths {
		need += takes(i)
	}
	for i := len(widths) - 1; i >= 0 && need > total; i-- {
		if may(t.Columns[i]) {
			need -= takes(i)
			widths[i] = dropped
		}
	}
}

// shrink takes cells from the widest column that may be cut until the row fits
// or there is nothing left to take.
func (t *Table) shrink(widths []int, total int) {
	over := -columnGap - total
	for _, w := range widths {
		over += w + columnGap
	}
	for over > 0 {
		widest, next := -1, minColumn
		for i, w := range widths {
			if t.Columns[i].Keep || w <= minColumn {
				continue
			}
			if widest < 0 || w > widths[widest] {
				if widest >= 0 {
					next = max(next, widths[widest])
				}
				widest = i
			} else {
				next = max(next, w)
			}
		}
		if widest < 0 {
			return
		}
		take := min(over, max(1, widths[widest]-next))
		widths[widest] -= take
		over -= take
	}
}

// layOut is one line of the table; row -1 is the heading.
func (t *Table) layOut(row int, texts []string, widths []int, o Options) string {
	var b strings.Builder
	last := len(texts) - 1
	for last > 0 && widths[last] == dropped {
		last--
	}
	for i, s := range texts {
		if widths[i] == dropped {
			continue
		}
		if o.Terminal() {
			s = Fit(s, widths[i])
		}
		style := Bold
		if row >= 0 {
			style = Plain
			if i < len(t.Rows[row]) {
				style = t.Rows[row][i].Style
			}
		}
		painted := style.Paint(s, o.Color)
		if i != last || t.Columns[i].Right {
			painted = Pad(painted, widths[i], t.Columns[i].Right)
		}
		b.WriteString(painted)
		if i != last {
			b.WriteString(strings.Repeat(" ", columnGap))
		}
	}
	return b.String()
}

// left is a column of text that may be cut.
func left(title string) Column { return Column{Title: title} }

// whole is a column that is never cut.
func whole(title string) Column { return Column{Title: title, Keep: true} }

// right is a column of numbers.
func right(title string) Column { return Column{Title: title, Right: true, Keep: true} }

// spare makes a column one that may be left out.
func spare(c Column) Column {
	c.Spare = true
	return c
}

// last makes a column one that is left out where there is no room for it at all.
func last(c Column) Column {
	c.Last = true
	return c
}
