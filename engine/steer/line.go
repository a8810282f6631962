package steer

import (
	"context"
	"slices"
	"sync"
)

// Line is what is still to be done, in order. More may come as long as any of it
// goes on; with the last of it the line is closed. It is safe for concurrent use.
type Line[T any] struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	left    []T
	out     int // taken, and not done
	closed  bool
}

// NewLine has a list to do, which it leaves as it is.
func NewLine[T any](list []T) *Line[T] {
	return &Line[T]{left: slices.Clip(list), changed: make(chan struct{})}
}

// Wait returns when something is left to do. It says false, and closes the line,
// when nothing is and nothing goes on, or when ctx has ended.
func (l *Line[T]) Wait(ctx context.Context) bool {
	for {
		l.mu.Lock()
		changed, more := l.changed, len(l.left) > 0
		if ctx.Err() != nil || !more && l.out == 0 {
			l.closed = true
		}
		closed := l.closed
		l.mu.Unlock()
		if closed || more {
			return !closed
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Left is what is left to do. It must not be changed.
func (l *Line[T]) Left() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left
}

// Take takes what pick does of what is left, which pick leaves as it is. Done must
// be called for each.
func (l *Line[T]) Take(pick func(left []T) (taken, rest []T)) []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken, rest := pick(l.left)
	l.left = rest
	l.out += len(taken)
	return taken
}

// Done says that one of what was taken is over.
func (l *Line[T]) Done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out--
	l.change()
}

// Add has more to do, after the rest, unless the line is closed: then it says
// false. First is called before any of it can be taken.
func (l *Line[T]) Add(list []T, first func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	first()
	l.left = append(slices.Clip(l.left), list...)
	l.change()
	return true
}

// Close takes no more to do. What is left is not done.
func (l *Line[T]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.change()
}

// change wakes who waits. The lock is held.
func (l *Line[T]) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}
