package docker

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
)

// watchKey finds the connWatch in a context.
type watchKey struct{}

// connWatch ends an upgrade that its caller no longer waits for: the library
// reads the engine's answer to it without looking at the context.
type connWatch struct {
	mu   sync.Mutex
	conn net.Conn
	over bool
}

func (w *connWatch) set(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = c
	if w.over {
		_ = c.Close()
	}
}

func (w *connWatch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.conn != nil {
		_ = w.conn.Close()
	}
}

// attach connects to a container's three streams, within ctx.
func attach(ctx context.Context, c *client.Client, id string) (*stream, error) {
	w := &connWatch{}
	stop := context.AfterFunc(ctx, w.end)
	resp, err := c.ContainerAttach(context.WithValue(ctx, watchKey{}, w), id, container.AttachOptions{
		Stream: true, Stdin: true, Stdout: true, Stderr: true,
	})
	if !stop() && err == nil {
		resp.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return &stream{conn: resp.Conn, r: resp.Reader, last: &tail{max: 4 << 10}}, nil
}

// stream is the guest's end of an attached connection. What the container's
// first process says on its standard error is kept for the post mortem.
type stream struct {
	conn net.Conn
	r    *bufio.Reader
	left uint32 // of the current block of standard output
	last *tail
	once sync.Once
}

// The engine wraps what a container writes into blocks: one byte for the
// stream, three of nothing, four for the length.
const (
	blockHeader = 8
	blockStdout = 1
	blockStderr = 2
)

func (s *stream) Read(p []byte) (int, error) {
	for s.left == 0 {
		var h [blockHeader]byte
		if _, err := io.ReadFull(s.r, h[:]); err != nil {
			return 0, err
		}
		n := binary.BigEndian.Uint32(h[4:])
		switch h[0] {
		case blockStdout:
			s.left = n
		case blockStderr:
			if _, err := io.CopyN(s.last, s.r, int64(n)); err != nil {
				return 0, err
			}
		default:
			return 0, fmt.Errorf("the engine's stream is out of step (block of kind %d)", h[0])
		}
	}
	n, err := s.r.Read(p[:min(len(p), int(s.left))])
	s.left -= uint32(n)
	return n, err
}

func (s *stream) Write(p []byte) (int, error) { return s.conn.Write(p) }

// Close ends the guest's input, which is its signal to go, and the connection.
func (s *stream) Close() error {
	s.once.Do(func() {
		if cw, ok := s.conn.(types.CloseWriter); ok {
			_ = cw.CloseWrite()
		}
		_ = s.conn.Close()
	})
	return nil
}
