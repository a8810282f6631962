package guestbox

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync/atomic"
	"unicode/utf8"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guest"
)

// keepBytes is how much of each end of a stream is kept when nothing is said.
const keepBytes = 512 << 10

// newFileMode is the mode of a file that WriteFile creates.
const newFileMode = 0o644

// Calls are the calls that one box answers. Their errors are the port's. They
// may be made at once.
type Calls struct {
	client *guest.Client
	mourn  func(ctx context.Context) error
	closed atomic.Bool
}

// New returns the calls that are made over a client. mourn is asked when the
// client's stream has ended by itself, again for each call that finds it so: it
// says, as a [sandbox.BoxError], what ended the box.
func New(client *guest.Client, mourn func(ctx context.Context) error) *Calls {
	return &Calls{client: client, mourn: mourn}
}

// Shut lets no call in any more: from now on they are [sandbox.ErrClosed]. It
// does not end those that are under way; closing the client does.
func (s *Calls) Shut() { s.closed.Store(true) }

// Exec runs a program; see [sandbox.Session]. One that writes more than 64 MiB
// is killed.
func (s *Calls) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if err := s.enter(ctx); err != nil {
		return sandbox.Result{}, err
	}
	cmd := guest.Command{
		Argv: c.Argv, Env: c.Env, Dir: path.Join(sandbox.Workspace, c.Dir), Stdin: c.Stdin, Timeout: c.Timeout,
		Head: c.HeadBytes, Tail: c.TailBytes,
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
	r, err := s.client.Exec(ctx, cmd)
	return sandbox.Result{
		ExitCode: r.ExitCode, Signal: r.Signal, TimedOut: r.TimedOut, OutOfMemory: r.OutOfMemory, OutputLimit: r.OutputCap,
		Stdout: output(r.Stdout), Stderr: output(r.Stderr), Elapsed: r.Elapsed, StartError: r.StartError,
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
func (s *Calls) ReadFile(ctx context.Context, name string, limit int64) (sandbox.File, error) {
	abs, err := s.enterAt(ctx, name)
	if err != nil {
		return sandbox.File{}, err
	}
	f, err := s.client.ReadFile(ctx, abs, limit)
	return sandbox.File{Data: f.Data, Size: f.Size, Mode: f.Mode}, s.explain(ctx, fmt.Sprintf("read %q", name), err)
}

// WriteFile writes a file of the workspace; see [sandbox.Session]. A link of
// that name is replaced.
func (s *Calls) WriteFile(ctx context.Context, name string, data []byte) error {
	abs, err := s.enterAt(ctx, name)
	if err != nil {
		return err
	}
	return s.explain(ctx, fmt.Sprintf("write %q", name), s.client.WriteFile(ctx, abs, data, newFileMode))
}

// List lists a directory of the workspace; see [sandbox.Session]. It returns
// 100,000 entries at the most.
func (s *Calls) List(ctx context.Context, dir string, recursive bool, limit int) (sandbox.Listing, error) {
	abs, err := s.enterAt(ctx, dir)
	if err != nil {
		return sandbox.Listing{}, err
	}
	l, err := s.client.List(ctx, abs, recursive, limit)
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
func (s *Calls) Quiesce(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	return s.explain(ctx, "quiesce", s.client.Quiesce(ctx))
}

func (s *Calls) enter(ctx context.Context) error {
	if s.closed.Load() {
		return sandbox.ErrClosed
	}
	return ctx.Err()
}

func (s *Calls) enterAt(ctx context.Context, name string) (string, error) {
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	return sandbox.Resolve(name)
}

// explain puts an error into the port's words. What ended the box is found out
// once, and is the error of every call from then on.
func (s *Calls) explain(ctx context.Context, what string, err error) error {
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
