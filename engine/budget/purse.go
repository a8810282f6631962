package budget

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
)

// Purse is the budget of a run, in US dollars. Every call sets aside the most
// that it can cost before it is made. One that does not fit waits for those that
// are under way, which most often cost less than they could; when none is, the
// budget is reached: the purse is closed, and no other call is let in. Who waits
// is served in the order of coming. A nil Purse has no bottom.
type Purse struct {
	limit nanoUSD

	mu      sync.Mutex
	used    nanoUSD
	held    nanoUSD
	calls   int // that hold a part of it
	waiting []*asking
	closed  *Reached
}

// asking is a call that waits for its part.
type asking struct {
	need nanoUSD
	told chan error
}

// Reached is the error of a call that a run's budget has no room for.
type Reached struct {
	AllowedUSD, UsedUSD float64
	NeededUSD           float64 // by the call that did not fit
}

func (r *Reached) Error() string {
	return fmt.Sprintf("the run's budget of $%s is reached: $%s is used, and the next call can cost $%s",
		Decimal(r.AllowedUSD), Decimal(r.UsedUSD), Decimal(r.NeededUSD))
}

// Decimal writes dollars, or tokens, for people: never with an exponent, and to the
// billionth that budgets are kept to.
func Decimal(x float64) string {
	return strconv.FormatFloat(math.Round(x*1e9)/1e9, 'f', -1, 64)
}

// NewPurse holds limit dollars, of which used are spent. A limit of 0 is none:
// the purse is nil.
func NewPurse(limit, used float64) *Purse {
	if limit <= 0 {
		return nil
	}
	return &Purse{limit: nano(limit), used: nano(used)}
}

// Hold is a part of a purse that is set aside. A nil one is nothing.
type Hold struct {
	purse *Purse
	held  nanoUSD
}

// Reserve sets dollars aside. Its error is a *[Reached], or the context's end.
// What it returns must be settled.
func (p *Purse) Reserve(ctx context.Context, usd float64) (*Hold, error) {
	if p == nil {
		return nil, nil
	}
	me := &asking{need: nano(usd), told: make(chan error, 1)}
	p.mu.Lock()
	p.waiting = append(p.waiting, me)
	p.serve()
	p.mu.Unlock()
	hold := &Hold{purse: p, held: me.need}
	select {
	case err := <-me.told:
		if err != nil {
			return nil, err
		}
		return hold, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	for i, a := range p.waiting {
		if a == me {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			p.serve()
			p.mu.Unlock()
			return nil, context.Cause(ctx)
		}
	}
	p.mu.Unlock()
	if err := <-me.told; err != nil {
		return nil, err
	}
	hold.Settle(0) // it was served and has not been used
	return nil, context.Cause(ctx)
}

// serve lets in whom there is room for, in order. The lock is held.
func (p *Purse) serve() {
	for len(p.waiting) > 0 {
		next := p.waiting[0]
		switch {
		case p.closed != nil:
			next.told <- p.closed
		case p.used+p.held+next.need <= p.limit:
			p.held += next.need
			p.calls++
			next.told <- nil
		case p.calls > 0:
			return
		default:
			p.closed = &Reached{AllowedUSD: p.limit.usd(), UsedUSD: p.used.usd(), NeededUSD: next.need.usd()}
			next.told <- p.closed
		}
		p.waiting = p.waiting[1:]
	}
}

// Settle counts what the call cost in place of what was set aside.
func (h *Hold) Settle(usd float64) {
	if h == nil {
		return
	}
	p := h.purse
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held -= h.held
	p.used += nano(usd)
	p.calls--
	p.serve()
}

// Reached is how the purse was closed; nil: it is open.
func (p *Purse) Reached() *Reached {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// UsedUSD is what has been counted so far.
func (p *Purse) UsedUSD() float64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used.usd()
}
