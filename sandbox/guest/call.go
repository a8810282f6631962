package guest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// MaxStdin bounds a command's standard input.
	MaxStdin = 16 << 20
	// MaxKeep bounds each of Command.Head and Command.Tail.
	MaxKeep = 16 << 20
	// DefaultHardCap is how much a command may write to both streams together
	// before it is killed.
	DefaultHardCap = 64 << 20
	// MaxEntries bounds a listing.
	MaxEntries = 100_000
)

// Command is a program to run. Its environment is the guest's with Env over it
// and AGENTCLASH_CALL=n, the number of the command in this box.
type Command struct {
	Argv    []string
	Env     map[string]string
	Dir     string // "" is the guest's own
	Stdin   []byte
	Timeout time.Duration // 0: until it ends
	// Head and Tail are how much is kept of the beginning and of the end of
	// each stream.
	Head, Tail int
	HardCap    int64 // 0 takes DefaultHardCap
}

// Result is how a program ended.
type Result struct {
	ExitCode       int // 128+signal when killed; -1 when it was not started
	Signal         int
	TimedOut       bool
	OutputCap      bool   // killed for writing more than Command.HardCap
	OutOfMemory    bool   // the kernel killed something in the box for want of memory meanwhile
	PIDs           bool   // and refused it a process or a thread
	Full           string // a directory whose file system has no room, "" for none
	Stdout, Stderr Output
	Elapsed        time.Duration
	StartError     string // why it could not be started, "" when it was
}

// Output is a bounded stream. Between Head and Tail, Bytes-len(Head)-len(Tail)
// bytes were dropped.
type Output struct {
	Head, Tail []byte
	Bytes      int64 // all that was written
}

// Exec runs a program and waits for its end. When ctx ends first the program is
// killed, and the error is ctx's cause beside what there is of a result. A
// guest that does not report a program's death in time is ErrStuck: the
// connection ends and the result says TimedOut.
func (c *Client) Exec(ctx context.Context, cmd Command) (Result, error) {
	return c.exec(ctx, cmd, false)
}

func (c *Client) exec(ctx context.Context, cmd Command, bound bool) (Result, error) {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return Result{}, errors.New("a command needs a program")
	}
	if len(cmd.Stdin) > MaxStdin {
		return Result{}, fmt.Errorf("standard input of %d bytes: at most %d are taken; write a file instead", len(cmd.Stdin), MaxStdin)
	}
	req := execRequest{
		Dir: []byte(cmd.Dir), TimeoutMS: millis(cmd.Timeout), Stdin: len(cmd.Stdin),
		Head: min(max(cmd.Head, 0), MaxKeep), Tail: min(max(cmd.Tail, 0), MaxKeep), HardCap: cmd.HardCap,
		Bound: bound,
	}
	if req.HardCap <= 0 {
		req.HardCap = DefaultHardCap
	}
	for _, a := range cmd.Argv {
		if strings.IndexByte(a, 0) >= 0 {
			return Result{}, errors.New("a command's words cannot hold a NUL byte")
		}
		req.Argv = append(req.Argv, []byte(a))
	}
	for _, k := range slices.Sorted(maps.Keys(cmd.Env)) {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.IndexByte(cmd.Env[k], 0) >= 0 {
			return Result{}, fmt.Errorf("environment variable %q: a name holds no '=' and neither part a NUL byte", k)
		}
		req.Env = append(req.Env, []byte(k+"="+cmd.Env[k]))
	}
	out, errs := &sink{max: int64(req.Head + req.Tail)}, &sink{max: int64(req.Head + req.Tail)}
	wait := patience{until: cmd.Timeout, then: c.cfg.Overrun, forever: cmd.Timeout <= 0}
	d, err := c.roundTrip(ctx, request{kindExec, req, cmd.Stdin, map[kind]*sink{kindStdout: out, kindStderr: errs}, wait})
	if errors.Is(err, ErrStuck) {
		return Result{ExitCode: 137, Signal: 9, TimedOut: cmd.Timeout > 0}, err
	}
	if d == nil {
		return Result{}, err
	}
	r := Result{
		ExitCode: d.Code, Signal: d.Signal, TimedOut: d.TimedOut, OutputCap: d.OutputCap, OutOfMemory: d.OOM,
		PIDs: d.PIDs, Full: printable(clip(string(d.Full), maxErrorText)),
		Stdout: out.split(req.Head, d.Stdout), Stderr: errs.split(req.Head, d.Stderr),
		Elapsed: time.Duration(d.WallUS) * time.Microsecond, StartError: printable(clip(d.StartError, maxErrorText)),
	}
	return r, err
}

func (s *sink) split(head int, total int64) Output {
	n := min(head, len(s.data))
	return Output{Head: s.data[:n:n], Tail: s.data[n:], Bytes: max(total, int64(len(s.data)))}
}

// millis rounds up, so that the shortest timeout is still one.
func millis(d time.Duration) int64 {
	return int64((max(d, 0) + time.Millisecond - 1) / time.Millisecond)
}

// Quiesce kills every process of the box but the guest. What was running in a
// call of Exec's ends as killed.
func (c *Client) Quiesce(ctx context.Context) error {
	d, err := c.roundTrip(ctx, request{kindQuiesce, struct{}{}, nil, nil, patience{then: killAnswer}})
	if err != nil {
		return err
	}
	if d.Left > 0 {
		return fmt.Errorf("%d processes of the box cannot be killed", d.Left)
	}
	return nil
}

// killAnswer is more than the guest takes to kill all there is.
const killAnswer = 10 * time.Second

func checkPath(name string) error {
	if !path.IsAbs(name) || strings.IndexByte(name, 0) >= 0 {
		return fmt.Errorf("path %q: it must be absolute and hold no NUL byte", name)
	}
	return nil
}

// patience is how long a call may show no sign of life: forever, or then after
// until has passed.
type patience struct {
	until, then time.Duration
	forever     bool
}

func (c *Client) stall() patience { return patience{then: c.cfg.Patience} }

// request is one call: its opening frame, the data that follow, and what may
// come back.
type request struct {
	kind    kind
	header  any
	body    []byte
	allowed map[kind]*sink
	wait    patience
}

// roundTrip makes a call. With a nil error the result is the call's end, free
// of errors from the box; with another it may be nil.
func (c *Client) roundTrip(ctx context.Context, r request) (*done, error) {
	header, err := json.Marshal(r.header)
	if err != nil {
		return nil, err
	}
	if len(header) > maxPayload {
		return nil, errors.New("a request of more than 1 MiB: put the data into a file instead")
	}
	if ctx.Err() != nil {
		return nil, over(ctx)
	}
	select {
	case c.slot <- struct{}{}:
		defer func() { <-c.slot }()
	case <-ctx.Done():
		return nil, over(ctx)
	case <-c.done:
		return nil, c.Err()
	}
	id, p, err := c.register(r.allowed)
	if err != nil {
		return nil, err
	}
	defer c.forget(id)
	if err := c.send(ctx, r.kind, id, header); err != nil {
		return nil, err
	}
	err = c.sendBody(ctx, id, p, r.body)
	if err == nil {
		err = c.await(ctx, p, r.wait)
	}
	if err != nil {
		return c.cancel(ctx, id, p, err)
	}
	if p.end.Err != nil {
		return nil, p.end.Err.err()
	}
	return &p.end, nil
}

func (c *Client) register(allowed map[kind]*sink) (uint32, *pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	c.last++
	p := &pending{allowed: allowed, finished: make(chan struct{}), moved: make(chan struct{}, 1)}
	c.calls[c.last] = p
	return c.last, p, nil
}

func (c *Client) forget(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// sendBody sends the data that follow a request, unless the call ends before.
func (c *Client) sendBody(ctx context.Context, id uint32, p *pending, body []byte) error {
	for chunk := range slices.Chunk(body, maxChunk) {
		select {
		case <-p.finished:
			return nil
		default:
		}
		if err := c.send(ctx, kindData, id, chunk); err != nil {
			return err
		}
	}
	return nil
}

// await waits for a call's end as long as its patience lasts.
func (c *Client) await(ctx context.Context, p *pending, wait patience) error {
	deadline := time.Now().Add(wait.until)
	var late <-chan time.Time
	var timer *time.Timer
	if !wait.forever {
		timer = time.NewTimer(wait.until + wait.then)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case <-p.finished:
			return nil
		case <-p.moved:
			if timer != nil {
				timer.Reset(max(0, time.Until(deadline)) + wait.then)
			}
		case <-late:
			c.fail(fmt.Errorf("%w: no end of a call %s after it was due", ErrStuck, wait.then))
			return c.Err()
		case <-ctx.Done():
			return over(ctx)
		case <-c.done:
			return c.ended(p)
		}
	}
}

// over is why a context has ended: the context's own error, and its cause when
// there is another.
func over(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return cmp.Or(cause, err)
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// ended prefers a call's end to the connection's when both have come.
func (c *Client) ended(p *pending) error {
	select {
	case <-p.finished:
		return nil
	default:
		return c.Err()
	}
}

// cancel ends a call whose caller has given up, and waits until the guest says
// so: afterwards nothing of it runs. The connection ends when the guest does
// not.
func (c *Client) cancel(ctx context.Context, id uint32, p *pending, cause error) (*done, error) {
	if c.Err() != nil {
		return nil, cause
	}
	ctx, stop := context.WithTimeoutCause(context.WithoutCancel(ctx), c.cfg.Overrun, ErrStuck)
	defer stop()
	err := c.send(ctx, kindKill, id, nil)
	if err == nil {
		err = c.await(ctx, p, patience{then: c.cfg.Overrun})
	}
	if err != nil {
		c.fail(fmt.Errorf("%w: a cancelled call does not end", ErrStuck))
		return nil, cause
	}
	return &p.end, cause
}
