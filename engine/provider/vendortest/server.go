package vendortest

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

// Server is a vendor on loopback. It records every request.
type Server struct {
	// URL is the base URL to configure.
	URL string

	dialect Dialect
	answer  func(Request) Reply
	address string
	mu      sync.Mutex
	seen    []Request
	key     string
}

// Request is one request as it came in.
type Request struct {
	Method, URL string
	Header      http.Header
	Body        []byte
}

// New starts a server that gives the replies in order and repeats the last. The
// test's cleanup stops it.
func New(tb testing.TB, d Dialect, replies ...Reply) *Server {
	tb.Helper()
	var mu sync.Mutex
	next := 0
	return NewFunc(tb, d, func(Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		r := replies[next]
		next = min(next+1, len(replies)-1)
		return r
	})
}

// NewFunc starts a server that asks answer, possibly from several goroutines at
// once, what to reply.
func NewFunc(tb testing.TB, d Dialect, answer func(Request) Reply) *Server {
	tb.Helper()
	s := &Server{dialect: d, answer: answer}
	h := httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(func() {
		h.CloseClientConnections() // a stalled reply would be waited for
		h.Close()
	})
	s.address = h.Listener.Addr().String()
	s.URL = h.URL + d.Base
	if d.Host != "" {
		s.URL = "http://" + d.Host + d.Base
	}
	return s
}

// Transport reaches the server by whatever name; nil where it has its own.
func (s *Server) Transport() http.RoundTripper {
	if s.dialect.Host == "" {
		return nil
	}
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.address)
	}}
}

// Demand has the server refuse requests with another key; "" takes any.
func (s *Server) Demand(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// Requests returns the requests so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	req := Request{Method: r.Method, URL: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body}
	s.mu.Lock()
	s.seen = append(s.seen, req)
	key := s.key
	s.mu.Unlock()
	var fields map[string]any
	model := ""
	if r.Method == http.MethodPost {
		_ = json.Unmarshal(body, &fields) // the model is missing then, and refused
		model, _ = fields["model"].(string)
		if i := strings.LastIndex(r.URL.Path, "/"); model == "" && i >= 0 {
			model, _, _ = strings.Cut(r.URL.Path[i+1:], ":")
		}
	}
	refuse := func(code provider.Code) Reply {
		_, doc := s.dialect.Told(code)
		return Reply{Status: s.dialect.Status(code), Body: doc}
	}
	reply := Reply{}
	list, lists := s.dialect.Lists[req.URL]
	switch {
	case key != "" && r.Header.Get(s.dialect.KeyHeader) != s.dialect.KeyPrefix+key:
		reply = refuse(provider.Auth)
	case r.Method == http.MethodGet && lists:
		reply = Reply{Status: http.StatusOK, Body: list}
	case r.Method != http.MethodPost || req.URL != s.dialect.Path(model) && req.URL != "/moved":
		reply = Reply{Status: http.StatusNotFound, Body: "404 page not found"}
	case s.unknown(fields):
		reply = refuse(provider.InvalidRequest)
	default:
		reply = s.answer(req)
	}
	reply.write(w, r, s.dialect, model)
}

func (s *Server) unknown(fields map[string]any) bool {
	for _, name := range s.dialect.Unknown {
		if _, has := fields[name]; has {
			return true
		}
	}
	return false
}

func (r Reply) write(w http.ResponseWriter, from *http.Request, d Dialect, model string) {
	if !pause(from, r.Delay) {
		return
	}
	if r.Drop {
		panic(http.ErrAbortHandler)
	}
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	kind := "text/event-stream; charset=utf-8"
	if r.Status != 0 {
		kind = "application/json"
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", kind)
	}
	if r.Status != 0 {
		w.WriteHeader(r.Status)
		_, _ = io.WriteString(w, r.Body)
		return
	}
	w.WriteHeader(http.StatusOK)
	r.stream(w, from, r.events(d, model))
}

func (r Reply) events(d Dialect, model string) []string {
	if r.Raw != nil {
		return r.Raw
	}
	events := d.Events(r, model)
	if r.Last != nil {
		return append(events[:2:2], r.Last...)
	}
	return events
}

func (r Reply) stream(w http.ResponseWriter, from *http.Request, events []string) {
	for i, event := range events {
		stop := i > 0 && (i == r.CutAfter || i == r.EndAfter || i == r.StallAfter)
		if stop && r.Half {
			r.flush(w, from, event[:len(event)/2])
		}
		switch {
		case i > 0 && i == r.CutAfter:
			panic(http.ErrAbortHandler) // drops the connection mid-body
		case i > 0 && i == r.EndAfter:
			return
		case i > 0 && i == r.StallAfter:
			<-from.Context().Done()
			return
		}
		if !r.flush(w, from, event) {
			return
		}
	}
}

// flush reports whether the client is still there.
func (r Reply) flush(w http.ResponseWriter, from *http.Request, event string) bool {
	step := max(len(event), 1)
	if r.ByByte {
		step = 1
	}
	for at := 0; at < len(event); at += step {
		if _, err := io.WriteString(w, event[at:min(at+step, len(event))]); err != nil {
			return false
		}
		_ = http.NewResponseController(w).Flush() // a write fails next if this did
		if !pause(from, r.Pace) {
			return false
		}
	}
	return true
}

func pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return r.Context().Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-t.C:
		return true
	}
}
