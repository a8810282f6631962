package scoring

import (
	"fmt"
	"strings"
)

// rule is what becomes of a finding whatever found it: a validator may be
// negated, and what rests on something not being in a capture is taken back
// when the capture is only a part.
func (t *trial) rule(v *validator, f finding) finding {
	if f.state != Available {
		return f
	}
	excludes := v.row.excludes != nil && v.row.excludes(v.settings)
	if v.Negate {
		f = f.negated()
		excludes = !excludes
	}
	part := t.partial(v.target)
	if !f.pass || !excludes || f.settled || part == "" {
		return f
	}
	f.pass, f.score = false, 0
	f.reason = clipTo(part+", and the rest may have what must not be there", maxReason)
	if v.Negate {
		f.reason = clipTo("negated: "+f.reason, maxReason)
	}
	return f
}

// negated is the opposite finding. The reason says what was found, as the
// verdict alone would be read the wrong way round.
func (f finding) negated() finding {
	found := f.reason
	if f.pass {
		found = strings.TrimSuffix(fmt.Sprintf("it must not hold, and holds with score %.4g: %s", f.score, f.reason), ": ")
	}
	f.pass, f.score = !f.pass, 1-f.score
	f.reason = clipTo("negated: "+found, maxReason)
	return f
}

// partial says how much there is of a capture that was cut, "" of everything else.
func (t *trial) partial(r reference) string {
	if r.kind != refFile {
		return ""
	}
	if f := t.ev.Files[r.key]; f.Truncated {
		return cut(f)
	}
	if d := t.ev.Directories[r.key]; d.Truncated {
		return fmt.Sprintf("only the first %d entries of %s were listed", len(d.Entries), quoted(d.Path))
	}
	return ""
}
