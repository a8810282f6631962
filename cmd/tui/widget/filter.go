package widget

import (
	"slices"
	"strings"
)

// TrialFields are what a word of a filter of trials may be looked for in.
func TrialFields() []string { return []string{"case", "agent", "outcome", "code", "phase", "id"} }

// Word is what an entry must have: in a field, or with Field "" anywhere; with Whole it
// is all that stands there.
type Word struct {
	Field, Text string
	Whole       bool
}

// Words reads the language of filters: words, each of which may have one of the fields
// and a colon before it, and = after that.
func Words(text string, fields ...string) []Word {
	var words []Word
	for _, w := range strings.Fields(text) {
		field, rest, found := strings.Cut(w, ":")
		if field = strings.ToLower(field); !found || !slices.Contains(fields, field) {
			words = append(words, Word{Text: w})
			continue
		}
		all, whole := strings.CutPrefix(rest, "=")
		words = append(words, Word{field, all, whole && all != ""}) // else it is still being written
	}
	return words
}

// Item is a trial as a filter looks at it, in lower case.
type Item struct {
	name    string // the case and the repetition
	agent   string
	outcome string // or what it is in the midst of
	code    string
	phase   string
	id      string
}

// NewItem makes an item of texts as they are.
func NewItem(name, agent, outcome, code, phase, id string) Item {
	return Item{strings.ToLower(name), strings.ToLower(agent), strings.ToLower(outcome), strings.ToLower(code), strings.ToLower(phase), strings.ToLower(id)}
}

// Filter lets items pass that have all its words. The zero value lets all.
type Filter struct{ words []Word }

// ParseFilter reads words whose fields are TrialFields.
func ParseFilter(text string) Filter {
	return Filter{Words(strings.ToLower(text), TrialFields()...)}
}

// Empty says that everything passes.
func (f Filter) Empty() bool { return len(f.words) == 0 }

// Match says whether an item passes.
func (f Filter) Match(i Item) bool {
	for _, w := range f.words {
		if !w.in(i) {
			return false
		}
	}
	return true
}

func (w Word) in(i Item) bool {
	switch w.Field {
	case "case":
		return w.of(i.name) || w.Whole && i.name[:max(0, strings.LastIndexByte(i.name, '#'))] == w.Text
	case "agent":
		return w.of(i.agent)
	case "outcome":
		return w.of(i.outcome)
	case "code":
		return w.of(i.code)
	case "phase":
		return w.of(i.phase)
	case "id":
		return w.ends(i.id)
	}
	return w.of(i.name) || w.of(i.agent) || w.of(i.outcome) || w.of(i.code) || w.of(i.phase) || w.ends(i.id)
}

func (w Word) of(text string) bool {
	if w.Whole {
		return text == w.Text
	}
	return strings.Contains(text, w.Text)
}

// minTail is how many digits are the end of an id, as everywhere.
const minTail = 6

func (w Word) ends(id string) bool {
	if w.Whole {
		return id == w.Text
	}
	digits := strings.ReplaceAll(w.Text, "-", "")
	return len(digits) >= minTail && strings.HasSuffix(strings.ReplaceAll(id, "-", ""), digits)
}
