package guest

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// drainGrace is how long output is still read after a program has ended,
	// when a process it left behind holds the other end.
	drainGrace = 200 * time.Millisecond
	// maxInPipe is more than a pipe can hold when nobody raised its size.
	maxInPipe = 64 << 10
)

// pipes connect a command: our ends of its three streams, and the child's.
type pipes struct {
	child    [3]uintptr
	opened   []int // of child, those to close after fork
	in       *os.File
	out, err *os.File
	pumps    sync.WaitGroup
}

// connect makes the pipes. A program without input reads /dev/null, which the
// guest opened before any program could remove it.
func (s *server) connect(r *running) (*pipes, error) {
	ps := &pipes{}
	ps.child[0] = s.null.Fd()
	var err error
	if r.stdin != nil {
		ps.in, err = ps.open(0, 1)
	}
	if err == nil {
		ps.out, err = ps.open(1, 0)
	}
	if err == nil {
		ps.err, err = ps.open(2, 0)
	}
	if err != nil {
		ps.closeChild()
		ps.closeOurs()
		return nil, err
	}
	return ps, nil
}

// open makes the pipe for the child's descriptor and returns our end, which is
// end 0 (reading) or 1 (writing) of it. The child's end blocks, as programs
// expect.
func (ps *pipes) open(fd, ours int) (*os.File, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	ps.child[fd] = uintptr(p[1-ours])
	ps.opened = append(ps.opened, p[1-ours])
	if err := unix.SetNonblock(p[ours], true); err != nil {
		_ = unix.Close(p[ours])
		return nil, err
	}
	return os.NewFile(uintptr(p[ours]), "pipe"), nil
}

func (ps *pipes) closeChild() {
	for _, fd := range ps.opened {
		_ = unix.Close(fd)
	}
	ps.opened = nil
}

func (ps *pipes) closeOurs() {
	for _, f := range []*os.File{ps.in, ps.out, ps.err} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// pump moves the streams until they end, or drain ends it.
func (ps *pipes) pump(r *running) {
	if ps.in != nil {
		ps.pumps.Go(func() { ps.feed(r) })
	}
	ps.pumps.Go(func() { r.take(ps.out, kindStdout, &r.out) })
	ps.pumps.Go(func() { r.take(ps.err, kindStderr, &r.err) })
}

func (ps *pipes) feed(r *running) {
	defer ps.in.Close()
	for {
		select {
		case p, ok := <-r.stdin:
			if !ok {
				return
			}
			if _, err := ps.in.Write(p); err != nil {
				return
			}
		case <-r.p.exited:
			return
		}
	}
}

// drain lets the pumps end after the program has.
func (ps *pipes) drain() {
	until := time.Now().Add(drainGrace)
	if ps.in != nil {
		_ = ps.in.SetWriteDeadline(time.Now())
	}
	_ = ps.out.SetReadDeadline(until)
	_ = ps.err.SetReadDeadline(until)
	ps.pumps.Wait()
	ps.closeOurs()
}

// take reads a stream of the program until its end. After the grace it still
// takes what was in the pipe by then: the host may have been slower than that.
func (r *running) take(f *os.File, k kind, c *capture) {
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		r.took(k, c, buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			r.took(k, c, rest(f, buf[:maxInPipe]))
			return
		}
		if err != nil {
			return
		}
	}
}

func (r *running) took(k kind, c *capture, p []byte) {
	if len(p) == 0 {
		return
	}
	if head := c.write(p); len(head) > 0 {
		r.send(k, head)
	}
	if r.total.Add(int64(len(p))) > r.cap {
		r.fill()
	}
}

// rest reads what a pipe holds now, without waiting for more.
func rest(f *os.File, buf []byte) []byte {
	_ = f.SetReadDeadline(time.Time{})
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	n := 0
	_ = raw.Read(func(fd uintptr) bool {
		for n < len(buf) {
			m, err := unix.Read(int(fd), buf[n:])
			if m <= 0 || err != nil {
				break
			}
			n += m
		}
		return true
	})
	return buf[:n]
}
