package template

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Problem is one thing wrong with the `tools` block of a pack.
type Problem struct {
	Field   string // such as "tools.custom[0].implementation.args.url"
	Message string
	Warning bool // the pack is valid all the same
	Blocks  bool // a warning that keeps this version from running the pack
}

// maxProblems bounds what is said about one block. The note that says so is an
// error, so that a flood of warnings cannot hide an invalid pack.
const maxProblems = 500

// report gathers the problems of one block.
type report struct {
	problems []Problem
	full     bool
}

func (r *report) add(p Problem) {
	if r.full {
		return
	}
	if len(r.problems) == maxProblems {
		r.full = true
		p = Problem{Field: root().String(), Message: fmt.Sprintf("more than %d problems; the rest are not listed", maxProblems)}
	}
	r.problems = append(r.problems, p)
}

func (r *report) fail(at *spot, format string, args ...any) {
	r.add(Problem{Field: at.String(), Message: fmt.Sprintf(format, args...)})
}

func (r *report) warn(at *spot, format string, args ...any) {
	r.add(Problem{Field: at.String(), Message: fmt.Sprintf(format, args...), Warning: true})
}

// block warns of what keeps this version from running the pack.
func (r *report) block(at *spot, format string, args ...any) {
	r.add(Problem{Field: at.String(), Message: fmt.Sprintf(format, args...), Warning: true, Blocks: true})
}

// hint ends a message with the name that was probably meant, if any was. Once
// nothing more is listed, no time is spent on it.
func (r *report) hint(name string, known []string) string {
	if r.full {
		return ""
	}
	if best := nearest(name, known); best != "" {
		return "; did you mean " + quote(best) + "?"
	}
	return ""
}

// sorted returns the errors in the order they were found, then the warnings.
func (r *report) sorted() []Problem {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		switch {
		case a.Warning == b.Warning:
			return 0
		case b.Warning:
			return -1
		}
		return 1
	})
	return r.problems
}

// spot is where a value stands in a pack: a chain of keys and indexes up to the
// block. The path is spelled out only when something is wrong.
type spot struct {
	up    *spot
	key   string
	index int // of a list item, whose key is ""
	item  bool
}

// root is the place of the block itself.
func root() *spot { return &spot{key: "tools"} }

func (s *spot) child(key string) *spot { return &spot{up: s, key: key} }
func (s *spot) at(i int) *spot         { return &spot{up: s, index: i, item: true} }

// plainName is a key that needs no quotes in a path.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func (s *spot) String() string {
	switch {
	case s.up == nil:
		return s.key
	case s.item:
		return s.up.String() + "[" + strconv.Itoa(s.index) + "]"
	case !plainName.MatchString(s.key) || len(s.key) > maxQuoted:
		return s.up.String() + "[" + quote(s.key) + "]"
	}
	return s.up.String() + "." + s.key
}

// maxQuoted bounds how much of a stranger's text a message repeats, in bytes.
const maxQuoted = 80

// quote repeats a stranger's text in a message: bounded, on one line, and with
// nothing in it that a terminal would obey.
func quote(text string) string {
	if len(text) > maxQuoted {
		end := maxQuoted
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "..."
	}
	return strconv.Quote(text)
}

// Bounds of the search for the name that was probably meant.
const (
	maxHinted     = 64
	maxCandidates = 100
)

// nearest finds the name that a mistyped or shortened one most likely meant.
func nearest(name string, known []string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || len(name) > maxHinted {
		return ""
	}
	best, least := "", min(max(len(name)/3, 2), len(name)/2)+1
	for _, k := range known[:min(len(known), maxCandidates)] {
		if len(k) > maxHinted {
			continue
		}
		candidate := strings.ToLower(k)
		d := levenshtein.ComputeDistance(name, candidate)
		if len(name) > 3 && (strings.HasPrefix(candidate, name) || strings.HasPrefix(name, candidate)) {
			d = min(d, 1)
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}
