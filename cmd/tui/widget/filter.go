package widget

import (
	"slices"
	"strings"
)

// Item is what a filter looks at, in lower case.
type Item struct {
	Case    string
	Agent   string
	Outcome string // or what it is in the midst of
	Other   string // such as a code
}

// NewItem makes an item of texts as they are.
func NewItem(caseName, agent, outcome, other string) Item {
	return Item{strings.ToLower(caseName), strings.ToLower(agent), strings.ToLower(outcome), strings.ToLower(other)}
}

// Filter lets items pass. The zero value lets all.
type Filter struct{ words []Word }

// Word is what an entry must contain: in a field, or with Field "" anywhere.
type Word struct{ Field, Text string }

// Words reads the language of filters: words, each of which may have one of the fields
// and a colon before it.
func Words(text string, fields ...string) []Word {
	var words []Word
	for _, w := range strings.Fields(text) {
		if field, rest, found := strings.Cut(w, ":"); found && slices.Contains(fields, strings.ToLower(field)) {
			words = append(words, Word{strings.ToLower(field), rest})
		} else {
			words = append(words, Word{"", w})
		}
	}
	return words
}

// ParseFilter reads words, each of which an item must contain: anywhere, or with
// case:, agent: or outcome: before it, there; with = after that, it must be all that
// stands there.
func ParseFilter(text string) Filter {
	return Filter{Words(strings.ToLower(text), "case", "agent", "outcome")}
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
		return w.is(i.Case)
	case "agent":
		return w.is(i.Agent)
	case "outcome":
		return w.is(i.Outcome)
	}
	return strings.Contains(i.Case, w.Text) || strings.Contains(i.Agent, w.Text) ||
		strings.Contains(i.Outcome, w.Text) || strings.Contains(i.Other, w.Text)
}

func (w Word) is(text string) bool {
	if all, whole := strings.CutPrefix(w.Text, "="); whole {
		return text == all
	}
	return strings.Contains(text, w.Text)
}
