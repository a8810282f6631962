package sandboxtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

// MemoryBox is one box in memory. It implements sandbox.Session, and shows a
// test what was done to it.
type MemoryBox struct {
	Faults

	id       string
	spec     sandbox.Spec
	provider *MemoryProvider
	space    int64
	expiry   *time.Timer

	life context.Context // ends with the box; its cause is why
	end  context.CancelCauseFunc

	mu     sync.Mutex
	exec   Handler
	files  map[string][]byte // by resolved path
	calls  []Call
	closed bool
}

// HandleExec answers this box's commands from now on.
func (b *MemoryBox) HandleExec(h Handler) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exec = h
}

// Dial is what a program in the box does that connects to the box's proxy. Where
// there is none it is refused, as a program would be.
func (b *MemoryBox) Dial() (net.Conn, error) {
	if why := b.gone(); why != nil {
		return nil, why
	}
	if b.spec.Network == nil {
		return nil, errors.New("connection refused: the box has no network")
	}
	program, host := net.Pipe()
	stop := context.AfterFunc(b.life, func() { _ = host.Close() })
	go func() {
		defer stop()
		defer host.Close()
		b.spec.Network(b.life, host)
	}()
	return program, nil
}

// Break ends the box now: running calls and those that follow, but Close,
// return err. Only the first reason counts.
func (b *MemoryBox) Break(err *sandbox.BoxError) { b.end(err) }

// Spec is what the box was opened with.
func (b *MemoryBox) Spec() sandbox.Spec { return b.spec }

// Calls are the calls made to the box so far, those that failed too.
func (b *MemoryBox) Calls() []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// Files are the box's files by absolute path, at its end when it has ended.
func (b *MemoryBox) Files() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(map[string]string, len(b.files))
	for name, data := range b.files {
		out[name] = string(data)
	}
	return out
}

// Closed tells whether the box was closed.
func (b *MemoryBox) Closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// ID names the box by its number.
func (b *MemoryBox) ID() string { return b.id }

// Exec asks the handler.
func (b *MemoryBox) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	what := fmt.Sprintf("run %.100q", c.Argv)
	c.Argv, c.Env, c.Stdin = slices.Clone(c.Argv), maps.Clone(c.Env), slices.Clone(c.Stdin)
	if err := b.enter(ctx, Call{Op: OpExec, Command: c}); err != nil {
		return sandbox.Result{}, fmt.Errorf("%s: %w", what, err)
	}
	b.mu.Lock()
	h := b.exec
	b.mu.Unlock()
	if h == nil {
		return sandbox.Result{}, fmt.Errorf("%s: %w", what, sandbox.ErrNoProcess)
	}
	r, err := b.answer(ctx, h, c)
	if err != nil {
		return sandbox.Result{}, fmt.Errorf("%s: %w", what, err)
	}
	return r, nil
}

func (b *MemoryBox) answer(ctx context.Context, h Handler, c sandbox.Command) (sandbox.Result, error) {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(b.life, func() { stop(context.Cause(b.life)) })()
	if c.Timeout > 0 {
		var release context.CancelFunc
		inner, release = context.WithTimeout(inner, c.Timeout)
		defer release()
	}
	r, err := h(inner, c)
	if e := boxError(err); e != nil {
		b.Break(e)
	}
	if why := b.gone(); why != nil {
		return sandbox.Result{}, why
	}
	if err != nil && errors.Is(inner.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		return sandbox.Result{ExitCode: 128 + 9, Signal: 9, TimedOut: true, Elapsed: c.Timeout}, nil
	}
	return r, err
}

// Quiesce has nothing to kill.
func (b *MemoryBox) Quiesce(ctx context.Context) error {
	if err := b.enter(ctx, Call{Op: OpQuiesce}); err != nil {
		return fmt.Errorf("quiesce: %w", err)
	}
	return nil
}

// Close ends the box. When a fault is planned for it, the box stays open.
func (b *MemoryBox) Close(ctx context.Context) error {
	b.record(Call{Op: OpClose})
	err := meet(ctx, context.WithoutCancel(ctx), slices.Concat(b.provider.due(OpClose), b.due(OpClose)))
	if err != nil && !b.Closed() {
		return fmt.Errorf("close box: %w", err)
	}
	b.close()
	return nil
}

func (b *MemoryBox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	if b.expiry != nil {
		b.expiry.Stop()
	}
	b.end(sandbox.ErrClosed)
}

// gone is why nothing more can be done, nil while the box is open.
func (b *MemoryBox) gone() error {
	if b.Closed() {
		return sandbox.ErrClosed
	}
	return context.Cause(b.life)
}

// enter begins a call, or says why it cannot be.
func (b *MemoryBox) enter(ctx context.Context, c Call) error {
	b.record(c)
	if err := b.gone(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.meet(ctx, c.Op)
}

// meet does to a call what the box's and the provider's faults plan for it.
func (b *MemoryBox) meet(ctx context.Context, op Op) error {
	err := meet(ctx, b.life, slices.Concat(b.provider.due(op), b.due(op)))
	if e := boxError(err); e != nil {
		b.Break(e)
	}
	if err == nil {
		err = b.gone()
	}
	return err
}

func (b *MemoryBox) record(c Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, c)
}

// ReadFile reads from the map.
func (b *MemoryBox) ReadFile(ctx context.Context, name string, limit int64) (sandbox.File, error) {
	what := fmt.Sprintf("read %q", name)
	if err := b.enter(ctx, Call{Op: OpRead, Path: name}); err != nil {
		return sandbox.File{}, fmt.Errorf("%s: %w", what, err)
	}
	abs, err := sandbox.Resolve(name)
	if err != nil {
		return sandbox.File{}, fmt.Errorf("%s: %w", what, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.files[abs]
	switch {
	case !ok && b.isDir(abs):
		return sandbox.File{}, fmt.Errorf("%s: %w", what, sandbox.ErrNotRegular)
	case !ok:
		return sandbox.File{}, fmt.Errorf("%s: %w", what, sandbox.ErrNotFound)
	}
	size := int64(len(data))
	return sandbox.File{Data: slices.Clone(data[:max(0, min(limit, size))]), Size: size, Mode: 0o644}, nil
}

// WriteFile writes to the map. A directory is there while a file is in it.
func (b *MemoryBox) WriteFile(ctx context.Context, name string, data []byte) error {
	what := fmt.Sprintf("write %q", name)
	if err := b.enter(ctx, Call{Op: OpWrite, Path: name}); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	abs, err := sandbox.Resolve(name)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isDir(abs) {
		return fmt.Errorf("%s: %w", what, sandbox.ErrNotRegular)
	}
	for parent := path.Dir(abs); parent != sandbox.Workspace; parent = path.Dir(parent) {
		if _, isFile := b.files[parent]; isFile {
			return fmt.Errorf("%s: %q is not a directory: %w", what, parent, sandbox.ErrNotFound)
		}
	}
	if most := b.spec.Limits.FileBytes; most > 0 && int64(len(data)) > most {
		return fmt.Errorf("%s: %w", what, sandbox.ErrFileSize)
	}
	used := int64(len(data) - len(b.files[abs]))
	for _, d := range b.files {
		used += int64(len(d))
	}
	if used > b.space {
		return fmt.Errorf("%s: %w", what, sandbox.ErrNoSpace)
	}
	b.files[abs] = slices.Clone(data)
	return nil
}

// Stage writes to the map, outside the workspace.
func (b *MemoryBox) Stage(ctx context.Context, name string, data []byte, _ uint32) error {
	if err := b.enter(ctx, Call{Op: OpWrite, Path: path.Join(sandbox.AgentDir, name)}); err != nil {
		return fmt.Errorf("stage %q: %w", name, err)
	}
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("stage %q: %w", name, sandbox.ErrOutside)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files[path.Join(sandbox.AgentDir, name)] = slices.Clone(data)
	return nil
}

// List lists the map.
func (b *MemoryBox) List(ctx context.Context, dir string, recursive bool, limit int) (sandbox.Listing, error) {
	what := fmt.Sprintf("list %q", dir)
	if err := b.enter(ctx, Call{Op: OpList, Path: dir}); err != nil {
		return sandbox.Listing{}, fmt.Errorf("%s: %w", what, err)
	}
	abs, err := sandbox.Resolve(dir)
	if err != nil {
		return sandbox.Listing{}, fmt.Errorf("%s: %w", what, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.isDir(abs) {
		return sandbox.Listing{}, fmt.Errorf("%s: %w", what, sandbox.ErrNotFound)
	}
	found := b.below(abs, recursive)
	if len(found) > limit {
		return sandbox.Listing{Entries: found[:max(0, limit)], Truncated: true}, nil
	}
	return sandbox.Listing{Entries: found}, nil
}

// below is what is in a directory, sorted by path. It is called under the lock.
func (b *MemoryBox) below(dir string, recursive bool) []sandbox.Entry {
	found := map[string]sandbox.Entry{}
	for name, data := range b.files {
		if !strings.HasPrefix(name, dir+"/") {
			continue
		}
		found[name] = sandbox.Entry{Path: name, Size: int64(len(data))}
		for parent := path.Dir(name); parent != dir; parent = path.Dir(parent) {
			found[parent] = sandbox.Entry{Path: parent, Dir: true}
		}
	}
	if !recursive {
		maps.DeleteFunc(found, func(name string, _ sandbox.Entry) bool { return path.Dir(name) != dir })
	}
	return slices.SortedFunc(maps.Values(found), func(a, b sandbox.Entry) int { return cmp.Compare(a.Path, b.Path) })
}

// isDir is called under the lock.
func (b *MemoryBox) isDir(abs string) bool {
	if abs == sandbox.Workspace {
		return true
	}
	for name := range b.files {
		if strings.HasPrefix(name, abs+"/") {
			return true
		}
	}
	return false
}
