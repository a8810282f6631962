package e2b

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// The labels of every machine that is made here.
const (
	labelKind    = "dev.agentclash.kind"    // always kindBox
	labelOpening = "dev.agentclash.opening" // one call of Open

	kindBox = "sandbox"
)

const (
	defaultLifetime = 2 * time.Hour
	// removeTime bounds a removal that nobody waits for but Close.
	removeTime = 2 * time.Minute
)

// Provider opens boxes as machines of E2B's. It implements [sandbox.Provider].
type Provider struct {
	o   Options
	api *api

	packed func() ([]byte, int64, error) // the guest, compressed, and its size

	background sync.WaitGroup // calls that open, and removals

	mu     sync.Mutex
	boxes  map[*Session]bool
	closed bool
	left   map[string]bool // machines whose removal failed
	lost   map[string]bool // openings that may have made a machine nobody has seen

	closing chan struct{} // closed with the first Close
}

var _ sandbox.Provider = (*Provider)(nil)

// New returns a provider. It asks nobody anything; options that cannot work are
// refused, all of them at once. Without a key the error is [sandbox.ErrKey].
func New(o Options) (*Provider, error) {
	o, err := o.settled(true)
	if err != nil {
		return nil, err
	}
	return &Provider{
		o: o, api: newAPI(o), packed: packing(o.Guest),
		boxes: map[*Session]bool{}, left: map[string]bool{}, lost: map[string]bool{}, closing: make(chan struct{}),
	}, nil
}

// packing compresses the guest once, when the first box needs it.
func packing(guest func(arch string) ([]byte, error)) func() ([]byte, int64, error) {
	var mu sync.Mutex
	var packed []byte
	var size int64
	return func() ([]byte, int64, error) {
		mu.Lock()
		defer mu.Unlock()
		if packed != nil {
			return packed, size, nil
		}
		if guest == nil {
			return nil, 0, errors.New("no guest executable was given")
		}
		b, err := guest("amd64")
		if err != nil {
			return nil, 0, fmt.Errorf("get the guest for amd64: %w", err)
		}
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		if _, err := w.Write(b); err != nil {
			return nil, 0, err
		}
		if err := w.Close(); err != nil {
			return nil, 0, err
		}
		packed, size = z.Bytes(), int64(len(b))
		return packed, size, nil
	}
}

// note is what E2B does not do, for the user.
const note = "E2B sets neither memory nor processors for a sandbox: both are the template's"

// Describe asks E2B whether it takes the key, and refuses what its machines
// cannot be. Whether they can keep programs to directories only one of them
// knows, so that one is made where it matters.
func (p *Provider) Describe(ctx context.Context, spec sandbox.Spec) (sandbox.Description, error) {
	leave, err := p.enter()
	if err != nil {
		return sandbox.Description{}, err
	}
	defer leave()
	if _, err := p.plan(spec); err != nil {
		return sandbox.Description{}, err
	}
	if _, _, err := p.api.page(ctx, map[string][]string{"limit": {"1"}}); err != nil {
		return sandbox.Description{}, fmt.Errorf("ask E2B: %w", boxError(ctx, err))
	}
	if spec.Roots.Narrow() {
		if err := p.try(ctx, spec); err != nil {
			return sandbox.Description{}, err
		}
	}
	return sandbox.Description{Kind: "e2b", Engine: p.o.BaseURL, Image: p.o.Template, Note: note}, nil
}

// try sees that a box can be bound as a spec's are to be.
func (p *Provider) try(ctx context.Context, spec sandbox.Spec) error {
	s, err := p.open(ctx, sandbox.Spec{Limits: spec.Limits, Lifetime: time.Minute})
	if err != nil {
		return fmt.Errorf("try a sandbox: %w", err)
	}
	defer s.end(ctx)
	_, err = s.Bind(ctx, spec.Roots)
	if errors.Is(err, sandbox.ErrUnbound) {
		return fmt.Errorf("%w: %w", sandbox.ErrSpec, err)
	}
	return err
}

// Open makes a machine, has the guest make the box in it, and checks that from
// inside. Its errors are BoxErrors, those of the context, and refusals of a spec
// that cannot be.
func (p *Provider) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Session, error) {
	s, err := p.open(ctx, spec)
	if err != nil {
		return nil, err
	}
	return s, nil // never a nil *Session in the interface
}

func (p *Provider) open(ctx context.Context, spec sandbox.Spec) (*Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	leave, err := p.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	b, err := p.plan(spec)
	if err != nil {
		return nil, err
	}
	guest, size, err := p.packed()
	if err != nil {
		return nil, &sandbox.BoxError{Kind: sandbox.Engine, Err: err}
	}
	m, err := p.make(ctx, b)
	if err != nil {
		return nil, err
	}
	s, err := p.enclose(ctx, m, b, guest, size)
	if err != nil {
		p.discard(ctx, m.SandboxID)
		return nil, boxError(ctx, err)
	}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.boxes[s] = true
	}
	p.mu.Unlock()
	if closed {
		s.end(ctx)
		return nil, sandbox.ErrClosed
	}
	return s, nil
}

// make makes the machine. When it is not known whether one was made, what
// carries this opening's label is looked for and removed.
func (p *Provider) make(ctx context.Context, b plan) (machine, error) {
	m, err := p.api.create(ctx, newSandbox{
		TemplateID: p.o.Template, Timeout: seconds(b.lease(p.o.Now(), p.o.Lease)), Metadata: b.labels, Secure: true,
	})
	if err == nil {
		return m, nil
	}
	switch statusOf(err) {
	case http.StatusNotFound:
		return m, &sandbox.BoxError{Kind: sandbox.Image, Err: fmt.Errorf("E2B has no such template for this key: %w", err)}
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
	default:
		p.discardOpening(ctx, b.labels[labelOpening])
	}
	return m, boxError(ctx, err)
}

// A machine whose making got no answer may be in no list yet: it is looked for
// again after each of these.
var lateMachine = []time.Duration{0, 2 * time.Second, 8 * time.Second}

// discardOpening removes what came of an opening, in the background. Close ends
// the waits; it looks a last time itself.
func (p *Provider) discardOpening(ctx context.Context, opening string) {
	p.mu.Lock()
	p.lost[opening] = true
	p.mu.Unlock()
	p.background.Go(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer stop()
		for _, wait := range lateMachine {
			select {
			case <-time.After(wait):
			case <-p.closing:
				return
			}
			if n, err := p.removeOpening(ctx, opening); err == nil && n > 0 {
				p.mu.Lock()
				delete(p.lost, opening)
				p.mu.Unlock()
				return
			}
		}
	})
}

// removeOpening removes the machines of an opening there are, and counts them.
func (p *Provider) removeOpening(ctx context.Context, opening string) (n int, err error) {
	all, err := p.api.list(ctx, map[string]string{labelOpening: opening})
	for _, l := range all {
		if l.Metadata[labelOpening] == opening {
			n++
			err = errors.Join(err, p.api.kill(ctx, l.SandboxID))
		}
	}
	return n, err
}

// plan is one box to be.
type plan struct {
	spec   sandbox.Spec
	env    map[string]string
	labels map[string]string
	ends   time.Time // of its lifetime
	user   int
}

func (p *Provider) plan(spec sandbox.Spec) (plan, error) {
	d := sandbox.DefaultLimits()
	if spec.Limits.PIDs == 0 {
		spec.Limits.PIDs = d.PIDs
	}
	if spec.Limits.OpenFiles == 0 {
		spec.Limits.OpenFiles = d.OpenFiles
	}
	if err := errLimits(spec.Limits); err != nil {
		return plan{}, err
	}
	if len(spec.Packages) > 0 {
		return plan{}, fmt.Errorf("%w: E2B installs no packages: make a template that has %s, and name it in sandbox_template_id", sandbox.ErrSpec, strings.Join(spec.Packages, ", "))
	}
	if spec.Lifetime <= 0 {
		spec.Lifetime = defaultLifetime
	}
	env := map[string]string{"HOME": sandbox.Workspace + "/.home", "TZ": "UTC", "TMPDIR": "/tmp"}
	if spec.Network != nil {
		maps.Copy(env, sandbox.ProxyVariables(cmp.Or(spec.NetworkPort, sandbox.ProxyPort)))
	}
	if err := guestbox.CheckEnv(spec.Env); err != nil {
		return plan{}, err
	}
	maps.Copy(env, spec.Env)
	ends := p.o.Now().Add(spec.Lifetime)
	labels := p.o.owner().Labels(ends)
	labels[labelKind], labels[labelOpening] = kindBox, rand.Text()
	for key, v := range guestbox.TrialLabels(spec.Labels) {
		if v != "" {
			labels[key] = v
		}
	}
	return plan{spec: spec, env: env, labels: labels, ends: ends, user: boxUser()}, nil
}

func (b plan) port() int { return cmp.Or(b.spec.NetworkPort, sandbox.ProxyPort) }

// lease is how long the machine may live from now on: no longer than it must,
// and a little longer than its guest.
func (b plan) lease(now time.Time, lease time.Duration) time.Duration {
	return max(min(lease, b.ends.Sub(now)+time.Minute), time.Second)
}

// enter begins what Close must wait for.
func (p *Provider) enter() (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, sandbox.ErrClosed
	}
	p.background.Add(1)
	return p.background.Done, nil
}

// Close ends every box and waits until E2B has removed their machines, for as
// long as ctx lasts. It may be called twice. Machines it could not see to are
// its error; they end with their lease.
func (p *Provider) Close(ctx context.Context) error {
	p.mu.Lock()
	if !p.closed {
		close(p.closing)
	}
	p.closed = true
	open := slices.Collect(maps.Keys(p.boxes))
	p.mu.Unlock()
	for _, s := range open {
		s.end(ctx)
	}
	gone := make(chan struct{})
	go func() {
		p.background.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
		return fmt.Errorf("wait until the sandboxes are removed: %w", context.Cause(ctx))
	}
	p.mu.Lock()
	left := slices.Collect(maps.Keys(p.left))
	clear(p.left)
	lost := slices.Collect(maps.Keys(p.lost))
	clear(p.lost)
	p.mu.Unlock()
	var failed []error
	for _, opening := range lost { // it may have come by now
		_, err := p.removeOpening(ctx, opening)
		failed = append(failed, err)
	}
	for _, id := range left { // what did not work then may work now
		failed = append(failed, p.api.kill(ctx, id))
	}
	p.api.http.CloseIdleConnections()
	return errors.Join(failed...)
}

// discard removes a machine that is not wanted, in the background, which
// nobody waits for but Close. It outlives ctx.
func (p *Provider) discard(ctx context.Context, id string) {
	p.background.Go(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer stop()
		if p.api.kill(ctx, id) != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.left[id] = true
		}
	})
}
