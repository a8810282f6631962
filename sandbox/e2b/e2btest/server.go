package e2btest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What the server knows.
const (
	Key      = "e2b_0123456789abcdef0123456789abcdef01234567"
	Template = "base"
)

// Route is a kind of request.
type Route string

// The routes. Start is a stream, the others are answered at once.
const (
	Create  Route = "create"
	Look    Route = "look"
	Remove  Route = "remove"
	Keep    Route = "keep"
	List    Route = "list"
	Files   Route = "files"
	Start   Route = "start"
	Input   Route = "input"
	unknown Route = ""
)

// Server is E2B. Its address serves both the control plane and every machine's
// daemon, which are told apart by the header E2b-Sandbox-Id.
type Server struct {
	URL string

	t    testing.TB
	http *httptest.Server

	mu       sync.Mutex
	machines map[string]*machine
	faults   []fault
	seen     map[Route]int
	asked    []json.RawMessage // bodies of Create
}

type fault struct {
	route Route
	left  int
	do    http.HandlerFunc
}

// New starts a server that ends with the test, and with it every machine.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, machines: map[string]*machine{}, seen: map[Route]int{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	t.Cleanup(func() {
		for _, id := range s.Machines() {
			s.Vanish(id)
		}
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// Break has the next n requests of a route answered by do, in place of the
// server. Start's do may call Begin to go on as the server does.
func (s *Server) Break(route Route, n int, do http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, fault{route, n, do})
}

// Requests tells how many requests of a route have come.
func (s *Server) Requests(route Route) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[route]
}

// Asked are the bodies of the requests for machines, in order.
func (s *Server) Asked() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Machines are the ids of the machines there are.
func (s *Server) Machines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.machines))
}

// Vanish ends a machine without a word to anyone.
func (s *Server) Vanish(id string) {
	if m := s.take(id); m != nil {
		m.end()
	}
}

// Metadata are a machine's labels.
func (s *Server) Metadata(id string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.machines[id]; m != nil {
		return m.metadata
	}
	return nil
}

// Cut ends the streams of a machine in the middle; what runs in it goes on.
func (s *Server) Cut(id string) {
	s.mu.Lock()
	m := s.machines[id]
	s.mu.Unlock()
	if m != nil {
		m.cut()
	}
}

// Say has a machine's daemon send bytes of the test's own in its stream.
func (s *Server) Say(id string, b []byte) {
	s.mu.Lock()
	m := s.machines[id]
	s.mu.Unlock()
	if m != nil {
		m.say(b)
	}
}

func (s *Server) take(id string) *machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.machines[id]
	delete(s.machines, id)
	return m
}

func routeOf(r *http.Request) Route {
	id, tail, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/sandboxes/"), "/")
	switch at := r.Method + " " + r.URL.Path; {
	case at == "POST /sandboxes":
		return Create
	case at == "GET /v2/sandboxes":
		return List
	case at == "POST /files":
		return Files
	case at == "POST /process.Process/Start":
		return Start
	case at == "POST /process.Process/SendInput":
		return Input
	case !strings.HasPrefix(r.URL.Path, "/sandboxes/") || id == "":
		return unknown
	case r.Method == http.MethodGet && tail == "":
		return Look
	case r.Method == http.MethodDelete && tail == "":
		return Remove
	case r.Method == http.MethodPost && tail == "timeout":
		return Keep
	}
	return unknown
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	route := routeOf(r)
	if route == unknown {
		s.t.Errorf("request that E2B does not have: %s %s", r.Method, r.URL.Path)
		refuse(w, http.StatusNotFound, "no such path")
		return
	}
	if do := s.due(route); do != nil {
		do(w, r)
		return
	}
	s.Begin(w, r)
}

func (s *Server) due(route Route) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[route]++
	for i := range s.faults {
		if f := &s.faults[i]; f.route == route && f.left > 0 {
			f.left--
			return f.do
		}
	}
	return nil
}

// Begin answers a request as the server does when nothing is planned.
func (s *Server) Begin(w http.ResponseWriter, r *http.Request) {
	switch route := routeOf(r); route {
	case Files, Start, Input:
		s.daemon(w, r, route)
	default:
		if r.Header.Get("X-Api-Key") != Key {
			refuse(w, http.StatusUnauthorized, "Invalid API key")
			return
		}
		s.control(w, r, route)
	}
}

func (s *Server) control(w http.ResponseWriter, r *http.Request, route Route) {
	if route == Create {
		s.create(w, r)
		return
	}
	if route == List {
		s.list(w, r)
		return
	}
	id := strings.Split(r.URL.Path, "/")[2]
	s.mu.Lock()
	m := s.machines[id]
	s.mu.Unlock()
	if m == nil {
		refuse(w, http.StatusNotFound, fmt.Sprintf("sandbox %q not found", id))
		return
	}
	switch route {
	case Remove:
		if m := s.take(id); m != nil {
			m.end()
		}
		w.WriteHeader(http.StatusNoContent)
	case Look:
		reply(w, http.StatusOK, map[string]any{"sandboxID": id, "templateID": Template, "state": "running", "metadata": m.metadata})
	case Keep:
		var body struct {
			Timeout int `json:"timeout"`
		}
		if strict(w, r, &body) {
			m.timeout.Reset(time.Duration(body.Timeout) * time.Second)
			w.WriteHeader(http.StatusNoContent)
		}
	}
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		TemplateID          string            `json:"templateID"`
		Timeout             int               `json:"timeout"`
		Metadata            map[string]string `json:"metadata"`
		Secure              bool              `json:"secure"`
		AllowInternetAccess *bool             `json:"allow_internet_access"`
		AutoPause           bool              `json:"autoPause"`
	}
	raw, ok := strictRaw(w, r, &body)
	if !ok {
		return
	}
	if body.TemplateID != Template {
		refuse(w, http.StatusNotFound, fmt.Sprintf("template %q not found", body.TemplateID))
		return
	}
	id := "i" + strings.ToLower(rand.Text()[:19])
	m, err := newMachine(id, body.Metadata)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	m.timeout = time.AfterFunc(time.Duration(body.Timeout)*time.Second, func() { s.Vanish(id) })
	s.mu.Lock()
	s.machines[id] = m
	s.asked = append(s.asked, raw)
	s.mu.Unlock()
	answer := map[string]any{"sandboxID": id, "templateID": Template, "clientID": "c", "envdVersion": "0.6.2", "domain": nil}
	if body.Secure {
		answer["envdAccessToken"] = m.token
	}
	reply(w, http.StatusCreated, answer)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	want, err := wanted(query.Get("metadata"))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	limit := 100
	if n, err := strconv.Atoi(query.Get("limit")); err == nil {
		limit = min(n, limit)
	}
	page, after := []map[string]any{}, query.Get("nextToken")
	for _, id := range s.Machines() {
		labels := s.Metadata(id)
		if id <= after || !includes(labels, want) {
			continue
		}
		if len(page) == limit {
			w.Header().Set("X-Next-Token", page[limit-1]["sandboxID"].(string))
			break
		}
		page = append(page, map[string]any{"sandboxID": id, "templateID": Template, "state": "running", "metadata": labels})
	}
	reply(w, http.StatusOK, page)
}

// wanted reads a metadata query, whose parts are encoded once more.
func wanted(query string) (map[string]string, error) {
	pairs, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	want := map[string]string{}
	for k, v := range pairs {
		key, err := url.QueryUnescape(k)
		if err != nil {
			return nil, err
		}
		if want[key], err = url.QueryUnescape(v[0]); err != nil {
			return nil, err
		}
	}
	return want, nil
}

func includes(labels, want map[string]string) bool {
	for k, v := range want {
		if labels[k] != v {
			return false
		}
	}
	return true
}

func strict(w http.ResponseWriter, r *http.Request, v any) bool {
	_, ok := strictRaw(w, r, v)
	return ok
}

func strictRaw(w http.ResponseWriter, r *http.Request, v any) ([]byte, bool) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err == nil {
		err = decodeStrict(raw, v)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return nil, false
	}
	return raw, true
}

func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]any{"code": status, "message": message})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// Hang is a fault: no answer, until the client has given up.
func Hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// Refuse is a fault: a status with E2B's document for it.
func Refuse(status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		refuse(w, status, "planned by the test")
	}
}
