package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/agentclash/agentclash/engine/provider"
)

// Options configure a Client. Only BaseURL and Provider are required.
type Options struct {
	// Provider names the server in errors.
	Provider string
	// BaseURL is where the API is, http or https; how much of the path belongs
	// to it is the adapter's to say. It is the user's own setting: localhost and
	// private addresses are allowed.
	BaseURL string
	// Key is sent in the vendor's header; none is sent when it is empty. It
	// appears in no error and no URL.
	Key    string
	Limits Limits
	// Proxy chooses a proxy for a request, as in [http.Transport]. Nil: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Transport replaces the client's own, and Proxy with it. Nil: its own,
	// with bounded dialling.
	Transport http.RoundTripper
	// Now measures durations; time.Now when nil.
	Now func() time.Time
}

// Client is one server as an adapter sees it. It is safe for concurrent use and
// shares its connections between calls.
type Client struct {
	Name   string
	Base   *url.URL // ends in a slash
	Key    string
	Limits Limits
	now    func() time.Time
	http   *http.Client
}

// New checks the options. It opens no connection and reads no environment.
func New(o Options) (*Client, error) {
	base, err := parseBaseURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	key := strings.TrimSpace(o.Key)
	if strings.ContainsFunc(key, unicode.IsControl) {
		return nil, errors.New("key: it contains control characters")
	}
	c := &Client{Name: o.Provider, Base: base, Key: key, Limits: o.Limits.orDefaults(), now: o.Now}
	if c.now == nil {
		c.now = time.Now
	}
	transport := o.Transport
	if transport == nil {
		transport = newTransport(o.Proxy)
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: sameOriginOnly}
	return c, nil
}

// Close closes idle connections. Calls under way are not disturbed.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Hide takes the key out of a server's words, in case it says it back. It must
// come before anything that shortens them: half a key is too much.
func (c *Client) Hide(words string) string {
	if c.Key == "" {
		return words
	}
	return strings.ReplaceAll(words, c.Key, "[key]")
}

// Refused is a request that cannot be sent.
func (c *Client) Refused(err error) error {
	return &provider.Error{Provider: c.Name, Code: provider.InvalidRequest, Message: err.Error(), Err: err}
}

// Malformed is a reply that no retry and no reading can make sense of. Whoever
// returns it to the caller names the provider.
func Malformed(format string, args ...any) *provider.Error {
	return &provider.Error{Code: provider.MalformedResponse, Message: fmt.Sprintf(format, args...)}
}

// Failed turns whatever ended a call into an *provider.Error that holds no key.
func (c *Client) Failed(ctx context.Context, err error) error { return c.failed(ctx, err) }

func (c *Client) failed(ctx context.Context, err error) *provider.Error {
	e := c.classify(ctx, err)
	e.Provider = c.Name
	e.Message = c.Hide(e.Message)
	return e
}

func (c *Client) classify(ctx context.Context, err error) *provider.Error {
	var told *provider.Error
	if errors.As(err, &told) {
		return told
	}
	if ended := provider.FromContext(ctx, c.Name); ended != nil {
		return ended
	}
	// The address in a *url.Error says nothing new and may have come from a
	// server.
	var where *url.Error
	if errors.As(err, &where) {
		err = where.Err
	}
	words := err.Error()
	var on *net.OpError
	if errors.As(err, &on) && on.Op == "proxyconnect" { // net/http's word for the way to a proxy
		words = "the proxy that " + strings.ToUpper(c.Base.Scheme) + "_PROXY names cannot be reached: " + on.Err.Error()
	}
	e := &provider.Error{Code: provider.Unavailable, Message: provider.Excerpt(words, maxTransportText), Err: err}
	var timeout net.Error
	switch {
	case errors.Is(err, errRedirect):
		e.Code = provider.InvalidRequest
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Code = provider.Timeout
	}
	return e
}

// parseBaseURL accepts what a person may configure: http or https, any host,
// localhost included. What could carry a secret into an error is refused.
func parseBaseURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, errors.New("base URL: not a URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("base URL: scheme %q is neither http nor https", u.Scheme)
	case u.User != nil:
		return nil, errors.New("base URL: user information does not belong there; give the key on its own")
	case u.Hostname() == "":
		return nil, errors.New("base URL: no host")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("base URL: a query or fragment does not belong there")
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	u.RawPath = ""
	return u, nil
}
