package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
)

// Draw is the screen of a state: at most Height lines of at most Width cells,
// without a final newline. It changes nothing and reads no clock. The frame has
// been arranged.
func Draw(s State, f Frame) string {
	if f.Width < 1 || f.Height < 1 {
		return ""
	}
	lines := header(s, f)
	if f.Help {
		lines = append(lines, help(f)...)
	} else {
		lines = append(lines, body(s, f)...)
	}
	last := []string{footer(s, f)}
	if f.To != nil {
		last = prompt(s, f)
		last = last[max(0, len(last)-f.Height):]
	}
	lines = lines[:max(0, min(len(lines), f.Height-len(last)))]
	for len(lines) < f.Height-len(last) {
		lines = append(lines, "")
	}
	lines = append(lines, last...)
	for i := range lines {
		lines[i] = view.Fit(lines[i], f.Width)
	}
	return strings.Join(lines, "\n")
}

// body is the lists and the transcript.
func body(s State, f Frame) []string {
	b := f.layout(s)
	lists := lists(s, f, b)
	if b.transcript == 0 {
		return lists
	}
	pane := transcript(s, f, b)
	if !b.beside {
		return append(lists, pane...)
	}
	lines := make([]string, b.transcript)
	bar := view.Faint.Paint(divider, f.Color)
	for i := range lines {
		left, right := "", ""
		if i < len(lists) {
			left = lists[i]
		}
		if i < len(pane) {
			right = pane[i]
		}
		lines[i] = view.Pad(view.Fit(left, b.width), b.width, false) + bar + right
	}
	return lines
}

// clock shows whole seconds, so that the screen is not repainted for less.
func clock(d time.Duration) string {
	s := max(0, int(d/time.Second))
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
