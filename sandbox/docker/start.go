package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guest"
	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// errNoGuest: the container came up without a guest that can run. Its volume is
// missing, or was filled half.
var errNoGuest = errors.New("the container has no guest")

// start makes one container into a box: create, attach, start, greet, verify.
// A box that is not handed out is removed.
func (p *Provider) start(ctx context.Context, b plan, g guestFile) (_ *Session, err error) {
	done, err := p.life.enter(ctx, b.ahead != nil)
	if err != nil {
		return nil, err
	}
	defer func() { done(err) }()
	if b.ahead != nil {
		b.ahead()
	}
	id, warnings, err := p.create(ctx, b)
	if err != nil {
		return nil, err
	}
	settled := make(chan struct{}) // the engine is done with starting it
	defer func() {
		if err != nil {
			b.removals.Add(1)
			p.discardAfter(ctx, id, settled, b.removals.Done)
		}
	}()
	st, err := p.run(ctx, id, settled)
	if err != nil {
		return nil, err
	}
	within, stop := context.WithTimeout(ctx, greetTime)
	defer stop()
	c, facts, err := guest.Connect(within, st, guest.Config{})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// A guest that does not speak is a guest that is not whole, the first time.
		return nil, fmt.Errorf("%w: %w", errNoGuest, &sandbox.BoxError{Kind: sandbox.Engine, Detail: st.lastWords(), Err: err})
	}
	if facts.GuestBytes != g.size {
		_ = c.Close()
		return nil, fmt.Errorf("%w: %w", errNoGuest, &sandbox.BoxError{Kind: sandbox.Engine, Detail: "the guest's file is not whole"})
	}
	if wrong := b.verify(facts, g.size); wrong != "" {
		_ = c.Close()
		return nil, &sandbox.BoxError{Kind: sandbox.Engine, Detail: strings.Join(warnings, "; "), Err: fmt.Errorf("the engine did not keep to what a box must be: %s", wrong)}
	}
	if err := b.runs(within, c); err != nil {
		_ = c.Close()
		return nil, p.engineError(ctx, err)
	}
	s := &Session{p: p, id: id, client: c, stream: st}
	s.Calls = guestbox.New(c, b.limits, s.mourn)
	return s, nil
}

// runs sees that programs of an image for another machine run here, emulated:
// else they would all fail, as if it were the agent's fault.
func (b plan) runs(ctx context.Context, c *guest.Client) error {
	if !b.image.foreign {
		return nil
	}
	r, err := c.Exec(ctx, guest.Command{Argv: []string{"/bin/sh", "-c", ":"}, Dir: "/"})
	if err != nil {
		return err
	}
	if strings.Contains(r.StartError, syscall.ENOEXEC.Error()) {
		return &sandbox.BoxError{Kind: sandbox.Image, Err: fmt.Errorf("%s, and they do not; name an image for this machine", b.image.note)}
	}
	return nil
}

// run attaches to a created container and starts it. Some engines attach to
// nothing but what runs already; that is no loss, because a guest says nothing
// before it is greeted.
func (p *Provider) run(ctx context.Context, id string, settled chan<- struct{}) (st *stream, err error) {
	defer func() {
		if err != nil && st != nil {
			_ = st.Close()
		}
	}()
	attachNow := func() (*stream, error) {
		within, stop := context.WithTimeout(ctx, callTime)
		defer stop()
		return attach(within, p.cli, id)
	}
	st, early := attachNow()
	if ctx.Err() != nil {
		close(settled)
		return st, ctx.Err()
	}
	if err := p.startContainer(ctx, id, settled); err != nil {
		// Podman may remove a container that cannot run before it says why.
		gone := cerrdefs.IsNotFound(err) || strings.Contains(err.Error(), "no such container")
		if ctx.Err() == nil && (gone || strings.Contains(err.Error(), guestPath)) {
			return st, fmt.Errorf("%w: %w", errNoGuest, p.engineError(ctx, err))
		}
		return st, p.engineError(ctx, fmt.Errorf("start the container: %w", err))
	}
	if early != nil {
		if st, err = attachNow(); err != nil {
			return nil, p.engineError(ctx, fmt.Errorf("attach to the container: %w", errors.Join(early, err)))
		}
	}
	return st, nil
}

// startContainer starts it, and closes settled when the engine has answered:
// it goes on with a start that is given up here, and must not be told to remove
// the container meanwhile.
func (p *Provider) startContainer(ctx context.Context, id string, settled chan<- struct{}) error {
	answer := make(chan error, 1)
	detached := context.WithoutCancel(ctx)
	p.background.Go(func() {
		defer close(settled)
		within, stop := context.WithTimeout(detached, startTime)
		defer stop()
		answer <- p.cli.ContainerStart(within, id, container.StartOptions{})
	})
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// create creates the container. The engine goes on with a create that is given
// up here, so the call outlives ctx, and what comes of it then is removed.
func (p *Provider) create(ctx context.Context, b plan) (id string, warnings []string, err error) {
	type created struct {
		id       string
		warnings []string
		err      error
	}
	answer := make(chan created, 1)
	detached, name := context.WithoutCancel(ctx), p.name(b)
	p.background.Go(func() {
		var c created
		c.id, c.warnings, c.err = p.createNamed(detached, b, name)
		answer <- c
	})
	select {
	case c := <-answer:
		return c.id, c.warnings, c.err
	case <-ctx.Done():
		b.removals.Add(1)
		p.aside(ctx, 3*createTime, name, func(ctx context.Context) error {
			defer b.removals.Done()
			if c := <-answer; c.err == nil {
				return p.removeInTurn(ctx, c.id)
			}
			return nil
		})
		return "", nil, ctx.Err()
	}
}

// createNamed creates the container under a name. When no answer comes it may
// have been created all the same, so it is asked for once more under the same
// name, and the one that is there is taken.
func (p *Provider) createNamed(ctx context.Context, b plan, name string) (id string, warnings []string, err error) {
	id, warnings, err = p.createOnce(ctx, b, name)
	if unanswered(err) {
		id, warnings, err = p.createOnce(ctx, b, name)
	}
	switch {
	case err == nil:
		return id, warnings, nil
	case unanswered(err):
		b.removals.Add(1)
		p.discard(ctx, name, b.removals.Done)
	case cerrdefs.IsNotFound(err):
		p.forgetImage(ctx)
		return "", nil, &sandbox.BoxError{Kind: sandbox.Image, Err: fmt.Errorf("the image %q has gone: %w", b.image.ref, err)}
	}
	return "", nil, p.engineError(ctx, fmt.Errorf("create the container: %w", err))
}

func (p *Provider) createOnce(ctx context.Context, b plan, name string) (string, []string, error) {
	within, stop := context.WithTimeout(ctx, createTime)
	defer stop()
	config, host := b.config()
	resp, err := p.cli.ContainerCreate(within, config, host, nil, nil, name)
	if err == nil {
		return resp.ID, resp.Warnings, nil
	}
	if !cerrdefs.IsConflict(err) {
		return "", nil, err
	}
	there, ierr := p.cli.ContainerInspect(within, name)
	if ierr != nil || there.Config == nil || there.State == nil {
		return "", nil, err
	}
	if !p.o.owner().Has(there.Config.Labels) || there.State.Status != container.StateCreated {
		return "", nil, fmt.Errorf("the name %s is another's: %w", name, err)
	}
	return there.ID, nil, nil
}

// unanswered tells whether a call may have happened although it failed.
func unanswered(err error) bool {
	if client.IsErrConnectionFailed(err) {
		return true
	}
	return slices.ContainsFunc([]error{context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}, func(target error) bool {
		return errors.Is(err, target)
	})
}

func (p *Provider) forgetImage(ctx context.Context) {
	select {
	case p.imageTurn <- struct{}{}:
		clear(p.resolved)
		<-p.imageTurn
	case <-ctx.Done():
	}
}

// discard removes a container that is not wanted, in the background, and calls
// over when that is done or has failed.
func (p *Provider) discard(ctx context.Context, id string, over func()) {
	p.aside(ctx, createTime, id, func(ctx context.Context) error {
		defer over()
		return p.removeInTurn(ctx, id)
	})
}

// discardAfter is discard of a container that the engine may be starting.
func (p *Provider) discardAfter(ctx context.Context, id string, settled <-chan struct{}, over func()) {
	p.aside(ctx, startTime+createTime, id, func(ctx context.Context) error {
		defer over()
		<-settled
		return p.removeInTurn(ctx, id)
	})
}

func (p *Provider) removeInTurn(ctx context.Context, id string) error {
	done, err := p.life.enter(ctx, false)
	if err != nil {
		return err
	}
	err = remove(ctx, p.cli, id)
	if err != nil {
		done(errGivenUp) // no start should have to wait for what a removal saw
		return err
	}
	done(nil)
	return nil
}

// removeTries is how often a removal is tried. Engines fail at it when they are
// busy with the same container, and succeed a moment later.
const removeTries = 6

// remove removes a container and its anonymous volumes, running or not. One
// that is gone is removed; one that is going is waited for.
func remove(ctx context.Context, cli *client.Client, id string) error {
	var err error
	wait := 20 * time.Millisecond
	for range removeTries {
		err = cli.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err == nil || cerrdefs.IsNotFound(err) {
			return nil
		}
		if client.IsErrConnectionFailed(err) || ctx.Err() != nil {
			break
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait *= 3
	}
	return fmt.Errorf("remove the container %.12s: %w", id, err)
}
