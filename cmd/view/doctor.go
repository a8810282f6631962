package view

import "io"

// DoctorDocument is what `doctor --json` prints.
type DoctorDocument struct {
	Ready     bool         `json:"ready"` // every check is ok or info
	Workspace string       `json:"workspace"`
	Checks    List[Check]  `json:"checks"`
	NextSteps List[string] `json:"next_steps"`
}

// The statuses of a [Check].
const (
	CheckOK   = "ok"
	CheckInfo = "info"
	CheckWarn = "warn"
	CheckFail = "fail"
)

// Check is one thing that was looked at.
type Check struct {
	Name     string         `json:"name"`
	Status   string         `json:"status"` // ok, info, warn or fail
	Detail   string         `json:"detail"`
	NextStep string         `json:"next_step"` // what to type, or empty
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Doctor writes one line a check, and under it what to type.
func Doctor(w io.Writer, d DoctorDocument, o Options) error {
	p := newPrinter(w, o)
	name := 0
	for _, c := range d.Checks {
		name = max(name, Width(SanitizeLine(c.Name)))
	}
	const status = 4
	for _, c := range d.Checks {
		word := Pad(SanitizeLine(c.Status), status, false)
		margin := status + columnGap + name + columnGap
		for i, l := range p.wrap(SanitizeLine(c.Detail), o.Width-margin) {
			if i > 0 {
				p.line(Pad("", margin, false) + l)
				continue
			}
			p.line(StatusStyle(c.Status).Paint(word, o.Color) + "  " + Pad(SanitizeLine(c.Name), name, false) + "  " + l)
		}
		if c.NextStep != "" {
			p.typed(status+columnGap, "→ "+SanitizeLine(c.NextStep))
		}
	}
	return p.flush()
}
