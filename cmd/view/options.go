package view

import (
	"bufio"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Options say who is reading.
type Options struct {
	// Color permits colour codes. Without it not one escape byte is written.
	Color bool
	// Width is the terminal's width in cells; no line written is wider. 0 is
	// a pipe or a file: full values, full ids and RFC 3339 times.
	Width int
	// Whole is for a screen that scrolls: nothing is left out because it is long, and
	// long lines of texts are wrapped.
	Whole bool
	// Now is what ages are counted from; its location is the one in which
	// clock times are shown.
	Now time.Time
}

// Terminal says whether a person at a terminal is reading.
func (o Options) Terminal() bool { return o.Width > 0 }

// brief says that long lists and texts are cut: the terminal would scroll them away.
func (o Options) brief() bool { return o.Terminal() && !o.Whole }

// ID is an id as it is shown: short on a terminal, whole in a pipe. Both forms
// are accepted wherever an id is asked for.
func (o Options) ID(id string) string {
	if o.Terminal() {
		return ShortID(id)
	}
	return SanitizeLine(id)
}

// Time is a moment as it is shown: an age on a terminal, RFC 3339 in UTC
// elsewhere, "-" for none.
func (o Options) Time(t time.Time) string {
	if t.IsZero() {
		return absent
	}
	if o.Terminal() {
		return Age(t, o.Now)
	}
	return t.UTC().Format(time.RFC3339)
}

func (o Options) timePtr(t *time.Time) string {
	if t == nil {
		return absent
	}
	return o.Time(*t)
}

// printer writes lines and keeps the first error, so that a renderer reads
// straight down.
type printer struct {
	w *bufio.Writer
	o Options
}

func newPrinter(w io.Writer, o Options) *printer {
	return &printer{w: bufio.NewWriter(w), o: o}
}

// line writes one line, cut to the width. The text is already clean.
func (p *printer) line(s string) {
	if p.o.Terminal() {
		s = Fit(s, p.o.Width)
	}
	p.w.WriteString(s) // bufio keeps the first error for flush
	p.w.WriteByte('\n')
}

// typed writes clean text that is to be typed under an indent, and cuts none of it: it
// is broken where it does not fit, between words if they do.
func (p *printer) typed(indent int, s string) {
	if !p.o.Terminal() || indent+Width(s) <= p.o.Width {
		p.line(Pad("", indent, false) + s)
		return
	}
	if p.o.Width < 2*indent {
		indent = 0
	}
	room := p.o.Width - indent
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines); n > 0 && Width(lines[n-1])+1+Width(word) <= room {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	for _, l := range lines {
		for _, part := range strings.Split(ansi.Hardwrap(l, room, false), "\n") {
			p.line(Pad("", indent, false) + part)
		}
	}
}

func (p *printer) blank() { p.w.WriteByte('\n') }

// title writes the heading of a block.
func (p *printer) title(s string) { p.line(Bold.Paint(s, p.o.Color)) }

// text writes untrusted single-line text under an indent. On a terminal it is
// wrapped, to maxTextLines lines at most.
func (p *printer) text(indent int, s string) {
	margin := strings.Repeat(" ", indent)
	for _, l := range p.wrap(SanitizeLine(s), p.o.Width-indent) {
		p.line(margin + l)
	}
}

// maxTextLines is how many lines of one reason a terminal shows; a pipe gets
// all of it on one line.
const maxTextLines = 6

// wrap breaks clean text into lines of at most width cells on a terminal, and
// leaves it whole elsewhere. The last line shown says when there was more.
func (p *printer) wrap(s string, width int) []string {
	if !p.o.Terminal() || width < 1 {
		return []string{s}
	}
	if p.o.brief() { // what cannot be shown is not measured either
		s = Clip(s, (maxTextLines+1)*width*4)
	}
	lines := strings.Split(ansi.Wrap(s, width, ""), "\n")
	if len(lines) > maxTextLines && p.o.brief() {
		lines = lines[:maxTextLines]
		lines[maxTextLines-1] = Fit(lines[maxTextLines-1]+" "+ellipsis, width)
	}
	return lines
}

// block writes untrusted text of several lines under an indent, at most limit
// lines of it on a terminal.
func (p *printer) block(indent, limit int, s string) {
	margin := strings.Repeat(" ", indent)
	lines := strings.Split(strings.TrimRight(Sanitize(s), "\n"), "\n")
	for i, l := range lines {
		if p.o.brief() && i == limit {
			p.line(Faint.Paint(margin+ellipsis+" "+count(len(lines)-i, "more line"), p.o.Color))
			return
		}
		l = strings.ReplaceAll(l, "\t", "    ")
		if p.o.Whole && p.o.Terminal() {
			l = ansi.Hardwrap(l, max(p.o.Width-indent, 1), true)
		}
		for part := range strings.SplitSeq(l, "\n") {
			p.line(margin + part)
		}
	}
}

func (p *printer) flush() error { return p.w.Flush() }
