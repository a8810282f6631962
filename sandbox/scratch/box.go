package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

// box is one open directory. Its lock is held through each call: calls are
// short, and so no reader meets half a write, no listing a temporary file, and
// the account of what is used is never behind.
type box struct {
	dir            string
	workspaceBytes int64
	fileBytes      int64
	forget         func(*box)
	expiry         *time.Timer // nil: lives until Close

	mu      sync.Mutex
	root    *os.Root
	used    int64 // bytes that the files are charged, see charge
	entries int64 // files and directories that were made
	gone    error // why nothing more can be done; nil while the box is open
}

// ID is the box's directory on this machine.
func (b *box) ID() string { return b.dir }

// Exec refuses: there is nothing here to run a program in.
func (b *box) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	const what = "run a program"
	leave, err := b.enter(ctx, what)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	return sandbox.Result{}, fmt.Errorf("%s: %w", what, sandbox.ErrNoProcess)
}

// Quiesce has no process to kill.
func (b *box) Quiesce(ctx context.Context) error {
	leave, err := b.enter(ctx, "quiesce")
	if err != nil {
		return err
	}
	leave()
	return nil
}

// Close removes the directory, even when ctx has ended. What could not be
// removed is an error, and a second call tries again.
func (b *box) Close(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expiry != nil {
		b.expiry.Stop()
	}
	b.gone = sandbox.ErrClosed
	if err := b.remove(); err != nil {
		return fmt.Errorf("close scratch box: %w", err)
	}
	b.forget(b)
	return nil
}

// expire ends a box that nobody closed in its time.
func (b *box) expire(lifetime time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone == nil {
		b.gone = &sandbox.BoxError{Kind: sandbox.Lost, Detail: fmt.Sprintf("its lifetime of %v ended", lifetime)}
	}
	_ = b.remove() // Close tries again, and says so when it cannot
}

// remove is called under the lock. A second call finds nothing to do.
func (b *box) remove() error {
	return errors.Join(b.root.Close(), os.RemoveAll(b.dir))
}

// enter begins a call: it takes the lock, or says why the call cannot be.
func (b *box) enter(ctx context.Context, what string) (leave func(), err error) {
	b.mu.Lock()
	if b.gone != nil {
		defer b.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", what, b.gone)
	}
	if err := ctx.Err(); err != nil {
		defer b.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return b.mu.Unlock, nil
}

// locate turns a path as given into one below the box's root, in this
// machine's own writing.
func locate(given string) (string, error) {
	abs, err := sandbox.Resolve(given)
	if err != nil {
		return "", err
	}
	below := strings.TrimPrefix(strings.TrimPrefix(abs, sandbox.Workspace), "/")
	if below == "" {
		return ".", nil
	}
	name, err := filepath.Localize(below)
	if err != nil {
		return "", fmt.Errorf("path %q cannot exist on this machine: %w", given, sandbox.ErrOutside)
	}
	return name, nil
}

// errParent is a path that leads through something that is no directory.
var errParent = fmt.Errorf("a parent is not a directory: %w", sandbox.ErrNotFound)

// explain puts an error into the port's words. What the agent's path or data
// brought about stays a file's error; everything else is this machine's
// failure, and ends the box. It is called under the lock.
func (b *box) explain(what string, err error) error {
	var errno syscall.Errno
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sandbox.ErrNotFound), errors.Is(err, sandbox.ErrNotRegular),
		errors.Is(err, sandbox.ErrOutside), errors.Is(err, sandbox.ErrNoSpace),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case errors.Is(err, fs.ErrNotExist):
		err = sandbox.ErrNotFound
	case errors.Is(err, syscall.ENOTDIR):
		err = errParent
	case errors.Is(err, syscall.EISDIR), errors.Is(err, fs.ErrExist):
		err = sandbox.ErrNotRegular
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENAMETOOLONG),
		errors.Is(err, syscall.EILSEQ), errors.Is(err, syscall.EINVAL):
		err = sandbox.ErrOutside
	case !errors.As(err, &errno):
		// os.Root's own refusal of a link that leads out, which it gives no
		// name that could be asked for.
		err = sandbox.ErrOutside
	default:
		err = &sandbox.BoxError{Kind: sandbox.Engine, Err: err}
		b.gone = err
	}
	return fmt.Errorf("%s: %w", what, err)
}
