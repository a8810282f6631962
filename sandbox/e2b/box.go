package e2b

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guest"
	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// Where the guest is in every machine.
const (
	guestDir    = "/.agentclash"
	guestPacked = guestDir + "/guest.gz"
)

// starter unpacks the guest and becomes it. These are all the programs that a
// template must have.
const starter = `for p in gzip chmod; do
	command -v "$p" >/dev/null || { echo "the template has no $p: it must have /bin/sh, gzip and chmod" >&2; exit 127; }
done
gzip -dc "$1.gz" > "$1" && chmod 755 "$1" && exec "$@"`

// boxUser is the user and group of a new box: nobody that a template knows. The
// limit on processes counts a user's, so no two boxes have the same.
func boxUser() int { return 1<<20 + rand.IntN(1<<29) }

// greetTime is how long a machine may take to unpack and start the guest.
const greetTime = time.Minute

// Session is one machine. It implements [sandbox.Session].
type Session struct {
	*guestbox.Calls

	p      *Provider
	id     string
	plan   plan
	client *guest.Client
	stream *stream

	ending sync.Once
	quit   context.CancelFunc // ends the renewals

	dead sync.Once
	why  error // of a box that died by itself; set by dead
}

var _ sandbox.Session = (*Session)(nil)

// enclose puts the guest into a machine, starts it, has it make the box, and
// compares that with what was ordered.
func (p *Provider) enclose(ctx context.Context, m machine, b plan, packed []byte, size int64) (*Session, error) {
	e := p.api.envd(m)
	if err := e.upload(ctx, guestPacked, packed); err != nil {
		return nil, fmt.Errorf("the sandbox %s: %w", m.SandboxID, err)
	}
	st, err := e.open(ctx, startRequest{
		Process: processConfig{
			Cmd: "/bin/sh", Args: []string{"-c", starter, "sh", strings.TrimSuffix(guestPacked, ".gz"), guest.Subcommand, guest.EncloseFlag}, Cwd: "/",
		},
		Stdin: true,
	})
	if err != nil {
		var refused *streamError
		if errors.As(err, &refused) {
			return nil, &sandbox.BoxError{Kind: sandbox.Image, Detail: "a template must have /bin/sh, gzip and chmod", Err: err}
		}
		return nil, fmt.Errorf("the sandbox %s: %w", m.SandboxID, err)
	}
	c, err := p.greet(ctx, st, b, size)
	if err != nil {
		return nil, err
	}
	s := &Session{p: p, id: m.SandboxID, plan: b, client: c, stream: st}
	s.Calls = guestbox.New(c, b.spec.Limits, s.mourn)
	life, quit := context.WithCancel(context.WithoutCancel(ctx))
	s.quit = quit
	go s.renew(life)
	return s, nil
}

func (p *Provider) greet(ctx context.Context, st *stream, b plan, size int64) (*guest.Client, error) {
	within, stop := context.WithTimeout(ctx, greetTime)
	defer stop()
	l := b.spec.Limits
	box := guest.Enclosure{
		Env: b.env, Workspace: sandbox.Workspace, WorkspaceBytes: l.WorkspaceBytes, PIDs: l.PIDs, OpenFiles: l.OpenFiles, FileBytes: l.FileBytes,
		ID: b.user, Lifetime: b.spec.Lifetime,
	}
	if err := box.Send(st); err != nil {
		_ = st.Close()
		return nil, err
	}
	c, facts, err := guest.Connect(within, st, guest.Config{})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, unmade(st, err)
	}
	if wrong := verify(facts, size, b.user); wrong != "" {
		_ = c.Close()
		return nil, &sandbox.BoxError{Kind: sandbox.Engine, Err: fmt.Errorf("the machine did not become what a box must be: %s", wrong)}
	}
	if b.spec.Network != nil {
		if _, err := c.Proxy(within, b.port(), b.spec.Network); err != nil {
			_ = c.Close()
			return nil, &sandbox.BoxError{Kind: sandbox.Engine, Detail: st.lastWords(), Err: err}
		}
	}
	return c, nil
}

// unmade is the error of a machine whose guest did not come up. Where it said
// why and ended, the template is the reason.
func unmade(st *stream, err error) error {
	e := &sandbox.BoxError{Kind: sandbox.Engine, Detail: st.lastWords(), Err: err}
	if code, ok := st.exit(); ok {
		e.Kind = sandbox.Image
		e.Detail = strings.TrimSpace(fmt.Sprintf("the template cannot become a sandbox (docs/sandboxes.md says what it must have): exit status %d %s", code, e.Detail))
	}
	if sent := st.sendError(); sent != nil {
		e.Kind, e.Err = sandbox.Engine, errors.Join(err, sent)
	}
	return e
}

// verify says what differs between what the guest found around it and what was
// ordered; "" for nothing.
func verify(f guest.Facts, size int64, user int) string {
	d := guestbox.Check(f, size)
	d.Want(f.UID == user && f.GID == user, "its user is %d:%d, not %d", f.UID, f.GID, user)
	return d.String()
}

// ID is the machine's id, as E2B shows it.
func (s *Session) ID() string { return s.id }

// Bind keeps an agent to roots; see [sandbox.Binder].
func (s *Session) Bind(ctx context.Context, roots sandbox.Roots) (sandbox.Session, error) {
	return s.Calls.Bind(ctx, s, roots)
}

// Close ends the box. That its machine goes too is seen to in the background,
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

// release closes the stream and removes the machine.
func (s *Session) release(ctx context.Context) {
	s.ending.Do(func() {
		s.quit()
		_ = s.client.Close()
		s.p.discard(ctx, s.id)
		s.p.mu.Lock()
		defer s.p.mu.Unlock()
		delete(s.p.boxes, s)
	})
}

// renew keeps the machine alive while its owner is. One that E2B no longer has
// is lost at once, and one that cannot be renewed has the rest of its lease.
func (s *Session) renew(ctx context.Context) {
	t := time.NewTicker(s.p.o.Lease / 3)
	defer t.Stop()
	for {
		select {
		case <-s.client.Done():
			return
		case <-t.C:
		}
		within, stop := context.WithTimeout(ctx, s.p.o.Lease/3)
		err := s.p.api.keep(within, s.id, s.plan.lease(s.p.o.Now(), s.p.o.Lease))
		stop()
		if statusOf(err) == http.StatusNotFound {
			s.client.Fail(fmt.Errorf("%w: %w", guest.ErrLost, err))
			return
		}
	}
}

// mourn finds out why the box died, and sees to its remains.
func (s *Session) mourn(ctx context.Context) error {
	s.dead.Do(func() {
		s.why = s.postMortem(context.WithoutCancel(ctx))
		s.release(ctx)
	})
	return s.why
}

// evidenceTime bounds the question what became of a machine.
const evidenceTime = 5 * time.Second

// postMortem says what a box that is gone died of. What it cannot explain is
// lost, and lost is nobody's fault but ours.
func (s *Session) postMortem(ctx context.Context) error {
	cause, words := s.client.Err(), s.stream.lastWords()
	if errors.Is(cause, guest.ErrTampered) {
		return &sandbox.BoxError{Kind: sandbox.Tampered, Detail: words, Err: cause}
	}
	e := &sandbox.BoxError{Kind: sandbox.Lost, Err: errors.Join(cause, s.stream.sendError())}
	var parts []string
	if code, ok := s.stream.exit(); ok {
		parts = append(parts, fmt.Sprintf("exit status %d", code))
		switch {
		case code == 137 && (s.Starved() || strings.Contains(words, guest.NoMemory)):
			e.Kind, e.Limit = sandbox.Limit, "memory"
		case code == 2 && strings.Contains(words, "out of memory"):
			e.Kind, e.Limit = sandbox.Limit, "memory"
		case code == 2 && strings.Contains(words, "create new OS thread"):
			e.Kind, e.Limit = sandbox.Limit, "pids"
		}
	} else {
		ctx, stop := context.WithTimeout(ctx, evidenceTime)
		defer stop()
		switch there, err := s.p.api.there(ctx, s.id); {
		case err != nil:
			e.Kind = sandbox.Engine
			e.Err = errors.Join(e.Err, boxError(ctx, err))
		case there:
			parts = append(parts, "its machine still ran, and was removed")
		default:
			parts = append(parts, "E2B has ended its machine")
		}
	}
	if words != "" {
		parts = append(parts, fmt.Sprintf("last words %q", words))
	}
	e.Detail = strings.Join(parts, ", ")
	return e
}
