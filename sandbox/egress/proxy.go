package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// proxyHeaderTime is how long a request's header may take to arrive.
const proxyHeaderTime = 30 * time.Second

// Serve answers one connection of a program in the box as an HTTP proxy does:
// requests for http addresses, and CONNECT. It returns when conn is closed, or
// ctx ends; conn is closed then. Each request and each CONNECT is a decision of
// its own.
func (d *Dialer) Serve(ctx context.Context, conn net.Conn) {
	ServeConn(ctx, conn, &http.Server{
		Handler:           d,
		ReadHeaderTimeout: proxyHeaderTime, IdleTimeout: d.o.Limits.Idle, MaxHeaderBytes: maxHeaderBytes,
	})
}

// ServeConn has a server answer one connection, and returns when conn is closed,
// or ctx ends; conn is closed then. The server serves nothing else.
func ServeConn(ctx context.Context, conn net.Conn, srv *http.Server) {
	one := &oneConn{conn: conn, closed: make(chan struct{})}
	one.close = sync.OnceFunc(func() {
		_ = conn.Close()
		close(one.closed)
	})
	defer context.AfterFunc(ctx, one.close)()
	srv.BaseContext = func(net.Listener) context.Context { return ctx }
	srv.ErrorLog = log.New(io.Discard, "", 0) // of what programs in the box did wrong
	_ = srv.Serve(one)                        // it ends with the connection
	one.close()
}

// oneConn is a listener for one connection, which ends with it.
type oneConn struct {
	conn   net.Conn
	once   sync.Once
	close  func()
	closed chan struct{}
}

func (l *oneConn) Accept() (c net.Conn, err error) {
	l.once.Do(func() { c = &closeTeller{l.conn, l.close} })
	if c != nil {
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

type closeTeller struct {
	net.Conn
	close func()
}

func (c *closeTeller) Close() error {
	c.close()
	return nil
}

func (c *closeTeller) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite says that nothing more is sent, to whom that can be said.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// ServeHTTP answers one request as Serve does.
func (d *Dialer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	forwards := r.URL.Scheme == "http" && r.URL.User == nil && r.URL.Opaque == "" && r.URL.Host != ""
	if !forwards && r.Method != http.MethodConnect {
		d.unsent(ViaProxy, r.URL.Hostname())
	}
	switch {
	case r.Method == http.MethodConnect:
		d.tunnel(w, r)
	case r.URL.User != nil || r.URL.Host == "" || r.URL.Opaque != "":
		say(w, http.StatusBadRequest, errors.New("this is a proxy: ask it for http://host/path, or CONNECT host:port"))
	case r.URL.Scheme != "http":
		say(w, http.StatusBadRequest, errors.New("this proxy forwards http; for all else use CONNECT"))
	default:
		d.forward(w, r)
	}
}

// say answers with an error of ours.
func say(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	fmt.Fprintf(w, "agentclash: %v\n", err)
}

// sayFailed answers for a destination that was not reached.
func sayFailed(w http.ResponseWriter, err error) {
	var refused *Refused
	switch {
	case errors.As(err, &refused):
		say(w, http.StatusForbidden, refused)
	case errors.Is(err, context.DeadlineExceeded):
		say(w, http.StatusGatewayTimeout, errors.New("no answer in time"))
	default:
		say(w, http.StatusBadGateway, bare(err))
	}
}

// forwarded are the headers that are not for the proxy itself.
func forwarded(h http.Header) http.Header {
	out := h.Clone()
	for _, list := range h.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			out.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range framing {
		out.Del(name)
	}
	return out
}

// forward sends a request on and its response back. Both are written anew, so
// that nobody on the way reads them otherwise than they were judged.
func (d *Dialer) forward(w http.ResponseWriter, r *http.Request) {
	u := *r.URL
	u.Host = strings.TrimSuffix(u.Host, ":")
	out := &http.Request{
		Method: r.Method, URL: &u, Host: u.Host, Header: forwarded(r.Header),
		Body: r.Body, ContentLength: r.ContentLength,
	}
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // none, where the program sends none
	}
	ctx := context.WithValue(r.Context(), pathKey{}, u.RequestURI())
	resp, err := d.client[ViaProxy].RoundTrip(out.WithContext(ctx))
	if err == nil && resp.StatusCode < http.StatusOK {
		_ = resp.Body.Close()
		err = errors.New("the server switches protocols, which this proxy does not")
	}
	if err != nil {
		sayFailed(w, err)
		return
	}
	defer resp.Body.Close()
	h := w.Header()
	for name, values := range forwarded(resp.Header) {
		h[name] = slices.Clone(values)
	}
	if resp.ContentLength >= 0 {
		h.Set("Content-Length", fmt.Sprint(resp.ContentLength))
	}
	w.WriteHeader(resp.StatusCode)
	if err := flow(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler) // the one way to say that a response is not whole
	}
}

// flow copies a body as it arrives.
func flow(w http.ResponseWriter, body io.Reader) error {
	flush := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if err := flush.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// tunnel joins the program and the destination of a CONNECT.
func (d *Dialer) tunnel(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.URL.Host)
	if err != nil || r.URL.User != nil || r.URL.Path != "" || r.URL.RawQuery != "" || r.ContentLength != 0 {
		say(w, http.StatusBadRequest, errors.New("CONNECT takes host:port and no body"))
		return
	}
	server, err := d.connect(r.Context(), ViaProxy, host, port)
	if err != nil {
		sayFailed(w, err)
		return
	}
	defer func() { _ = server.Close() }()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	_ = client.SetDeadline(time.Time{})
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	join(client, buffered.Reader, server)
}

// join copies both ways until both have ended, or either broke.
func join(client net.Conn, from *bufio.Reader, server net.Conn) {
	var both sync.WaitGroup
	copyTo := func(to net.Conn, from io.Reader) {
		_, err := io.Copy(onlyWriter{to}, from)
		if err == nil {
			err = closeWrite(to)
		}
		if err != nil {
			_, _ = client.Close(), server.Close()
		}
	}
	both.Go(func() { copyTo(server, from) })
	both.Go(func() { copyTo(client, server) })
	both.Wait()
}

// onlyWriter hides the fast paths of io.Copy, which would not count.
type onlyWriter struct{ io.Writer }
