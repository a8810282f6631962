package encodings

// Breaks says what may stand between the characters of a form without hiding it:
// programs break long lines, and write bytes apart.
type Breaks int

// The kinds of breaks.
const (
	Unbroken Breaks = iota
	Lines           // white space
	Bytes           // white space and what numbers are set apart by
)

// kindOf is the least kind of breaks that a byte belongs to.
func kindOf(c byte) Breaks {
	switch c {
	case ' ', '\t', '\r', '\n', '\v', '\f', '\\':
		return Lines
	case ':', ',', ';', '.', '-', '_':
		return Bytes
	}
	return Unbroken
}

// skip is how many bytes at i are a break. One may be escaped as in JSON, also
// in JSON inside JSON.
func skip[T string | []byte](text T, i int, kind Breaks) int {
	switch is := kindOf(text[i]); {
	case is == Unbroken || is > kind:
		return 0
	case text[i] != '\\':
		return 1
	}
	end := i + 1
	for end < len(text) && text[end] == '\\' {
		end++
	}
	if end < len(text) && (text[end] == 'n' || text[end] == 'r' || text[end] == 't') {
		end++
	}
	return end - i
}

// Join is a text without its breaks.
func Join[T string | []byte](text T, kind Breaks) []byte {
	joined := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if is := kindOf(text[i]); is == Unbroken || is > kind {
			joined = append(joined, text[i])
			i++
			continue
		}
		i += skip(text, i, kind)
	}
	return joined
}

// Cursor goes through a text as Join does, to find where in it the bytes of the
// joined one stand.
type Cursor[T string | []byte] struct {
	Text T
	Kind Breaks

	next, joined int // how far it is in the text, and in the joined one
}

// Span is where the length bytes at of the joined text stand: from start to
// before end. A Cursor only goes on: at must not be before the end of the last
// span.
func (c *Cursor[T]) Span(at, length int) (start, end int) {
	for c.next < len(c.Text) && c.joined < at+length {
		if n := skip(c.Text, c.next, c.Kind); n > 0 {
			c.next += n
			continue
		}
		if c.joined == at {
			start = c.next
		}
		c.next++
		c.joined++
	}
	return start, c.next
}
