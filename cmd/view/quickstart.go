package view

import "io"

// QuickstartDocument is what `quickstart --json` prints.
type QuickstartDocument struct {
	Workspace   string      `json:"workspace"`
	Steps       List[Check] `json:"steps"`        // whose statuses are ok, todo, blocked and info
	NextCommand string      `json:"next_command"` // "" when nothing is left to do
}

// Quickstart writes one line a step, and what to type next.
func Quickstart(w io.Writer, d QuickstartDocument, o Options) error {
	p := newPrinter(w, o)
	const status = len("blocked")
	name := 0
	for _, s := range d.Steps {
		name = max(name, Width(SanitizeLine(s.Name)))
	}
	margin := status + columnGap + name + columnGap
	for _, s := range d.Steps {
		for i, l := range p.wrap(SanitizeLine(s.Detail), o.Width-margin) {
			head := Pad("", margin, false)
			if i == 0 {
				head = StatusStyle(s.Status).Paint(Pad(SanitizeLine(s.Status), status, false), o.Color) + "  " + Pad(SanitizeLine(s.Name), name, false) + "  "
			}
			p.line(head + l)
		}
	}
	p.line("")
	if d.NextCommand == "" {
		p.typed(0, "Everything is there. Next: agentclash compare latest --gate")
		return p.flush()
	}
	p.typed(0, "Next: "+SanitizeLine(d.NextCommand))
	return p.flush()
}
