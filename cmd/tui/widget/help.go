package widget

import (
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
)

// Key is a key and what it does, in a few words.
type Key struct{ Keys, Does string }

// minHelpColumn is how wide the help of keys is at least in one column of two.
const minHelpColumn = 40

// Help lays keys out from top to bottom, in two columns where these fit, and text
// below them, where there is room.
func Help(keys []Key, text []string, width, height int, color bool) []string {
	columns := max(1, min(2, width/minHelpColumn))
	cell := width / columns
	rows := (len(keys) + columns - 1) / columns
	lines := make([]string, rows)
	for i, k := range keys {
		at := i % rows
		key := view.Pad(view.Fit(k.Keys, 10), 12, false)
		entry := view.Busy.Paint(key, color) + view.Fit(k.Does, cell-13)
		lines[at] += view.Pad(entry, cell, false)
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	if len(lines)+1+len(text) <= height {
		lines = append(append(lines, ""), text...)
	}
	return lines[:max(0, min(len(lines), height))]
}
