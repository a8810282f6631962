package tui

import (
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/event"
)

// Pace is how many calls with one key may be under way at once. How many are is told
// only when that changes, and by the next look is wrong.
type Pace struct {
	Model     string // provider/model, and the account where there is one
	Window    int
	HeldUntil time.Time // the provider asked for it; zero: it did not
}

// adjusted notes what a person changed.
func (s *State) adjusted(e event.Event, at time.Time) {
	v, err := event.Decode[event.Adjustment](e)
	if err != nil {
		return
	}
	if v.Paused != s.Paused || v.Concurrency != s.Concurrency {
		s.since, s.ends = at, nil // trials now end at another rate
		s.EndsAt = time.Time{}
	}
	s.Paused, s.Concurrency = v.Paused, v.Concurrency
}

// paced notes how a provider is asked.
func (s *State) paced(e event.Event) {
	v, err := event.Decode[event.Pacing](e)
	if err != nil {
		return
	}
	p := Pace{Model: clean(v.Provider + "/" + v.Model), Window: v.Window}
	if v.Account != "" {
		p.Model += " (" + clean(v.Account) + ")"
	}
	if v.HeldUntil != nil {
		p.HeldUntil = *v.HeldUntil
	}
	i, known := slices.BinarySearchFunc(s.Paces, p.Model, func(p Pace, model string) int { return strings.Compare(p.Model, model) })
	if known {
		s.Paces[i] = p
		return
	}
	if len(s.Paces) < maxPaces {
		s.Paces = slices.Insert(s.Paces, i, p)
	}
}

// maxPaces is how many are known at once; a run has one for each key and model.
const maxPaces = 64

// rateOver is how many trials the rate at which they end is taken over.
const rateOver = 50

// estimate tells from the rate at which the last trials ended when the rest will
// have. A run that is paused goes on nobody knows when.
func (s *State) estimate(at time.Time) {
	s.ends = append(s.ends, at)
	if len(s.ends) > rateOver {
		s.since = s.ends[0]
		s.ends = slices.Delete(s.ends, 0, 1)
	}
	s.EndsAt = time.Time{}
	if left := s.Trials - s.Done(); left > 0 && !s.Paused {
		each := at.Sub(s.since) / time.Duration(len(s.ends))
		s.EndsAt = at.Add(time.Duration(left) * each)
	}
}
