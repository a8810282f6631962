package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// A tunnel is a connection of a program in the box, carried over the guest's
// stream. The frames are the same both ways; those of the guest have fromGuest.
const (
	kindProxy kind = iota + 0x10 // starts the guest's proxy
	kindFlow                     // data
	kindGrant                    // as many more bytes may be sent
	kindFin                      // nothing more is sent
	kindEnd                      // nor read; each end says it once, and the number is free when both have

	fromGuest kind = 0x80
	kindOpen  kind = fromGuest | kindProxy // a program has connected
)

const (
	// MaxTunnels is how many connections the proxy of a box has at once; more
	// have to wait.
	MaxTunnels = 32
	// window is what one end of a tunnel may send before the other has read it,
	// and so what a tunnel costs either of them in memory.
	window = 64 << 10
	// maxFlow bounds a frame of a tunnel, so that no tool's answer waits long
	// behind one.
	maxFlow = 32 << 10
)

var errTunnel = errors.New("the connection was broken off")

// tunnels are one end of all tunnels of a box.
type tunnels struct {
	side kind // of what is sent: 0 or fromGuest
	send func(k kind, id uint32, payload []byte) error

	mu   sync.Mutex
	all  map[uint32]*tunnel
	last uint32
	err  error // why there are no more
}

func newTunnels(side kind, send func(kind, uint32, []byte) error) *tunnels {
	return &tunnels{side: side, send: send, all: map[uint32]*tunnel{}}
}

// add makes a tunnel. Numbers only grow, so that a frame that comes late cannot
// be taken for another tunnel's.
func (ts *tunnels) add(id uint32) (*tunnel, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	switch {
	case ts.err != nil:
		return nil, ts.err
	case id <= ts.last:
		return nil, fmt.Errorf("connection %d is opened after connection %d", id, ts.last)
	case len(ts.all) >= MaxTunnels:
		return nil, errors.New("more connections at once than the protocol allows")
	}
	ts.last = id
	t := &tunnel{of: ts, id: id, room: window, credit: window}
	t.changed = sync.NewCond(&t.mu)
	ts.all[id] = t
	return t, nil
}

func (ts *tunnels) remove(id uint32) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.all, id)
}

// fail ends every tunnel, and lets none be made.
func (ts *tunnels) fail(err error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.err = err
	for _, t := range ts.all {
		t.abort(err)
	}
}

// take hands a frame to its tunnel, without waiting for anything. Frames of a
// tunnel that is closed here were sent before the other end knew.
func (ts *tunnels) take(f frame) error {
	ts.mu.Lock()
	t := ts.all[f.id]
	ts.mu.Unlock()
	if t == nil {
		return nil
	}
	switch f.kind &^ fromGuest {
	case kindFlow:
		return t.arrived(f.payload)
	case kindGrant:
		return t.granted(f.payload)
	case kindFin:
		return t.finished(false)
	}
	return t.finished(true)
}

// tunnel is one end of a connection. It implements [net.Conn].
type tunnel struct {
	of *tunnels
	id uint32

	mu      sync.Mutex
	changed *sync.Cond
	in      []byte // what has come and was not read
	room    int    // what may still come
	read    int    // what was read and not granted anew
	credit  int    // what may still be sent
	fin     bool   // nothing more comes
	gone    bool   // the other end has said kindEnd
	sentFin bool
	err     error // why the tunnel is over at this end
	reading deadline
	writing deadline
}

func (t *tunnel) arrived(p []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fin || t.gone || len(p) == 0 || len(p) > t.room {
		return fmt.Errorf("%d bytes of a connection that may bring %d", len(p), t.room)
	}
	t.room -= len(p)
	if t.err == nil {
		t.in = append(t.in, p...)
		t.changed.Broadcast()
	}
	return nil
}

func (t *tunnel) granted(p []byte) error {
	if len(p) != 4 {
		return errors.New("a grant that cannot be read")
	}
	n := binary.BigEndian.Uint32(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if n == 0 || n > uint32(window-t.credit) {
		return fmt.Errorf("a grant of %d bytes that were not sent", n)
	}
	t.credit += int(n)
	t.changed.Broadcast()
	return nil
}

func (t *tunnel) finished(gone bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone || t.fin && !gone {
		return errors.New("a connection ends twice")
	}
	t.fin, t.gone = t.fin || !gone, gone
	t.changed.Broadcast()
	return nil
}

// abort ends the tunnel at this end; what has come is not read any more.
func (t *tunnel) abort(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err, t.in = err, nil
		t.changed.Broadcast()
	}
}

// Read waits for data, and lets the other end send more for what was read.
func (t *tunnel) Read(p []byte) (int, error) {
	n, grant, err := t.readNow(p)
	if grant > 0 && err == nil {
		// An error here is of the whole stream; whoever reads on hears of it.
		_ = t.of.send(t.of.side|kindGrant, t.id, binary.BigEndian.AppendUint32(nil, uint32(grant)))
	}
	return n, err
}

func (t *tunnel) readNow(p []byte) (n, grant int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.in) == 0 {
		switch {
		case t.err != nil:
			return 0, 0, t.err
		case t.fin:
			return 0, 0, io.EOF
		case t.gone:
			return 0, 0, errTunnel
		case t.reading.passed:
			return 0, 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, 0, nil
		}
		t.changed.Wait()
	}
	n = copy(p, t.in)
	if t.in = t.in[n:]; len(t.in) == 0 {
		t.in = nil
	}
	t.read += n
	if t.read >= window/2 && !t.fin && !t.gone {
		grant, t.read = t.read, 0
		t.room += grant
	}
	return n, grant, nil
}

// Write sends p as the other end makes room for it.
func (t *tunnel) Write(p []byte) (sent int, err error) {
	for len(p) > 0 {
		n, err := t.spend(len(p))
		if err == nil {
			err = t.of.send(t.of.side|kindFlow, t.id, p[:n])
		}
		if err != nil {
			return sent, err
		}
		p, sent = p[n:], sent+n
	}
	return sent, nil
}

// spend waits for credit and takes some.
func (t *tunnel) spend(want int) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		switch {
		case t.err != nil:
			return 0, t.err
		case t.gone:
			return 0, errTunnel
		case t.sentFin:
			return 0, io.ErrClosedPipe
		case t.writing.passed:
			return 0, os.ErrDeadlineExceeded
		case t.credit > 0:
			n := min(want, t.credit, maxFlow)
			t.credit -= n
			return n, nil
		}
		t.changed.Wait()
	}
}

// CloseWrite says that nothing more is sent.
func (t *tunnel) CloseWrite() error {
	t.mu.Lock()
	done := t.sentFin || t.gone || t.err != nil
	t.sentFin = true
	t.changed.Broadcast()
	t.mu.Unlock()
	if done {
		return nil
	}
	return t.of.send(t.of.side|kindFin, t.id, nil)
}

// Close ends the tunnel at this end. That the other end knows is seen to by
// whoever made it.
func (t *tunnel) Close() error {
	t.abort(net.ErrClosed)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reading.stop()
	t.writing.stop()
	return nil
}
