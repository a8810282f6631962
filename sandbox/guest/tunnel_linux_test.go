package guest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox/guest"
)

// proxied is a guest with a proxy, and the address of it.
func proxied(t *testing.T, serve func(context.Context, net.Conn)) (*guest.Client, string) {
	t.Helper()
	c, _ := startChild(t).connect(t, guest.Config{})
	port, err := c.Proxy(t.Context(), 0, serve)
	if err != nil {
		t.Fatal(err)
	}
	return c, net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c.(*net.TCPConn)
}

// echo sends back what comes, and then how much it was.
func echo(_ context.Context, c net.Conn) {
	n, err := io.Copy(c, c)
	if err == nil {
		fmt.Fprintf(c, "%d", n)
	}
}

func TestTunnelCarriesBothWays(t *testing.T) {
	t.Parallel()
	_, at := proxied(t, echo)
	const size = 5<<20 + 17
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			c := dial(t, at)
			go func() {
				_, _ = io.Copy(c, io.LimitReader(zeros{}, size))
				_ = c.CloseWrite()
			}()
			got, err := io.ReadAll(c)
			if tail := strconv.Itoa(size); err != nil || len(got) != size+len(tail) || string(got[size:]) != tail {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
	all.Wait()
}

// TestAStalledTunnelHoldsUpNothing has the host read nothing of one connection,
// and a program read nothing of another.
func TestAStalledTunnelHoldsUpNothing(t *testing.T) {
	t.Parallel()
	served := make(chan struct{}, 3)
	c, at := proxied(t, func(ctx context.Context, conn net.Conn) {
		first := make([]byte, 1)
		_, _ = conn.Read(first)
		served <- struct{}{}
		switch first[0] {
		case 'd': // deaf
			<-ctx.Done()
		case 't': // talks
			_, _ = io.Copy(conn, zeros{})
		default:
			echo(ctx, conn)
		}
	})
	deaf, talks := dial(t, at), dial(t, at)
	_, _ = talks.Write([]byte("t"))
	_, _ = deaf.Write([]byte("d"))
	go func() { _, _ = io.Copy(deaf, zeros{}) }()
	<-served
	<-served
	r, err := c.Exec(t.Context(), guest.Command{Argv: []string{"head", "-c", "1000000", "/dev/zero"}, Head: 1 << 20, Timeout: time.Minute})
	if err != nil || r.Stdout.Bytes != 1_000_000 {
		t.Errorf("a call beside it: got %d bytes, %v", r.Stdout.Bytes, err)
	}
	third := dial(t, at)
	fmt.Fprint(third, "eall of it")
	_ = third.CloseWrite()
	if got, err := io.ReadAll(third); string(got) != "all of it9" || err != nil {
		t.Errorf("a connection beside it: got %q, %v", got, err)
	}
}

// TestTunnelsBeyondTheMostWait: they are served when others have ended.
func TestTunnelsBeyondTheMostWait(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now, most := 0, 0
	_, at := proxied(t, func(ctx context.Context, conn net.Conn) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		echo(ctx, conn)
		mu.Lock()
		now--
		mu.Unlock()
	})
	var all []*net.TCPConn
	for range 2 * guest.MaxTunnels {
		all = append(all, dial(t, at))
	}
	for i, c := range all { // in turn: the ones that are served first end first
		fmt.Fprint(c, i)
		_ = c.CloseWrite()
		if got, err := io.ReadAll(c); err != nil || string(got) != fmt.Sprintf("%d%d", i, len(strconv.Itoa(i))) {
			t.Errorf("connection %d: got %q, %v", i, got, err)
		}
		_ = c.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	if most > guest.MaxTunnels {
		t.Errorf("got %d at once, want %d at most", most, guest.MaxTunnels)
	}
}

// TestAProgramThatGoes has the host hear of it, and the other way round.
func TestAProgramThatGoes(t *testing.T) {
	t.Parallel()
	heard := make(chan error, 1)
	_, at := proxied(t, func(_ context.Context, conn net.Conn) {
		b := make([]byte, 1)
		if _, _ = conn.Read(b); b[0] == 'x' {
			return // the host hangs up
		}
		_, err := io.Copy(conn, zeros{})
		heard <- err
	})
	c := dial(t, at)
	fmt.Fprint(c, "r")
	_, _ = io.ReadFull(c, make([]byte, 1<<20))
	_ = c.SetLinger(0)
	_ = c.Close()
	if err := <-heard; err == nil {
		t.Error("the host heard nothing of it")
	}
	c = dial(t, at)
	fmt.Fprint(c, "x")
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the program: got %d bytes, %v", n, err)
	}
}

// TestAHostThatHangsUp has the host say something and hang up on a program that
// talks on: what was said is not lost.
func TestAHostThatHangsUp(t *testing.T) {
	t.Parallel()
	const size = 60_000
	_, at := proxied(t, func(_ context.Context, conn net.Conn) {
		_, _ = conn.Write(make([]byte, size))
	})
	for range 50 {
		c := dial(t, at)
		go func() { _, _ = io.Copy(c, zeros{}) }()
		if n, _ := io.Copy(io.Discard, c); n != size {
			t.Fatalf("the program got %d bytes of %d", n, size)
		}
		_ = c.Close()
	}
}

func TestTunnelsEndWithTheClient(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan error, 1)
	c, at := proxied(t, func(ctx context.Context, conn net.Conn) {
		close(began)
		_, err := conn.Read(make([]byte, 1))
		<-ctx.Done()
		ended <- err
	})
	dial(t, at)
	<-began
	_ = c.Close()
	select {
	case err := <-ended: // Close has waited for it
		if !errors.Is(err, guest.ErrClosed) {
			t.Errorf("got %v", err)
		}
	default:
		t.Error("a connection outlives the client")
	}
	if _, err := c.Proxy(t.Context(), 0, echo); !errors.Is(err, guest.ErrClosed) {
		t.Errorf("afterwards: got %v", err)
	}
}

func TestAProxyIsStartedOnce(t *testing.T) {
	t.Parallel()
	c, _ := proxied(t, echo)
	if _, err := c.Proxy(t.Context(), 0, echo); err == nil {
		t.Error("a second one: got no error")
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	other, _ := startChild(t).connect(t, guest.Config{})
	if _, err := other.Proxy(t.Context(), busy.Addr().(*net.TCPAddr).Port, echo); err == nil {
		t.Error("a port that is taken: got no error")
	}
}
