package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/client"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// Provider opens boxes on one engine. It implements [sandbox.Provider].
type Provider struct {
	o      Options
	cli    *client.Client
	engine Engine

	life   *gate   // whom the engine works for
	memory *memory // whom it has memory for

	tag string       // tells the names of this provider's containers from others'
	seq atomic.Int64 // and these from each other

	imageTurn chan struct{}    // guards resolved, by turns that can be given up
	resolved  map[string]image // by the packages over it, "" for none
	guests    guests
	proof     chan struct{} // guards proven likewise
	proven    bool          // a box has come up with the guest's volume

	lowDisk    sync.Once      // it has been said
	background sync.WaitGroup // calls that open, and removals

	mu     sync.Mutex
	boxes  map[*Session]bool
	warm   []*warmBox // started and not opened, the oldest first
	closed bool
	left   map[string]bool // containers whose removal failed

	returning int64 // bytes of memory of warm boxes that end unopened
}

var _ sandbox.Provider = (*Provider)(nil)

// Open connects to the engine. It looks at no image and makes nothing. When no
// engine answers the error wraps [sandbox.ErrUnavailable].
func Open(ctx context.Context, o Options) (*Provider, error) {
	cli, at, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	e, err := describe(ctx, cli, at)
	if err != nil {
		_ = cli.Close()
		return nil, err
	}
	p := &Provider{
		o: o, cli: cli, engine: e, tag: rand.Text()[:8], life: newGate(2 * max(e.CPUs, 1)),
		imageTurn: make(chan struct{}, 1), proof: make(chan struct{}, 1),
		resolved: map[string]image{}, boxes: map[*Session]bool{}, left: map[string]bool{},
	}
	p.memory = p.newMemory()
	return p, nil
}

// Engine describes the engine this provider talks to.
func (p *Provider) Engine() Engine { return p.engine }

// Describe resolves the image, which may mean to pull it and to install packages
// over it. An engine whose disk is full is refused, as far as that can be seen
// from here.
func (p *Provider) Describe(ctx context.Context, spec sandbox.Spec) (sandbox.Description, error) {
	leave, err := p.enter()
	if err != nil {
		return sandbox.Description{}, err
	}
	defer leave()
	if err := p.checkDisk(); err != nil {
		return sandbox.Description{}, err
	}
	if p.o.Guest != nil { // one that cannot run in a container is told before any is made
		if _, err := p.guest(); err != nil {
			return sandbox.Description{}, err
		}
	}
	img, err := p.image(ctx, spec.Packages)
	if box, ok := errors.AsType[*sandbox.BoxError](err); ok && box.Kind == sandbox.Image {
		return sandbox.Description{}, err // it says that it is about the image
	}
	if err != nil {
		return sandbox.Description{}, fmt.Errorf("find the sandbox image: %w", err)
	}
	if err := p.try(ctx, spec, img); err != nil {
		return sandbox.Description{}, err
	}
	return sandbox.Description{
		Kind:   "docker",
		Engine: fmt.Sprintf("%s %s (API %s, %s)", p.engine.Name, p.engine.Version, p.engine.API, p.engine.Arch),
		Image:  img.ref, ImageID: img.id, Packages: img.packages, Note: strings.Join(slices.DeleteFunc([]string{img.note, p.fewerCPUs(spec.Limits)}, func(s string) bool { return s == "" }), "; "),
	}, nil
}

// fewerCPUs says that boxes have fewer processors than were asked for, "" when
// they do not: it makes them slower and nothing else, so it is no refusal.
func (p *Provider) fewerCPUs(l sandbox.Limits) string {
	if have := int64(p.engine.CPUs); have > 0 && l.NanoCPUs > have*1e9 {
		return fmt.Sprintf("sandboxes have the %d processors of the engine's machine, not the %g that were asked for", have, float64(l.NanoCPUs)/1e9)
	}
	return ""
}

// try sees that there can be boxes of a spec. What only the engine's machine
// knows, it finds out with a box.
func (p *Provider) try(ctx context.Context, spec sandbox.Spec, img image) error {
	limits, _, err := settle(spec.Limits, len(img.volumes))
	if err != nil {
		return err
	}
	if err := p.memory.fits(limits.MemoryBytes); err != nil {
		return err
	}
	if limits.OpenFiles <= sandbox.DefaultLimits().OpenFiles && !spec.Roots.Narrow() {
		return nil
	}
	s, err := p.open(ctx, sandbox.Spec{Limits: spec.Limits, Packages: spec.Packages, Lifetime: time.Minute})
	if err == nil {
		defer s.end(ctx)
		_, err = s.Bind(ctx, spec.Roots)
	}
	if errors.Is(err, sandbox.ErrUnbound) {
		return fmt.Errorf("%w: %w", sandbox.ErrSpec, err)
	}
	if err != nil && strings.Contains(err.Error(), "setting rlimit") {
		return fmt.Errorf("%w: the engine permits fewer than %d open files: %w", sandbox.ErrSpec, limits.OpenFiles, err)
	}
	return err
}

// Open hands out a box that was started for this spec, or starts one and checks
// it from inside. It waits for memory where there is none. Its errors are
// BoxErrors, those of the context, and refusals of a spec that cannot be; who opens
// says so.
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
	s, err := p.warmed(ctx, spec)
	if err == nil && s == nil {
		s, err = p.openCold(ctx, spec)
	}
	if err != nil {
		return nil, err
	}
	if spec.Network == nil {
		return s, nil
	}
	within, stop := context.WithTimeout(ctx, greetTime)
	defer stop()
	if _, err := s.client.Proxy(within, cmp.Or(spec.NetworkPort, sandbox.ProxyPort), spec.Network); err != nil {
		s.end(ctx)
		return nil, p.engineError(ctx, &sandbox.BoxError{Kind: sandbox.Engine, Detail: s.stream.lastWords(), Err: err})
	}
	return s, nil
}

// openTries is how often a box is started that an unwell engine does not start.
// One that cannot be connected to is waited for.
const openTries = 3

func (p *Provider) openCold(ctx context.Context, spec sandbox.Spec) (*Session, error) {
	b, g, err := p.prepare(ctx, spec)
	if err != nil {
		return nil, err
	}
	give, err := p.memory.take(ctx, b.limits.MemoryBytes)
	if err != nil {
		return nil, err
	}
	s, err := p.startWithGuest(ctx, b, g)
	for tries := 1; unwell(err) && ctx.Err() == nil; tries++ {
		if away := client.IsErrConnectionFailed(err); away && p.life.absent() || !away && tries >= openTries {
			break
		}
		s, err = p.startWithGuest(ctx, b, g) // the gate has made a pause
	}
	if err != nil {
		p.giveAfter(b.removals, give)
		return nil, err
	}
	s.give = give
	if err := p.keep(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// giveAfter gives memory back when the containers that it was taken for are
// gone: until then the engine has promised it to them.
func (p *Provider) giveAfter(removals *sync.WaitGroup, give func()) {
	p.background.Go(func() {
		removals.Wait()
		give()
	})
}

// prepare finds out what a box is made of.
func (p *Provider) prepare(ctx context.Context, spec sandbox.Spec) (plan, guestFile, error) {
	img, err := p.image(ctx, spec.Packages)
	if err != nil {
		return plan{}, guestFile{}, err
	}
	g, err := p.guest()
	if err != nil {
		return plan{}, guestFile{}, &sandbox.BoxError{Kind: sandbox.Engine, Err: err}
	}
	b, err := p.plan(spec, img, g)
	return b, g, err
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

// keep takes a box into the provider's care, unless that is closed by now.
func (p *Provider) keep(ctx context.Context, s *Session) error {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.boxes[s] = true
	}
	p.mu.Unlock()
	if closed {
		s.end(ctx)
		return sandbox.ErrClosed
	}
	return nil
}

// deliveries is how often a guest is delivered before its box is given up.
const deliveries = 3

// startWithGuest starts a box in the belief that the engine has the guest, and
// delivers it where that proves wrong. Until one box has come up the others
// wait for it, so that a guest that is missing is delivered once.
func (p *Provider) startWithGuest(ctx context.Context, b plan, g guestFile) (*Session, error) {
	turn := func() error {
		select {
		case p.proof <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := turn(); err != nil {
		return nil, err
	}
	if p.proven {
		<-p.proof
		s, err := p.start(ctx, b, g)
		if !errors.Is(err, errNoGuest) {
			return s, err
		}
		if err := turn(); err != nil {
			return nil, err
		}
	}
	defer func() { <-p.proof }()
	s, err := p.start(ctx, b, g)
	// More than once: another process may be delivering over what was delivered.
	for tries := 0; errors.Is(err, errNoGuest) && tries < deliveries; tries++ {
		if err := p.deliver(ctx, b.image, g); err != nil {
			return nil, p.engineError(ctx, err)
		}
		s, err = p.start(ctx, b, g)
	}
	p.proven = p.proven || err == nil
	return s, err
}

// Close ends every box and waits until their containers are gone, for as long
// as ctx lasts. It may be called twice. Containers it could not see to are its
// error; they end by themselves, and Reap finds what does not.
func (p *Provider) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	open := slices.Collect(maps.Keys(p.boxes))
	p.mu.Unlock()
	p.coolAll()
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
		return fmt.Errorf("wait until the containers are gone: %w", context.Cause(ctx))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var failed []error
	for id := range p.left { // what did not work then may work now
		if err := remove(ctx, p.cli, id); err != nil {
			failed = append(failed, err)
			continue
		}
		delete(p.left, id)
	}
	return errors.Join(errors.Join(failed...), p.cli.Close())
}

// engineError is an error of the engine as a BoxError, unless it is only that
// the caller's context has ended.
func (p *Provider) engineError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*sandbox.BoxError](err); ok {
		return err
	}
	return &sandbox.BoxError{Kind: sandbox.Engine, Err: explainDisk(err)}
}

// name is a container's name: people read the run in it, and the rest makes it
// nobody else's, so that a create whose answer was lost is found again.
func (p *Provider) name(b plan) string {
	run := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, b.labels[guestbox.LabelRun])
	if len(run) > 8 {
		run = run[len(run)-8:]
	}
	return fmt.Sprintf("agentclash-%s-%s-%d", cmp.Or(run, "box"), strings.ToLower(p.tag), p.seq.Add(1))
}

// aside runs the removal of a container that nobody waits for but Close. It
// outlives ctx.
func (p *Provider) aside(ctx context.Context, limit time.Duration, id string, remove func(ctx context.Context) error) {
	p.background.Go(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer stop()
		if remove(ctx) != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.left[id] = true
		}
	})
}
