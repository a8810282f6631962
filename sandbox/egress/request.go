package egress

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// What one request may bring and take.
const (
	MaxRequestBody  = 1 << 20
	MaxResponseBody = 5 << 20
	MaxRedirects    = 10
	maxHeaderBytes  = 64 << 10 // of a request, and of a response
	maxURL          = 16 << 10
)

// Request is an HTTP request.
type Request struct {
	Method  string
	URL     string
	Headers map[string]string
	Body    []byte
	Timeout time.Duration
}

// Response is what a server answered; a status such as 404 is an answer.
type Response struct {
	Status int
	Header http.Header
	URL    string // of the last redirect
	Body   []byte
}

// Phase is how far a request came.
type Phase string

// The phases in which a request can fail.
const (
	PhaseRequest  Phase = "request" // it is none, and nothing was sent
	PhasePolicy   Phase = "policy"  // the destination is not permitted
	PhaseDNS      Phase = "dns"
	PhaseConnect  Phase = "connect"
	PhaseTLS      Phase = "tls"
	PhaseTimeout  Phase = "timeout"
	PhaseRedirect Phase = "redirect" // the server points where this does not follow
	PhaseResponse Phase = "response" // the answer is none
	PhaseBody     Phase = "body"     // of the request or of the answer
)

// RequestError is why a request has no response. Its text holds nothing of the
// request but its host.
type RequestError struct {
	Phase Phase
	Err   error
}

func (e *RequestError) Error() string { return string(e.Phase) + ": " + e.Err.Error() }
func (e *RequestError) Unwrap() error { return e.Err }

func failed(p Phase, format string, args ...any) error {
	return &RequestError{p, fmt.Errorf(format, args...)}
}

// transport keeps no connection and asks no proxy: each request is a decision
// of its own.
func (d *Dialer) transport(via string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, d.refuse(Decision{Via: via, Host: address[:min(len(address), maxHost)]}, BadHost)
			}
			return d.connect(ctx, via, host, port)
		},
		DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeaderBytes,
		TLSClientConfig:     &tls.Config{RootCAs: d.o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: d.o.Limits.Connect, DisableCompression: via == ViaProxy,
	}
}

// Do makes a request and follows redirects, each of which is a new destination.
// What the caller sends besides goes to the origin it named alone: a redirect to
// another one gets neither its headers nor its body. The error is a
// *RequestError, or ctx's. A request that cannot be sent is a decision as well,
// where it names a host.
func (d *Dialer) Do(ctx context.Context, r Request) (Response, error) {
	req, err := newRequest(r)
	if err != nil {
		d.unsent(ViaTool, hostIn(r.URL))
		return Response{}, err
	}
	within, stop := context.WithTimeout(ctx, r.Timeout)
	defer stop()
	body := r.Body
	for range MaxRedirects + 1 {
		resp, err := d.once(within, req, body)
		if err != nil {
			return Response{}, d.explain(ctx, within, err)
		}
		next, err := redirect(req, resp, len(body) > 0)
		if err != nil || next == nil {
			return d.answer(ctx, within, req, resp, err)
		}
		_ = resp.Body.Close()
		if next.Method != req.Method || !sameOrigin(next.URL, req.URL) {
			body = nil
		}
		req = next
	}
	return Response{}, failed(PhaseRedirect, "more than %d redirects", MaxRedirects)
}

// Permits says that there is a destination at all.
func (d *Dialer) Permits() bool { return d.o.Policy.access }

// unsent states that somebody wanted to reach a host by what is no request.
func (d *Dialer) unsent(via, host string) {
	if host == "" {
		return
	}
	reason := BadRequest
	if late := d.count(); late != "" {
		reason = late
	}
	_ = d.refuse(Decision{Via: via, Host: strings.ToValidUTF8(host[:min(len(host), maxHost)], "")}, reason)
}

// hostIn is the host that an address means, also one that cannot be taken; ""
// where it has none.
func hostIn(address string) string {
	address = strings.TrimSpace(address[:min(len(address), maxURL)])
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Hostname()
	}
	_, rest, ok := strings.Cut(address, "//")
	if !ok {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if host, _, err := net.SplitHostPort(rest); err == nil {
		return host
	}
	return rest
}

// newRequest checks all that is written down before anything is sent.
func newRequest(r Request) (*http.Request, error) {
	if len(r.Body) > MaxRequestBody {
		return nil, failed(PhaseBody, "the body has %d bytes; at most %d can be sent", len(r.Body), MaxRequestBody)
	}
	u, err := parseURL(r.URL)
	if err != nil {
		return nil, &RequestError{PhaseRequest, err}
	}
	method := cmp.Or(strings.ToUpper(strings.TrimSpace(r.Method)), http.MethodGet)
	req, err := http.NewRequest(method, "http://host/", nil)
	if err != nil || method == http.MethodConnect {
		return nil, failed(PhaseRequest, "the method is not one that can be sent")
	}
	req.URL = u
	req.Host = u.Host
	size := 0
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		key := textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		if err := checkHeader(key, r.Headers[name]); err != nil {
			return nil, &RequestError{PhaseRequest, err}
		}
		size += len(key) + len(r.Headers[name])
		req.Header.Set(key, strings.TrimSpace(r.Headers[name]))
	}
	if size > maxHeaderBytes {
		return nil, failed(PhaseRequest, "the headers have %d bytes; at most %d can be sent", size, maxHeaderBytes)
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "agentclash")
	}
	return req, nil
}

// parseURL reads an address that http_request may be given. What it says about
// one does not repeat it: there may be a secret in it.
func parseURL(s string) (*url.URL, error) {
	if len(s) > maxURL {
		return nil, fmt.Errorf("the url has %d bytes; at most %d are taken", len(s), maxURL)
	}
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil {
		return nil, errors.New("the url cannot be read")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the url must begin with http:// or https://")
	case u.User != nil:
		return nil, errors.New("the url must not hold a user or a password; send an Authorization header")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("the url has no host")
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if _, ok := parsePort(port); !ok {
			return nil, errors.New("the url's port is not a number from 1 to 65535")
		}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// framing are the headers that are made here: they say where a message ends and
// whom it is for.
var framing = []string{
	"Connection", "Content-Length", "Expect", "Host", "Http2-Settings", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func checkHeader(key, value string) error {
	if slices.Contains(framing, key) {
		return fmt.Errorf("the header %s cannot be set: it comes from the url and the body", key)
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return !isToken(r) }) {
		return errors.New("the name of a header holds a character that none can hold")
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return fmt.Errorf("the header %s holds a control character", key)
	}
	return nil
}

func isToken(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r != 0 && strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// once makes one request, without following.
func (d *Dialer) once(ctx context.Context, req *http.Request, body []byte) (*http.Response, error) {
	var phase atomic.Value
	phase.Store(PhaseConnect)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() { phase.Store(PhaseTLS) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				phase.Store(PhaseResponse)
			}
		},
		GotConn: func(httptrace.GotConnInfo) { phase.Store(PhaseResponse) },
	})
	out := req.Clone(ctx)
	if len(body) > 0 {
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	resp, err := d.client[ViaTool].RoundTrip(out)
	if err != nil {
		return nil, &RequestError{phase.Load().(Phase), err}
	}
	return resp, nil
}

// answer reads a response to its end.
func (d *Dialer) answer(ctx, within context.Context, req *http.Request, resp *http.Response, err error) (Response, error) {
	defer resp.Body.Close()
	if err != nil {
		return Response{}, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxResponseBody+1))
	if err != nil {
		return Response{}, d.explain(ctx, within, &RequestError{PhaseBody, err})
	}
	if len(body) > MaxResponseBody {
		return Response{}, failed(PhaseBody, "the response has more than %d bytes", MaxResponseBody)
	}
	return Response{Status: resp.StatusCode, Header: resp.Header, URL: req.URL.String(), Body: body}, nil
}

// explain finds the phase of an error.
func (d *Dialer) explain(ctx, within context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var refused *Refused
	var unresolved *resolveError
	var unconnected *connectError
	var at *RequestError
	switch {
	case errors.As(err, &refused):
		return &RequestError{PhasePolicy, refused}
	case within.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return failed(PhaseTimeout, "no answer in time, %s", meanwhile(err))
	case errors.As(err, &unresolved):
		return &RequestError{PhaseDNS, unresolved}
	case errors.As(err, &unconnected):
		return &RequestError{PhaseConnect, unconnected}
	case errors.As(err, &at):
		return &RequestError{at.Phase, bare(at.Err)}
	}
	return &RequestError{PhaseResponse, bare(err)}
}

// meanwhile says what a request was at when its time was over.
func meanwhile(err error) string {
	if at, ok := errors.AsType[*RequestError](err); ok {
		switch at.Phase {
		case PhaseTLS:
			return "in the TLS handshake"
		case PhaseResponse:
			return "once it was connected"
		case PhaseBody:
			return "in the middle of the body"
		}
	}
	return "before it was connected"
}

// bare is an error of a connection without the connection: its text would tell
// this machine's address in its network.
func bare(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op != "dial" {
		return op.Err
	}
	return err
}
