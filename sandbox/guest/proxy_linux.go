package guest

import (
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

func (s *server) beginProxy(f frame) error {
	var req proxyRequest
	if s.proxied {
		return errors.New("the proxy is begun twice")
	}
	s.proxied = true
	return s.begin(f, &req, func(c *call) { s.proxy(c, req) })
}

// proxy listens for programs of the box and hands their connections to the
// host. What they say there is not looked at here.
func (s *server) proxy(c *call, req proxyRequest) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(req.Port)))
	if err != nil {
		s.finish(c, done{Err: &wireError{Kind: wireOther, Text: clip(err.Error(), maxErrorText)}})
		return
	}
	s.finish(c, done{Port: l.Addr().(*net.TCPAddr).Port})
	slot := make(chan struct{}, MaxTunnels)
	for id := uint32(1); ; id++ {
		slot <- struct{}{}
		conn := accept(l)
		t, err := s.tunnels.add(id) // in order, and so its opening
		if err == nil {
			err = s.out.send(kindOpen, id, nil)
		}
		if err != nil {
			return // the stream has ended, and the guest with it
		}
		go func() {
			defer func() { <-slot }()
			s.carry(t, conn.(*net.TCPConn))
		}()
	}
}

// accept waits for a connection. It can fail for want of a file, of which there
// are more again when a program closes some.
func accept(l net.Listener) net.Conn {
	for {
		conn, err := l.Accept()
		if err == nil {
			return conn
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// carry joins a program's connection and the host, and returns when both have
// done with it: until then its number is in use.
func (s *server) carry(t *tunnel, conn *net.TCPConn) {
	defer s.tunnels.remove(t.id)
	var both sync.WaitGroup
	delivered := make(chan struct{})
	both.Go(func() {
		err := pass(t, conn)
		if errors.Is(err, errTunnel) && !isClosed(delivered) {
			// The host has hung up, and what it said before is still on its way to
			// the program: that is not to be lost, nor the program reset for talking.
			_, err = io.Copy(io.Discard, conn)
		}
		if err != nil {
			_, _ = conn.Close(), t.Close()
		}
	})
	both.Go(func() {
		err := pass(conn, t)
		close(delivered)
		if err != nil || t.hungUp() {
			_, _ = conn.Close(), t.Close()
		}
	})
	both.Wait()
	_, _ = conn.Close(), t.Close()
	if s.out.send(fromGuest|kindEnd, t.id, nil) == nil {
		t.awaitEnd()
	}
}

// pass copies until there is no more and says so.
func pass(to interface {
	io.Writer
	CloseWrite() error
}, from io.Reader,
) error {
	_, err := io.Copy(to, from)
	if err == nil {
		err = to.CloseWrite()
	}
	return err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// hungUp tells whether the other end neither sends nor reads any more.
func (t *tunnel) hungUp() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone
}

// awaitEnd waits until the other end is done with the tunnel as well.
func (t *tunnel) awaitEnd() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.gone {
		t.changed.Wait()
	}
}
