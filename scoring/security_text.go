package scoring

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/agentclash/agentclash/scoring/encodings"
)

// CheckPattern says why a pattern of a security block cannot be run, also where
// it is one: written out it is too large.
func CheckPattern(text string) error {
	_, err := compilePattern(straight(text))
	return err
}

// What looking through a trial may take, in steps of a pattern: one for each of
// its instructions at each byte.
const (
	maxRuleSteps  = 1 << 30
	maxScanSteps  = 1 << 32 // of all rules together
	stepsOfSearch = 8       // bytes of a search for a text that cost as much as a step
)

// effort is what was spent of it.
type effort struct {
	spent  map[string]int // by rule
	all    int
	unread string // a rule that something was not held against
}

// spend says whether a rule may take so many steps more.
func (e *effort) spend(rule string, steps int) bool {
	if e.spent[rule]+steps > maxRuleSteps || e.all+steps > maxScanSteps {
		e.unread = cmp.Or(e.unread, rule)
		return false
	}
	e.spent[rule] += steps
	e.all += steps
	return true
}

// joints are a segment's text without breaks, each made when it is asked for.
type joints struct {
	text string
	made map[encodings.Breaks][]byte
}

// index is where a form stands in the text when the breaks in it are overlooked,
// and how much of it that is; -1 for nowhere.
func (j *joints) index(form encodings.Form) (at, length int) {
	if form.Breaks == encodings.Unbroken {
		return -1, 0
	}
	joined, ok := j.made[form.Breaks]
	if !ok {
		if j.made == nil {
			j.made = map[encodings.Breaks][]byte{}
		}
		joined = encodings.Join(j.text, form.Breaks)
		j.made[form.Breaks] = joined
	}
	at = bytes.Index(joined, []byte(form.Text))
	if at < 0 {
		return -1, 0
	}
	cursor := encodings.Cursor[string]{Text: j.text, Kind: form.Breaks}
	start, end := cursor.Span(at, len(form.Text))
	return start, end - start
}

var quotes = strings.NewReplacer("‘", "'", "’", "'", "‚", "'", "‛", "'", "“", `"`, "”", `"`, "„", `"`, "‟", `"`)

// straight folds typographic quotes to those of ASCII.
func straight(s string) string { return quotes.Replace(s) }

const (
	maxExcerpt = 160 // bytes of what is shown, without the ellipses
	ellipsis   = "…"
)

// excerpt is the part of a text around what was found, on one line.
func excerpt(text string, at, length int) string {
	start := max(at-max(maxExcerpt-length, 0)/2, 0)
	end := min(start+maxExcerpt, len(text))
	start = max(min(start, end-maxExcerpt), 0)
	for start > 0 && !utf8.RuneStart(text[start]) {
		start++
	}
	for end < len(text) && end > start && !utf8.RuneStart(text[end]) {
		end--
	}
	out := strings.Join(strings.Fields(text[start:end]), " ")
	if start > 0 {
		out = ellipsis + out
	}
	if end < len(text) {
		out += ellipsis
	}
	return out
}
