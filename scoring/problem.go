package scoring

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Problem is one thing wrong with a spec. Field is the path inside
// evaluation_spec, such as "validators[2].config.threshold".
type Problem struct {
	Field   string
	Message string
	// Warning marks what is valid and surely not meant. It never keeps a spec
	// from being scored.
	Warning bool
}

// problems gathers what is wrong with a spec, in order.
type problems []Problem

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, Problem{Field: field, Message: fmt.Sprintf(format, args...)})
}

func (p *problems) warn(field, format string, args ...any) {
	*p = append(*p, Problem{Field: field, Message: fmt.Sprintf(format, args...), Warning: true})
}

// errors are the problems that make a spec invalid.
func (p problems) errors() []Problem {
	var out []Problem
	for _, one := range p {
		if !one.Warning {
			out = append(out, one)
		}
	}
	return out
}

// Bounds on hints: the names that are compared, and the list of those that
// would do.
const (
	maxHinted = 64
	maxListed = 400
)

// nearest is the known name that somebody who wrote name most likely meant, or
// "" when none is close: about a third of the letters may differ.
func nearest(name string, known []string) string {
	if name == "" || len(name) > maxHinted {
		return ""
	}
	best, least := "", len(name)/3+1
	for _, k := range known {
		if len(k) > maxHinted {
			continue
		}
		if d := levenshtein.ComputeDistance(strings.ToLower(name), k); d < least || d == least && best == "" {
			best, least = k, d
		}
	}
	return best
}

// hint ends a message about an unknown name: with the name that was probably
// meant, else with all that would do.
func hint(name string, known []string) string {
	if best := nearest(name, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	if len(known) == 0 {
		return ""
	}
	return "; known are " + clipTo(strings.Join(known, ", "), maxListed)
}

// quoted is %q of a name that may be hostile.
func quoted(s string) string { return fmt.Sprintf("%q", clipTo(s, 100)) }

// maxHelped is how many problems of one spec may come with a hint about names
// that the spec itself declares: looking for the nearest costs time.
const maxHelped = 500

// hint is a hint about a name of the spec's own.
func (p problems) hint(name string, known []string) string {
	if len(p) > maxHelped {
		return ""
	}
	return hint(name, known)
}

// meant is the hint of a message that lists the known names itself.
func meant(name string, known []string) string {
	if best := nearest(name, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// notYet is the message about a part of the format that is not built.
func notYet(what, name string) string {
	return "this version does not have " + what + " " + quoted(name) + " yet"
}
