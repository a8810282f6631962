package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

// Upstream is where calls are made, and with what key.
type Upstream struct {
	Provider string
	// BaseURL is the address as the vendor's SDK takes it: for OpenAI's format up
	// to and including /v1. It is the user's own setting.
	BaseURL string
	Key     string
	// Proxy chooses a proxy for a request, as in [http.Transport]. Nil: none.
	Proxy func(*http.Request) (*url.URL, error)
}

// Check says what is wrong with an upstream.
func (u Upstream) Check() error {
	at, err := url.Parse(strings.TrimSpace(u.BaseURL))
	switch {
	case err != nil || at.Hostname() == "":
		return errors.New("base URL: not an address")
	case at.Scheme != "http" && at.Scheme != "https":
		return fmt.Errorf("base URL: scheme %q is neither http nor https", at.Scheme)
	case at.User != nil || at.RawQuery != "" || at.Fragment != "":
		return errors.New("base URL: a user, a query or a fragment does not belong there")
	}
	return nil
}

// Options are what a Server is made with: an Upstream, or a Client in its place.
type Options struct {
	Upstream *Upstream
	// Client is a model without a wire of its own. It is asked in all formats.
	Client provider.Client
	// Models are the permitted models, as programs name them; the first is the
	// one that is meant when nobody says. Rename is what the Client calls it.
	Models []string
	Rename string
	// Seed is the run's, which the Client may draw by.
	Seed int64
	// MaxOutputTokens bounds each reply; 0: nothing does.
	MaxOutputTokens int64
	// CallTime bounds each call.
	CallTime time.Duration
	// OneByOne makes one call after the other, so that what a call used is known
	// before the next begins.
	OneByOne bool
	// Bounded refuses what may cost more than the bytes of a request and the bound
	// of its reply: what an image comes to, or an id stands for, is not known.
	Bounded bool
	// Reach lets the provider's own tools, and content by its address, through.
	// Both have the provider go to the network, and cost what no token tells. It is
	// nothing for Bounded servers.
	Reach  bool
	Limits Limits
	Watch  Watch
	// Keep has calls hold their Answer. Play gives the answers of a recording: then
	// nobody is asked, and of a call the watch hears nothing.
	Keep bool
	Play func(*Call) (Answer, *Refusal)
}

// Limits bound what programs and servers may do to this process. Zero fields
// take the defaults in parentheses.
type Limits struct {
	Calls        int   // at once; others wait (8)
	RequestBytes int64 // of one request (20 MiB)
	ReplyBytes   int64 // of one reply, as it is on the wire (64 MiB)
	Behind       int64 // of a stream that the program has not read yet (4 MiB)
}

func (l Limits) orDefaults() Limits {
	return Limits{
		Calls: cmp.Or(l.Calls, 8), RequestBytes: cmp.Or(l.RequestBytes, 20<<20),
		ReplyBytes: cmp.Or(l.ReplyBytes, 64<<20), Behind: cmp.Or(l.Behind, 4<<20),
	}
}

// Call is one call that a program makes.
type Call struct {
	Model    string
	Wire     Wire
	Messages []provider.Message // the whole conversation
	Tools    []string           // names of what the model is offered
	Most     int64              // tokens that its input can come to: its bytes, and what the provider adds
	// Output is the most tokens that its reply may have, and Least the fewest that
	// the request makes sense with: what it has the model think comes out of them.
	// [Watch.Begin] may lower the one to the other.
	Output, Least int64
	// Endpoint and Body are the request as it was let through, before Begin. Answer
	// is what came of it once the watch hears of that, with [Options.Keep].
	Endpoint string
	Body     []byte
	Answer   Answer
	// Ref and Number are the watch's.
	Ref    provider.Ref
	Number int
}

// Watch hears of calls, from several goroutines. For each call that Begin lets
// through it hears Done or Failed, once.
type Watch interface {
	// Begin is asked before a call is made. A refusal is what the program is
	// told instead.
	Begin(c *Call) *Refusal
	// Refused is a request that is answered with a refusal of ours, and no call; it
	// hears of it before the program does.
	Refused(r *Refusal)
	// First is the first piece of a reply that comes in pieces.
	First(c *Call, d provider.Delta)
	// Done is a whole reply.
	Done(c *Call, r provider.Response)
	// Failed is a call without one.
	Failed(c *Call, e *provider.Error)
}

// Server answers the programs of one box.
type Server struct {
	o        Options
	base     *url.URL
	wire     Wire // of the upstream, "" for a client
	newField bool // the upstream's chat completions have max_completion_tokens
	http     *http.Transport
	slots    chan struct{}

	life  context.Context // of calls, which programs do not end by leaving
	end   context.CancelCauseFunc
	mu    sync.Mutex
	over  bool
	calls sync.WaitGroup
	quiet silence
}

// New makes a server; ctx is what its calls are made in.
func New(ctx context.Context, o Options) (*Server, error) {
	o.Limits = o.Limits.orDefaults()
	if o.OneByOne {
		o.Limits.Calls = 1
	}
	s := &Server{o: o, slots: make(chan struct{}, o.Limits.Calls)}
	s.life, s.end = context.WithCancelCause(ctx)
	if o.Client != nil || o.Upstream == nil && o.Play != nil {
		return s, nil
	}
	if err := o.Upstream.Check(); err != nil {
		return nil, err
	}
	base, err := url.Parse(strings.TrimSpace(o.Upstream.BaseURL))
	if err != nil {
		return nil, err
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), ""
	host := strings.ToLower(base.Hostname())
	s.base, s.wire = base, WireOf(o.Upstream.Provider)
	s.newField = host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") || strings.HasSuffix(host, ".openai.azure.com")
	s.http = newTransport(o.Upstream.Proxy)
	return s, nil
}

// errOver is the cause of the calls that Close ends.
var errOver = errors.New("the program has ended")

// Close lets no call in any more. It waits for those under way, at most for grace,
// and then ends them. The watch hears of all of them before Close returns.
func (s *Server) Close(grace time.Duration) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	late := time.AfterFunc(grace, func() { s.end(errOver) })
	s.calls.Wait()
	late.Stop()
	s.end(errOver)
	if s.http != nil {
		s.http.CloseIdleConnections()
	}
}

// enter counts a call, unless there are to be no more.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.calls.Add(1)
	return true
}

// ServeHTTP answers one request of a program, for which [Mine] is true.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to := routeOf(r.URL)
	if bad := s.answer(w, r, to); bad != nil {
		bad.write(w, to.wire)
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, to route) *Refusal {
	switch {
	case to.to == models && to.wire != "" && r.Method == http.MethodGet:
		return s.noted(s.list(w, to))
	case to.to >= chat && to.to <= generate && r.Method == http.MethodPost && (s.wire == "" || s.wire == to.wire):
		return s.call(w, r, to)
	}
	return s.noted(s.misplaced(r, to))
}

// noted tells the watch of a refusal.
func (s *Server) noted(bad *Refusal) *Refusal {
	if bad != nil {
		s.o.Watch.Refused(bad)
	}
	return bad
}

// misplaced says why a request is none of those that are answered.
func (s *Server) misplaced(r *http.Request, to route) *Refusal {
	switch {
	case to.wire == "":
		return refuse(http.StatusNotFound, "not_found", "nothing is here; the base URLs are in the environment: OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL")
	case to.to == unknown:
		return refuse(http.StatusNotFound, "not_found", "%s %s is not let through: chat/completions, responses, messages, generateContent, streamGenerateContent and models are", r.Method, provider.Excerpt(r.URL.Path, 200))
	case to.to == unsupported:
		return refuse(http.StatusNotFound, "not_found", "counting tokens is not let through")
	case to.to == models || r.Method != http.MethodPost:
		return refuse(http.StatusMethodNotAllowed, "method_not_allowed", "%s is not the method of %s", r.Method, provider.Excerpt(r.URL.Path, 200))
	}
	return refuse(http.StatusBadRequest, "wrong_format", "the model %s is reached in the format of %s, and nothing is translated", s.o.Models[0], s.wire)
}

// call judges a request and makes its call.
func (s *Server) call(w http.ResponseWriter, r *http.Request, to route) *Refusal {
	if !s.enter() {
		return refuse(http.StatusServiceUnavailable, "over", "the trial has ended")
	}
	held := true
	leave := func() {
		if held {
			held = false
			s.calls.Done()
		}
	}
	defer leave()
	select { // before the body: a slot bounds what is held in memory
	case s.slots <- struct{}{}:
	case <-r.Context().Done():
		return refuse(http.StatusServiceUnavailable, "over", "the program has gone")
	case <-s.life.Done():
		return refuse(http.StatusServiceUnavailable, "over", "the trial has ended")
	}
	free := sync.OnceFunc(func() { <-s.slots })
	defer func() {
		if held {
			free()
		}
	}()
	req, bad := s.receive(w, r, to)
	if bad = cmp.Or(bad, beta(to.wire, r.Header)); bad != nil {
		bad.Model = cmp.Or(bad.Model, provider.Excerpt(req.model, 200))
		return s.noted(bad)
	}
	c := &Call{
		Model: req.model, Wire: to.wire, Messages: req.messages, Tools: req.tools, Most: int64(len(req.body)) + req.added,
		Output: req.output, Least: req.least, Endpoint: req.name(), Body: req.body,
	}
	if s.o.Play != nil {
		return s.play(w, c)
	}
	if bad := s.o.Watch.Begin(c); bad != nil {
		return bad
	}
	if c.Output < req.output {
		if bad := s.lower(&req, c.Output); bad != nil {
			s.answered(c, bad, nil)
			s.o.Watch.Failed(c, &provider.Error{Code: provider.InvalidRequest, Message: bad.Message, Unsent: true})
			return bad
		}
	}
	if s.o.Client != nil {
		return s.translate(w, req, c)
	}
	held = false // the call goes on when the program does not
	return s.forward(w, r, req, c, func() { free(); s.calls.Done() })
}

// receive reads a request's body.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, to route) (request, *Refusal) {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return request{}, refuse(http.StatusUnsupportedMediaType, "invalid_request", "a compressed request is not read here")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.o.Limits.RequestBytes))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return request{}, refuse(http.StatusRequestEntityTooLarge, "request_too_large", "the request has more than %d bytes", s.o.Limits.RequestBytes)
	}
	if err != nil {
		return request{}, refuse(http.StatusBadRequest, "invalid_request", "the request broke off")
	}
	return s.read(to, body)
}

// list answers what models there are: the permitted ones.
func (s *Server) list(w http.ResponseWriter, to route) *Refusal {
	if to.model != "" && !slices.Contains(s.o.Models, to.model) {
		return s.permitted(to.model)
	}
	var all []any
	for _, m := range s.o.Models {
		one := map[string]any{"id": m, "object": "model", "created": 0, "owned_by": "agentclash"}
		switch to.wire {
		case Anthropic:
			one = map[string]any{"id": m, "type": "model", "display_name": m, "created_at": "1970-01-01T00:00:00Z"}
		case Gemini:
			one = map[string]any{"name": "models/" + m, "displayName": m, "supportedGenerationMethods": []string{"generateContent", "streamGenerateContent"}}
		}
		if m == to.model {
			return document(w, one)
		}
		all = append(all, one)
	}
	switch to.wire {
	case Anthropic:
		return document(w, map[string]any{"data": all, "has_more": false, "first_id": s.o.Models[0], "last_id": s.o.Models[len(s.o.Models)-1]})
	case Gemini:
		return document(w, map[string]any{"models": all})
	}
	return document(w, map[string]any{"object": "list", "data": all})
}

func document(w http.ResponseWriter, v any) *Refusal {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the program may have gone
	return nil
}
