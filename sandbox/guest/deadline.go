package guest

import (
	"errors"
	"net"
	"time"
)

// deadline is guarded by its tunnel's lock.
type deadline struct {
	timer  *time.Timer
	passed bool
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (t *tunnel) set(d *deadline, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.stop()
	d.passed = !at.IsZero() && !at.After(time.Now())
	if !at.IsZero() && !d.passed {
		var mine *time.Timer
		mine = time.AfterFunc(time.Until(at), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if d.timer == mine { // it may have been stopped too late
				d.passed = true
				t.changed.Broadcast()
			}
		})
		d.timer = mine
	}
	t.changed.Broadcast()
}

// SetDeadline bounds reads and writes, those that wait already too.
func (t *tunnel) SetDeadline(at time.Time) error {
	return errors.Join(t.SetReadDeadline(at), t.SetWriteDeadline(at))
}

// SetReadDeadline bounds reads.
func (t *tunnel) SetReadDeadline(at time.Time) error {
	t.set(&t.reading, at)
	return nil
}

// SetWriteDeadline bounds writes.
func (t *tunnel) SetWriteDeadline(at time.Time) error {
	t.set(&t.writing, at)
	return nil
}

// LocalAddr is the proxy's in the box.
func (t *tunnel) LocalAddr() net.Addr { return inBox{} }

// RemoteAddr is some program's in the box.
func (t *tunnel) RemoteAddr() net.Addr { return inBox{} }

type inBox struct{}

func (inBox) Network() string { return "sandbox" }
func (inBox) String() string  { return "sandbox" }
