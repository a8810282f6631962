package guestbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
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
	client  *guest.Client
	output  int64 // bytes that end a program; 0 leaves it to the guest
	mourn   func(ctx context.Context) error
	closed  atomic.Bool
	starved atomic.Bool
}

// New returns the calls that are made over a client, in a box of those limits.
// mourn is asked when the client's stream has ended by itself, again for each
// call that finds it so: it says, as a [sandbox.BoxError], what ended the box.
func New(client *guest.Client, limits sandbox.Limits, mourn func(ctx context.Context) error) *Calls {
	return &Calls{client: client, output: limits.OutputBytes, mourn: mourn}
}

// Starved tells whether a program in the box has been killed for want of memory.
func (s *Calls) Starved() bool { return s.starved.Load() }

// Shut lets no call in any more: from now on they are [sandbox.ErrClosed]. It
// does not end those that are under way; closing the client does.
func (s *Calls) Shut() { s.closed.Store(true) }

// Exec runs a program; see [sandbox.Session]. One that writes more than the
// box's OutputBytes is killed.
func (s *Calls) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	return s.exec(ctx, c, s.client.Exec)
}

func (s *Calls) exec(ctx context.Context, c sandbox.Command, call func(context.Context, guest.Command) (guest.Result, error)) (sandbox.Result, error) {
	if err := s.enter(ctx); err != nil {
		return sandbox.Result{}, err
	}
	cmd := guest.Command{
		Argv: c.Argv, Env: c.Env, Dir: path.Join(sandbox.Workspace, c.Dir), Stdin: c.Stdin, Timeout: c.Timeout,
		Head: c.HeadBytes, Tail: c.TailBytes, HardCap: s.output,
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
func (s *Calls) ReadFile(ctx context.Context, name string, limit int64) (sandbox.File, error) {
	return s.readFile(ctx, name, limit, s.client.ReadFile)
}

func (s *Calls) readFile(ctx context.Context, name string, limit int64, call func(context.Context, string, int64) (guest.File, error)) (sandbox.File, error) {
	abs, err := s.enterAt(ctx, name)
	if err != nil {
		return sandbox.File{}, err
	}
	f, err := call(ctx, abs, limit)
	return sandbox.File{Data: f.Data, Size: f.Size, Mode: f.Mode}, s.explain(ctx, fmt.Sprintf("read %q", name), err)
}

// WriteFile writes a file of the workspace; see [sandbox.Session]. A link of
// that name is replaced.
func (s *Calls) WriteFile(ctx context.Context, name string, data []byte) error {
	return s.writeFile(ctx, name, data, s.client.WriteFile)
}

func (s *Calls) writeFile(ctx context.Context, name string, data []byte, call func(context.Context, string, []byte, uint32) error) error {
	abs, err := s.enterAt(ctx, name)
	if err != nil {
		return err
	}
	return s.explain(ctx, fmt.Sprintf("write %q", name), call(ctx, abs, data, newFileMode))
}

// Stage writes a file of a program that is the agent; see [sandbox.Stager].
func (s *Calls) Stage(ctx context.Context, name string, data []byte, mode uint32) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if !fs.ValidPath(name) || name == "." || strings.IndexByte(name, 0) >= 0 {
		return fmt.Errorf("stage %q: %w", name, sandbox.ErrOutside)
	}
	abs := path.Join(sandbox.AgentDir, name)
	return s.explain(ctx, fmt.Sprintf("stage %q", name), s.client.WriteFile(ctx, abs, data, mode))
}

// List lists a directory of the workspace; see [sandbox.Session]. It returns
// 100,000 entries at the most.
func (s *Calls) List(ctx context.Context, dir string, recursive bool, limit int) (sandbox.Listing, error) {
	return s.list(ctx, dir, recursive, limit, s.client.List)
}

func (s *Calls) list(ctx context.Context, dir string, recursive bool, limit int, call func(context.Context, string, bool, int) (guest.Listing, error)) (sandbox.Listing, error) {
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
