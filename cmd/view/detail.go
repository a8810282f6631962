package view

import "io"

// Details is a block of names and values, one a line.
type Details []Detail

// Detail is one line of a block. Its value need not be clean.
type Detail struct {
	Key   string
	Value string
	Style Style
}

// detailKey is how many cells the names of a block take.
const detailKey = 20

// Add appends a line. An empty value is shown as "-".
func (d *Details) Add(key, value string) { *d = append(*d, Detail{Key: key, Value: value}) }

// Status appends a line whose value has the colour of its word.
func (d *Details) Status(key, word string) {
	*d = append(*d, Detail{Key: key, Value: word, Style: StatusStyle(word)})
}

// Write writes the block.
func (d Details) Write(w io.Writer, o Options) error {
	p := newPrinter(w, o)
	p.details(d)
	return p.flush()
}

func (p *printer) details(d Details) {
	for _, l := range d {
		lines := p.wrap(or(SanitizeLine(l.Value)), p.o.Width-detailKey-1)
		for i, text := range lines {
			key := ""
			if i == 0 {
				key = l.Key + ":"
			}
			p.line(Pad(key, detailKey, false) + " " + l.Style.Paint(text, p.o.Color))
		}
	}
}
