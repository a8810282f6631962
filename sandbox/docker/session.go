package docker

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guest"
)

// keepBytes is how much of each end of a stream is kept when nothing is said.
const keepBytes = 512 << 10

// newFileMode is the mode of a file that WriteFile creates.
const newFileMode = 0o644

// Session is one container. It implements [sandbox.Session].
type Session struct {
	p      *Provider
	id     string
	client *guest.Client
	stream *stream
	give   func() // gives its memory back
	limits sandbox.Limits

	closed  atomic.Bool
	starved atomic.Bool // a program in it has been killed for want of memory
	ending  sync.Once

	dead sync.Once
	why  error // of a box that died by itself; set by dead
}

var _ sandbox.Session = (*Session)(nil)

// ID is the container's id, as the docker command shows it.
func (s *Session) ID() string { return s.id[:min(12, len(s.id))] }

// Exec runs a program; see [sandbox.Session]. One that writes more than the
// box's OutputBytes is killed.
func (s *Session) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	return s.exec(ctx, c, s.client.Exec)
}

func (s *Session) exec(ctx context.Context, c sandbox.Command, call func(context.Context, guest.Command) (guest.Result, error)) (sandbox.Result, error) {
	if err := s.enter(ctx); err != nil {
		return sandbox.Result{}, err
	}
	cmd := guest.Command{
		Argv: c.Argv, Env: c.Env, Dir: path.Join(sandbox.Workspace, c.Dir), Stdin: c.Stdin, Timeout: c.Timeout,
		Head: c.HeadBytes, Tail: c.TailBytes, HardCap: s.limits.OutputBytes,
	}
	if path.IsAbs(c.Dir) {
		cmd.Dir = path.Clean(c.Dir)
	}
	if cmd.Head == 0 {
		cmd.Head = keepBytes
	}
	if cmd.Tail == 0 {
		cmd.Tail = keepBytes
	}
	r, err := call(ctx, cmd)
	if r.OutOfMemory {
		s.starved.Store(true)
	}
	return sandbox.Result{
		ExitCode: r.ExitCode, Signal: r.Signal, TimedOut: r.TimedOut, OutOfMemory: r.OutOfMemory, OutputLimit: r.OutputCap,
		Stdout: output(r.Stdout), Stderr: output(r.Stderr), Elapsed: r.Elapsed, StartError: r.StartError, Limit: limitOf(r),
	}, s.explain(ctx, "run a program", err)
}

// output joins what was kept of a stream. The cut falls between characters.
func output(o guest.Output) sandbox.Output {
	dropped := o.Bytes - int64(len(o.Head)+len(o.Tail))
	if dropped <= 0 {
		return sandbox.Output{Text: string(o.Head) + string(o.Tail), Bytes: o.Bytes}
	}
	head, tail := wholeEnd(o.Head), wholeStart(o.Tail)
	dropped = o.Bytes - int64(len(head)+len(tail))
	return sandbox.Output{
		Text:  fmt.Sprintf("%s\n[... %d bytes dropped ...]\n%s", head, dropped, tail),
		Bytes: o.Bytes, Truncated: true,
	}
}

// wholeEnd is b without a last character that is incomplete.
func wholeEnd(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// wholeStart is b without the end of a character at its start.
func wholeStart(b []byte) []byte {
	for i := range min(len(b), utf8.UTFMax-1) {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

// ReadFile reads a file of the workspace; see [sandbox.Session].
func (s *Session) ReadFile(ctx context.Context, name string, limit int64) (sandbox.File, error) {
	return s.readFile(ctx, name, limit, s.client.ReadFile)
}

func (s *Session) readFile(ctx context.Context, name string, limit int64, call func(context.Context, string, int64) (guest.File, error)) (sandbox.File, error) {
	abs, err := s.enterAt(ctx, name)
	if err != nil {
		return sandbox.File{}, err
	}
	f, err := call(ctx, abs, limit)
	return sandbox.File{Data: f.Data, Size: f.Size, Mode: f.Mode}, s.explain(ctx, fmt.Sprintf("read %q", name), err)
}

// WriteFile writes a file of the workspace; see [sandbox.Session]. A link of
// that name is replaced.
func (s *Session) WriteFile(ctx context.Context, name string, data []byte) error {
	return s.writeFile(ctx, name, data, s.client.WriteFile)
}

func (s *Session) writeFile(ctx context.Context, name string, data []byte, call func(context.Context, string, []byte, uint32) error) error {
	abs, err := s.enterAt(ctx, name)
	if err != nil {
		return err
	}
	return s.explain(ctx, fmt.Sprintf("write %q", name), call(ctx, abs, data, newFileMode))
}

// List lists a directory of the workspace; see [sandbox.Session]. It returns
// 100,000 entries at the most.
func (s *Session) List(ctx context.Context, dir string, recursive bool, limit int) (sandbox.Listing, error) {
	return s.list(ctx, dir, recursive, limit, s.client.List)
}

func (s *Session) list(ctx context.Context, dir string, recursive bool, limit int, call func(context.Context, string, bool, int) (guest.Listing, error)) (sandbox.Listing, error) {
	abs, err := s.enterAt(ctx, dir)
	if err != nil {
		return sandbox.Listing{}, err
	}
	l, err := call(ctx, abs, recursive, limit)
	if err != nil {
		return sandbox.Listing{}, s.explain(ctx, fmt.Sprintf("list %q", dir), err)
	}
	all := sandbox.Listing{Truncated: l.Truncated}
	for _, e := range l.Entries {
		all.Entries = append(all.Entries, sandbox.Entry{Path: e.Path, Size: e.Size, Dir: e.Dir, Symlink: e.Symlink})
	}
	return all, nil
}

// Quiesce kills every process but the guest.
func (s *Session) Quiesce(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	return s.explain(ctx, "quiesce", s.client.Quiesce(ctx))
}

// Close ends the box. That its container goes too is seen to in the background,
// which Close of the provider waits for.
func (s *Session) Close(ctx context.Context) error {
	s.end(ctx)
	return nil
}

func (s *Session) enter(ctx context.Context) error {
	if s.closed.Load() {
		return sandbox.ErrClosed
	}
	return ctx.Err()
}

func (s *Session) enterAt(ctx context.Context, name string) (string, error) {
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	return sandbox.Resolve(name)
}

// end is Close: no call may follow.
func (s *Session) end(ctx context.Context) {
	s.closed.Store(true)
	s.release(ctx)
}

// release closes the stream, at which the guest ends and the engine removes the
// container, and has that verified.
func (s *Session) release(ctx context.Context) {
	s.ending.Do(func() {
		_ = s.client.Close()
		s.bury(ctx)
		s.p.mu.Lock()
		defer s.p.mu.Unlock()
		delete(s.p.boxes, s)
	})
}

// bury waits for the engine to remove the container, and does it itself when
// that takes too long.
func (s *Session) bury(ctx context.Context) {
	p := s.p
	p.aside(ctx, createTime+removeGrace, s.id, func(ctx context.Context) (err error) {
		defer s.give()
		done, err := p.life.enter(ctx, false)
		if err != nil {
			return err
		}
		defer func() { done(err) }()
		if err := s.client.Err(); errors.Is(err, guest.ErrStuck) || errors.Is(err, guest.ErrTampered) {
			return remove(ctx, p.cli, s.id) // who does not listen does not go either
		}
		within, stop := context.WithTimeout(ctx, removeGrace)
		defer stop()
		gone, failed := p.cli.ContainerWait(within, s.id, container.WaitConditionRemoved)
		select {
		case end := <-gone:
			if end.Error == nil {
				return nil
			}
		case err := <-failed:
			if cerrdefs.IsNotFound(err) {
				return nil
			}
		case <-within.Done():
		}
		return remove(ctx, p.cli, s.id)
	})
}

// explain puts an error into the port's words. What ended the box is found out
// once, and is the error of every call from then on.
func (s *Session) explain(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.closed.Load() && errors.Is(err, guest.ErrClosed):
		return sandbox.ErrClosed
	case errors.Is(err, guest.ErrNotFound):
		err = sandbox.ErrNotFound
	case errors.Is(err, guest.ErrNoParent):
		err = fmt.Errorf("a parent is not a directory: %w", sandbox.ErrNotFound)
	case errors.Is(err, guest.ErrNotRegular):
		err = sandbox.ErrNotRegular
	case errors.Is(err, guest.ErrFileSize):
		err = sandbox.ErrFileSize
	case errors.Is(err, guest.ErrNoSpace):
		err = sandbox.ErrNoSpace
	case isEnd(err):
		err = s.mourn(ctx)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func isEnd(err error) bool {
	return errors.Is(err, guest.ErrLost) || errors.Is(err, guest.ErrTampered) || errors.Is(err, guest.ErrStuck)
}

// mourn finds out why the box died, and sees to its remains.
func (s *Session) mourn(ctx context.Context) error {
	s.dead.Do(func() {
		s.why = s.postMortem(context.WithoutCancel(ctx))
		s.release(ctx)
	})
	return s.why
}

// lastWords is the end of what the guest said on its standard error.
func (s *stream) lastWords() string {
	return strings.ToValidUTF8(tame(strings.TrimSpace(string(s.last.bytes()))), "")
}
