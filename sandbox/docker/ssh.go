package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

// sshDialer reaches an engine as the docker command does: every connection is
// an ssh that runs "docker system dial-stdio" over there.
func sshDialer(program, host string) (func(ctx context.Context, network, addr string) (net.Conn, error), error) {
	u, err := url.Parse(host)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", host, err)
	}
	if _, set := u.User.Password(); set {
		return nil, errors.New("an ssh address cannot hold a password: use a key")
	}
	if u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") || strings.HasPrefix(u.User.Username(), "-") || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("%q: want ssh://[user@]host[:port]", host)
	}
	args := []string{"-o", "BatchMode=yes", "-o", "ConnectTimeout=30", "-T"}
	if u.User.Username() != "" {
		args = append(args, "-l", u.User.Username())
	}
	if u.Port() != "" {
		args = append(args, "-p", u.Port())
	}
	args = append(args, "--", u.Hostname(), "docker", "system", "dial-stdio")
	if program == "" {
		program = "ssh"
	}
	return func(context.Context, string, string) (net.Conn, error) { return startConn(program, args) }, nil
}

// commandConn is a connection to a program's standard input and output.
type commandConn struct {
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	stderr *tail
	ended  chan struct{}
}

func startConn(program string, args []string) (net.Conn, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		_, _ = inR.Close(), inW.Close()
		return nil, err
	}
	c := &commandConn{cmd: exec.Command(program, args...), in: inW, out: outR, stderr: &tail{max: 1 << 10}, ended: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = inR, outW, c.stderr
	err = c.cmd.Start()
	_, _ = inR.Close(), outW.Close()
	if err != nil {
		_, _ = inW.Close(), outR.Close()
		return nil, err
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

func (c *commandConn) Read(p []byte) (int, error) {
	n, err := c.out.Read(p)
	if err != nil && n == 0 {
		err = c.complaint(err)
	}
	return n, err
}

func (c *commandConn) Write(p []byte) (int, error) {
	n, err := c.in.Write(p)
	if err != nil {
		err = c.complaint(err)
	}
	return n, err
}

// complaint is what a program said that has ended, if it said anything; it is
// more than the pipe knows.
func (c *commandConn) complaint(err error) error {
	select {
	case <-c.ended:
	case <-time.After(time.Second):
		return err
	}
	if said := firstLine(string(c.stderr.bytes())); said != "" {
		return fmt.Errorf("%s: %s", c.cmd.Path, said)
	}
	return err
}

// CloseWrite ends the program's input only.
func (c *commandConn) CloseWrite() error { return c.in.Close() }

// Close ends the program. It may be called twice.
func (c *commandConn) Close() error {
	_, _ = c.in.Close(), c.out.Close()
	_ = c.cmd.Process.Kill()
	<-c.ended
	return nil
}

func (c *commandConn) LocalAddr() net.Addr  { return commandAddr{} }
func (c *commandConn) RemoteAddr() net.Addr { return commandAddr{} }

func (c *commandConn) SetDeadline(t time.Time) error {
	return errors.Join(c.in.SetDeadline(t), c.out.SetDeadline(t))
}
func (c *commandConn) SetReadDeadline(t time.Time) error  { return c.out.SetReadDeadline(t) }
func (c *commandConn) SetWriteDeadline(t time.Time) error { return c.in.SetWriteDeadline(t) }

type commandAddr struct{}

func (commandAddr) Network() string { return "ssh" }
func (commandAddr) String() string  { return "ssh" }
