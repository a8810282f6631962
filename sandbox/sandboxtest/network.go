package sandboxtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func networkChecks() []check {
	return []check{
		{"N1", "without a network there is no proxy", tools, noProxy},
		{"X15", "a network for a box that runs no programs is ErrNoProcess", noProcess, noNetwork},
		{"N2", "programs reach the network through the proxy", tools, reachNetwork},
		{"I1", "with a network there is still no interface but lo", process, loopbackAlways},
		{"X6", "the caller's variables have precedence over the proxy's", process, ownProxyVariables},
		{"N3", "many programs use the network at once", tools, manyConnections},
		{"N3", "a connection that nobody reads holds up nothing", tools, deafNetwork},
		{"N4", "a box takes its connections with it", tools, connectionsEnd},
	}
}

// connect is a program that connects to its box's proxy, says what its argument
// is and prints the answer.
const connect = `import socket, sys
c = socket.create_connection(("127.0.0.1", 3128))
c.sendall(sys.argv[1].encode())
try: c.shutdown(socket.SHUT_WR)
except OSError: pass # the other side had no need of it, and is done
while True:
    try: b = c.recv(65536)
    except ConnectionResetError: break # it has hung up with something of ours unread
    if not b: break
    sys.stdout.write(b.decode())`

func python(script string, args ...string) sandbox.Command {
	return sandbox.Command{Argv: append([]string{"python3", "-c", script}, args...)}
}

func noProxy(t *testing.T, k *contract) {
	box := k.box(t)
	k.wantOutput(t, box, sh(`echo "$http_proxy$https_proxy$HTTP_PROXY$HTTPS_PROXY$ALL_PROXY$no_proxy"`), "\n")
	if r := k.ran(t, box, python(connect, "x")); r.ExitCode == 0 || !strings.Contains(r.Stderr.Text, "ConnectionRefusedError") {
		t.Errorf("connect to where a proxy would be: got %s, want that nobody listens", summary(r))
	}
}

func noNetwork(t *testing.T, k *contract) {
	_, err := k.provider.Open(during(t), sandbox.Spec{Network: func(context.Context, net.Conn) {}})
	wantError(t, "open a box with a network", err, sandbox.ErrNoProcess)
}

// reachNetwork has a program use the network as programs do: by a library that
// knows nothing of this box.
func reachNetwork(t *testing.T, k *contract) {
	box := k.boxOf(t, sandbox.Spec{Network: func(_ context.Context, c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			t.Errorf("read what the program asks: %v", err)
			return
		}
		body, _ := io.ReadAll(req.Body)
		answer := fmt.Sprintf("%s %s with %d bytes", req.Method, req.RequestURI, len(body))
		fmt.Fprintf(c, "HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
	}})
	k.wantOutput(t, box, python(`import urllib.request
print(urllib.request.urlopen("http://api.test/a?b").read().decode())
print(urllib.request.urlopen("http://10.0.0.1:8080/", data=b"x" * 300000).read().decode())`),
		"GET http://api.test/a?b with 0 bytes\nPOST http://10.0.0.1:8080/ with 300000 bytes\n")
}

func loopbackAlways(t *testing.T, k *contract) {
	wantLoopback(t, k, k.boxOf(t, sandbox.Spec{Network: func(context.Context, net.Conn) {}}))
}

func ownProxyVariables(t *testing.T, k *contract) {
	box := k.boxOf(t, sandbox.Spec{Network: func(context.Context, net.Conn) {}, Env: map[string]string{"https_proxy": "http://mine:1"}})
	k.wantOutput(t, box, sh(`echo "$http_proxy $https_proxy $HTTP_PROXY $no_proxy"`),
		"http://127.0.0.1:3128 http://mine:1 http://127.0.0.1:3128 localhost,127.0.0.1,::1\n")
}

// count answers with how many bytes came.
func count(_ context.Context, c net.Conn) {
	n, err := io.Copy(io.Discard, c)
	if err == nil {
		fmt.Fprintf(c, "%d ", n)
	}
}

func manyConnections(t *testing.T, k *contract) {
	box := k.boxOf(t, sandbox.Spec{Network: count})
	k.wantOutput(t, box, python(`import socket, threading
def one(n):
    c = socket.create_connection(("127.0.0.1", 3128))
    c.sendall(b"x" * n)
    c.shutdown(socket.SHUT_WR)
    got[n] = c.recv(100).decode()
got = {}
all = [threading.Thread(target=one, args=(n * 1000,)) for n in range(1, 101)]
for t in all: t.start()
for t in all: t.join()
print(sum(got[n] == "%d " % n for n in got))`), "100\n")
}

func deafNetwork(t *testing.T, k *contract) {
	box := k.boxOf(t, sandbox.Spec{Network: func(ctx context.Context, c net.Conn) {
		first := make([]byte, 1)
		if _, _ = c.Read(first); first[0] == 'd' {
			<-ctx.Done()
			return
		}
		count(ctx, c)
	}})
	k.succeed(t, box, sh(`python3 -c "$1" "d$(head -c 100000 /dev/zero | tr '\0' x)" > out 2>&1 &`, connect))
	k.wantOutput(t, box, python(connect, "another"), "6 ")
	write(t, box, "large", strings.Repeat("x", 1<<20))
	wantRead(t, box, "large", strings.Repeat("x", 1<<20))
}

func connectionsEnd(t *testing.T, k *contract) {
	began, ended := make(chan struct{}), make(chan error, 1)
	box := k.boxOf(t, sandbox.Spec{Network: func(ctx context.Context, c net.Conn) {
		close(began)
		_, err := c.Read(make([]byte, 1))
		<-ctx.Done()
		ended <- err
	}})
	k.succeed(t, box, sh(`python3 -c "$1" > out 2>&1 &`, `import socket, time
c = socket.create_connection(("127.0.0.1", 3128))
time.sleep(600)`))
	returns(t, "wait for a connection", began)
	if err := box.Close(during(t)); err != nil {
		t.Fatal(err)
	}
	if err := returns(t, "wait for its end", ended); err == nil {
		t.Error("read from a box that is closed: got no error")
	}
}
