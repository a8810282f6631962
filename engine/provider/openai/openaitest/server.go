package openaitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Server is a model server on loopback. It records every request.
type Server struct {
	// URL is the base URL to configure, ending in /v1.
	URL string
	// Key, when set before the first request, is the bearer token demanded.
	Key string

	answer func(Request) Reply
	mu     sync.Mutex
	seen   []Request
	close  func()
}

// Close stops the server before the test ends.
func (s *Server) Close() { s.close() }

// Request is one request as it came in.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	// Decoded is what of Body a test usually asks about.
	Decoded Completion
}

// Completion is the body of a request for a completion.
type Completion struct {
	Model         string    `json:"model"`
	Messages      []Message `json:"messages"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

// Message is one message on the wire. Content is nil where the wire has null or
// nothing.
type Message struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCallID string  `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// New starts a server that gives the replies in order and repeats the last. The
// test's cleanup stops it.
func New(tb testing.TB, replies ...Reply) *Server {
	tb.Helper()
	if len(replies) == 0 {
		tb.Fatal("openaitest: no replies")
	}
	var mu sync.Mutex
	next := 0
	return NewFunc(tb, func(Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		r := replies[next]
		next = min(next+1, len(replies)-1)
		return r
	})
}

// NewFunc starts a server that asks answer, possibly from several goroutines at
// once, what to reply.
func NewFunc(tb testing.TB, answer func(Request) Reply) *Server {
	tb.Helper()
	s := &Server{answer: answer}
	h := httptest.NewServer(http.HandlerFunc(s.serve))
	s.close = func() {
		h.CloseClientConnections() // a stalled reply would be waited for
		h.Close()
	}
	tb.Cleanup(s.Close)
	s.URL = h.URL + "/v1"
	return s
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
	req := Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	broken := json.Unmarshal(body, &req.Decoded)
	s.mu.Lock()
	s.seen = append(s.seen, req)
	s.mu.Unlock()
	switch {
	case r.URL.Path != "/v1/chat/completions":
		Error(http.StatusNotFound, "invalid_request_error", "", fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path)).write(w, r, req)
	case s.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.Key:
		Error(http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "Incorrect API key provided.").write(w, r, req)
	case r.Method != http.MethodPost || broken != nil || !req.Decoded.Stream:
		Error(http.StatusBadRequest, "invalid_request_error", "", "We could not parse the JSON body of your request.").write(w, r, req)
	default:
		s.answer(req).write(w, r, req)
	}
}

func (r Reply) write(w http.ResponseWriter, from *http.Request, req Request) {
	if !pause(from, r.Delay) {
		return
	}
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	if r.Status != 0 {
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(r.Status)
		_, _ = io.WriteString(w, r.Body)
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	w.WriteHeader(http.StatusOK)
	for i, event := range r.events(req.Decoded) {
		switch {
		case r.CutAfter > 0 && i == r.CutAfter:
			panic(http.ErrAbortHandler) // drops the connection mid-body
		case r.EndAfter > 0 && i == r.EndAfter:
			return
		case r.StallAfter > 0 && i == r.StallAfter:
			<-from.Context().Done()
			return
		}
		if !r.writeEvent(w, from, event) {
			return
		}
	}
}

// writeEvent reports whether the client is still there.
func (r Reply) writeEvent(w http.ResponseWriter, from *http.Request, event string) bool {
	step := len(event)
	if r.ByByte {
		step = 1
	}
	for at := 0; at < len(event); at += step {
		if _, err := io.WriteString(w, event[at:at+step]); err != nil {
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
