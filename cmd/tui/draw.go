package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
)

// Frame says how a state is to be drawn.
type Frame struct {
	Width  int // cells; no line is wider
	Height int // lines; there are never more
	Color  bool
	Now    time.Time
	Focus  Focus // the list that gets the room, and that scrolls
	Scroll int   // how many of its entries are passed over
	Help   bool
	// Stopping is set once the engine has been asked to stop.
	Stopping bool
	// To and Input are the message that a person writes, nil and "" for none.
	To    *Awaited
	Input string
	// Refused is why the last message could not be sent.
	Refused string
	// Manual says that phases with the trigger manual are wanted.
	Manual bool
}

// Focus is one of the lists of the screen.
type Focus int

// The lists. Balanced shares the room among all of them and scrolls the
// problems.
const (
	Balanced Focus = iota
	Lanes
	RunningTrials
	Problems
	focuses // how many there are
)

// Draw is the screen of a state: at most Height lines of at most Width cells,
// without a final newline. It changes nothing and reads no clock.
func Draw(s State, f Frame) string {
	if f.Width < 1 || f.Height < 1 {
		return ""
	}
	lines := header(s, f)
	if f.Help {
		lines = append(lines, help(f.body())...)
	} else {
		lines = append(lines, lists(s, f)...)
	}
	last := []string{footer(s, f)}
	if f.To != nil {
		last = prompt(s, f)
		last = last[max(0, len(last)-f.Height):]
	}
	lines = lines[:min(len(lines), f.Height-len(last))]
	for len(lines) < f.Height-len(last) {
		lines = append(lines, "")
	}
	lines = append(lines, last...)
	for i := range lines {
		lines[i] = view.Fit(lines[i], f.Width)
	}
	return strings.Join(lines, "\n")
}

// headerLines is how many lines the header has, and the footer has one more.
const headerLines = 4

// body is how many lines there are between header and footer.
func (f Frame) body() int { return f.Height - headerLines - 1 }

// header is what the run is and how far it has come.
func header(s State, f Frame) []string {
	what := or(s.Pack, "waiting for the run to start")
	for _, part := range []string{s.InputSet, s.Sandbox} {
		if part != "" {
			what += " · " + part
		}
	}
	elapsed := clock(elapsed(s, f.Now))
	title := view.Fit(what, f.Width-len(elapsed)-2)
	title = view.Bold.Paint(view.Pad(title, f.Width-len(elapsed), false), f.Color) + elapsed
	return []string{
		title,
		bar(s, f),
		pack(f.Width, []string{
			view.Good.Paint(strconv.Itoa(s.Passed)+" passed", f.Color),
			view.Bad.Paint(strconv.Itoa(s.Failed)+" failed", f.Color),
			view.Waiting.Paint(strconv.Itoa(s.Invalid)+" invalid", f.Color),
			strconv.Itoa(len(s.Running)) + " running",
			strconv.Itoa(max(0, s.Trials-s.Done()-len(s.Running))) + " queued",
		}),
		pack(f.Width, []string{
			"cost " + cost(s),
			"tokens " + view.Tokens(s.InputTokens) + " in, " + view.Tokens(s.OutputTokens) + " out",
			strconv.Itoa(s.Calls) + " calls",
			strconv.Itoa(s.Retries) + " retries",
		}),
	}
}

func elapsed(s State, now time.Time) time.Duration {
	end := now
	if !s.EndedAt.IsZero() {
		end = s.EndedAt
	}
	if s.StartedAt.IsZero() || end.Before(s.StartedAt) {
		return 0
	}
	return end.Sub(s.StartedAt)
}

// clock shows whole seconds, so that the screen is not repainted for less.
func clock(d time.Duration) string {
	s := max(0, int(d/time.Second))
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// cost is what was spent on finished attempts, with a word when the price of
// some of them is unknown.
func cost(s State) string {
	if s.Priced == 0 {
		return view.USD(nil)
	}
	text := view.USD(&s.SpentUSD)
	if s.Unpriced > 0 {
		text += " + " + strconv.Itoa(s.Unpriced) + " unpriced"
	}
	return text
}

// bar shows the outcomes as lengths, and how many trials are done.
func bar(s State, f Frame) string {
	done := fmt.Sprintf(" %d/%d", s.Done(), s.Trials)
	width := f.Width - len(done)
	if width < 4 || s.Trials == 0 {
		return strings.TrimSpace(done)
	}
	// Each end is rounded on its own sum, so that the lengths add up and the
	// bar is full when, and only when, all is done.
	at := func(trials int) int { return min(width, trials*width/s.Trials) }
	a, b, c := at(s.Passed), at(s.Passed+s.Failed), at(s.Done())
	return view.Good.Paint(strings.Repeat("█", a), f.Color) +
		view.Bad.Paint(strings.Repeat("▓", b-a), f.Color) +
		view.Waiting.Paint(strings.Repeat("▒", c-b), f.Color) +
		view.Faint.Paint(strings.Repeat("░", width-c), f.Color) + done
}

// pack joins as many parts as fit, in order of importance.
func pack(width int, parts []string) string {
	line := ""
	for _, p := range parts {
		if line != "" {
			p = "  " + p
		}
		if view.Width(line)+view.Width(p) > width {
			break
		}
		line += p
	}
	return line
}

func footer(s State, f Frame) string {
	switch {
	case s.Status != "":
		return view.StatusStyle(s.Status).Paint("run "+s.Status, f.Color)
	case f.Stopping:
		return view.Waiting.Paint(fmt.Sprintf("stopping, %d running · q again leaves now", len(s.Running)), f.Color)
	case f.Help:
		return view.Faint.Paint("? back · q stop", f.Color)
	}
	if len(s.Awaiting) > 0 {
		return call(s, f)
	}
	if s.Note != "" {
		return view.Waiting.Paint(s.Note, f.Color)
	}
	keys := "q stop · ? help · tab lists · ↑↓ scroll"
	if f.Manual {
		keys += " · manual phases run"
	}
	return view.Faint.Paint(keys, f.Color)
}

func help(height int) []string {
	lines := []string{
		"",
		"q, ctrl+c    stop: no new trial is started, running ones are cancelled,",
		"             finished ones are kept; a second time leaves at once",
		"tab          give one list the room, in turn",
		"↑ ↓ k j      scroll that list; pgup and pgdn by a page, home to its top",
		"a            answer a conversation that waits for a person",
		"m            have phases with the trigger manual run, or not",
		"?            this help",
		"",
		"The bar: █ passed  ▓ failed  ▒ invalid  ░ to do",
		"Failed is the agent's doing. Invalid is not: infrastructure or the pack",
		"got in the way, and the trial is left out of every score.",
	}
	if height < len(lines) {
		lines = lines[1:]
	}
	return lines[:min(len(lines), max(0, height))]
}
