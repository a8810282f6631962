package view

// Style is how a word looks when colour is permitted. The sixteen basic
// colours are used, so that a terminal's own theme decides the shades.
type Style string

// The styles. Each is the body of a "select graphic rendition" sequence.
const (
	Plain   Style = ""
	Bold    Style = "1"
	Faint   Style = "2"
	Good    Style = "32"
	Bad     Style = "31"
	Waiting Style = "33"
	Scoring Style = "35"
	Busy    Style = "36"
)

// Paint wraps text in the style, or returns it as it is.
func (s Style) Paint(text string, color bool) string {
	if !color || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// StatusStyle is the style of a status, an outcome, a verdict or a state.
func StatusStyle(word string) Style {
	switch word {
	case "completed", "active", "ready", "passed", "pass", "ok", "better", "valid", "comparable":
		return Good
	case "failed", "fail", "error", "archived", "worse", "regressed":
		return Bad
	case "running", "executing", "evaluating", "provisioning", "building", "info":
		return Busy
	case "queued", "pending", "draft", "invited", "warn", "invalid", "degraded", "interrupted",
		"insufficient_evidence", "insufficient", "too_few_cases", "cannot_tell", "partial_evidence", "not_comparable":
		return Waiting
	case "scoring", "paused":
		return Scoring
	case "cancelled", "suspended", "unavailable", "same", "unknown", "~", "not_regressed":
		return Faint
	}
	return Plain
}
