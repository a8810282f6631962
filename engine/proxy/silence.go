package proxy

import (
	"io"
	"sync"
	"time"
)

// silence is how long a provider has been asked and has said nothing, in any of
// the calls that are under way: whoever is heard in one of them is not silent.
type silence struct {
	mu       sync.Mutex
	underWay int
	since    time.Time // the last byte of a reply, or when the first of the calls began
}

func (q *silence) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.underWay == 0 {
		q.since = time.Now()
	}
	q.underWay++
}

func (q *silence) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.underWay--
}

func (q *silence) hear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.since = time.Now()
}

// reader hears a reply to begin, and its bytes.
func (q *silence) reader(body io.ReadCloser) io.ReadCloser {
	q.hear()
	return &heardBody{body, q}
}

type heardBody struct {
	io.ReadCloser
	quiet *silence
}

func (b *heardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.quiet.hear()
	}
	return n, err
}

// Silent is for how long calls have been under way with nothing from the provider,
// in whole milliseconds; 0 when none is.
func (s *Server) Silent() time.Duration {
	s.quiet.mu.Lock()
	defer s.quiet.mu.Unlock()
	if s.quiet.underWay == 0 {
		return 0
	}
	return time.Since(s.quiet.since).Truncate(time.Millisecond)
}
