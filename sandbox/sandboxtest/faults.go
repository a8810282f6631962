package sandboxtest

import (
	"context"
	"errors"
	"sync"

	"github.com/agentclash/agentclash/sandbox"
)

// Op is a kind of call.
type Op string

// The kinds of calls. Open is a provider's, the others are a box's.
const (
	OpOpen    Op = "open"
	OpExec    Op = "exec"
	OpRead    Op = "read"
	OpWrite   Op = "write"
	OpList    Op = "list"
	OpQuiesce Op = "quiesce"
	OpClose   Op = "close"
)

// Call is one call that was made, whatever became of it.
type Call struct {
	Op      Op
	Path    string          // of read, write and list, as given
	Command sandbox.Command // of exec
}

// Faults are what a test has planned to go wrong. A provider's count the calls
// to all its boxes, a box's those to itself. They may be planned at any time.
type Faults struct {
	mu      sync.Mutex
	count   map[Op]int
	planned []fault
}

type fault struct {
	op   Op
	n    int
	err  error
	gate *Gate
}

// Fail makes the nth call of a kind, counted from 1, return err and do nothing;
// n == 0 makes every call do so. An err that is a *sandbox.BoxError ends the
// box: what follows returns it too, until Close.
func (f *Faults) Fail(op Op, n int, err error) {
	f.plan(fault{op: op, n: n, err: err})
}

// Block makes the nth call of a kind, counted from 1, wait at the gate before
// it does anything; n == 0 makes every call wait. A call waits no longer than
// its context and its box last.
func (f *Faults) Block(op Op, n int) *Gate {
	g := &Gate{reached: make(chan struct{}), released: make(chan struct{})}
	f.plan(fault{op: op, n: n, gate: g})
	return g
}

func (f *Faults) plan(p fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.planned = append(f.planned, p)
}

// meet does to a call what is due. life ends with the box.
func meet(ctx, life context.Context, due []fault) error {
	for _, d := range due {
		if d.gate != nil {
			if err := d.gate.pass(ctx, life); err != nil {
				return err
			}
		}
		if d.err != nil {
			return d.err
		}
	}
	return nil
}

// due counts a call and returns what is planned for it, in the order of the
// planning.
func (f *Faults) due(op Op) []fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == nil {
		f.count = map[Op]int{}
	}
	f.count[op]++
	var due []fault
	for _, p := range f.planned {
		if p.op == op && (p.n == 0 || p.n == f.count[op]) {
			due = append(due, p)
		}
	}
	return due
}

// Gate holds up calls until it is released.
type Gate struct {
	once              sync.Once
	reached, released chan struct{}
	release           sync.Once
}

// Reached is closed when the first call has come to the gate.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Release lets the calls go on. It may be called twice.
func (g *Gate) Release() { g.release.Do(func() { close(g.released) }) }

func (g *Gate) pass(ctx, life context.Context) error {
	g.once.Do(func() { close(g.reached) })
	select {
	case <-g.released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-life.Done():
		return context.Cause(life)
	}
}

// boxError is the BoxError in an error, nil when there is none.
func boxError(err error) *sandbox.BoxError {
	var e *sandbox.BoxError
	if errors.As(err, &e) {
		return e
	}
	return nil
}
