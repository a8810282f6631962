package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// How many calls one [Pace] lets be under way: at first, and at most.
const (
	FirstWindow = 8
	MaxWindow   = 256
)

// Prerecorded is a Client whose replies were made beforehand, from a script or
// a recording. No server stands behind it, so its calls are never paced.
type Prerecorded interface {
	Prerecorded()
}

// PaceKey is what a provider counts calls by, as far as one can tell from
// outside: its name, where it is reached, with which key (the reference, never
// the key itself) and for which model.
type PaceKey struct {
	Provider, BaseURL, Account, Model string
}

// Paces holds the paces of a run, which all that call models in it share. Its
// zero value is ready, and it is safe for concurrent use.
type Paces struct {
	Now func() time.Time // nil: time.Now
	// Changed is told how the calls with a key stand when that has changed: at the end
	// of one of them, by whoever made it, and at most once in [TellEvery] for each
	// key. Nil: nobody is told. It must be set before the first Of.
	Changed func(Standing)

	mu       sync.Mutex
	all      map[PaceKey]*Pace
	accounts map[PaceKey]*account // by keys without a model
}

// Of is the pace of a key, always the same. Most is how many calls of the key's
// account, whatever their model, may be under way at once; 0 says nothing about
// that, and of several the least holds.
func (p *Paces) Of(key PaceKey, most int) *Pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all, p.accounts = map[PaceKey]*Pace{}, map[PaceKey]*account{}
	}
	whose := key
	whose.Model = ""
	if p.accounts[whose] == nil {
		p.accounts[whose] = &account{}
	}
	if p.all[key] == nil {
		made := p.accounts[whose].pace(key.Provider, most, p.Now)
		made.key, made.tell = key, p.Changed
		p.all[key] = made
	}
	p.accounts[whose].bound(most)
	return p.all[key]
}

// account is what all calls with one key share, whatever model they ask.
type account struct {
	mu       sync.Mutex // of its paces as well
	most     int        // calls under way; 0: any
	underWay int
	tickets  int64 // handed out so far, to those who want to make a call
	paces    []*Pace
}

// bound lowers how many calls may be under way; 0 leaves it.
func (a *account) bound(most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if most > 0 && (a.most == 0 || most < a.most) {
		a.most = most
	}
}

// lets says whether the account has room for a call with that ticket: there is a
// place, and nobody who came before could take it. The lock is held.
func (a *account) lets(ticket int64) bool {
	if a.most == 0 {
		return true
	}
	for _, p := range a.paces {
		if p.open() && len(p.queue) > 0 && p.queue[0].ticket < ticket {
			return false
		}
	}
	return a.underWay < a.most
}

// callNext has the first of each queue look. The lock is held.
func (a *account) callNext() {
	for _, p := range a.paces {
		if len(p.queue) == 0 {
			continue
		}
		select {
		case p.queue[0].look <- struct{}{}:
		default: // it has been told already
		}
	}
}

// Pace decides how many calls with one key are under way at once. The window
// begins at [FirstWindow], grows by one after as many successes as it is wide,
// and halves when the provider says that there are too many: once for all calls
// that were under way by then, since these tell of the same moment. A time that
// the provider asks to be left alone holds every call of the key back. Who
// waits is let in in the order of coming. Beside that, the calls with one key have
// as many places as its account says, for all models together. A nil Pace holds nobody back.
type Pace struct {
	provider string // for errors
	now      func() time.Time
	most     int
	account  *account // whose lock guards what follows

	window    int
	underWay  int
	successes int       // since the window was last changed
	halvings  int       // so far
	until     time.Time // nobody is let in before
	why       *Error    // what asked for that

	key    PaceKey
	tell   func(Standing) // nil: nobody is told
	told   Standing       // last
	toldAt time.Time
	queue  []*turn
}

// turn is one that waits. It is told when it may have become the first, or a
// place may have become free.
type turn struct {
	look   chan struct{}
	ticket int64 // the order of coming, among all paces of the account
}

// pace is one more of the account, of a provider, whose window never passes most
// (0: [MaxWindow]). Now may be nil.
func (a *account) pace(provider string, most int, now func() time.Time) *Pace {
	if now == nil {
		now = time.Now
	}
	if most <= 0 || most > MaxWindow {
		most = MaxWindow
	}
	p := &Pace{provider: provider, now: now, most: most, account: a, window: min(FirstWindow, most)}
	p.told.Window = p.window
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paces = append(a.paces, p)
	return p
}

// Window is how many calls may be under way now.
func (p *Pace) Window() int {
	p.account.mu.Lock()
	defer p.account.mu.Unlock()
	return p.window
}

// pass is leave to make one call.
type pass struct {
	pace     *Pace
	halvings int // when it was given
}

// enter waits for leave to make a call, at most for the given time, and says
// how long it took. What would take longer is refused at once where that is
// known: with the provider's own error when it asked to be left alone. Sleep
// waits out what a provider asked for.
func (p *Pace) enter(ctx context.Context, most time.Duration, sleep func(context.Context, time.Duration) error) (pass, time.Duration, error) {
	if p == nil {
		return pass{}, 0, nil
	}
	p.account.mu.Lock()
	p.account.tickets++
	ticket := p.account.tickets
	if len(p.queue) == 0 && p.open() && p.account.lets(ticket) {
		defer p.account.mu.Unlock()
		return p.admit(), 0, nil
	}
	me := &turn{look: make(chan struct{}, 1), ticket: ticket}
	p.queue = append(p.queue, me)
	p.account.mu.Unlock()
	began := p.now()
	leave, slept, err := p.await(ctx, me, most, sleep)
	return leave, max(slept, p.now().Sub(began)), err
}

// open says whether the pace itself has room for a call now. The lock is held.
func (p *Pace) open() bool { return p.underWay < p.window && !p.now().Before(p.until) }

// admit counts one more call. The lock is held.
func (p *Pace) admit() pass {
	p.underWay++
	p.account.underWay++
	return pass{pace: p, halvings: p.halvings}
}

func (p *Pace) await(ctx context.Context, me *turn, most time.Duration, sleep func(context.Context, time.Duration) error) (leave pass, slept time.Duration, err error) {
	whole := ctx
	ctx, stop := context.WithTimeoutCause(ctx, max(most, 0), errNoRoom)
	defer stop()
	for {
		p.account.mu.Lock()
		held, until := p.until.Sub(p.now()), p.until
		switch {
		case held > most-slept:
			err := p.refusal(held)
			p.withdraw(me)
			p.account.mu.Unlock()
			return pass{}, slept, err
		case p.queue[0] != me || p.underWay >= p.window || held <= 0 && !p.account.lets(me.ticket):
			p.account.mu.Unlock()
			select {
			case <-me.look:
			case <-ctx.Done():
			}
		case held > 0:
			p.account.mu.Unlock()
			_ = sleep(ctx, held) // the context is looked at below
			slept += held
			p.account.mu.Lock()
			if p.until.Equal(until) { // else somebody was told to wait longer
				p.until = time.Time{}
			}
			p.account.mu.Unlock()
		default:
			p.withdraw(me)
			defer p.account.mu.Unlock()
			return p.admit(), slept, nil
		}
		if ctx.Err() == nil {
			continue
		}
		p.account.mu.Lock()
		p.withdraw(me)
		p.account.mu.Unlock()
		if ended := FromContext(whole, p.provider); ended != nil {
			return pass{}, slept, ended
		}
		return pass{}, slept, &Error{Provider: p.provider, Code: RateLimit, Unsent: true, Err: errNoRoom,
			Message: fmt.Sprintf("%v within the %v that a call may wait: raise --max-wait, or lower --concurrency", errNoRoom, most)}
	}
}

var errNoRoom = errors.New("the provider had no room for the call")

// refusal is what held the key back, said again of a call that was not made.
// The lock is held.
func (p *Pace) refusal(held time.Duration) *Error {
	e := Error{Provider: p.provider, Code: RateLimit}
	if p.why != nil {
		e = *p.why
	}
	e.RetryAfter, e.Unsent = held, true
	e.Message = fmt.Sprintf("not asked, since it wants to be left alone for another %v: %s", held.Round(time.Second), e.Message)
	return &e
}

// withdraw takes one out of the queue, and has the next look. The lock is held.
func (p *Pace) withdraw(me *turn) {
	for i, t := range p.queue {
		if t == me {
			p.queue = append(p.queue[:i], p.queue[i+1:]...)
			break
		}
	}
	p.account.callNext()
}

// done ends the call that the pass was for: failure is nil for a reply.
func (l pass) done(failure *Error) {
	p := l.pace
	if p == nil {
		return
	}
	p.account.mu.Lock()
	var tell bool
	var now Standing
	defer func() {
		p.account.mu.Unlock()
		if tell {
			p.tell(now)
		}
	}()
	p.underWay--
	p.account.underWay--
	switch {
	case failure == nil:
		if p.successes++; p.successes >= p.window {
			p.window, p.successes = min(p.window+1, p.most), 0
		}
	case failure.Code == RateLimit:
		p.limited(l, failure)
	}
	p.account.callNext()
	now, tell = p.news(TellEvery)
}

func (p *Pace) limited(l pass, failure *Error) {
	if l.halvings == p.halvings {
		p.window, p.successes = max(p.window/2, 1), 0
		p.halvings++
	}
	if until := p.now().Add(failure.RetryAfter); failure.RetryAfter > 0 && until.After(p.until) {
		p.until, p.why = until, failure
	}
}
