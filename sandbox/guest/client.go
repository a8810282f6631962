package guest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// What ends a connection. The error a call returns wraps one of them, and so
// does [Client.Err].
var (
	// ErrClosed: Close was called.
	ErrClosed = errors.New("the connection to the guest is closed")
	// ErrLost: the stream ended or broke.
	ErrLost = errors.New("the guest is gone")
	// ErrTampered: the stream said what no guest says.
	ErrTampered = errors.New("the guest's protocol was broken")
	// ErrStuck: the guest did not answer in the time it has for that.
	ErrStuck = errors.New("the guest does not answer")
)

// Config are a Client's patience and habits. Zero fields take the defaults in
// parentheses.
type Config struct {
	Idle      time.Duration // silence of the host that ends the guest (60 s)
	PingEvery time.Duration // (Idle/4)
	// Patience is how long the guest may take to answer a ping, or to go on
	// with a file (30 s).
	Patience time.Duration
	// Overrun is how long after its deadline, or its cancellation, a command
	// may take to be reported dead (2 s).
	Overrun time.Duration
}

func (c Config) withDefaults() Config {
	c.Idle = orDefault(c.Idle, time.Minute)
	c.PingEvery = orDefault(c.PingEvery, c.Idle/4)
	c.Patience = orDefault(c.Patience, 30*time.Second)
	c.Overrun = orDefault(c.Overrun, 2*time.Second)
	return c
}

func orDefault(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}

// maxAnswer bounds the JSON a guest answers with: it is a handful of numbers and
// an error's text.
const maxAnswer = 64 << 10

// inFlight is how many calls a client makes at once; others wait their turn.
const inFlight = 32

// Client is the host's end of a guest's stream. It is safe for concurrent use.
//
// It takes the stream for hostile: frames and calls have caps, what nobody
// asked for is dropped, what no guest says ends the connection as ErrTampered,
// and no program's output can hold up another call.
type Client struct {
	rwc  io.ReadWriteCloser
	cfg  Config
	slot chan struct{}
	out  chan []byte // frames for the writer; never closed
	done chan struct{}

	began  time.Time
	ponged atomic.Int64 // when the last PONG came, as time since began

	mu    sync.Mutex
	last  uint32
	calls map[uint32]*pending
	err   error // why done is closed
	wg    sync.WaitGroup

	tunnels *tunnels      // nil: programs in the box have no way out
	serve   func(*tunnel) // answers one of them
}

// pending is a call whose DONE has not come. Its buffers are written by the
// reading goroutine alone until finished is closed.
type pending struct {
	allowed  map[kind]*sink
	finished chan struct{}
	moved    chan struct{} // poked when data arrives; one token
	end      done
}

// sink collects the bulk data of a call up to what was asked for.
type sink struct {
	data []byte
	max  int64
}

func decodeAnswer(payload []byte, v any) error {
	if len(payload) > maxAnswer {
		return fmt.Errorf("an answer of %d bytes", len(payload))
	}
	return decode(payload, v)
}

// take doubles the buffer where append would grow it by less: what comes here is
// large or small, and seldom in between.
func (s *sink) take(p []byte) {
	if need := len(s.data) + len(p); need > cap(s.data) {
		s.data = slices.Grow(s.data, int(min(max(int64(need), 2*int64(cap(s.data))), s.max))-len(s.data))
	}
	s.data = append(s.data, p...)
}

// Connect greets the guest at the other end of rwc and starts the client, which
// owns rwc from then on, also when Connect fails. The greeting lasts as long as
// ctx at most.
func Connect(ctx context.Context, rwc io.ReadWriteCloser, cfg Config) (*Client, Facts, error) {
	c := &Client{
		rwc: rwc, cfg: cfg.withDefaults(), slot: make(chan struct{}, inFlight),
		out: make(chan []byte, 16), done: make(chan struct{}), calls: map[uint32]*pending{}, began: time.Now(),
	}
	stop := context.AfterFunc(ctx, func() { c.fail(fmt.Errorf("%w: greet the guest: %w", ErrStuck, context.Cause(ctx))) })
	f, err := c.greet()
	if !stop() {
		<-c.done
	}
	if err != nil {
		c.fail(err)
		return nil, Facts{}, c.Err()
	}
	if err := c.Err(); err != nil {
		return nil, Facts{}, err
	}
	return c, f, nil
}

func (c *Client) greet() (Facts, error) {
	req, err := json.Marshal(helloRequest{Version: Version, IdleMS: c.cfg.Idle.Milliseconds()})
	if err != nil {
		return Facts{}, err
	}
	if _, err := c.rwc.Write(appendFrame(nil, kindHello, 0, req)); err != nil {
		return Facts{}, fmt.Errorf("%w: greet the guest: %w", ErrLost, err)
	}
	fr := newFrameReader(c.rwc)
	f, err := fr.next()
	if err != nil {
		return Facts{}, streamError("read the guest's greeting", err)
	}
	var facts Facts
	if f.kind != kindFacts || f.id != 0 {
		return Facts{}, fmt.Errorf("%w: its first frame is of kind %d", ErrTampered, f.kind)
	}
	if err := decodeAnswer(f.payload, &facts); err != nil {
		return Facts{}, fmt.Errorf("%w: its greeting: %w", ErrTampered, err)
	}
	if facts.Version != Version {
		return Facts{}, fmt.Errorf("%w: it speaks protocol %d, not %d", ErrTampered, facts.Version, Version)
	}
	c.ponged.Store(int64(time.Since(c.began)))
	c.wg.Go(func() { c.fail(c.read(fr)) })
	c.wg.Go(c.write)
	c.wg.Go(c.beat)
	return facts, nil
}

// Done is closed when the connection has ended, for whatever reason.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why the connection has ended; nil while it lasts.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection, and so the guest and everything in its box. It may
// be called twice, and returns when nothing of the client runs any more.
func (c *Client) Close() error {
	c.fail(ErrClosed)
	c.wg.Wait()
	return nil
}

// Fail ends the connection for a reason of the caller's, which Err and every
// call return from then on. The first reason counts.
func (c *Client) Fail(reason error) { c.fail(reason) }

func (c *Client) fail(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = reason
	close(c.done)
	_ = c.rwc.Close()
}

// read is the demultiplexer. It only ever appends to a call's bounded buffers,
// so it waits for nothing but the stream.
func (c *Client) read(fr *frameReader) error {
	for {
		f, err := fr.next()
		if err != nil {
			return streamError("read from the guest", err)
		}
		if f.kind == kindPong {
			c.ponged.Store(int64(time.Since(c.began)))
			continue
		}
		if err := c.dispatch(f); err != nil {
			return fmt.Errorf("%w: %w", ErrTampered, err)
		}
	}
}

func streamError(doing string, err error) error {
	if errors.Is(err, errOversize) || errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%w: %w", ErrTampered, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrLost, doing, err)
}

func (c *Client) dispatch(f frame) error {
	switch f.kind {
	case kindStdout, kindStderr, kindBulk, kindDone:
	case kindOpen, fromGuest | kindFlow, fromGuest | kindGrant, fromGuest | kindFin, fromGuest | kindEnd:
		return c.tunnelled(f)
	default:
		return fmt.Errorf("a frame of unknown kind %d", f.kind)
	}
	c.mu.Lock()
	p := c.calls[f.id]
	if p != nil && f.kind == kindDone {
		delete(c.calls, f.id)
	}
	c.mu.Unlock()
	if p == nil {
		return nil // of a call that was given up
	}
	if f.kind == kindDone {
		if err := decodeAnswer(f.payload, &p.end); err != nil {
			return fmt.Errorf("the end of a call: %w", err)
		}
		close(p.finished)
		return nil
	}
	s := p.allowed[f.kind]
	if s == nil || int64(len(s.data)+len(f.payload)) > s.max {
		return fmt.Errorf("%d bytes of kind %d beyond what was asked for", len(f.payload), f.kind)
	}
	s.take(f.payload)
	select {
	case p.moved <- struct{}{}:
	default:
	}
	return nil
}

// write sends what send has queued, several frames at a time.
func (c *Client) write() {
	w := bufio.NewWriterSize(c.rwc, 64<<10)
	for {
		select {
		case b := <-c.out:
			_, err := w.Write(b)
			if err == nil && len(c.out) == 0 {
				err = w.Flush()
			}
			if err != nil {
				c.fail(fmt.Errorf("%w: write to the guest: %w", ErrLost, err))
				return
			}
		case <-c.done:
			return
		}
	}
}

// send queues a frame. It waits while the guest does not read, until ctx or the
// connection ends.
func (c *Client) send(ctx context.Context, k kind, id uint32, payload []byte) error {
	select {
	case c.out <- appendFrame(make([]byte, 0, headerLen+len(payload)), k, id, payload):
		return nil
	case <-ctx.Done():
		return over(ctx)
	case <-c.done:
		return c.Err()
	}
}

// beat keeps the guest alive, and finds out when it is not.
func (c *Client) beat() {
	t := time.NewTicker(c.cfg.PingEvery)
	defer t.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-t.C:
		}
		silent := time.Since(c.began) - time.Duration(c.ponged.Load())
		if silent > c.cfg.PingEvery+c.cfg.Patience {
			c.fail(fmt.Errorf("%w: silent for %s", ErrStuck, silent.Round(time.Second)))
			return
		}
		select {
		case c.out <- appendFrame(nil, kindPing, 0, nil):
		case <-time.After(c.cfg.Patience):
			c.fail(fmt.Errorf("%w: it has read nothing for %s", ErrStuck, c.cfg.Patience))
			return
		case <-c.done:
			return
		}
	}
}
