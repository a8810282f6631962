package scripted

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a script.
type Problem struct {
	Line, Column int // from 1; 0 when the whole file is meant
	Message      string
}

// Problems is the error of a script that cannot be used: everything that is
// wrong with it, in the order of its lines.
type Problems struct {
	Name string // of the script
	List []Problem
}

// maxProblemsShown bounds how many problems an error's text spells out.
const maxProblemsShown = 50

// Error puts each problem on a line, as name:line:column: message.
func (p *Problems) Error() string {
	var b strings.Builder
	for i, problem := range p.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == maxProblemsShown {
			fmt.Fprintf(&b, "%s: and %d more problems", p.Name, len(p.List)-i)
			break
		}
		b.WriteString(p.Name)
		if problem.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", problem.Line, problem.Column)
		}
		b.WriteString(": ")
		b.WriteString(problem.Message)
	}
	return b.String()
}
