package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Problem is one thing wrong with a pack file.
type Problem struct {
	File    string // as it was named by the caller
	Line    int    // from 1
	Column  int    // from 1
	Field   string // such as "challenges[2].difficulty"; "bundle" for the file as a whole
	Message string
	Rule    string // which kind of check found it, such as "tool-policy": see [Rules]
	Warning bool   // the pack is valid all the same
	Blocks  bool   // a warning that keeps this version from running the pack: see [Pack.Blockers]
}

// String is `file:line:column: field: message`; a warning says so first. A
// problem without a place leaves line and column out.
func (p Problem) String() string {
	word := ""
	if p.Warning {
		word = "warning: "
	}
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	return fmt.Sprintf("%s: %s%s: %s", place, word, p.Field, p.Message)
}

// Problems are everything wrong with a pack file, in the file's order. As an
// error it prints one problem a line.
type Problems []Problem

// Error implements error.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Errors returns the problems that make the pack invalid.
func (ps Problems) Errors() Problems { return ps.filter(false) }

// Warnings returns the problems that leave the pack usable.
func (ps Problems) Warnings() Problems { return ps.filter(true) }

// Blocks returns the warnings that keep this version from running the pack.
func (ps Problems) Blocks() Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return !p.Blocks })
}

// Err is the errors among the problems as one error, nil when there are none.
func (ps Problems) Err() error {
	if errs := ps.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

func (ps Problems) filter(warning bool) Problems {
	var kept Problems
	for _, p := range ps {
		if p.Warning == warning {
			kept = append(kept, p)
		}
	}
	return kept
}

// maxProblems bounds what is said about one file: so many errors, so many
// warnings, that neither can hide the other.
const maxProblems = 500

// maxField bounds the path of a field that somebody nested absurdly deep.
const maxField = 200

// report gathers the problems of one file.
type report struct {
	file     string
	format   string // of the file, when it is no pack
	lines    int    // of the file; 0 while they have not been counted
	root     *node  // nil while nothing could be read
	rule     string // of what is being looked at
	problems Problems
	errors   int
	warnings int
	full     bool // no more errors are listed
	warned   bool // no more warnings are
	// broken holds the fields that could not be decoded: their values are
	// not known, so that no check may speak about them.
	broken map[string]bool
	// holed holds the lists of which an item, or the key of one, could not be
	// decoded: what is not found in them may be there.
	holed map[string]bool
}

func newReport(file string) *report {
	return &report{file: file, rule: ruleDecode, broken: map[string]bool{}, holed: map[string]bool{}}
}

// add appends a problem at a place in the file.
func (r *report) add(at position, p Problem) {
	kind, count, full := "errors", &r.errors, &r.full
	if p.Warning {
		kind, count, full = "warnings", &r.warnings, &r.warned
	}
	if *full {
		return
	}
	if *count++; *count > maxProblems {
		*full = true
		p = Problem{Field: bundleField, Message: fmt.Sprintf("more than %d %s; the rest are not listed", maxProblems, kind), Warning: p.Warning}
		at = position{1, 1}
	}
	if r.lines > 0 && at.line > r.lines {
		at = position{r.lines, 1} // the YAML library ends a last line that has no end
	}
	if len(p.Field) > maxField {
		p.Field = p.Field[:maxField] + "..."
	}
	p.File, p.Rule, p.Line, p.Column = r.file, cmp.Or(p.Rule, r.rule), max(at.line, 1), max(at.column, 1)
	p.Message = onOneLine(p.Message)
	r.problems = append(r.problems, p)
}

// onOneLine makes a message fit for a terminal. Libraries and other rooms put
// names into theirs that a stranger chose.
func onOneLine(message string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(message, string(unicode.ReplacementChar)))
}

// undecodable adds an error at a field whose value is now unknown.
func (r *report) undecodable(at position, field, message string) {
	r.unknown(field)
	r.add(at, Problem{Field: field, Message: message})
}

// unknown marks a field whose value is not known.
func (r *report) unknown(field string) {
	r.broken[field] = true
	item := strings.TrimSuffix(field, ".key")
	if i := strings.LastIndexByte(item, '['); i >= 0 && strings.HasSuffix(item, "]") {
		r.holed[item[:i]] = true
	}
}

// incomplete says that not all items of a list are known.
func (r *report) incomplete(list string) bool { return r.holed[list] || r.isBroken(list) }

// check adds what a check found, placed at the field or its nearest existing
// ancestor, unless the field could not be decoded in the first place.
func (r *report) check(p Problem) {
	if r.full && !p.Warning || r.warned && p.Warning || r.isBroken(p.Field) {
		return
	}
	r.add(r.root.locate(p.Field), p)
}

// said says whether there is an error at exactly this field.
func (r *report) said(field string) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Field == field && !p.Warning })
}

// isBroken says whether field, or anything it lies in, could not be decoded.
func (r *report) isBroken(field string) bool {
	if r.broken[field] {
		return true
	}
	for i := range len(field) {
		if (field[i] == '.' || field[i] == '[') && r.broken[field[:i]] {
			return true
		}
	}
	return false
}

// sorted returns the problems by place, each once.
func (r *report) sorted() Problems {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	seen := make(map[Problem]bool, len(r.problems))
	return slices.DeleteFunc(r.problems, func(p Problem) bool {
		if seen[p] {
			return true
		}
		seen[p] = true
		return false
	})
}
