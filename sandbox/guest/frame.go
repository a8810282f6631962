package guest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Version is the protocol's number. Both ends must have the same one: a guest
// is always delivered by the host that talks to it.
const Version = 3

const (
	headerLen  = 9
	maxPayload = 1 << 20
	// maxChunk bounds a frame of bulk data, so that a PONG never waits behind
	// more than one of them.
	maxChunk = 256 << 10
)

// kind is a frame's type. The high bit tells who may send it.
type kind uint8

const (
	kindHello kind = iota + 1
	kindPing
	kindExec
	kindData
	kindKill
	kindRead
	kindWrite
	kindList
	kindQuiesce
	kindBind

	kindFacts kind = iota + 0x80 - 9
	kindPong
	kindStdout
	kindStderr
	kindBulk
	kindDone
)

type frame struct {
	kind    kind
	id      uint32
	payload []byte // valid until the next frame is read
}

var errOversize = errors.New("a frame is larger than the protocol allows")

type frameReader struct {
	r   *bufio.Reader
	buf []byte
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// next reads one frame. Its error is io.EOF between frames only.
func (fr *frameReader) next() (frame, error) {
	var h [headerLen]byte
	if _, err := io.ReadFull(fr.r, h[:]); err != nil {
		return frame{}, err
	}
	n := binary.BigEndian.Uint32(h[:4])
	if n > maxPayload {
		return frame{}, fmt.Errorf("%w: %d bytes", errOversize, n)
	}
	if uint32(cap(fr.buf)) < n {
		fr.buf = make([]byte, max(n, 4<<10))
	}
	f := frame{kind: kind(h[4]), id: binary.BigEndian.Uint32(h[5:]), payload: fr.buf[:n]}
	if _, err := io.ReadFull(fr.r, f.payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	return f, nil
}

// appendFrame appends the frame to buf. The payload fits: that is the caller's
// promise.
func appendFrame(buf []byte, k kind, id uint32, payload []byte) []byte {
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(payload)))
	buf = append(buf, byte(k))
	buf = binary.BigEndian.AppendUint32(buf, id)
	return append(buf, payload...)
}

// frameWriter lets many goroutines write whole frames. It is the guest's: a
// write may block for as long as the host does not read.
type frameWriter struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

func (fw *frameWriter) send(k kind, id uint32, payload []byte) error {
	if len(payload) > maxPayload {
		return errOversize
	}
	fw.mu.Lock()
	defer fw.mu.Unlock()
	fw.buf = appendFrame(fw.buf[:0], k, id, payload)
	_, err := fw.w.Write(fw.buf)
	return err
}
