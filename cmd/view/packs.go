package view

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// PackEntry is a pack and its stored versions as `challenge-pack list` prints
// it.
type PackEntry struct {
	ID       string            `json:"challenge_pack_id"`
	Slug     string            `json:"slug"`
	Name     string            `json:"name"`
	Versions List[PackVersion] `json:"versions"`
}

// PackVersion is one stored version of a pack. Published is false for a
// snapshot that a run took of a file.
type PackVersion struct {
	ID        string    `json:"challenge_pack_version_id"`
	Version   int32     `json:"version"`
	Digest    string    `json:"digest"`
	Mode      string    `json:"execution_mode"`
	Published bool      `json:"published"`
	CreatedAt time.Time `json:"created_at"`
}

// PackList writes one row a version.
func PackList(w io.Writer, page Page[PackEntry], o Options) error {
	t := Table{Columns: []Column{
		whole("ID"), left("SLUG"), right("VERSION"), left("NAME"), spare(left("MODE")), whole("PUBLISHED"),
		spare(whole("DIGEST")), whole("CREATED"),
	}}
	for _, e := range page.Items {
		for _, v := range e.Versions {
			t.Add(Text(o.ID(v.ID)), Text(e.Slug), Text(strconv.Itoa(int(v.Version))), Text(e.Name), Text(v.Mode),
				Text(yesNo(v.Published)), Text(shortDigest(v.Digest, o)), Text(o.Time(v.CreatedAt)))
		}
	}
	return t.Write(w, o)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// shortDigest is the head of a digest on a terminal.
func shortDigest(digest string, o Options) string {
	const shown = 12
	if o.Terminal() && len(digest) > shown {
		return digest[:shown]
	}
	return digest
}

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
