package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
)

// roomy is the width from which on there is room for more than what must be seen.
const roomy = 60

// headerLines is how many lines the header has: the shorter the terminal, the
// fewer.
func (f Frame) headerLines() int {
	switch {
	case f.Height < 14:
		return 3
	case f.Height < 20:
		return 4
	}
	return allHeader
}

// allHeader is how many lines there are at most. In the last one there are news, or
// nothing; in a shorter terminal they are below.
const allHeader = 7

func (f Frame) newsAbove() bool { return f.headerLines() == allHeader }

// header is what the run is and how far it has come.
func header(s State, f Frame) []string {
	lines := []string{title(s, f), bar(s, f), counts(s, f), costs(s, f), paces(s, f), quiet(s, f), news(s, f)}
	return lines[:f.headerLines()]
}

func title(s State, f Frame) string {
	what := or(s.Pack, "waiting for the run to start")
	for _, part := range []string{s.InputSet, s.Sandbox, s.Name} {
		if part != "" {
			what += " · " + part
		}
	}
	right := clock(elapsed(s, f.Now))
	if left := s.EndsAt.Sub(f.Now); left >= time.Second && s.Status == "" && f.Width >= roomy {
		right = "about " + clock(left) + " left · " + right
	}
	return widget.Ends(f.Width, what, right, view.Bold, f.Color)
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

func counts(s State, f Frame) string {
	paused := ""
	if s.Paused {
		paused = view.Waiting.Paint("paused", f.Color)
	}
	return widget.Join(f.Width, "  ", paused,
		some(s.Passed, "passed", view.Good, f.Color),
		some(s.Failed, "failed", view.Bad, f.Color),
		some(s.Invalid, "invalid", view.Waiting, f.Color),
		some(len(s.Running), "running", view.Busy, f.Color),
		some(s.Queued(), "queued", view.Plain, f.Color))
}

// some is a number of things, in the background when there are none.
func some(n int, what string, style view.Style, color bool) string {
	if n == 0 {
		style = view.Faint
	}
	return style.Paint(strconv.Itoa(n)+" "+what, color)
}

func costs(s State, f Frame) string {
	budget := ""
	if s.BudgetUSD > 0 {
		share := s.ChargedUSD / s.BudgetUSD
		style := view.Plain
		if share >= nearBudget {
			style = view.Waiting
		}
		budget = style.Paint(fmt.Sprintf("budget %s of $%.2f (%.0f%%)", view.USD(&s.ChargedUSD), s.BudgetUSD, 100*share), f.Color)
	}
	return widget.Join(f.Width, "  ", budget, "cost "+cost(s),
		"tokens "+view.Tokens(s.InputTokens)+" in, "+view.Tokens(s.OutputTokens)+" out")
}

// nearBudget is the share of the budget from which on it is worth a look.
const nearBudget = 0.8

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

// paces is how fast the run goes and may go.
func paces(s State, f Frame) string {
	atOnce := ""
	if s.Concurrency > 0 {
		atOnce = "concurrency " + strconv.Itoa(s.Concurrency)
	}
	limits := ""
	if s.RateLimits > 0 {
		limits = view.Waiting.Paint(count(s.RateLimits, "rate limit"), f.Color)
	}
	parts := []string{atOnce, count(s.Calls, "call"), some(s.Retries, retriesWord(s.Retries), view.Plain, f.Color), limits}
	for _, held := range []bool{true, false} { // who waits comes first
		for _, p := range s.Paces {
			if rest := p.HeldUntil.Sub(f.Now); (rest > 0) == held {
				parts = append(parts, p.text(rest, f.Color))
			}
		}
	}
	return widget.Join(f.Width, "  ", parts...)
}

func (p Pace) text(held time.Duration, color bool) string {
	text := fmt.Sprintf("%s %d at once", p.Model, p.Window)
	if held > 0 {
		return view.Waiting.Paint(text+", held "+clock(held), color)
	}
	return text
}

func retriesWord(n int) string {
	if n == 1 {
		return "retry"
	}
	return "retries"
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// stuckAfter is the silence from which on a trial is worth a look.
const stuckAfter = 30 * time.Second

// quiet names the trial that nothing has come from for the longest.
func quiet(s State, f Frame) string {
	if s.Quiet < 0 || s.Quiet >= len(s.Running) || s.Status != "" {
		return ""
	}
	r := s.Running[s.Quiet]
	silent := f.Now.Sub(r.Heard)
	style, word := view.Faint, "quiet "
	if silent >= stuckAfter {
		style, word = view.Waiting, "stuck? "
	}
	who := r.Name
	if label := s.Label(r.Lane); label != "" {
		who += " " + label
	}
	end := fmt.Sprintf(", no byte for %s", clock(silent))
	return style.Paint(view.Fit(word+who+" · "+r.Phase+": "+r.Doing, f.Width-len(end))+end, f.Color)
}
