package sandboxtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

// Handler answers a command in place of programs. What it returns is what the
// caller gets; its ctx ends with the call's, with the command's timeout, and
// with the box. When it returns an error because the command's timeout ended
// ctx, the caller gets a result that has timed out.
type Handler func(ctx context.Context, c sandbox.Command) (sandbox.Result, error)

// MemoryProvider opens boxes that are a map of files: nothing on disk, no
// programs, no chance. Make one with Memory.
type MemoryProvider struct {
	Faults

	mu     sync.Mutex
	exec   Handler
	onOpen func(*MemoryBox)
	boxes  []*MemoryBox
	closed bool
}

// Memory returns a provider of boxes in memory. Until a handler is set, Exec is
// ErrNoProcess.
func Memory() *MemoryProvider { return &MemoryProvider{} }

// HandleExec answers the commands of boxes opened from now on.
func (p *MemoryProvider) HandleExec(h Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exec = h
}

// OnOpen has f called with each box opened from now on, before Open returns:
// the place to plant files and faults, or to give one box a handler that knows
// its box.
func (p *MemoryProvider) OnOpen(f func(*MemoryBox)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onOpen = f
}

// Boxes are all boxes in the order of their opening, closed ones too.
func (p *MemoryProvider) Boxes() []*MemoryBox {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.boxes)
}

// Open makes an empty box, named memory-1, memory-2 and on.
func (p *MemoryProvider) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Session, error) {
	const what = "open box in memory"
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := meet(ctx, context.WithoutCancel(ctx), p.due(OpOpen)); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if spec.Network != nil && !p.runs() {
		return nil, fmt.Errorf("%s with a network: %w", what, sandbox.ErrNoProcess)
	}
	if len(spec.Packages) > 0 && !p.runs() {
		return nil, fmt.Errorf("%s with packages: %w", what, sandbox.ErrNoProcess)
	}
	b, onOpen := p.add(ctx, spec)
	if b == nil {
		return nil, fmt.Errorf("%s: %w", what, sandbox.ErrClosed)
	}
	if onOpen != nil {
		onOpen(b)
	}
	return b, nil
}

// runs tells whether there is a handler in place of programs.
func (p *MemoryProvider) runs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exec != nil
}

// add makes a box, nil when the provider is closed.
func (p *MemoryProvider) add(ctx context.Context, spec sandbox.Spec) (*MemoryBox, func(*MemoryBox)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil
	}
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	b := &MemoryBox{
		id: "memory-" + strconv.Itoa(len(p.boxes)+1), spec: spec, provider: p,
		space: cmp.Or(spec.Limits.WorkspaceBytes, sandbox.DefaultLimits().WorkspaceBytes),
		files: map[string][]byte{}, exec: p.exec, life: life, end: end,
	}
	p.boxes = append(p.boxes, b)
	if spec.Lifetime > 0 {
		b.expiry = time.AfterFunc(spec.Lifetime, func() {
			b.Break(&sandbox.BoxError{Kind: sandbox.Lost, Detail: fmt.Sprintf("its lifetime of %v ended", spec.Lifetime)})
		})
	}
	return b, p.onOpen
}

// Describe says that the boxes are in memory.
func (p *MemoryProvider) Describe(_ context.Context, spec sandbox.Spec) (sandbox.Description, error) {
	if len(spec.Packages) > 0 && !p.runs() {
		return sandbox.Description{}, fmt.Errorf("describe a box in memory with packages: %w", sandbox.ErrNoProcess)
	}
	return sandbox.Description{Kind: "memory"}, nil
}

// Close closes every box and lets none be opened. No fault is planned for it.
func (p *MemoryProvider) Close(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, b := range p.boxes {
		b.close()
	}
	return nil
}

// Exited is the result of a program that ended by itself with a code and what
// it printed.
func Exited(code int, stdout, stderr string) sandbox.Result {
	return sandbox.Result{
		ExitCode: code, Elapsed: time.Millisecond,
		Stdout: sandbox.Output{Text: stdout, Bytes: int64(len(stdout))},
		Stderr: sandbox.Output{Text: stderr, Bytes: int64(len(stderr))},
	}
}
