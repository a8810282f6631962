package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
)

// Answer is what a program was answered, as it came. The formats are text: bytes
// that are none stand as U+FFFD.
type Answer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	Body   string      `json:"body,omitempty"`
	Cut    bool        `json:"cut,omitempty"` // it broke off
}

// fleeting are headers that are another time other ones and say nothing of a reply.
var fleeting = []string{"Date", "Request-Id", "X-Request-Id"}

// heardAnswer keeps an answer while it is written to it.
type heardAnswer struct {
	head   http.Header
	status int
	body   bytes.Buffer
	cut    bool
}

func (h *heardAnswer) Header() http.Header {
	if h.head == nil {
		h.head = http.Header{}
	}
	return h.head
}

func (h *heardAnswer) WriteHeader(status int) {
	if h.status == 0 {
		h.status = status
	}
}

func (h *heardAnswer) Write(p []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(p)
}

// answer is what was heard, as it is kept.
func (h *heardAnswer) answer() Answer {
	head := maps.Clone(h.head)
	maps.DeleteFunc(head, func(name string, _ []string) bool { return contains(fleeting, name) })
	return Answer{Status: h.status, Header: head, Body: strings.ToValidUTF8(h.body.String(), "\uFFFD"), Cut: h.cut}
}

// write gives the answer to a program.
func (a Answer) write(w http.ResponseWriter) {
	for name, values := range a.Header {
		w.Header()[name] = slices.Clone(values)
	}
	w.WriteHeader(a.Status)
	fmt.Fprint(w, a.Body) // the program may have gone
	if a.Cut {
		_ = http.NewResponseController(w).Flush() // likewise
		panic(http.ErrAbortHandler)               // the one way to say that a reply is not whole
	}
}

// play answers a call with what Options.Play has for it.
func (s *Server) play(w http.ResponseWriter, c *Call) *Refusal {
	a, bad := s.o.Play(c)
	if bad != nil {
		return bad
	}
	if a.Status < http.StatusOK || a.Status > 599 {
		return refuse(http.StatusBadGateway, "replay_miss", "the recorded answer has the status %d", a.Status)
	}
	a.write(w)
	return nil
}

// name is how an endpoint is called in a recording.
func (r request) name() string {
	switch r.to {
	case chat:
		return string(OpenAI) + "/chat/completions"
	case responses:
		return string(OpenAI) + "/responses"
	case messages:
		return string(Anthropic) + "/messages"
	}
	method := ":generateContent"
	if r.stream {
		method = ":streamGenerateContent"
	}
	return string(Gemini) + "/models/" + r.model + method
}

// Recall is the call that a recorded request was: its endpoint is named as in
// [Call.Endpoint].
func Recall(endpoint string, body []byte) (*Call, error) {
	to := routeOf(&url.URL{Path: root + endpoint})
	if to.to < chat || to.to > generate {
		return nil, fmt.Errorf("no calls go to %q", provider.Excerpt(endpoint, 100))
	}
	var o object
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, err
	}
	conv, bad := conversationOf(to.to, o)
	if bad != nil {
		return nil, fmt.Errorf("%s", bad.Message)
	}
	c := &Call{Model: to.model, Wire: to.wire, Messages: conv.messages, Tools: toolNames(to.to, o["tools"]), Endpoint: endpoint, Body: body}
	if c.Model == "" {
		c.Model = text(o["model"])
	}
	return c, nil
}

// answered keeps a refusal that stands in place of a reply, when answers are kept.
func (s *Server) answered(c *Call, bad *Refusal, head http.Header) {
	if !s.o.Keep {
		return
	}
	h := &heardAnswer{head: head.Clone()}
	bad.write(h, c.Wire)
	c.Answer = h.answer()
}
