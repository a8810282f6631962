package docker_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
	"github.com/agentclash/agentclash/sandbox/egress"
)

// names is a resolver that knows a few names, one of which means something else
// each time.
type names struct{ rebound atomic.Int64 }

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	known := map[string]string{
		"good.test": "127.0.0.2", "loop.test": "127.0.0.1", "meta.test": "169.254.169.254", "private.test": "10.0.0.1",
		"rebind.test": "127.0.0.2", "localhost": "127.0.0.1",
	}
	if host == "rebind.test" && n.rebound.Add(1) > 1 {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	if a, ok := known[host]; ok {
		return []netip.Addr{netip.MustParseAddr(a)}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// The policy of these tests permits 127.0.0.2 of this machine, where a server
// stands, and nothing else.
func networkBox(t *testing.T) (b sandbox.Session, port string) {
	t.Helper()
	o := options(t)
	if !haveStandIn(t) {
		t.Skip("there is no image with python3: make sandbox-image")
	}
	o.Image = docker.StandInImage
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		fmt.Fprintf(w, "served %s", r.URL.Path)
	})}}
	s.Start()
	t.Cleanup(s.Close)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	forbidden, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = forbidden.Close() })
	go func() {
		for {
			c, err := forbidden.Accept()
			if err != nil {
				return
			}
			t.Errorf("a connection from %s got through", c.RemoteAddr())
			_ = c.Close()
		}
	}()
	policy, err := egress.NewPolicy([]string{"127.0.0.2/32"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := egress.New(egress.Options{Policy: policy, Resolver: &names{}})
	return box(t, open(t, o), sandbox.Spec{Network: d.Serve}), port
}

// tries is a program that tries to get out of its box, and prints what came of
// each try.
const tries = `
import http.client, os, socket, struct, sys, urllib.error, urllib.request
port = sys.argv[1]

def say(what, result):
    print("%s: %s" % (what, str(result).replace("\n", " ")[:160]))

def fetch(url):
    try:
        return urllib.request.urlopen(url, timeout=30).read().decode()
    except urllib.error.HTTPError as e:
        return "refused %d" % e.code if e.code in (400, 403, 502) else "status %d" % e.code
    except Exception as e:
        return "refused " + repr(e)

def raw(data):
    c = socket.create_connection(("127.0.0.1", 3128), timeout=30)
    c.sendall(data)
    got = b""
    while b"\r\n\r\n" not in got:
        b = c.recv(65536)
        if not b: break
        got += b
    return got

def status(data):
    head = raw(data).split(b"\r\n")[0].decode()
    return head if " 200 " in head else "refused " + head

def attempt(f, *args):
    try:
        f(*args)
        return "done"
    except OSError as e:
        return "refused " + repr(e)

say("permitted, name", fetch("http://good.test:%s/a" % port))
say("permitted, address", fetch("http://127.0.0.2:%s/b" % port))
say("permitted, rebinding once", fetch("http://rebind.test:%s/c" % port))
c = http.client.HTTPConnection("127.0.0.1", 3128, timeout=30)
c.set_tunnel("good.test", int(port))
c.request("GET", "/tunnel")
say("permitted, CONNECT", c.getresponse().read().decode())

for host in ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]",
             "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "localhost", "localhost.", "loop.test", "loop.test.", "meta.test",
             "private.test", "169.254.169.254", "10.0.0.1", "172.17.0.1", "192.168.0.1", "rebind.test", "nowhere.test"]:
    h = ("GET http://%s:%s/ HTTP/1.1\r\nHost: good.test:%s\r\nConnection: close\r\n\r\n" % (host, port, port)).encode()
    say("GET " + host, status(h))
    h = ("CONNECT %s:%s HTTP/1.1\r\nHost: good.test:%s\r\n\r\n" % (host, port, port)).encode()
    say("CONNECT " + host, status(h))
say("redirect", fetch("http://good.test:%s/?to=http://127.0.0.1:%s/" % (port, port)))
say("redirect to metadata", fetch("http://good.test:%s/?to=http://169.254.169.254/latest" % port))
say("user", status(("GET http://good.test@127.0.0.1:%s/ HTTP/1.1\r\nHost: x\r\n\r\n" % port).encode()))
say("two lengths", status(("POST http://good.test:%s/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nabcde" % port).encode()))
say("port 0", status(b"CONNECT good.test:0 HTTP/1.1\r\nHost: x\r\n\r\n"))
say("port 65616", status(("CONNECT good.test:%d HTTP/1.1\r\nHost: x\r\n\r\n" % (65536 + 80)).encode()))

say("around the proxy", attempt(socket.create_connection, ("172.17.0.1", int(port)), 5))
say("the gateway's name server", attempt(socket.create_connection, ("127.0.0.11", 53), 5))
say("the host's loopback", attempt(socket.create_connection, ("127.0.0.2", int(port)), 5))
say("metadata around the proxy", attempt(socket.create_connection, ("169.254.169.254", 80), 5))
say("a name server", attempt(socket.getaddrinfo, "good.test", 80))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
say("a datagram", attempt(u.sendto, b"x", ("172.17.0.1", 53)))
say("a raw socket", attempt(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
say("an interface of its own", attempt(os.unshare, 0x40000000) if hasattr(os, "unshare") else "refused, no such call")

def frame(kind, id, payload):
    return struct.pack(">IBI", len(payload), kind, id) + payload
forged = frame(0x90, 99, b"") + frame(0x91, 99, b"CONNECT 127.0.0.1:80 HTTP/1.1\r\n\r\n") + frame(0x86, 1, b'{"code":0}')
say("frames to the proxy", status(forged))
for fd in ("0", "1", "2"):
    def forge():
        with open("/proc/1/fd/" + fd, "wb", buffering=0) as f: f.write(forged)
    say("frames to the guest's " + fd, attempt(forge))
say("permitted, at the end", fetch("http://good.test:%s/z" % port))
`

// TestNetworkRedTeam runs a program in a real box that tries to reach what it
// must not.
func TestNetworkRedTeam(t *testing.T) {
	t.Parallel()
	b, port := networkBox(t)
	r, err := b.Exec(t.Context(), sandbox.Command{Argv: []string{"python3", "-c", tries, port}, Timeout: 3 * time.Minute})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	permitted, refused := 0, 0
	for line := range strings.Lines(r.Stdout.Text) {
		line = strings.TrimSpace(line)
		what, result, _ := strings.Cut(line, ": ")
		switch want := strings.HasPrefix(what, "permitted"); {
		case want && strings.HasPrefix(result, "served /"):
			permitted++
		case !want && byPolicy(what) && !strings.Contains(result, " 403 "):
			t.Errorf("%s: want status 403", line)
		case !want && strings.HasPrefix(result, "refused"):
			refused++
		default:
			t.Errorf("%s", line)
		}
	}
	if permitted != 5 || refused < 60 {
		t.Errorf("got %d tries permitted and %d refused, want 5 and at least 60", permitted, refused)
	}
	wantFine(t, b)
}

// byPolicy tells the tries that the policy refuses from those that fail anyway.
func byPolicy(what string) bool {
	return (strings.HasPrefix(what, "GET ") || strings.HasPrefix(what, "CONNECT ")) && !strings.HasSuffix(what, "nowhere.test")
}

// TestConnectionsThatSayNothing has a program take every connection there is and
// more, and write a lot where nobody reads.
func TestConnectionsThatSayNothing(t *testing.T) {
	t.Parallel()
	b, _ := networkBox(t)
	r, err := b.Exec(t.Context(), sandbox.Command{Timeout: time.Minute, Argv: []string{"/bin/sh", "-c", `python3 -c '
import socket, time
all = []
for i in range(300):
    c = socket.socket()
    c.setblocking(False)
    try: c.connect(("127.0.0.1", 3128))
    except BlockingIOError: pass
    all.append(c)
print("open", flush=True)
time.sleep(600)' > out 2>&1 & while ! grep -q open out; do sleep 0.05; done`}})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	wantFine(t, b)
	if err := b.Quiesce(t.Context()); err != nil {
		t.Error(err)
	}
	wantFine(t, b)
}
