package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/agentclash/agentclash/engine/provider"
)

const (
	dialTimeout      = 10 * time.Second
	tlsTimeout       = 10 * time.Second
	keepConnections  = 128 // idle ones to one host: a run's trials share the client
	maxHeaderBytes   = 256 << 10
	maxErrorBytes    = 64 << 10
	maxTransportText = 300 // bytes of a network error that are repeated
	maxRedirects     = 5
	userAgent        = "agentclash"
	telemetryHeaders = "X-Stainless-" // the SDK's report on the machine
)

var errRedirect = errors.New("the server redirects elsewhere; set base_url to where the API is")

func newTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    tlsTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           keepConnections,
		MaxIdleConnsPerHost:    keepConnections,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// sameOriginOnly lets a server move its own path and nothing else: a key never
// follows to another origin, and a redirect that would turn the call into a GET
// is refused with it.
func sameOriginOnly(req *http.Request, via []*http.Request) error {
	first := via[0]
	same := req.URL.Scheme == first.URL.Scheme && strings.EqualFold(req.URL.Host, first.URL.Host)
	if !same || req.Method != first.Method || len(via) > maxRedirects {
		return errRedirect
	}
	return nil
}

// guard stands between the SDK and the server for one call: it bounds and
// watches the body, and turns everything that is not a stream into an error
// before the SDK can lose its status or read it whole.
type guard struct {
	client   *Client
	idle     *provider.Idle
	response *http.Response
}

func (g *guard) roundTrip(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	for name := range req.Header {
		if strings.HasPrefix(name, telemetryHeaders) {
			req.Header.Del(name)
		}
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/event-stream, application/json")
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	body := g.idle.Reader(res.Body)
	if res.StatusCode != http.StatusOK || !streams(res) {
		defer func() { _ = body.Close() }()
		return nil, g.refusal(res, body)
	}
	res.Body = &cappedBody{ReadCloser: body, left: g.client.limits.StreamBytes, limit: g.client.limits.StreamBytes}
	g.response = res
	return res, nil
}

// streams says whether a 200 may be a stream. Servers that name no type, or
// text/plain, are given the chance to be one.
func streams(res *http.Response) bool {
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return true
	}
	return media != "text/html" && media != "application/json" && !strings.HasSuffix(media, "+json")
}

// refusal reads as much of a body as an error needs. Beside a status that says
// enough, what could be read of a body that breaks off will do.
func (g *guard) refusal(res *http.Response, body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, maxErrorBytes))
	data = []byte(g.client.hide(string(data)))
	f := provider.Failure{Provider: g.client.name, Status: res.StatusCode, Header: res.Header, Body: data, Now: g.client.now()}
	if res.StatusCode != http.StatusOK {
		return provider.Classify(f)
	}
	if err != nil {
		return fmt.Errorf("the reply broke off: %w", err)
	}
	f.Status = 0
	if provider.ErrorIn(data) {
		return provider.Classify(f)
	}
	return malformed("the server did not stream: it answered with %s", res.Header.Get("Content-Type"))
}

// cappedBody ends a stream that grows past all reason.
type cappedBody struct {
	io.ReadCloser
	left, limit int64
}

func (b *cappedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, malformed("the stream passes %d bytes", b.limit)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// malformed is a reply that no retry and no reading can make sense of. Whoever
// returns it to the caller names the provider.
func malformed(format string, args ...any) *provider.Error {
	return &provider.Error{Code: provider.MalformedResponse, Message: fmt.Sprintf(format, args...)}
}

// failed turns whatever ended a call into an *provider.Error that holds no key.
func (c *Client) failed(ctx context.Context, err error) error {
	e := c.classify(ctx, err)
	e.Provider = c.name
	e.Message = c.hide(e.Message)
	return e
}

// hide takes the key out of a server's words, in case it says it back. It must
// come before anything that shortens them: half a key is too much.
func (c *Client) hide(words string) string {
	if c.key == "" {
		return words
	}
	return strings.ReplaceAll(words, c.key, "[key]")
}

func (c *Client) classify(ctx context.Context, err error) *provider.Error {
	var told *provider.Error
	if errors.As(err, &told) {
		return told
	}
	if ended := provider.FromContext(ctx, c.name); ended != nil {
		return ended
	}
	// The address in a *url.Error says nothing new and may have come from a
	// server.
	var where *url.Error
	if errors.As(err, &where) {
		err = where.Err
	}
	e := &provider.Error{Code: provider.Unavailable, Message: provider.Excerpt(err.Error(), maxTransportText), Err: err}
	var timeout net.Error
	switch {
	case errors.Is(err, errRedirect):
		e.Code = provider.InvalidRequest
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Code = provider.Timeout
	}
	return e
}
