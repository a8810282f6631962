package proxy

import (
	"context"
	"maps"
	"net/http"
	"sync"
)

// spool is what has come of a reply and the program has not read. It is written
// to without waiting, so that a program that does not read keeps no reply from
// being counted.
type spool struct {
	limit int64

	mu      sync.Mutex
	status  int
	head    http.Header
	waiting []byte
	refusal *Refusal      // in place of a reply
	broken  bool          // the reply is not whole
	closed  bool          // nothing follows
	gone    bool          // nobody reads
	changed chan struct{} // holds one when something has
}

func newSpool(limit int64) *spool {
	return &spool{limit: limit, changed: make(chan struct{}, 1)}
}

// change does something under the lock and wakes the reader.
func (s *spool) change(do func()) {
	s.mu.Lock()
	do()
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *spool) begin(status int, head http.Header) {
	s.change(func() { s.status, s.head = status, head })
}

// write adds to the reply. A program that is too far behind gets no more of it.
func (s *spool) write(p []byte) {
	s.change(func() {
		if s.gone || s.broken {
			return
		}
		s.waiting = append(s.waiting, p...)
		// a reply in one piece may be longer: it is held as a whole anyway
		s.broken = int64(len(s.waiting)) > max(s.limit, int64(len(p)))
	})
}

// fail answers with a refusal, unless the reply has begun.
func (s *spool) fail(f *Refusal) {
	s.change(func() {
		if s.status == 0 {
			s.refusal = f
		}
	})
}

// cut says that the reply breaks off.
func (s *spool) cut() { s.change(func() { s.broken = true }) }

func (s *spool) close() { s.change(func() { s.closed = true }) }

// copyTo writes the reply to the program as it comes, until it is over or the
// program has gone. A reply that is not whole breaks off for the program, too.
func (s *spool) copyTo(ctx context.Context, w http.ResponseWriter) *Refusal {
	defer s.change(func() { s.gone, s.waiting = true, nil })
	flush, begun := http.NewResponseController(w), false
	for {
		select {
		case <-s.changed:
		case <-ctx.Done():
			return nil
		}
		s.mu.Lock()
		status, head, data, refusal, over := s.status, s.head, s.waiting, s.refusal, s.closed
		broken := s.broken
		s.waiting = nil
		s.mu.Unlock()
		if refusal != nil {
			return refusal
		}
		if status != 0 && !begun {
			begun = true
			maps.Copy(w.Header(), head)
			w.WriteHeader(status)
		}
		if len(data) > 0 {
			if _, err := w.Write(data); err != nil {
				return nil // the program has gone
			}
		}
		if begun {
			_ = flush.Flush() // the next write says whether the program has gone
		}
		if broken && begun {
			panic(http.ErrAbortHandler) // the one way to say that a reply is not whole
		}
		if over {
			return nil
		}
	}
}
