package docker

import (
	"context"
	"errors"
	"strings"
	"sync"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guest"
	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// Session is one container. It implements [sandbox.Session].
type Session struct {
	*guestbox.Calls

	p      *Provider
	id     string
	client *guest.Client
	stream *stream
	give   func() // gives its memory back

	ending sync.Once

	dead sync.Once
	why  error // of a box that died by itself; set by dead
}

var _ sandbox.Session = (*Session)(nil)

// ID is the container's id, as the docker command shows it.
func (s *Session) ID() string { return s.id[:min(12, len(s.id))] }

// Close ends the box. That its container goes too is seen to in the background,
// which Close of the provider waits for.
func (s *Session) Close(ctx context.Context) error {
	s.end(ctx)
	return nil
}

// end is Close: no call may follow.
func (s *Session) end(ctx context.Context) {
	s.Shut()
	s.release(ctx)
}

// release closes the stream, at which the guest ends and the engine removes the
// container, and has that verified.
func (s *Session) release(ctx context.Context) {
	s.ending.Do(func() {
		_ = s.client.Close()
		s.bury(ctx)
		s.p.mu.Lock()
		defer s.p.mu.Unlock()
		delete(s.p.boxes, s)
	})
}

// bury waits for the engine to remove the container, and does it itself when
// that takes too long.
func (s *Session) bury(ctx context.Context) {
	p := s.p
	p.aside(ctx, createTime+removeGrace, s.id, func(ctx context.Context) (err error) {
		defer s.give()
		done, err := p.life.enter(ctx, false)
		if err != nil {
			return err
		}
		defer func() { done(err) }()
		if err := s.client.Err(); errors.Is(err, guest.ErrStuck) || errors.Is(err, guest.ErrTampered) {
			return remove(ctx, p.cli, s.id) // who does not listen does not go either
		}
		within, stop := context.WithTimeout(ctx, removeGrace)
		defer stop()
		gone, failed := p.cli.ContainerWait(within, s.id, container.WaitConditionRemoved)
		select {
		case end := <-gone:
			if end.Error == nil {
				return nil
			}
		case err := <-failed:
			if cerrdefs.IsNotFound(err) {
				return nil
			}
		case <-within.Done():
		}
		return remove(ctx, p.cli, s.id)
	})
}

// mourn finds out why the box died, and sees to its remains.
func (s *Session) mourn(ctx context.Context) error {
	s.dead.Do(func() {
		s.why = s.postMortem(context.WithoutCancel(ctx))
		s.release(ctx)
	})
	return s.why
}

// lastWords is the end of what the guest said on its standard error.
func (s *stream) lastWords() string {
	return strings.ToValidUTF8(guestbox.Tame(strings.TrimSpace(string(s.last.bytes()))), "")
}
