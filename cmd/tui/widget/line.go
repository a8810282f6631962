package widget

import "github.com/agentclash/agentclash/cmd/view"

// Join puts as many parts on a line as fit, in order of importance, with a gap
// between them. Empty parts are left out.
func Join(width int, gap string, parts ...string) string {
	line := ""
	for _, p := range parts {
		if p == "" {
			continue
		}
		if line != "" {
			p = gap + p
		}
		if view.Width(line)+view.Width(p) > width {
			break
		}
		line += p
	}
	return line
}

// Ends puts one text at the left end of a line and one at the right, which is
// left out where there is no room for both.
func Ends(width int, left, right string, style view.Style, color bool) string {
	room := width - view.Width(right) - 2
	if room < 8 {
		return style.Paint(view.Fit(left, width), color)
	}
	return style.Paint(view.Pad(view.Fit(left, room), room+2, false), color) + right
}
