package docker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

const (
	// memoryPercent is how much of an engine's memory boxes may be promised
	// together. A limit is a promise: whoever reaches all of it must get it.
	memoryPercent = 80
	// othersEvery is how often is asked what other processes' boxes hold.
	othersEvery = time.Second
)

// memory admits boxes as long as their limits fit into the engine's memory
// together, in the order in which they ask.
//
// Boxes of other processes count as well, but for a process that has none of
// its own: so nobody waits for another's run to end, and none of two can keep
// the other from going on.
type memory struct {
	total  int64                                    // of all boxes; 0: there is no bound
	others func(ctx context.Context) (int64, error) // what other processes' boxes hold; nil: nothing
	wait   func()                                   // says that somebody waits, once
	yield  func(bytes int64)                        // has so much given back by boxes that nobody uses yet

	mu     sync.Mutex
	held   int64
	theirs int64 // others' as it was asked for last
	asked  time.Time
	queue  []*claim
}

// claim is somebody's place in the queue.
type claim struct {
	bytes int64
	can   chan struct{} // closed when it is admitted
}

// fits refuses what can never be had.
func (m *memory) fits(bytes int64) error {
	if m.total == 0 || bytes <= m.total {
		return nil
	}
	return fmt.Errorf("%w: a box of %d MiB of memory does not fit: boxes may have %d MiB of this engine, %d %% of what it has; "+
		"ask for less (version.sandbox.memory), give the engine %d MiB (Docker Desktop: Settings, Resources; colima start --memory) or use another (DOCKER_HOST)",
		sandbox.ErrSpec, bytes/mib, m.total/mib, memoryPercent, bytes/memoryPercent*100/mib+1)
}

// take waits for so much memory. It is given back with the function that is
// returned, which may be called twice.
func (m *memory) take(ctx context.Context, bytes int64) (release func(), err error) {
	if m.total == 0 {
		return func() {}, nil
	}
	if err := m.fits(bytes); err != nil {
		return nil, err
	}
	m.ask(ctx)
	c := &claim{bytes: bytes, can: make(chan struct{})}
	m.mu.Lock()
	m.queue = append(m.queue, c)
	m.admit()
	short := m.short()
	m.mu.Unlock()
	release = sync.OnceFunc(func() { m.give(bytes) })
	if short > 0 {
		m.yield(short)
	}
	return release, m.await(ctx, c, release)
}

// await waits until a claim is admitted, and asks now and then whether other
// processes have given something back.
func (m *memory) await(ctx context.Context, c *claim, release func()) error {
	tick := time.NewTicker(othersEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		select {
		case <-c.can:
			return nil
		case <-ctx.Done():
			m.mu.Lock()
			i := slices.Index(m.queue, c)
			if i >= 0 {
				m.queue = slices.Delete(m.queue, i, i+1)
				m.admit()
			}
			m.mu.Unlock()
			if i < 0 {
				release()
			}
			return ctx.Err()
		case <-tick.C:
			if first {
				m.wait()
			}
			m.ask(ctx)
			m.mu.Lock()
			m.admit()
			short := m.short()
			m.mu.Unlock()
			if short > 0 {
				m.yield(short)
			}
		}
	}
}

// try takes so much memory if that keeps nobody waiting.
func (m *memory) try(ctx context.Context, bytes int64) (release func(), ok bool) {
	if m.total == 0 {
		return func() {}, true
	}
	m.ask(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) > 0 || m.held+m.theirs+bytes > m.total {
		return nil, false
	}
	m.held += bytes
	return sync.OnceFunc(func() { m.give(bytes) }), true
}

func (m *memory) give(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held -= bytes
	m.admit()
}

// admit admits whoever is first for as long as there is room. The lock is held.
func (m *memory) admit() {
	for len(m.queue) > 0 && m.short() <= 0 {
		m.held += m.queue[0].bytes
		close(m.queue[0].can)
		m.queue = slices.Delete(m.queue, 0, 1)
	}
}

// short is how much is missing for whoever is first: nothing where no box is
// held. The lock is held.
func (m *memory) short() int64 {
	if len(m.queue) == 0 || m.held == 0 {
		return 0
	}
	return m.held + m.theirs + m.queue[0].bytes - m.total
}

// ask finds out what others hold, unless that is known well enough. An engine
// that does not say leaves it as it was.
func (m *memory) ask(ctx context.Context) {
	if m.others == nil {
		return
	}
	m.mu.Lock()
	fresh := time.Since(m.asked) < othersEvery/2
	if !fresh {
		m.asked = time.Now()
	}
	m.mu.Unlock()
	if fresh {
		return
	}
	if n, err := m.others(ctx); err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.theirs = n
	}
}

// newMemory bounds the boxes of a provider.
func (p *Provider) newMemory() *memory {
	m := &memory{total: p.o.Memory, yield: p.yield}
	if m.total == 0 {
		m.total, m.others = p.engine.MemoryBytes/100*memoryPercent, p.othersMemory
	}
	m.wait = sync.OnceFunc(func() {
		m.mu.Lock()
		held, theirs := m.held, m.theirs
		m.mu.Unlock()
		p.o.progress(fmt.Sprintf("waiting for memory: boxes may have %d MiB of this engine, this run's hold %d MiB and other processes' %d MiB; boxes open as others end",
			m.total/mib, held/mib, theirs/mib))
	})
	return m
}

// othersMemory sums the limits of other processes' boxes up, but for those that
// nobody looks after any more.
func (p *Provider) othersMemory(ctx context.Context) (int64, error) {
	all, err := ours(ctx, p.cli)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, c := range all {
		mine := p.o.owner().Has(c.Labels)
		if mine || c.State == stateRemoving || p.o.abandoned(c.Labels) {
			continue
		}
		if n, err := strconv.ParseInt(c.Labels[labelMemory], 10, 64); err == nil && n > 0 {
			sum += n
		}
	}
	return sum, nil
}
