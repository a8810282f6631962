package wire

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	dialTimeout      = 10 * time.Second
	tlsTimeout       = 10 * time.Second
	keepConnections  = 128 // idle ones to one host: a run's trials share the client
	maxHeaderBytes   = 256 << 10
	maxTransportText = 300 // bytes of a network error that are repeated
	maxRedirects     = 5
	userAgent        = "agentclash"
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

// sent are the headers that a request may have, apart from ours and those that
// the transport makes. What else an SDK adds is a report on the machine.
func sent(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Authorization", "Content-Type", "X-Api-Key", "Anthropic-Version", "X-Goog-Api-Key":
		return true
	}
	return false
}
