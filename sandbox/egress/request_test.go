package egress

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestARequest(t *testing.T) {
	t.Parallel()
	s := server(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Tried")+" "+r.Host)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s", body)
	})
	var said decisions
	d := New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: &names{answers: map[string][]string{"api.test": {"::1,127.0.0.1"}}}, Decided: said.note})
	url := "http://api.test:" + portAt(s) + "/a"
	r, err := d.Do(t.Context(), Request{Method: " put ", URL: url, Headers: map[string]string{"x-tried": "yes"}, Body: []byte("b\x00dy"), Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != 418 || string(r.Body) != "b\x00dy" || r.URL != url || r.Header.Get("X-Seen") != "PUT /a yes api.test:"+portAt(s) {
		t.Errorf("got %+v", r)
	}
	all := said.list()
	if len(all) != 1 || !all[0].Allowed || all[0].Host != "api.test" || all[0].Address.String() != "127.0.0.1" || all[0].Reason != Allowlisted || all[0].Via != ViaTool {
		t.Errorf("decisions: got %+v", all)
	}
	if u := d.Used(); u.Allowed != 1 || u.Refused != 0 || u.Sent == 0 || u.Received == 0 {
		t.Errorf("used: got %+v", u)
	}
}

// TestURLs tries what is refused before anything is sent or looked up.
func TestURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]Phase{
		"file:///etc/passwd":                PhaseRequest,
		"gopher://127.0.0.1:70/x":           PhaseRequest,
		"ftp://example.com/":                PhaseRequest,
		"data:text/plain,x":                 PhaseRequest,
		"//example.com/":                    PhaseRequest,
		"example.com":                       PhaseRequest,
		"http:/example.com":                 PhaseRequest,
		"http:example.com":                  PhaseRequest,
		"http://":                           PhaseRequest,
		"http://:80/":                       PhaseRequest,
		"":                                  PhaseRequest,
		"http://user@example.com/":          PhaseRequest,
		"http://example.com:x@127.0.0.1/":   PhaseRequest,
		"http://example.com:99999/":         PhaseRequest,
		"http://example.com:0/":             PhaseRequest,
		"http://example.com:/":              PhaseRequest,
		"http://127.0.0.1\\@example.com/":   PhaseRequest,
		"http://127.0.0.1:80\\@example.com": PhaseRequest,
		"http://exa mple.com/":              PhaseRequest,
		"http://example.com\r\nX: y/":       PhaseRequest,
		"http://[::1/":                      PhaseRequest,
		"http://127.0.0.1/":                 PhasePolicy,
		"http://127.0.0.1./":                PhasePolicy,
		"http://2130706433/":                PhasePolicy,
		"http://0x7f000001/":                PhasePolicy,
		"http://017700000001/":              PhasePolicy,
		"http://0177.0.0.1/":                PhasePolicy,
		"http://127.1/":                     PhasePolicy,
		"http://0/":                         PhasePolicy,
		"http://0.0.0.0/":                   PhasePolicy,
		"http://[::]/":                      PhasePolicy,
		"http://[::1]/":                     PhasePolicy,
		"http://[::ffff:127.0.0.1]/":        PhasePolicy,
		"http://[::ffff:7f00:1]/":           PhasePolicy,
		"http://[64:ff9b::7f00:1]/":         PhasePolicy,
		"http://[2002:7f00:1::]/":           PhasePolicy,
		"http://[fe80::1%25lo]/":            PhasePolicy,
		"http://169.254.169.254/latest":     PhasePolicy,
		"http://[fd00:ec2::254]/":           PhasePolicy,
		"http://１２７.０.０.１/":                 PhasePolicy,
		"http://127。0。0。1/":                 PhasePolicy,
		"http://①②⑦.⓪.⓪.①/":                 PhasePolicy,
		"http://%31%32%37.0.0.1/":           PhaseRequest,
		"https://10.0.0.1/":                 PhasePolicy,
	} {
		lookup := &names{}
		_, err := get(t, New(Options{Policy: policy(t), Resolver: lookup}), url)
		wantPhase(t, url, err, want)
		if len(lookup.asked) > 0 {
			t.Errorf("%s: a name server was asked for %q", url, lookup.asked)
		}
	}
}

func TestWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	d := New(Options{Policy: policy(t), Resolver: &names{}})
	for what, r := range map[string]Request{
		"Host":              {Headers: map[string]string{"host": "127.0.0.1"}},
		"Transfer-Encoding": {Headers: map[string]string{"transfer-encoding": "chunked"}},
		"Content-Length":    {Headers: map[string]string{" Content-Length": "0"}},
		"line break":        {Headers: map[string]string{"X": "a\r\nHost: b"}},
		"name":              {Headers: map[string]string{"X y": "a"}},
		"empty name":        {Headers: map[string]string{"": "a"}},
		"large header":      {Headers: map[string]string{"X": strings.Repeat("a", maxHeaderBytes)}},
		"method":            {Method: "GET / HTTP/1.1\r\nX: y"},
		"CONNECT":           {Method: "connect"},
	} {
		r.URL, r.Timeout = "http://example.com/", time.Second
		_, err := d.Do(t.Context(), r)
		wantPhase(t, what, err, PhaseRequest)
	}
	_, err := d.Do(t.Context(), Request{URL: "http://example.com/", Body: make([]byte, MaxRequestBody+1), Timeout: time.Second})
	wantPhase(t, "a large body", err, PhaseBody)
}

func TestPhases(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	s := server(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			<-hang
		case "/long":
			_, _ = io.Copy(w, io.LimitReader(zeros{}, MaxResponseBody+1))
		case "/cut":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "x")
		case "/header":
			w.Header().Set("X", strings.Repeat("a", 2*maxHeaderBytes))
		case "/full":
			_, _ = io.Copy(w, io.LimitReader(zeros{}, MaxResponseBody))
		}
	})
	t.Cleanup(func() { close(hang) })
	plain := "127.0.0.1:" + portAt(s)
	d := New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: &names{}})
	for url, want := range map[string]Phase{
		"http://nowhere.test/":        PhaseDNS,
		"http://127.0.0.1:1":          PhaseConnect,
		"https://" + plain:            PhaseTLS,
		"http://" + plain + "/long":   PhaseBody,
		"http://" + plain + "/cut":    PhaseBody,
		"http://" + plain + "/header": PhaseResponse,
	} {
		_, err := get(t, d, url)
		wantPhase(t, url, err, want)
		if err != nil && strings.Contains(err.Error(), "192.168.0.53") {
			t.Errorf("%s: the error names a name server: %v", url, err)
		}
	}
	_, err := d.Do(t.Context(), Request{URL: "http://" + plain + "/hang", Timeout: 20 * time.Millisecond})
	wantPhase(t, "hang", err, PhaseTimeout)
	if r, err := get(t, d, "http://"+plain+"/full"); err != nil || len(r.Body) != MaxResponseBody {
		t.Errorf("a body as large as one may be: got %d bytes, %v", len(r.Body), err)
	}
}

// TestTimeoutsSayWhere holds the texts of requests whose time was over against what
// they were at.
func TestTimeoutsSayWhere(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		&RequestError{PhaseConnect, context.DeadlineExceeded}:  "before it was connected",
		&RequestError{PhaseTLS, context.DeadlineExceeded}:      "in the TLS handshake",
		&RequestError{PhaseResponse, context.DeadlineExceeded}: "once it was connected",
		&RequestError{PhaseBody, context.DeadlineExceeded}:     "in the middle of the body",
	} {
		d := New(Options{})
		got := d.explain(t.Context(), t.Context(), err)
		wantPhase(t, want, got, PhaseTimeout)
		if !strings.HasSuffix(got.Error(), "no answer in time, "+want) {
			t.Errorf("%v: got %v, want %s", err, got, want)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestCertificates(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.TLS.ServerName) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	lookup := &names{answers: map[string][]string{"example.com": {"127.0.0.1"}, "other.test": {"127.0.0.1"}}}
	d := New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: lookup, Roots: roots})
	if r, err := get(t, d, "https://example.com:"+port); err != nil || string(r.Body) != "example.com" {
		t.Errorf("got %+v, %v", r, err)
	}
	_, err := get(t, d, "https://other.test:"+port)
	wantPhase(t, "a certificate for another name", err, PhaseTLS)
	_, err = get(t, New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: lookup}), "https://example.com:"+port)
	wantPhase(t, "a certificate of nobody's", err, PhaseTLS)
}

// TestRedirects follows within one origin with everything, and to another with
// nothing that says who asks.
func TestRedirects(t *testing.T) {
	t.Parallel()
	echo := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s|%s|%s|%s|%s|%s", r.Method, r.URL, r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"), r.Header.Get("Referer"), r.Header.Get("Accept"), body)
	}
	other := server(t, "127.0.0.1:0", echo)
	s := server(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		var status int
		if n, _ := fmt.Sscanf(r.URL.Path, "/%d", &status); n == 0 {
			echo(w, r)
			return
		}
		http.Redirect(w, r, r.URL.Query().Get("to"), status)
	})
	d := New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: &names{}})
	here, there := s.URL, other.URL
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/302?to=/x%3Fq=1", "GET /x?q=1|key|token||text/x|"},
		{"POST", "/302?to=/x", "GET /x|key|token||text/x|"},
		{"POST", "/303?to=/x", "GET /x|key|token||text/x|"},
		{"PUT", "/301?to=/x", "PUT /x|key|token||text/x|body"},
		{"POST", "/307?to=/x", "POST /x|key|token||text/x|body"},
		{"POST", "/308?to=x", "POST /x|key|token||text/x|body"},
		{"GET", "/302?to=" + there + "/y", "GET /y||||text/x|"},
		{"POST", "/303?to=" + there + "/y", "GET /y||||text/x|"},
		{"GET", "/302?to=" + there + "/302%3Fto=x", "GET /302?to=x||||text/x|"},
	} {
		r := Request{Method: c.method, URL: here + c.path, Timeout: 10 * time.Second, Headers: map[string]string{"X-Api-Key": "key", "Authorization": "token", "Accept": "text/x"}}
		if c.method != "GET" {
			r.Body = []byte("body")
		}
		got, err := d.Do(t.Context(), r)
		if err != nil || string(got.Body) != c.want {
			t.Errorf("%s %s: got %q, %v, want %q", c.method, c.path, got.Body, err, c.want)
		}
	}
	for path, want := range map[string]Phase{
		"/307?to=" + there + "/y":                         PhaseRedirect, // with a body
		"/303?to=file:///etc/passwd":                      PhaseRedirect,
		"/303?to=http://u:p@127.0.0.1/":                   PhaseRedirect,
		"/303?to=http://%25zz":                            PhaseRedirect,
		"/303?to=http://10.0.0.1/":                        PhasePolicy,
		"/303?to=http://169.254.169.254/latest/meta-data": PhasePolicy,
		"/303?to=http://[::1]:80/":                        PhasePolicy,
		"/303?to=//2130706433/":                           PhasePolicy,
	} {
		_, err := d.Do(t.Context(), Request{Method: "POST", URL: here + path, Body: []byte("b"), Timeout: 10 * time.Second})
		wantPhase(t, path, err, want)
	}
	loop := server(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) })
	_, err := get(t, d, loop.URL)
	wantPhase(t, "a circle", err, PhaseRedirect)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := server(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, io.LimitReader(zeros{}, 1<<20)) })
	var said decisions
	d := New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: &names{}, Limits: Limits{Connections: 3}, Decided: said.note})
	for range 3 {
		if _, err := get(t, d, s.URL); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		_, err := get(t, d, s.URL)
		wantPhase(t, "one connection too many", err, PhasePolicy)
	}
	if all := said.list(); len(all) != 4 || all[3].Reason != TooMany {
		t.Errorf("decisions: got %+v, want three and one that says it is enough", all)
	}

	d = New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: &names{}, Limits: Limits{Bytes: 1 << 19}})
	_, err := get(t, d, s.URL)
	wantPhase(t, "too many bytes", err, PhasePolicy)
	_, err = get(t, d, s.URL)
	wantPhase(t, "after too many bytes", err, PhasePolicy)

	hang := make(chan struct{})
	slow := server(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) { <-hang })
	d = New(Options{Policy: policy(t, "127.0.0.0/8"), Resolver: &names{}, Limits: Limits{Idle: 20 * time.Millisecond}})
	_, err = get(t, d, slow.URL)
	wantPhase(t, "silence", err, PhaseResponse)
	close(hang)
}

// FuzzURL tries addresses on a policy that permits one server alone: whatever
// else is asked for, nothing but that server is reached.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{"http://127.0.0.1/", "http://a@b:80/", "http://[::1]:1/", "https://x/", "http://0x7f.1", "http://①/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		d := New(Options{Policy: Policy{access: true}, Resolver: &names{answers: map[string][]string{}}, Decided: func(one Decision) {
			if one.Allowed && !blockIsPublic(one) {
				t.Errorf("%q: %+v", url, one)
			}
		}, Limits: Limits{Connect: 1}})
		u, err := parseURL(url)
		if err != nil {
			return
		}
		if u.Hostname() == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
			t.Errorf("%q: got %#v", url, u)
		}
		_, _ = d.Do(t.Context(), Request{URL: url, Timeout: 1})
	})
}

func blockIsPublic(one Decision) bool { return blockOf(meant(one.Address)).reason == Public }
