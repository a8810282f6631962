package view

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// GitHubAnnotations writes one workflow command a finding, which GitHub shows
// beside the line it is about.
func GitHubAnnotations(w io.Writer, d ValidateDocument) error {
	out := bufio.NewWriter(w)
	for _, f := range d.Files {
		for _, p := range f.Errors {
			annotate(out, "error", f.File, p)
		}
		for _, p := range f.Warnings {
			annotate(out, "warning", f.File, p)
		}
	}
	return out.Flush()
}

func annotate(w io.Writer, level, file string, p Problem) {
	fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n",
		level, property(file), max(p.Line, 1), max(p.Column, 1), property(p.Field), data(p.Message))
}

// data escapes the message of a workflow command. Its other control characters
// go, as everywhere.
func data(text string) string {
	return Sanitize(strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text))
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(text))
}
