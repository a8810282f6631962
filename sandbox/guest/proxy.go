package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
)

type proxyRequest struct {
	Port int `json:"port"` // 0: any
}

// Proxy has the guest listen on 127.0.0.1 in its box, and serve called with each
// connection that a program there makes, at most MaxTunnels at once. The port is
// 0 for one of the guest's choosing; the one it took is returned. A guest that is
// not asked has no such port, and one that speaks of connections all the same
// has been tampered with.
//
// The connection is closed when serve returns. The guest's end of it is held up
// when serve does not read, and no other connection or call with it. Ctx is for
// the answer; the one that serve gets ends with the client.
func (c *Client) Proxy(ctx context.Context, port int, serve func(context.Context, net.Conn)) (int, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	ts := newTunnels(0, func(k kind, id uint32, payload []byte) error { return c.send(life, k, id, payload) })
	c.mu.Lock()
	if c.tunnels != nil || c.err != nil {
		defer c.mu.Unlock()
		end()
		if c.err != nil {
			return 0, c.err
		}
		return 0, errors.New("the box has a proxy already")
	}
	c.tunnels, c.serve = ts, func(t *tunnel) {
		serve(life, t)
		_ = t.Close()
		ts.remove(t.id) // before the guest hears of it and opens another
		_ = ts.send(kindEnd, t.id, nil)
	}
	c.wg.Go(func() {
		<-c.done
		end()
		ts.fail(c.Err())
	})
	c.mu.Unlock()
	d, err := c.roundTrip(ctx, request{kindProxy, proxyRequest{port}, nil, nil, c.stall()})
	if err != nil {
		return 0, fmt.Errorf("start the proxy in the box: %w", err)
	}
	return d.Port, nil
}

// tunnelled takes a frame of a tunnel. It waits for nothing.
func (c *Client) tunnelled(f frame) error {
	c.mu.Lock()
	ts, serve := c.tunnels, c.serve
	c.mu.Unlock()
	if ts == nil {
		return fmt.Errorf("a frame of kind %d from a box that has no network", f.kind)
	}
	if f.kind != kindOpen {
		return ts.take(f)
	}
	if len(f.payload) > 0 {
		return errors.New("a connection that brings something with its opening")
	}
	t, err := ts.add(f.id)
	if err != nil {
		return err
	}
	c.wg.Go(func() { serve(t) })
	return nil
}
