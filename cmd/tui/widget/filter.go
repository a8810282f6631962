package widget

import "strings"

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
type Filter struct{ words []word }

type word struct{ field, text string }

// ParseFilter reads words, each of which an item must contain: anywhere, or with
// case:, agent: or outcome: before it, there; with = after that, it must be all that
// stands there.
func ParseFilter(text string) Filter {
	var f Filter
	for _, w := range strings.Fields(strings.ToLower(text)) {
		switch field, rest, found := strings.Cut(w, ":"); {
		case found && (field == "case" || field == "agent" || field == "outcome"):
			f.words = append(f.words, word{field, rest})
		default:
			f.words = append(f.words, word{"", w})
		}
	}
	return f
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

func (w word) in(i Item) bool {
	switch w.field {
	case "case":
		return w.is(i.Case)
	case "agent":
		return w.is(i.Agent)
	case "outcome":
		return w.is(i.Outcome)
	}
	return strings.Contains(i.Case, w.text) || strings.Contains(i.Agent, w.text) ||
		strings.Contains(i.Outcome, w.text) || strings.Contains(i.Other, w.text)
}

func (w word) is(text string) bool {
	if all, whole := strings.CutPrefix(w.text, "="); whole {
		return text == all
	}
	return strings.Contains(text, w.text)
}
