package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const (
	absent   = "-"
	ellipsis = "…"
)

// Score shows a score with two decimals, "-" for none.
func Score(v *float64) string { return number("%.2f", v, 1) }

// USD shows dollars with four decimals, "-" for unknown.
func USD(v *float64) string { return number("$%.4f", v, 1) }

// Percent shows a fraction as a percentage with one decimal, "-" for none.
func Percent(v *float64) string { return number("%.1f%%", v, 100) }

// Delta shows a signed difference with two decimals, "-" for none.
func Delta(v *float64) string { return number("%+.2f", v, 1) }

func number(format string, v *float64, factor float64) string {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return absent
	}
	return fmt.Sprintf(format, *v*factor+0) // + 0 turns -0 into 0
}

// Duration shows how long something took, in the unit a person would use:
// 40ms, 1.2s, 3m05s, 2h07m.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return absent
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 59950*time.Millisecond: // what rounds to 60.0s is a minute
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

func milliseconds(ms *float64) string {
	if ms == nil {
		return absent
	}
	return Duration(time.Duration(*ms * float64(time.Millisecond)))
}

// Age shows how long ago t was, and the date once that is over sixty days.
func Age(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	case d < 60*24*time.Hour:
		return fmt.Sprintf("%dd ago", d/(24*time.Hour))
	}
	return t.In(now.Location()).Format(time.DateOnly)
}

// Tokens shows a count with thousands apart: 1,234,567.
func Tokens(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// shortIDLen is how much of an id's tail is shown. The head of a UUIDv7 is the
// time and the same for everything made in one minute.
const shortIDLen = 8

// ShortID is the tail of an id, which selectors accept in its place. What does
// not look like an id is returned whole.
func ShortID(id string) string {
	if len(id) != 36 || strings.Count(id, "-") != 4 {
		return SanitizeLine(id)
	}
	return SanitizeLine(id[len(id)-shortIDLen:])
}

// Width is the number of terminal cells that text takes; escape sequences take
// none, wide characters two.
func Width(s string) int { return ansi.StringWidth(s) }

// Fit cuts text to at most width cells and marks the cut. Escape sequences are
// kept whole, so a colour never runs on.
func Fit(s string, width int) string {
	if width < 1 {
		return ""
	}
	if len(s) <= width && clean(s) {
		return s
	}
	return ansi.Truncate(s, width, ellipsis)
}

// bytesPerCell is how much text of any kind that people write stands in a cell.
const bytesPerCell = 16

// FitLine is a clean line of at most width cells. Of text without end, or of marks that
// take no room, no more is looked at than could stand there.
func FitLine(s string, width int) string { return Fit(SanitizeLine(begins(s, width)), width) }

// begins is as much of a text as can stand in so many cells, and a mark when it is cut.
func begins(s string, width int) string {
	most := bytesPerCell * max(width, 1)
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + ellipsis
}

// Pad fills text up to width cells, on the left when right is set.
func Pad(s string, width int, right bool) string {
	fill := width - Width(s)
	if fill <= 0 {
		return s
	}
	if right {
		return strings.Repeat(" ", fill) + s
	}
	return s + strings.Repeat(" ", fill)
}

// count says how many of something there are: "1 case", "2 cases".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// or is s, or "-" when there is nothing to show.
func or(s string) string {
	if s == "" {
		return absent
	}
	return s
}
