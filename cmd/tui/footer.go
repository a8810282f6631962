package tui

import (
	"fmt"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
)

// footerLines is how many lines the footer has: one, or a message that is written.
func (f Frame) footerLines() int {
	switch {
	case f.To == nil:
		return 1
	case f.To.Said == "":
		return 2
	}
	return 3
}

func footer(s State, f Frame) string {
	switch {
	case s.Status != "":
		return view.StatusStyle(s.Status).Paint("run "+s.Status, f.Color)
	case f.Question != "":
		return view.Waiting.Paint(f.Question+" y/n", f.Color)
	case f.Filtering != "":
		return f.Filtering
	case f.Stopping:
		return view.Waiting.Paint(fmt.Sprintf("stopping, %d running · q again leaves now", len(s.Running)), f.Color)
	case f.Help:
		return view.Faint.Paint("? back · q stop", f.Color)
	case f.Notice != "":
		return view.Waiting.Paint(f.Notice, f.Color)
	}
	if text := news(s, f); text != "" && !f.newsAbove() {
		first := "q stop · "
		if len(s.Awaiting) > 0 {
			first += "a answer · "
		}
		return view.Faint.Paint(first, f.Color) + text
	}
	return view.Faint.Paint(widget.Join(f.Width, " · ", hints(s, f)...), f.Color)
}

// news is who waits for the person, or what else there is to know, "" for nothing.
func news(s State, f Frame) string {
	if len(s.Awaiting) > 0 {
		return call(s, f)
	}
	return view.Waiting.Paint(s.Note, f.Color)
}

// hints are the keys that matter most where one is.
func hints(s State, f Frame) []string {
	manual := ""
	if f.Manual {
		manual = "manual phases run"
	}
	answer := ""
	if len(s.Awaiting) > 0 {
		answer = "a answer"
	}
	pause := "p pause"
	if s.Paused {
		pause = "p resume"
	}
	if f.Open {
		return []string{"q stop", "? help", answer, "esc back", "↑↓ scroll", "end follow", pause, "x cancel", manual}
	}
	filter := "/ filter"
	if f.Filter != "" {
		filter = "esc all trials"
	}
	return []string{"q stop", "? help", answer, manual, "enter transcript", filter, pause, "+- concurrency", "x cancel", "tab lists"}
}

// keys are all that the screen knows.
var keys = []widget.Key{
	{Keys: "↑ ↓ k j", Does: "select, or scroll"},
	{Keys: "pgup pgdn", Does: "by a page"},
	{Keys: "home end", Does: "to the first, to the last"},
	{Keys: "tab", Does: "agents, transcript, trials"},
	{Keys: "enter", Does: "open a trial, or an agent"},
	{Keys: "esc", Does: "back; show all trials"},
	{Keys: "/", Does: "filter the trials"},
	{Keys: "a", Does: "answer who waits for you"},
	{Keys: "p", Does: "pause; again: go on"},
	{Keys: "+ -", Does: "more, fewer trials at once"},
	{Keys: "x", Does: "cancel the selected trial"},
	{Keys: "R", Does: "run invalid trials again"},
	{Keys: "o", Does: "say where the report is"},
	{Keys: "m", Does: "run manual phases, or not"},
	{Keys: "q, ctrl+c", Does: "stop; again: leave at once"},
	{Keys: "?", Does: "this help"},
}

// legend says what the marks and words of the screen mean.
var legend = []string{
	"The bar: █ passed  ▓ failed  ▒ invalid  ░ to do. Failed is the agent's doing.",
	"Invalid is not: infrastructure or the pack got in the way, and the trial is left",
	"out of every score. Stopping keeps what is finished.",
	"A filter's words are looked for everywhere; case:, agent:, outcome:, code:,",
	"phase: and id: before one there only, and agent:=NAME is that agent alone.",
}

// Keys are all that the screen knows, for the page that says what they do.
func Keys() []widget.Key { return keys }

func help(f Frame) []string { return widget.Help(keys, legend, f.Width, f.body(), f.Color) }
