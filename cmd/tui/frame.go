package tui

import (
	"time"

	"github.com/agentclash/agentclash/cmd/tui/widget"
)

// Frame says how a state is to be drawn. [Arrange] fills what follows from the
// state and the rest.
type Frame struct {
	Width  int // cells; no line is wider
	Height int // lines; there are never more
	Color  bool
	Now    time.Time
	Focus  Focus // whose the keys are
	Lanes  widget.List
	Trials widget.List
	Open   bool // the transcript has the whole body
	Help   bool
	// Filter is what the trials shown must match, and Filtering the line in which
	// it is being written, "" when it is not.
	Filter    string
	Filtering string
	// Stopping is set once the engine has been asked to stop.
	Stopping bool
	// Question waits for y or n; Notice is what came of the last key. "": none.
	Question string
	Notice   string
	// To and Input are the message that a person writes, nil and "" for none.
	To    *Awaited
	Input string
	// Manual says that phases with the trigger manual are wanted.
	Manual bool

	// Matches are the places of the trials that the filter lets pass, nil for all.
	Matches []int
	// Selected is the trial at the cursor, the zero value for none.
	Selected   Row
	Transcript *widget.Transcript // nil: none was laid out
}

// Focus is one of the parts of the screen.
type Focus int

// The parts that take keys.
const (
	OnTrials Focus = iota
	OnLanes
	OnTranscript
	focuses // how many there are
)

// Arrange brings a frame in line with a state: filter, cursors and the
// transcript, wrapped.
func Arrange(s State, f Frame) Frame {
	f.Matches = s.match(widget.ParseFilter(f.Filter))
	b := f.layout(s)
	f.Trials = f.Trials.Keep(f.trials(s), b.trials-1)
	f.Lanes = f.Lanes.Keep(len(s.Lanes), b.lanes-1)
	f.Selected = Row{}
	if n := f.trials(s); n > 0 {
		f.Selected = s.row(f.place(f.Trials.Cursor))
	}
	if b.transcript > 0 && s.Watched.Known() && s.Watched.TrialID == f.Selected.TrialID {
		if f.Transcript == nil {
			f.Transcript = &widget.Transcript{}
		}
		f.Transcript.Lay(s.Watched.Entries, s.Watched.Dropped, b.transcriptWidth, f.Color)
	}
	return f
}

// trials is how many trials the filter lets pass.
func (f Frame) trials(s State) int {
	if f.Matches == nil {
		return s.rows()
	}
	return len(f.Matches)
}

// place is that of an entry of the list in the state's rows.
func (f Frame) place(entry int) int {
	if f.Matches == nil {
		return entry
	}
	return f.Matches[entry]
}

// box says how many lines each part of the body has, headings included, and how
// wide it is. 0 lines is not shown.
type box struct {
	lanes, trials, transcript int
	width, transcriptWidth    int
	beside                    bool // the transcript stands at the right, else below
	gap                       bool // an empty line between the parts
}

const (
	// beside is the width from which on the transcript stands at the right of the
	// lists, below the height from which on it stands under them.
	beside = 120
	below  = 40
	// divider stands between them.
	divider = " │ "
)

// body is how many lines there are between header and footer.
func (f Frame) body() int { return max(0, f.Height-f.headerLines()-f.footerLines()) }

// layout shares the body among its parts.
func (f Frame) layout(s State) box {
	b := box{width: f.Width, transcriptWidth: f.Width}
	height := f.body()
	switch {
	case f.Open:
		b.transcript = height
		return b
	case f.Width >= beside:
		b.beside = true
		b.width = f.Width / 2
		b.transcriptWidth = f.Width - b.width - len(" | ")
		b.transcript = height
	case f.Height >= below:
		b.transcript = height / 2
		height -= b.transcript
	}
	b.share(len(s.Lanes), f.trials(s), height, f.Focus)
	return b
}

// minPart is a heading and one entry.
const minPart = 2

// share gives the lists their lines: the one with the focus what it needs, the
// lanes otherwise two fifths at most, so that there is room for what runs.
func (b *box) share(lanes, trials, height int, focus Focus) {
	wantLanes, wantTrials := lanes+1, max(trials, 1)+1
	if lanes == 0 {
		b.trials = height
		return
	}
	if height < 2*minPart {
		if focus == OnLanes {
			b.lanes = height
		} else {
			b.trials = height
		}
		return
	}
	if b.gap = height >= 10; b.gap {
		height--
	}
	if focus == OnLanes {
		b.lanes = min(wantLanes, height-minPart)
	} else {
		b.lanes = min(wantLanes, max(minPart, height*2/5, height-wantTrials))
	}
	b.trials = height - b.lanes
}
