package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The policy of these tests permits 127.0.0.2 and nothing else; a server stands
// there. At 127.0.0.1 and 127.0.0.3 are those that must not be reached: where a
// try gets through, they say so.

// TestRedTeam tries to get past the policy, by http_request and by the box's
// proxy.
func TestRedTeam(t *testing.T) {
	t.Parallel()
	v := victim(t, "127.0.0.1:0")
	allowed := server(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
		fmt.Fprintf(w, "reached %s", r.Host)
	})
	lookup := &names{answers: map[string][]string{
		"good.test":      {"127.0.0.2"},
		"loop.test":      {"127.0.0.1"},
		"mapped.test":    {"::ffff:127.0.0.1"},
		"nat64.test":     {"64:ff9b::7f00:1"},
		"meta.test":      {"169.254.169.254"},
		"private.test":   {"10.0.0.1"},
		"localhost":      {"127.0.0.1"},
		"127.0.0.1.test": {"127.0.0.1"},
	}}
	d := New(Options{Policy: policy(t, "127.0.0.2/32"), Resolver: lookup, Limits: Limits{Connections: 1000}})
	c := through(t, proxy(t, d), nil)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return nil }

	if r, err := get(t, d, allowed.URL); err != nil || !strings.HasPrefix(string(r.Body), "reached") {
		t.Fatalf("what is permitted: got %q, %v", r.Body, err)
	}
	if status, text := fetch(t, c, "http://good.test:"+portAt(allowed)); status != 200 || !strings.HasPrefix(text, "reached") {
		t.Fatalf("what is permitted, by the proxy: got %d %s", status, text)
	}

	for _, host := range []string{
		"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001",
		"0", "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]",
		"[0:0:0:0:0:ffff:127.0.0.1]", "localhost", "LOCALHOST", "localhost.", "loop.test", "loop.test.", "mapped.test", "nat64.test",
		"meta.test", "private.test", "127.0.0.1.test", "169.254.169.254", "10.0.0.1", "127.0.0.2.nip.example", "127。0。0。1", "①②⑦.0.0.1",
		"127.0.0.1%2f@127.0.0.2", "127.0.0.2@127.0.0.1", "127.0.0.2#@127.0.0.1", "127.0.0.1%00.good.test", "good.test%0d%0aHost:x",
	} {
		for what, url := range map[string]string{
			"straight": "http://" + host + ":" + v + "/",
			"redirect": allowed.URL + "/?to=http://" + host + ":" + v + "/",
		} {
			if r, err := get(t, d, url); err == nil {
				t.Errorf("http_request, %s to %s: got %d %q, want an error", what, host, r.Status, r.Body)
			}
		}
		if status, text := fetch(t, c, "http://"+host+":"+v+"/"); status == 200 {
			t.Errorf("proxy, %s: got %d %s", host, status, text)
		}
		if status, text := raw(t, proxy(t, d), "CONNECT "+host+":"+v+" HTTP/1.1\r\nHost: good.test\r\n\r\n"); status == 200 {
			t.Errorf("CONNECT to %s: got %d %s", host, status, text)
		}
	}
}

// raw sends bytes to the proxy and reads the first answer.
func raw(t *testing.T, address, bytes string) (int, string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, bytes)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return resp.StatusCode, string(b)
}

// TestRebinding has a name mean something else each time it is looked up: what
// was judged is what is connected to.
func TestRebinding(t *testing.T) {
	t.Parallel()
	v := victim(t, "127.0.0.1:0")
	good := server(t, "127.0.0.2:"+v, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "good") })
	lookup := &names{answers: map[string][]string{
		"rebind.test": {"127.0.0.2", "127.0.0.1"},
		"mixed.test":  {"127.0.0.1,127.0.0.2,::1"},
	}}
	d := New(Options{Policy: policy(t, "127.0.0.2/32"), Resolver: lookup})
	if r, err := get(t, d, "http://rebind.test:"+portAt(good)); err != nil || string(r.Body) != "good" {
		t.Errorf("the first time: got %q, %v", r.Body, err)
	}
	_, err := get(t, d, "http://rebind.test:"+portAt(good))
	wantPhase(t, "the second time", err, PhasePolicy)
	if len(lookup.asked) != 2 {
		t.Errorf("lookups: got %q, want one for each request", lookup.asked)
	}
	if r, err := get(t, d, "http://mixed.test:"+portAt(good)); err != nil || string(r.Body) != "good" {
		t.Errorf("a name with a permitted address: got %q, %v", r.Body, err)
	}
	open := New(Options{Policy: policy(t), Resolver: &names{answers: map[string][]string{"mixed.test": {"1.1.1.1,127.0.0.1"}}}})
	_, err = get(t, open, "http://mixed.test:"+v)
	wantPhase(t, "without an allowlist, a name with an address that is not public", err, PhasePolicy)
}

// TestSmuggling sends the proxy what two readers could read differently. The
// server behind it answers one request for each that was judged.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	victim(t, "127.0.0.1:0")
	paths := make(chan string, 100)
	s := server(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		paths <- r.Host + r.URL.Path
	})
	d := New(Options{Policy: policy(t, "127.0.0.2/32"), Resolver: &names{}})
	at := s.Listener.Addr().String()
	inner := "GET /smuggled HTTP/1.1\r\nHost: " + at + "\r\n\r\n"
	size := fmt.Sprint(len(inner))
	for what, bytes := range map[string]string{
		"two lengths":         "POST http://" + at + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: " + size + "\r\n\r\nabc" + inner,
		"length and chunks":   "POST http://" + at + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: " + size + "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
		"odd encoding":        "POST http://" + at + "/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + inner,
		"encoding twice":      "POST http://" + at + "/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + inner,
		"space before colon":  "POST http://" + at + "/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + inner,
		"line break in path":  "GET http://" + at + "/a\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
		"two hosts":           "GET http://" + at + "/ HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
		"bare CR in a header": "GET http://" + at + "/ HTTP/1.1\r\nHost: x\r\nX: a\rGET /smuggled HTTP/1.1\r\n\r\n",
		"body of a CONNECT":   "CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: " + at + "\r\nContent-Length: " + size + "\r\n\r\n" + inner,
		"origin form":         "GET /smuggled HTTP/1.1\r\nHost: " + at + "\r\n\r\n",
		"https":               "GET https://" + at + "/smuggled HTTP/1.1\r\nHost: " + at + "\r\n\r\n",
		"user":                "GET http://u@" + at + "/smuggled HTTP/1.1\r\nHost: " + at + "\r\n\r\n",
		"upgrade":             "GET http://" + at + "/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		"another host":        "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: " + at + "\r\n\r\n",
	} {
		status, text := raw(t, proxy(t, d), bytes)
		select {
		case p := <-paths:
			if p != at+"/" {
				t.Errorf("%s: the server was asked for %s", what, p)
			}
		default:
			if status == 200 {
				t.Errorf("%s: got %d %s, and nobody was asked", what, status, text)
			}
		}
	}
	for {
		select {
		case p := <-paths:
			if strings.Contains(p, "smuggled") {
				t.Errorf("the server was asked for %s", p)
			}
			continue
		default:
		}
		break
	}
}

// TestABoxThatEnds takes its connections with it.
func TestABoxThatEnds(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	d := New(Options{Policy: policy(t, "127.0.0.2/32"), Resolver: &names{}})
	ctx, end := context.WithCancel(t.Context())
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		d.Serve(ctx, theirs)
		close(done)
	}()
	fmt.Fprintf(ours, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", l.Addr())
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.ReadResponse(bufio.NewReader(ours), &http.Request{Method: "CONNECT"}); err != nil {
		t.Fatal(err)
	}
	end()
	<-done
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the server: got %v, want the end of the connection", err)
	}
}
