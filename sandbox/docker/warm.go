package docker

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// warmTime is how long a box may wait to be opened, and so how much longer it
// lives than was asked for: its waiting is not its trial's time. One that is
// waited for longer is no great loss, since what it saves is a fraction of a
// second.
const warmTime = 10 * time.Minute

// warmBox is a box that is started before it is opened. Whoever takes it out of
// Provider.warm decides what becomes of it: Open hands it out, all others end it.
type warmBox struct {
	spec   sandbox.Spec
	bytes  int64              // of memory that it holds; guarded by the provider's lock
	going  bool               // these are in Provider.returning; likewise
	stop   context.CancelFunc // ends its start, or its waiting
	taken  chan struct{}      // closed by the Open that waits for it
	ready  chan struct{}      // closed when box is set, or will not be
	begun  bool               // the engine works on it; guarded by the provider's lock
	box    *Session           // nil when it failed
	parent func() bool        // unlinks it from its context
}

// errNoMemory is nobody's concern: the box is opened when it is needed.
var errNoMemory = errors.New("no memory to spare")

var _ sandbox.Warmer = (*Provider)(nil)

// Warm starts a box for an Open that is to come; see [sandbox.Warmer]. It takes
// only memory that nobody waits for, gives it back when somebody does, and lets
// the engine do everything else first.
func (p *Provider) Warm(ctx context.Context, spec sandbox.Spec) {
	leave, err := p.enter()
	if err != nil {
		return
	}
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &warmBox{spec: spec, stop: stop, taken: make(chan struct{}), ready: make(chan struct{})}
	p.mu.Lock()
	w.parent = context.AfterFunc(ctx, func() { p.cool(w) }) // before anybody can take it out
	p.warm = append(p.warm, w)
	p.mu.Unlock()
	go func() {
		defer leave()
		defer stop()
		p.keepWarm(own, w, spec)
	}()
}

// keepWarm starts a box and keeps it until someone takes it out.
func (p *Provider) keepWarm(ctx context.Context, w *warmBox, spec sandbox.Spec) {
	s, err := p.openWarm(ctx, w, spec)
	if err == nil {
		w.box = s
	}
	close(w.ready)
	if err != nil {
		p.cool(w)
		return
	}
	old := time.NewTimer(warmTime)
	defer old.Stop()
	select {
	case <-w.taken:
		return
	case <-ctx.Done():
	case <-s.client.Done():
	case <-old.C:
	}
	if p.cool(w) || ctx.Err() != nil {
		s.end(ctx)
	}
}

// openWarm is open with nothing that anybody would have to wait for.
func (p *Provider) openWarm(ctx context.Context, w *warmBox, spec sandbox.Spec) (*Session, error) {
	b, g, err := p.prepare(ctx, spec)
	if err != nil {
		return nil, err
	}
	release, ok := p.memory.try(ctx, b.limits.MemoryBytes)
	if !ok {
		return nil, errNoMemory
	}
	p.mu.Lock()
	w.bytes = b.limits.MemoryBytes
	if w.going { // it was taken out meanwhile
		p.returning += w.bytes
	}
	p.mu.Unlock()
	give := func() {
		release()
		p.returned(w)
	}
	b.lifetime += warmTime
	b.labels[guestbox.LabelExpires] = guestbox.Expiry(p.o.now().Add(b.lifetime))
	b.ahead = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		w.begun = true
	}
	s, err := p.startWithGuest(ctx, b, g)
	if err != nil {
		p.giveAfter(b.removals, give)
		return nil, err
	}
	s.give = give
	return s, p.keep(ctx, s)
}

// warmed hands out the box that was started for a spec, and waits for one that
// the engine works on. It is nil when there is none, or none that is well.
func (p *Provider) warmed(ctx context.Context, spec sandbox.Spec) (*Session, error) {
	p.mu.Lock()
	i := slices.IndexFunc(p.warm, func(w *warmBox) bool { return same(w.spec, spec) })
	if i < 0 {
		p.mu.Unlock()
		return nil, nil
	}
	w := p.warm[i]
	p.warm = slices.Delete(p.warm, i, i+1)
	begun := w.begun
	if !begun {
		p.leave(w)
	}
	p.mu.Unlock()
	w.parent()
	if !begun { // it comes after everyone who is opening one
		w.stop()
		return nil, nil
	}
	close(w.taken)
	select {
	case <-w.ready:
	case <-ctx.Done():
		w.stop()
		if <-w.ready; w.box != nil {
			w.box.end(ctx)
		}
		return nil, ctx.Err()
	}
	if w.box != nil && w.box.client.Err() != nil {
		w.box.end(ctx)
		return nil, nil
	}
	return w.box, nil
}

// cool takes a box out and ends it, unless that has been done.
func (p *Provider) cool(w *warmBox) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.warm, w)
	if i < 0 {
		return false
	}
	p.warm = slices.Delete(p.warm, i, i+1)
	p.leave(w)
	w.stop()
	return true
}

// leave counts what a box that ends unopened holds as on its way back. The lock
// is held.
func (p *Provider) leave(w *warmBox) {
	w.going = true
	p.returning += w.bytes
}

// returned takes note that a box's memory has been given back.
func (p *Provider) returned(w *warmBox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.going {
		p.returning -= w.bytes
	}
	w.bytes = 0
}

// yield ends boxes that wait, the oldest first, until so many bytes are on their
// way back, with those that are so already: who waits asks more than once.
func (p *Provider) yield(bytes int64) {
	p.mu.Lock()
	bytes -= p.returning
	all := slices.Clone(p.warm)
	p.mu.Unlock()
	for _, w := range all {
		if bytes <= 0 {
			return
		}
		p.mu.Lock()
		n := w.bytes
		p.mu.Unlock()
		if n > 0 && p.cool(w) {
			bytes -= n
		}
	}
}

// coolAll ends every box that waits.
func (p *Provider) coolAll() {
	p.mu.Lock()
	all := slices.Clone(p.warm)
	p.mu.Unlock()
	for _, w := range all {
		p.cool(w)
	}
}

// same tells whether two specs ask for the same container. What answers on the
// network is no part of it.
func same(a, b sandbox.Spec) bool {
	one := (a.Network == nil) == (b.Network == nil)
	a.Network, b.Network = nil, nil
	return one && reflect.DeepEqual(a, b)
}
