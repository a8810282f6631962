package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxLineBytes bounds one line of a stream.
const maxLineBytes = 32 << 20

// Events reads the answer of a call as server-sent events.
type Events struct {
	lines *bufio.Reader
	name  string
	data  []byte
	line  []byte
	err   error
}

// Events reads the answer, once Do has succeeded.
func (k *Call) Events() *Events { return &Events{lines: bufio.NewReaderSize(k.answer.Body, 32<<10)} }

// Next reads the next event that has data. It returns false at the end, whose
// reason is Err.
func (e *Events) Next() bool {
	e.name, e.data = "", nil
	for e.err == nil {
		whole := e.readLine()
		switch {
		case !whole:
			return e.last()
		case len(e.line) == 0 && len(bytes.TrimSpace(e.data)) > 0:
			return true
		case len(e.line) == 0:
			e.name, e.data = "", nil
		default:
			e.field()
		}
	}
	return false
}

// Name is the event's name, "" when it has none.
func (e *Events) Name() string { return e.name }

// Data is the event's data without space around it, valid until Next.
func (e *Events) Data() []byte { return bytes.TrimSpace(e.data) }

// Err is why the stream ended: nil after its end.
func (e *Events) Err() error {
	if errors.Is(e.err, io.EOF) {
		return nil
	}
	return e.err
}

// last is what a stream that ends without an empty line still says. Half a line
// says nothing: the stream was cut there.
func (e *Events) last() bool {
	if !errors.Is(e.err, io.EOF) {
		return false
	}
	if len(e.line) > 0 {
		before := len(e.data)
		e.field()
		if data := e.Data(); !json.Valid(data) && !bytes.Equal(data, []byte("[DONE]")) {
			e.data = e.data[:before]
		}
	}
	return len(e.Data()) > 0
}

// readLine reads one line without its end. It is false when the stream ends,
// with what there was of a line.
func (e *Events) readLine() (whole bool) {
	e.line = e.line[:0]
	for {
		piece, err := e.lines.ReadSlice('\n')
		e.line = append(e.line, piece...)
		switch {
		case len(e.line) > maxLineBytes:
			e.err = Malformed("a line of the stream is too long")
			return false
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			e.err = err
			return false
		}
		e.line = bytes.TrimRight(e.line, "\r\n")
		return true
	}
}

func (e *Events) field() {
	name, value, _ := bytes.Cut(e.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.name = string(value)
	case "data":
		if len(e.data) > 0 {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	}
}
