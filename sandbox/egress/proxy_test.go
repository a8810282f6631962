package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy serves a dialer as the box's tunnel would, and returns where.
func proxy(t *testing.T, d *Dialer) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { d.Serve(ctx, c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		stop()
		all.Wait() // nothing of a box outlives it
	})
	return l.Addr().String()
}

// through is a client that knows the proxy.
func through(t *testing.T, address string, roots *x509.CertPool) *http.Client {
	t.Helper()
	tr := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: address}),
		TLSClientConfig: &tls.Config{RootCAs: roots},
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

func fetch(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s: %v", url, err)
	}
	return resp.StatusCode, string(b)
}

func TestProxy(t *testing.T) {
	t.Parallel()
	s := server(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %q %q %q|%s", r.Method, r.URL, r.Host, r.Header["X-Hop"], r.Header["Proxy-Authorization"], r.Header["User-Agent"], body)
	})
	var said decisions
	lookup := &names{answers: map[string][]string{"api.test": {"127.0.0.1"}}}
	d := New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: lookup, Decided: said.note})
	c := through(t, proxy(t, d), nil)
	at := "api.test:" + portAt(s)
	req, _ := http.NewRequest("POST", "http://"+at+"/a?b", strings.NewReader("body"))
	req.Header = http.Header{"X-Hop": {"1"}, "Connection": {"x-hop"}, "Proxy-Authorization": {"secret"}, "User-Agent": {""}}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if want := "POST /a?b " + at + " [] [] []|body"; string(b) != want {
		t.Errorf("got %q, want %q", b, want)
	}
	if status, text := fetch(t, c, "http://nowhere.test/"); status != http.StatusBadGateway || !strings.Contains(text, "no such host") {
		t.Errorf("a name of nobody's: got %d %s", status, text)
	}
	if status, text := fetch(t, c, "http://10.0.0.1/"); status != http.StatusForbidden || !strings.Contains(text, "10.0.0.1") {
		t.Errorf("an address that is not permitted: got %d %s", status, text)
	}
	for _, one := range said.list() {
		if one.Via != ViaProxy {
			t.Errorf("got %+v", one)
		}
	}
}

func TestTunnel(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, io.LimitReader(zeros{}, 3<<20))
	}))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	d := New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: &names{answers: map[string][]string{"example.com": {"127.0.0.1"}}}})
	c := through(t, proxy(t, d), roots)
	if status, body := fetch(t, c, "https://example.com:"+port+"/"); status != 200 || len(body) != 3<<20 {
		t.Errorf("got %d, %d bytes", status, len(body))
	}
	if _, text := fetch(t, c, "https://10.0.0.1/"); !strings.Contains(text, "Forbidden") {
		t.Errorf("got %s, want it refused", text)
	}
}

// TestHalfClosed has a client say that it is done and read on.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		all, _ := io.ReadAll(c)
		fmt.Fprintf(c, "%d bytes", len(all))
		_ = c.Close()
	}()
	address := proxy(t, New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: &names{}}))
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\nearly ", l.Addr()) // before the answer
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"})
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("got %v, %v", resp, err)
	}
	fmt.Fprint(c, "and late")
	_ = c.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(r); string(got) != "14 bytes" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestACutResponseIsNotWhole has a server break off.
func TestACutResponseIsNotWhole(t *testing.T) {
	t.Parallel()
	s := server(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("some"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	c := through(t, proxy(t, New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: &names{}})), nil)
	resp, err := c.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("got %q and no error", b)
	}
}

func TestOpenConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	began := make(chan struct{}, 2)
	s := server(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) { began <- struct{}{}; <-hang })
	d := New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: &names{}, Limits: Limits{Open: 2}})
	c := through(t, proxy(t, d), nil)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { fetch(t, c, s.URL) })
	}
	<-began
	<-began
	if status, text := fetch(t, c, s.URL); status != http.StatusForbidden || !strings.Contains(text, "too many connections") {
		t.Errorf("got %d %s", status, text)
	}
	close(hang)
	both.Wait()
	if status, _ := fetch(t, c, s.URL); status != 200 {
		t.Errorf("afterwards: got %d", status)
	}
}

// FuzzProxy sends bytes that no client sends: whatever they are, nothing is
// connected to, and the connection ends.
func FuzzProxy(f *testing.F) {
	for _, seed := range []string{
		"GET http://127.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT [::1]:80 HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\nGET http://10.0.0.1/ HTTP/1.1\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		d := New(Options{Policy: policy(t, "192.0.2.1/32"), Resolver: &names{}, Limits: Limits{Connect: 1}, Decided: func(one Decision) {
			if one.Allowed && one.Address.String() != "192.0.2.1" {
				t.Errorf("%q: %+v", in, one)
			}
		}})
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() {
			d.Serve(t.Context(), theirs)
			close(done)
		}()
		go func() { _, _ = io.Copy(io.Discard, ours) }()
		_, _ = ours.Write(in)
		_ = ours.Close()
		<-done
	})
}

// What a program asks the proxy for is a decision, also where it cannot be done.
func TestWhatIsNoRequestIsDecidedToo(t *testing.T) {
	t.Parallel()
	var said decisions
	d := New(Options{Decided: said.note})
	at := proxy(t, d)
	for _, target := range []string{"ftp://a.test:21/x", "http://user:pw@b.test/", "https://c.test/"} {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		_ = conn.Close()
	}
	var hosts []string
	for _, one := range said.list() {
		if one.Allowed || one.Via != ViaProxy || one.Reason != BadRequest {
			t.Errorf("got %+v", one)
		}
		hosts = append(hosts, one.Host)
	}
	if got := strings.Join(hosts, " "); got != "a.test b.test c.test" {
		t.Errorf("got decisions about %s", got)
	}
}
