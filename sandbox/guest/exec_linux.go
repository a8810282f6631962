package guest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// mark is the environment entry that every process of a command inherits, so
// that those which left its process group are found when it is killed.
const mark = "AGENTCLASH_CALL="

// running is a command from its EXEC to its DONE.
type running struct {
	mark  string
	send  func(kind, []byte)
	stdin chan []byte // closed when all of it has arrived; nil for none
	owed  int         // bytes of stdin still to come; only serve's goroutine
	out   capture
	err   capture
	total atomic.Int64 // bytes of both streams
	cap   int64
	full  chan struct{} // closed when total passes cap
	fill  func()

	p      *process
	began  uint64       // ticks
	before map[int]bool // pids that were there when it began
}

func newRunning(number uint64, req execRequest, send func(kind, []byte)) *running {
	full := make(chan struct{})
	r := &running{
		mark: mark + strconv.FormatUint(number, 10), send: send, owed: req.Stdin,
		out: capture{head: req.Head, tail: req.Tail}, err: capture{head: req.Head, tail: req.Tail},
		cap: req.HardCap, full: full, fill: sync.OnceFunc(func() { close(full) }),
	}
	if req.Stdin > 0 {
		r.stdin = make(chan []byte, req.Stdin/maxChunk+1)
	}
	return r
}

func (req *execRequest) check() error {
	switch {
	case len(req.Argv) == 0:
		return errors.New("a command of no words")
	case req.Head < 0 || req.Head > MaxKeep || req.Tail < 0 || req.Tail > MaxKeep:
		return errors.New("a command asks for more output than the protocol allows")
	case req.Stdin < 0 || req.Stdin > MaxStdin:
		return errors.New("a command brings more input than the protocol allows")
	case req.HardCap <= 0:
		return errors.New("a command without a cap on its output")
	}
	return nil
}

// feed takes a piece of standard input. All pieces but the last are full, so
// the channel has room for them and serve is never held up.
func (r *running) feed(p []byte) error {
	if len(p) == 0 || len(p) != min(r.owed, maxChunk) {
		return errors.New("standard input does not come as announced")
	}
	r.owed -= len(p)
	r.stdin <- slices.Clone(p)
	if r.owed == 0 {
		close(r.stdin)
	}
	return nil
}

// exec runs a command and sends its DONE.
func (s *server) exec(c *call, req execRequest) {
	began := time.Now()
	var d done
	kills, refusals := oomKills(), forkRefusals()
	pipes, err := s.start(c.exec, req)
	if err != nil {
		s.finish(c, done{Code: -1, StartError: clip(err.Error(), maxErrorText), PIDs: forkRefusals() > refusals})
		return
	}
	s.await(c, time.Duration(req.TimeoutMS)*time.Millisecond, &d)
	d.WallUS = time.Since(began).Microseconds()
	pipes.drain()

	r := c.exec
	d.exited(r.p)
	d.OOM, d.PIDs = oomKills() > kills, forkRefusals() > refusals
	d.Full = []byte(s.full())
	d.Stdout, d.Stderr = r.out.total, r.err.total
	r.sendTail(kindStdout, &r.out)
	r.sendTail(kindStderr, &r.err)
	s.finish(c, d)
}

func (r *running) sendTail(k kind, c *capture) {
	for _, part := range c.end() {
		for p := range slices.Chunk(part, maxChunk) {
			r.send(k, p)
		}
	}
}

// await returns when the program has ended, by itself or by us.
func (s *server) await(c *call, timeout time.Duration, d *done) {
	var late <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-c.exec.p.exited:
		return
	case <-late:
		d.TimedOut = !c.exec.p.ended()
	case <-c.exec.full:
		d.OutputCap = true
	case <-c.killed:
	}
	s.end(c.exec)
	select {
	case <-c.exec.p.exited:
	case <-time.After(killPatience):
	}
}

// exited translates how the program ended. One that cannot die (the kernel
// holds it) counts as killed.
func (d *done) exited(p *process) {
	if !p.ended() {
		d.Signal, d.Code = int(unix.SIGKILL), 128+int(unix.SIGKILL)
		return
	}
	if p.status.Signaled() {
		d.Signal = int(p.status.Signal())
		d.Code = 128 + d.Signal
		return
	}
	d.Code = p.status.ExitStatus()
}

// start resolves the command, connects it and forks.
func (s *server) start(r *running, req execRequest) (*pipes, error) {
	env := environ(os.Environ(), req.Env, r.mark)
	dir := string(req.Dir)
	if dir == "" {
		dir = s.dir
	}
	if st, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("working directory %q: %w", dir, bare(err))
	} else if !st.IsDir() {
		return nil, fmt.Errorf("working directory %q: not a directory", dir)
	}
	argv := make([]string, len(req.Argv))
	for i, a := range req.Argv {
		argv[i] = string(a)
	}
	path, err := lookPath(argv[0], dir, env)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", argv[0], err)
	}
	ps, err := s.connect(r)
	if err != nil {
		return nil, fmt.Errorf("%q: connect: %w", argv[0], err)
	}
	attr := &syscall.ProcAttr{Dir: dir, Env: env, Files: ps.child[:], Sys: &syscall.SysProcAttr{Setsid: true}}
	if e := s.on(req.Bound, func() { r.p, err = s.reaper.start(path, argv, attr, func() { s.lookAround(r) }) }); e != nil {
		err = e
	}
	ps.closeChild()
	if err != nil {
		ps.closeOurs()
		return nil, fmt.Errorf("%q: %w", argv[0], startError(err))
	}
	ps.pump(r)
	return ps, nil
}

// lookAround notes what there was before a program.
func (s *server) lookAround(r *running) {
	r.began = ticks()
	pids, _ := s.family.pids()
	r.before = make(map[int]bool, len(pids))
	for _, pid := range pids {
		r.before[pid] = true
	}
}
