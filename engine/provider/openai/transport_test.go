package openai_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai"
	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
	"github.com/agentclash/agentclash/engine/provider/providertest"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var errUnplugged = errors.New("the cable is unplugged")

// at makes a client of a base URL that is no openaitest server.
func at(t *testing.T, base string, o wire.Options) *openai.Client {
	t.Helper()
	return client(t, &openaitest.Server{URL: base}, o)
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	_, err := at(t, "http://127.0.0.1:1/v1", wire.Options{}).Complete(t.Context(), providertest.Ask(t), nil)
	if provider.CodeOf(err) != provider.Unavailable || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v, want unavailable and the reason", err)
	}
	if strings.Contains(err.Error(), "/chat/completions") {
		t.Errorf("got %v, want no address in it", err)
	}
}

func TestUntrustedCertificate(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := at(t, s.URL+"/v1", wire.Options{}).Complete(t.Context(), providertest.Ask(t), nil)
	if provider.CodeOf(err) != provider.Unavailable || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v, want unavailable because of the certificate", err)
	}
}

func TestNetworkTimeout(t *testing.T) {
	t.Parallel()
	c := at(t, "http://example.invalid/v1", wire.Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: timeoutError{}}
	})})
	if _, err := c.Complete(t.Context(), providertest.Ask(t), nil); provider.CodeOf(err) != provider.Timeout {
		t.Errorf("got %v, want a timeout", err)
	}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// A key goes where it was configured to go, and a redirect does not change the
// call into another one.
func TestRedirects(t *testing.T) {
	t.Parallel()
	const key = "sk-redirected-secret"
	var leaked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	t.Cleanup(elsewhere.Close)
	for name, test := range map[string]struct {
		status   int
		location func(self string) string
		want     provider.Code
	}{
		"same origin":       {307, func(self string) string { return self + "/there" }, ""},
		"same origin, 308":  {308, func(string) string { return "/there" }, ""},
		"other origin":      {307, func(string) string { return elsewhere.URL + "/v1/chat/completions?k=" + key }, provider.InvalidRequest},
		"turned into a GET": {302, func(string) string { return "/there" }, provider.InvalidRequest},
		"a loop":            {307, func(string) string { return "/v1/chat/completions" }, provider.InvalidRequest},
		"no location":       {307, func(string) string { return "" }, provider.InvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var self string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/there" {
					if r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer "+key {
						t.Errorf("got %s with %q", r.Method, r.Header.Get("Authorization"))
					}
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = w.Write([]byte("data: " + text("moved") + "\n\ndata: " + stop + "\n\n"))
					return
				}
				if to := test.location(self); to != "" {
					w.Header().Set("Location", to)
				}
				w.WriteHeader(test.status)
			}))
			t.Cleanup(s.Close)
			self = s.URL
			res, err := at(t, s.URL+"/v1", wire.Options{Key: key}).Complete(t.Context(), providertest.Ask(t), nil)
			if provider.CodeOf(err) != test.want {
				t.Errorf("got %v, want code %q", err, test.want)
			}
			if err == nil && res.Text != "moved" {
				t.Errorf("got %q", res.Text)
			}
			if err != nil && strings.Contains(err.Error(), key) {
				t.Errorf("the key is in %v", err)
			}
		})
	}
	t.Cleanup(func() {
		if n := leaked.Load(); n != 0 {
			t.Errorf("%d requests went to another origin", n)
		}
	})
}

// A server may say our key back to us; an error must not pass it on.
func TestKeyIsInNoError(t *testing.T) {
	t.Parallel()
	const key = "sk-very-secret-key-42"
	for name, r := range map[string]openaitest.Reply{
		"document":          openaitest.Error(401, "x", "invalid_api_key", "Incorrect API key provided: "+key+"."),
		"plain text":        {Status: 500, Header: map[string]string{"Content-Type": "text/plain"}, Body: "Authorization: Bearer " + key},
		"in the stream":     stream(`{"error":{"message":"bad key ` + key + `"}}`),
		"not a chunk":       stream(key),
		"call type":         stream(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"type":"` + key + `"}]}}]}`),
		"where text is cut": {Status: 500, Body: strings.Repeat("x", 485) + key + strings.Repeat("x", 200)},
		"a content type":    {Status: 200, Header: map[string]string{"Content-Type": "text/html; x=" + key}, Body: "<p>"},
	} {
		_, err := call(t, r, wire.Options{Key: key})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(e.Error(), key[:8]) {
				t.Errorf("%s: the key is in %q", name, e.Error())
			}
		}
		if !strings.Contains(err.Error(), "[key]") {
			t.Errorf("%s: got %v, want the key's place marked", name, err)
		}
	}
}

func TestWrongKey(t *testing.T) {
	t.Parallel()
	s := openaitest.New(t, openaitest.Text("4"))
	s.Key = "sk-right"
	if _, err := client(t, s, wire.Options{Key: "sk-wrong"}).Complete(t.Context(), providertest.Ask(t), nil); provider.CodeOf(err) != provider.Auth {
		t.Errorf("got %v, want auth", err)
	}
	if _, err := client(t, s, wire.Options{Key: " sk-right\n"}).Complete(t.Context(), providertest.Ask(t), nil); err != nil {
		t.Errorf("a key with space around it: %v", err)
	}
}

func TestWrongPath(t *testing.T) {
	t.Parallel()
	s := openaitest.New(t, openaitest.Text("4"))
	_, err := at(t, strings.TrimSuffix(s.URL, "/v1")+"/v2", wire.Options{}).Complete(t.Context(), providertest.Ask(t), nil)
	if provider.CodeOf(err) != provider.InvalidRequest || !strings.Contains(err.Error(), "Invalid URL") {
		t.Errorf("got %v, want the address to be blamed, not the model", err)
	}
}

// The adapter calls once; provider.Retry decides about more, and sees each try.
func TestRetriesAreNotTheSDKs(t *testing.T) {
	t.Parallel()
	s := openaitest.New(t, openaitest.Error(500, "server_error", "", "oops"), openaitest.RateLimited("1"), openaitest.Text("fine"))
	c := client(t, s, wire.Options{})
	if _, err := c.Complete(t.Context(), providertest.Ask(t), nil); provider.CodeOf(err) != provider.Unavailable {
		t.Fatalf("got %v", err)
	}
	if n := len(s.Requests()); n != 1 {
		t.Fatalf("one call made %d requests", n)
	}
	var codes []provider.Code
	retry := provider.Retry{Sleep: func(context.Context, time.Duration) error { return nil }}
	res, err := retry.Do(t.Context(), c, providertest.Ask(t),
		provider.Observer{Failed: func(f provider.FailedTry) { codes = append(codes, f.Err.Code) }})
	if err != nil || res.Text != "fine" || len(codes) != 1 || codes[0] != provider.RateLimit {
		t.Errorf("got %q, %v, after %v", res.Text, err, codes)
	}
}

func TestProxyIsUsedWhenGiven(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := at(t, "http://model.invalid/v1", wire.Options{Proxy: http.ProxyURL(address)})
	if _, err := c.Complete(t.Context(), providertest.Ask(t), nil); provider.CodeOf(err) != provider.Unavailable {
		t.Errorf("got %v", err)
	}
	if asked.Load() != 1 {
		t.Errorf("the proxy was asked %d times", asked.Load())
	}
}
