package view

import (
	"fmt"
	"io"
)

// ValidateDocument is what `challenge-pack validate --json` prints.
type ValidateDocument struct {
	Valid bool                `json:"valid"`
	Files List[ValidatedFile] `json:"files"`
}

// ValidatedFile is what was found in one file.
type ValidatedFile struct {
	File     string        `json:"file"`
	Valid    bool          `json:"valid"`
	Errors   List[Problem] `json:"errors"`
	Warnings List[Problem] `json:"warnings"`
}

// Problem is one finding and its place. Line and column count from 1; 0 means
// the finding has no place.
type Problem struct {
	Field   string `json:"field"`
	Message string `json:"message"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	// Rule is the kind of check that found it.
	Rule string `json:"rule,omitempty"`
}

// Problems writes one finding a line, as `file:line:col: field: message`, the
// form editors can jump to. It is never cut to a terminal's width: a path that
// is cut leads nowhere. A file without findings writes nothing.
func Problems(w io.Writer, d ValidateDocument, o Options) error {
	o.Width = 0
	p := newPrinter(w, o)
	for _, f := range d.Files {
		for _, e := range f.Errors {
			p.line(e.line(f.File, ""))
		}
		for _, e := range f.Warnings {
			p.line(e.line(f.File, Waiting.Paint("warning: ", o.Color)))
		}
	}
	return p.flush()
}

func (e Problem) line(file, kind string) string {
	s := SanitizeLine(file)
	if e.Line > 0 {
		s += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	s += ": " + kind
	if e.Field != "" {
		s += SanitizeLine(e.Field) + ": "
	}
	return s + SanitizeLine(e.Message)
}
