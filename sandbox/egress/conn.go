package egress

import (
	"net"
	"sync"
	"time"
)

// conn is a connection whose bytes are counted, and which silence ends.
type conn struct {
	net.Conn
	d       *Dialer
	idle    *time.Timer
	release func()
}

func (d *Dialer) metered(c net.Conn) *conn {
	return &conn{
		Conn: c, d: d, idle: time.AfterFunc(d.o.Limits.Idle, func() { _ = c.Close() }),
		release: sync.OnceFunc(func() { <-d.open }),
	}
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if over := c.moved(0, n); over != nil {
		return 0, over
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	if over := c.moved(len(p), 0); over != nil {
		return 0, over
	}
	return c.Conn.Write(p)
}

// moved counts bytes. Those that are over the limit do not arrive.
func (c *conn) moved(sent, received int) error {
	if sent+received == 0 {
		return nil
	}
	c.idle.Reset(c.d.o.Limits.Idle)
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	u := &c.d.used
	u.Sent += int64(sent)
	u.Received += int64(received)
	if u.Sent+u.Received > c.d.o.Limits.Bytes {
		return &Refused{Host: c.RemoteAddr().String(), Reason: TooMuch}
	}
	return nil
}

// CloseWrite says that nothing more is sent.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *conn) Close() error {
	c.idle.Stop()
	defer c.release()
	return c.Conn.Close()
}
