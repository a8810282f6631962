package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of a file of examples.
const (
	MaxBytes = 64 << 20
	MaxRows  = 100_000
	// MaxValueBytes bounds the text of one value.
	MaxValueBytes = 1 << 20
	// maxColumns bounds a row.
	maxColumns = 1000
	// maxDepth bounds how deep a value is nested.
	maxDepth = 40
	// maxProblems is how many problems are listed.
	maxProblems = 100
)

// Row is one example as a file has it: named values. Those of a table are all
// text; those of JSON are what encoding/json makes of them, with [json.Number].
type Row struct {
	N      int // from 1, without a table's head
	Line   int // where it begins, from 1
	Fields map[string]any
}

// Problem is something that keeps a row from becoming a case.
type Problem struct {
	Row     int    `json:"row"`  // 0 for the file as a whole
	Line    int    `json:"line"` // 0 for none
	Column  string `json:"column"`
	Message string `json:"message"`
}

func (p Problem) String() string {
	where := ""
	if p.Row > 0 {
		where = fmt.Sprintf("row %d: ", p.Row)
	}
	if p.Column != "" {
		where += fmt.Sprintf("column %q: ", clip(p.Column))
	}
	return where + p.Message
}

// Problems are everything wrong with a file, in its order. As an error it prints
// a line each.
type Problems []Problem

// Error implements error.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
		if p.Line > 0 {
			lines[i] = fmt.Sprintf("line %d: %s", p.Line, lines[i])
		}
	}
	return strings.Join(lines, "\n")
}

// err is the problems as an error, nil for none, bounded.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Row, b.Row)) })
	if more := len(ps) - maxProblems; more > 0 {
		ps = append(ps[:maxProblems:maxProblems], Problem{Message: fmt.Sprintf("and %d more", more)})
	}
	return ps
}

func whole(format string, args ...any) Problems {
	return Problems{{Message: fmt.Sprintf(format, args...)}}
}

// clip bounds a stranger's text in a message, and keeps it on one line.
func clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "..."
	}
	return text
}

// text takes the mark off a file's beginning and refuses what is no UTF-8 at all.
func text(src []byte) ([]byte, error) {
	switch {
	case len(src) > MaxBytes:
		return nil, whole("it is longer than %d MiB", MaxBytes>>20)
	case bytes.HasPrefix(src, []byte{0xff, 0xfe}), bytes.HasPrefix(src, []byte{0xfe, 0xff}):
		return nil, whole("it is UTF-16: save it as UTF-8")
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, whole("it is empty")
	}
	if !utf8.Valid(src) {
		line := 1
		for len(src) > 0 {
			r, size := utf8.DecodeRune(src)
			if r == utf8.RuneError && size == 1 {
				break
			}
			if r == '\n' {
				line++
			}
			src = src[size:]
		}
		return nil, Problems{{Line: line, Message: "it is not UTF-8"}}
	}
	return src, nil
}

// Map changes every text of the rows, names of keys within values included.
func Map(rows []Row, change func(string) string) {
	for _, r := range rows {
		for name, v := range r.Fields {
			r.Fields[name] = mapped(v, change)
		}
	}
}

func mapped(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = mapped(v[i], change)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[change(key)] = mapped(inner, change)
		}
		return out
	}
	return v
}
