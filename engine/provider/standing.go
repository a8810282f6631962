package provider

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// TellEvery is how often at most is told how the calls with a key stand.
const TellEvery = time.Second

// Standing is how the calls with one key stand.
type Standing struct {
	Key       PaceKey
	Window    int       // calls that may be under way
	UnderWay  int       // now
	HeldUntil time.Time // nobody is let in before; zero: somebody may be
}

// news is how the pace stands, when that was not told yet and something else was
// told no less than every ago. The lock is held.
func (p *Pace) news(every time.Duration) (Standing, bool) {
	if p.tell == nil || p.window == p.told.Window && p.until.Equal(p.told.HeldUntil) {
		return Standing{}, false
	}
	now := p.now()
	if !p.toldAt.IsZero() && now.Sub(p.toldAt) < every {
		return Standing{}, false
	}
	p.told, p.toldAt = Standing{Key: p.key, Window: p.window, UnderWay: p.underWay, HeldUntil: p.until}, now
	return p.told, true
}

// TellLast tells what has changed since it was last told, once no calls are made any
// more.
func (p *Paces) TellLast() {
	p.mu.Lock()
	keys := slices.SortedFunc(maps.Keys(p.all), func(a, b PaceKey) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.BaseURL, b.BaseURL), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Model, b.Model))
	})
	paces := make([]*Pace, len(keys))
	for i, key := range keys {
		paces[i] = p.all[key]
	}
	p.mu.Unlock()
	for _, pace := range paces {
		pace.account.mu.Lock()
		s, tell := pace.news(0)
		pace.account.mu.Unlock()
		if tell {
			pace.tell(s)
		}
	}
}
