package scratch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

// Kind is what Describe calls these boxes.
const Kind = "scratch"

// DefaultFileBytes is how large one file may be when Options do not say.
const DefaultFileBytes = 128 << 20

// Options are what a Provider needs.
type Options struct {
	// Dir is the directory the boxes are made in. It is made when the first
	// box is, and other programs' files in it are left alone.
	Dir string
	// Owner names this process among all that ever share Dir, such as
	// "boot id/pid/start time". Each box carries it. At most MaxOwnerBytes.
	Owner string
	// Alive says whether an owner still runs; Reap asks it about every owner
	// but this one. What it is asked is as hostile as whoever may write to
	// Dir. Nil takes everybody to be alive.
	Alive func(owner string) bool
	// FileBytes bounds one file. Zero takes DefaultFileBytes.
	FileBytes int64
}

// Provider opens boxes in a directory. It implements sandbox.Provider.
type Provider struct {
	opts Options

	mu     sync.Mutex
	boxes  map[*box]struct{} // opened and not closed yet
	closed bool
}

// New returns a provider. It touches no file.
func New(o Options) (*Provider, error) {
	switch {
	case o.Dir == "":
		return nil, errors.New("scratch: no directory to make boxes in")
	case o.Owner == "" || len(o.Owner) > MaxOwnerBytes:
		return nil, fmt.Errorf("scratch: owner %q: must have 1 to %d bytes", o.Owner, MaxOwnerBytes)
	case o.FileBytes < 0:
		return nil, fmt.Errorf("scratch: largest file of %d bytes: must not be negative", o.FileBytes)
	}
	o.FileBytes = cmp.Or(o.FileBytes, DefaultFileBytes)
	return &Provider{opts: o, boxes: map[*box]struct{}{}}, nil
}

// Open makes an empty box. Of the spec it honours WorkspaceBytes, FileBytes and Lifetime:
// what runs no program has no use for the rest.
func (p *Provider) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Session, error) {
	limit := cmp.Or(spec.Limits.WorkspaceBytes, sandbox.DefaultLimits().WorkspaceBytes)
	if limit < 0 {
		return nil, fmt.Errorf("open scratch box: workspace of %d bytes: must not be negative", limit)
	}
	if spec.Network != nil {
		return nil, fmt.Errorf("open scratch box with a network: %w", sandbox.ErrNoProcess)
	}
	if len(spec.Packages) > 0 {
		return nil, fmt.Errorf("open scratch box with packages: %w", sandbox.ErrNoProcess)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open scratch box: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("open scratch box: %w", sandbox.ErrClosed)
	}
	dir, root, err := p.makeDir()
	if err != nil {
		return nil, fmt.Errorf("open scratch box: %w", &sandbox.BoxError{Kind: sandbox.Engine, Err: err})
	}
	b := &box{dir: dir, root: root, workspaceBytes: limit, fileBytes: p.opts.FileBytes, forget: p.forget}
	if most := spec.Limits.FileBytes; most > 0 {
		b.fileBytes = min(b.fileBytes, most)
	}
	p.boxes[b] = struct{}{}
	if spec.Lifetime > 0 {
		b.expiry = time.AfterFunc(spec.Lifetime, func() { b.expire(spec.Lifetime) })
	}
	return b, nil
}

func (p *Provider) makeDir() (string, *os.Root, error) {
	if err := os.MkdirAll(p.opts.Dir, 0o700); err != nil {
		return "", nil, err
	}
	dir := filepath.Join(p.opts.Dir, newDirName(p.opts.Owner))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.Remove(dir))
	}
	return dir, root, nil
}

func (p *Provider) forget(b *box) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.boxes, b)
}

// Describe says that the boxes are scratch directories.
func (p *Provider) Describe(_ context.Context, spec sandbox.Spec) (sandbox.Description, error) {
	if len(spec.Packages) > 0 {
		return sandbox.Description{}, fmt.Errorf("describe scratch boxes with packages: %w", sandbox.ErrNoProcess)
	}
	return sandbox.Description{Kind: Kind}, nil
}

// Close removes every box that is still open. Afterwards none can be opened.
// It may be called twice, and does its work even when ctx has ended.
func (p *Provider) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	open := make([]*box, 0, len(p.boxes))
	for b := range p.boxes {
		open = append(open, b)
	}
	p.mu.Unlock()

	var errs []error
	for _, b := range open {
		errs = append(errs, b.Close(ctx))
	}
	return errors.Join(errs...)
}
