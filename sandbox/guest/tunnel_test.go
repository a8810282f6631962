package guest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox/guest"
)

const (
	startProxy                         = 0x10
	openT, flowT, grantT, finT, endT   = 0x90, 0x91, 0x92, 0x93, 0x94
	hostFlow, hostGrant, hostFin, hEnd = 0x11, 0x12, 0x13, 0x14
)

// TestClientRefusesTunnelsWithoutNetwork has a guest speak of connections that
// nobody let it have.
func TestClientRefusesTunnelsWithoutNetwork(t *testing.T) {
	t.Parallel()
	for _, kind := range []byte{openT, flowT, grantT, finT, endT} {
		c := impostor(t, guest.Config{}, func(_ byte, _ uint32) []byte { return frame(kind, 1, "") })
		if err := c.Quiesce(t.Context()); !errors.Is(err, guest.ErrTampered) {
			t.Errorf("kind %#x: got %v, want ErrTampered", kind, err)
		}
	}
}

// TestClientRefusesTunnelsThatNoGuestMakes has one break every rule of tunnels.
func TestClientRefusesTunnelsThatNoGuestMakes(t *testing.T) {
	t.Parallel()
	open := frame(openT, 1, "")
	many := func(n int) (all []byte) {
		for i := range n {
			all = append(all, frame(openT, uint32(i+1), "")...)
		}
		return all
	}
	for name, frames := range map[string][][]byte{
		"one number twice":        {open, open},
		"a number gone back":      {frame(openT, 2, ""), open},
		"number zero":             {frame(openT, 0, "")},
		"more than may be":        {many(guest.MaxTunnels + 1)},
		"an opening with content": {frame(openT, 1, "x")},
		"more than was granted":   {open, frame(flowT, 1, strings.Repeat("x", 40<<10)), frame(flowT, 1, strings.Repeat("x", 40<<10))},
		"nothing":                 {open, frame(flowT, 1, "")},
		"more after the end":      {open, frame(finT, 1, ""), frame(flowT, 1, "x")},
		"two ends":                {open, frame(finT, 1, ""), frame(finT, 1, "")},
		"two last ends":           {open, frame(endT, 1, ""), frame(endT, 1, "")},
		"a grant unasked":         {open, frame(grantT, 1, "\x00\x00\x00\x01")},
		"a grant of nothing":      {open, frame(grantT, 1, "\x00\x00\x00\x00")},
		"an immense grant":        {open, frame(grantT, 1, "\xff\xff\xff\xff")},
		"half a grant":            {open, frame(grantT, 1, "\x00")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := impostor(t, guest.Config{}, func(kind byte, id uint32) []byte {
				if kind != startProxy {
					return nil
				}
				return append(frame(end, id, `{"port":1}`), bytes.Join(frames, nil)...)
			})
			// Nobody reads what comes: that holds up nothing.
			_, _ = c.Proxy(t.Context(), 0, func(ctx context.Context, _ net.Conn) { <-ctx.Done() })
			select {
			case <-c.Done():
			case <-time.After(20 * time.Second):
				t.Fatal("the connection goes on")
			}
			if err := c.Err(); !errors.Is(err, guest.ErrTampered) {
				t.Errorf("got %v, want ErrTampered", err)
			}
		})
	}
}

// TestFramesOfNoTunnelAreDropped has a guest speak of connections that are over.
func TestFramesOfNoTunnelAreDropped(t *testing.T) {
	t.Parallel()
	c := impostor(t, guest.Config{}, func(kind byte, id uint32) []byte {
		if kind == startProxy {
			return frame(end, id, `{"port":1}`)
		}
		return bytes.Join([][]byte{
			frame(flowT, 9, "x"), frame(grantT, 9, "not even a number"), frame(finT, 9, ""), frame(endT, 9, ""), frame(end, id, "{}"),
		}, nil)
	})
	if _, err := c.Proxy(t.Context(), 0, func(context.Context, net.Conn) {}); err != nil {
		t.Fatal(err)
	}
	if err := c.Quiesce(t.Context()); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestTunnelDeadlines: whoever serves a connection relies on them.
func TestTunnelDeadlines(t *testing.T) {
	t.Parallel()
	errs := make(chan error, 3)
	c := impostor(t, guest.Config{}, func(kind byte, id uint32) []byte {
		if kind != startProxy {
			return nil
		}
		return append(frame(end, id, `{"port":1}`), frame(openT, 1, "")...)
	})
	_, err := c.Proxy(t.Context(), 0, func(_ context.Context, conn net.Conn) {
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		errs <- err
		_ = conn.SetDeadline(time.Now().Add(-time.Second))
		_, err = conn.Read(make([]byte, 1))
		errs <- err
		_ = conn.SetDeadline(time.Time{})
		_ = conn.SetWriteDeadline(time.Now().Add(5 * time.Millisecond))
		_, err = io.Copy(conn, zeros{}) // as much as may be sent, and then it waits
		errs <- err
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var late net.Error
		if err := <-errs; !errors.As(err, &late) || !late.Timeout() {
			t.Errorf("got %v, want a timeout", err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// FuzzTunnels has a guest with a network say anything: no connection is kept
// that was not opened, and all that were end with the client.
func FuzzTunnels(f *testing.F) {
	f.Add([]byte{})
	f.Add(append(frame(openT, 1, ""), frame(flowT, 1, "GET / HTTP/1.1\r\n\r\n")...))
	f.Add(bytes.Join([][]byte{frame(openT, 1, ""), frame(openT, 2, ""), frame(finT, 1, ""), frame(endT, 2, ""), frame(grantT, 1, "\x00\x00\x00\x05")}, nil))
	f.Fuzz(func(t *testing.T, says []byte) {
		host, box := net.Pipe()
		go func() {
			_, _, _, _ = readFrame(box)
			_, _ = box.Write(frame(facts, 0, factsJSON))
			_, id, _, _ := readFrame(box)
			go func() { _, _ = io.Copy(io.Discard, box) }()
			_, _ = box.Write(append(frame(end, id, `{"port":1}`), says...))
			_ = box.Close()
		}()
		c, _, err := guest.Connect(t.Context(), host, guest.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var now, most atomic.Int64
		_, _ = c.Proxy(t.Context(), 0, func(_ context.Context, conn net.Conn) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			_, _ = io.Copy(conn, conn)
		})
		<-c.Done()
		_ = c.Close()
		if now.Load() != 0 || most.Load() > guest.MaxTunnels {
			t.Errorf("%d connections are left of %d at once", now.Load(), most.Load())
		}
	})
}
