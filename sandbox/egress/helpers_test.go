package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// names is a resolver whose answers change: each question takes the next of a
// name's answers, and the last one stays.
type names struct {
	mu      sync.Mutex
	answers map[string][]string // each a list of addresses
	asked   []string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	all := n.answers[host]
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "192.168.0.53:53", IsNotFound: true}
	}
	if len(all) > 1 {
		n.answers[host] = all[1:]
	}
	var found []netip.Addr
	for a := range strings.SplitSeq(all[0], ",") {
		found = append(found, netip.MustParseAddr(a))
	}
	return found, nil
}

// decisions are what a dialer said.
type decisions struct {
	mu  sync.Mutex
	all []Decision
}

func (d *decisions) note(one Decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, one)
}

func (d *decisions) list() []Decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

// server is a web server at an address of this machine.
func server(t *testing.T, address string, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func portAt(s *httptest.Server) string {
	return s.Listener.Addr().String()[strings.LastIndex(s.Listener.Addr().String(), ":")+1:]
}

// victim is what nobody may connect to.
func victim(t *testing.T, address string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var visits atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			visits.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		if n := visits.Load(); n > 0 {
			t.Errorf("%s: %d connections came through", address, n)
		}
	})
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

func get(t *testing.T, d *Dialer, url string) (Response, error) {
	t.Helper()
	return d.Do(t.Context(), Request{Method: "GET", URL: url, Timeout: 10 * time.Second})
}

func wantPhase(t *testing.T, what string, err error, want Phase) {
	t.Helper()
	var e *RequestError
	if !errors.As(err, &e) || e.Phase != want {
		t.Errorf("%s: got %v, want an error of phase %s", what, err, want)
	}
}
