package e2b

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

const (
	// maxPending bounds the input that waits to be sent; what is pending goes
	// in one request.
	maxPending = 1 << 20
	maxWords   = 4 << 10
)

// stream is the standard input and output of the guest's process, as an
// [io.ReadWriteCloser]. What the process says on its standard error is kept for
// when it is found dead.
type stream struct {
	e    envd
	pid  uint32
	body io.ReadCloser
	rest []byte // of standard output; only Read touches it

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	gone sync.WaitGroup

	mu      sync.Mutex
	changed sync.Cond
	pending []byte
	err     error // why nothing more can be written
	words   []byte
	exited  bool
	code    int
}

// open starts a process in the machine. What it needs of ctx is over when it
// returns; the process lasts until Close.
func (e envd) open(ctx context.Context, r startRequest) (*stream, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	giveUp := context.AfterFunc(ctx, stop)
	defer giveUp()
	fail := func(err error) (*stream, error) {
		stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	body, err := e.start(life, r)
	if err != nil {
		return fail(err)
	}
	first, err := next(body, e.secrets())
	if err == nil && (first.Event.Start == nil || first.Event.Start.PID == 0) {
		err = fmt.Errorf("%w: a stream that begins without a process", errAnswer)
	}
	if err != nil {
		_ = body.Close()
		return fail(fmt.Errorf("start the guest: %w", err))
	}
	s := &stream{e: e, pid: first.Event.Start.PID, body: body, ctx: life, stop: stop}
	s.changed.L = &s.mu
	s.gone.Go(s.send)
	return s, nil
}

// Read reads the process's standard output. It ends with the process.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		doc, err := next(s.body, s.e.secrets())
		if err != nil {
			if errors.Is(err, io.EOF) { // a stream may not end before its process
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		switch ev := doc.Event; {
		case ev.Data != nil:
			s.rest = ev.Data.Stdout
			s.heard(ev.Data.Stderr)
		case ev.End != nil:
			s.mu.Lock()
			s.exited, s.code = true, ev.End.ExitCode
			s.mu.Unlock()
			return 0, io.EOF
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *stream) heard(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words = append(s.words, p...)
	if over := len(s.words) - maxWords; over > 0 {
		s.words = append(s.words[:0], s.words[over:]...)
	}
}

// lastWords is the end of what the process said on its standard error.
func (s *stream) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := strings.TrimSpace(string(s.words))
	for _, secret := range s.e.secrets() {
		words = strings.ReplaceAll(words, secret, "[redacted]")
	}
	if len(words) > shownBody {
		words = words[len(words)-shownBody:]
	}
	return clip(words)
}

// exit is the process's exit status, once Read has seen it.
func (s *stream) exit() (code int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.code, s.exited
}

// Write leaves p to be sent, and waits while there is too much of that.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && len(s.pending) > 0 && len(s.pending)+len(p) > maxPending {
		s.changed.Wait()
	}
	if s.err != nil {
		return 0, s.err
	}
	s.pending = append(s.pending, p...)
	s.changed.Broadcast()
	return len(p), nil
}

// send sends what is pending, one request after the other: their order is the
// input's.
func (s *stream) send() {
	for {
		s.mu.Lock()
		for s.err == nil && len(s.pending) == 0 {
			s.changed.Wait()
		}
		p, over := s.pending, s.err != nil
		s.pending = nil
		s.changed.Broadcast()
		s.mu.Unlock()
		if over {
			return
		}
		if err := s.e.sendInput(s.ctx, s.pid, p); err != nil {
			s.fail(err)
			_ = s.body.Close() // whoever reads must not wait for an answer to what never came
			return
		}
	}
}

func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.changed.Broadcast()
}

// sendError is why input could not be sent, nil while it can.
func (s *stream) sendError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.err, errClosed) {
		return nil
	}
	return s.err
}

var errClosed = errors.New("the stream is closed")

// Close ends both directions. The process learns of it by its input's silence,
// or by the end of its machine.
func (s *stream) Close() error {
	s.fail(errClosed)
	s.stop()
	_ = s.body.Close()
	return nil
}
