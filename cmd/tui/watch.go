package tui

import (
	"slices"

	"github.com/agentclash/agentclash/cmd/tui/widget"
)

// Watched is the trial whose transcript is shown.
type Watched struct {
	TrialID string
	Entries []widget.Entry // in a snapshot
	Dropped int            // entries before them

	tail *widget.Tail // nil when the trial had ended before anybody looked
}

// Known says that there is a transcript, empty as it may be.
func (w Watched) Known() bool { return w.tail != nil }

// snapshot is a copy with its entries read.
func (w Watched) snapshot() Watched {
	if w.tail != nil {
		w.Entries, w.Dropped = w.tail.Entries(), w.tail.Dropped()
	}
	return w
}

// watch keeps the transcript of a trial from now on, also when it ends, and lets
// go of the one before.
func (s *State) watch(trialID string) {
	if s.Watched.TrialID == trialID {
		return
	}
	s.version++
	s.Watched = Watched{TrialID: trialID}
	if i := slices.IndexFunc(s.Running, func(r Running) bool { return r.TrialID == trialID }); i >= 0 {
		s.Watched.tail = s.Running[i].tail
	}
}

// tailOf is the transcript that a new attempt goes on with.
func (s *State) tailOf(trialID string) *widget.Tail {
	if s.Watched.TrialID == trialID {
		if s.Watched.tail == nil {
			s.Watched.tail = &widget.Tail{}
		}
		return s.Watched.tail
	}
	return &widget.Tail{}
}
