package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// maxCalls bounds the calls in flight. A host keeps well below.
const maxCalls = 64

// server answers one host. serve's goroutine reads every frame; what may take
// long runs in a goroutine per call.
type server struct {
	out    *frameWriter
	null   *os.File
	family family
	reaper *reaper
	dir    string // where a program runs that names no directory
	execs  uint64 // numbers commands, for their mark; only serve's goroutine

	bulk   chan struct{} // holds a token for each read or list at work
	writes map[uint32]*writeOp

	tunnels *tunnels
	proxied bool // programs can reach the proxy; only serve's goroutine

	bounds atomic.Pointer[bounds] // nil until the host binds the box

	mu    sync.Mutex
	calls map[uint32]*call
}

// call is a request that runs beside serve.
type call struct {
	id     uint32
	killed chan struct{} // closed when the host wants it ended
	kill   func()        // closes killed
	exec   *running      // nil for file calls
}

func newServer(out *os.File, null *os.File) *server {
	s := &server{
		out: &frameWriter{w: pollable(out)}, null: null,
		family: newFamily(), reaper: newReaper(),
		bulk:   make(chan struct{}, 4),
		writes: map[uint32]*writeOp{}, calls: map[uint32]*call{},
	}
	s.tunnels = newTunnels(fromGuest, s.out.send)
	s.dir, _ = os.Getwd()
	return s
}

// serve reads frames until the stream ends or breaks the protocol.
func (s *server) serve(in io.Reader, idle *idleTimer) error {
	fr := newFrameReader(in)
	if err := s.greet(fr, idle); err != nil {
		return err
	}
	for {
		f, err := fr.next()
		if err != nil {
			return err
		}
		idle.touch()
		if err := s.handle(f); err != nil {
			return err
		}
	}
}

func (s *server) greet(fr *frameReader, idle *idleTimer) error {
	f, err := fr.next()
	if err != nil {
		return err
	}
	var req helloRequest
	if f.kind != kindHello {
		return fmt.Errorf("the first frame is of kind %d, not a greeting", f.kind)
	}
	if err := decode(f.payload, &req); err != nil {
		return fmt.Errorf("read the greeting: %w", err)
	}
	if req.Version != Version {
		return fmt.Errorf("the host speaks protocol %d, this guest %d", req.Version, Version)
	}
	if req.IdleMS > 0 {
		idle.greeted(time.Duration(req.IdleMS) * time.Millisecond)
	} else {
		idle.t.Stop()
	}
	return s.sendJSON(kindFacts, f.id, facts())
}

func (s *server) handle(f frame) error {
	switch f.kind {
	case kindPing:
		return s.out.send(kindPong, f.id, nil)
	case kindExec:
		var req execRequest
		return s.begin(f, &req, func(c *call) { s.exec(c, req) })
	case kindRead:
		var req readRequest
		return s.begin(f, &req, func(c *call) { s.finish(c, s.read(c, req)) })
	case kindList:
		var req listRequest
		return s.begin(f, &req, func(c *call) { s.finish(c, s.list(c, req)) })
	case kindBind:
		var req bindRequest
		return s.begin(f, &req, func(c *call) { s.finish(c, s.bind(req)) })
	case kindWrite:
		return s.beginWrite(f)
	case kindData:
		return s.data(f)
	case kindKill:
		s.killCall(f.id)
		return nil
	case kindProxy:
		return s.beginProxy(f)
	case kindFlow, kindGrant, kindFin, kindEnd:
		return s.tunnels.take(f)
	case kindQuiesce:
		return s.begin(f, &struct{}{}, func(c *call) { s.quiesce(c) })
	}
	return fmt.Errorf("a frame of unknown kind %d", f.kind)
}

// begin decodes a request, registers its call and runs it. A call is
// registered before the next frame is read, so that DATA and KILL find it.
func (s *server) begin(f frame, req any, run func(*call)) error {
	if err := decode(f.payload, req); err != nil {
		return fmt.Errorf("read a request of kind %d: %w", f.kind, err)
	}
	killed := make(chan struct{})
	c := &call{id: f.id, killed: killed, kill: sync.OnceFunc(func() { close(killed) })}
	if r, ok := req.(*execRequest); ok {
		if err := r.check(); err != nil {
			return err
		}
		s.execs++
		c.exec = newRunning(s.execs, *r, func(k kind, p []byte) { _ = s.out.send(k, f.id, p) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[f.id] != nil || s.writes[f.id] != nil {
		return fmt.Errorf("call %d is begun twice", f.id)
	}
	if len(s.calls)+len(s.writes) >= maxCalls {
		return errors.New("more calls at once than the protocol allows")
	}
	s.calls[f.id] = c
	go run(c)
	return nil
}

// finish ends a call: its number may be used again.
func (s *server) finish(c *call, d done) {
	s.mu.Lock()
	delete(s.calls, c.id)
	s.mu.Unlock()
	_ = s.sendJSON(kindDone, c.id, d)
}

func (s *server) killCall(id uint32) {
	if w := s.writes[id]; w != nil {
		_ = s.on(w.bound, w.abort)
		delete(s.writes, id)
		_ = s.sendJSON(kindDone, id, done{Err: &wireError{Kind: wireOther, Text: "cancelled"}})
		return
	}
	s.mu.Lock()
	c := s.calls[id]
	s.mu.Unlock()
	if c != nil {
		c.kill()
	}
}

// data continues a WRITE or feeds an EXEC. For a call that has ended already it
// is dropped: the host had not heard yet.
func (s *server) data(f frame) error {
	if w := s.writes[f.id]; w != nil {
		return s.continueWrite(f.id, w, f.payload)
	}
	s.mu.Lock()
	c := s.calls[f.id]
	s.mu.Unlock()
	if c == nil {
		return nil
	}
	if c.exec == nil {
		return fmt.Errorf("data for call %d, which takes none", f.id)
	}
	return c.exec.feed(f.payload)
}

// quiesce ends every process of the box, and with them every command. Who comes
// then must get into the directory that programs start in, whatever its mode was
// made: the guest owns it.
func (s *server) quiesce(c *call) {
	left := s.family.killAll(quiescePatience)
	const owner = 0o700
	if st, err := os.Stat(s.dir); err == nil && st.Mode().Perm()&owner != owner {
		_ = os.Chmod(s.dir, st.Mode()|owner) // who cannot get in is told so then
	}
	s.finish(c, done{Left: left})
}

func (s *server) sendJSON(k kind, id uint32, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.out.send(k, id, b)
}
