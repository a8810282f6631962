package plan

import (
	"cmp"
	"fmt"

	"github.com/agentclash/agentclash/engine/provider"
)

// Script is a file that a run reads the replies of a scripted model from.
type Script struct {
	Who   string // whose it is, as in errors
	Model string // where it is
	// Digest is the SHA-256, in hex, of what it held when the run was planned; ""
	// is not known. It points into the plan.
	Digest *string
}

// ScriptFile is what the replies of a scripted model are read from.
func (d Deployment) ScriptFile() string { return cmp.Or(d.Script, d.Model) }

// Scripts are those of the plan's agents, judges and users.
func (p *Plan) Scripts() []Script {
	var list []Script
	for i := range p.Agents {
		if d := &p.Agents[i].Deployment; d.Provider == provider.Scripted {
			list = append(list, Script{fmt.Sprintf("deployment %q", d.Name), d.ScriptFile(), &d.ContentDigest})
		}
	}
	for i := range p.Judges {
		if m := &p.Judges[i]; m.Provider == provider.Scripted {
			list = append(list, Script{fmt.Sprintf("judge %q", m.Name), m.Model, &m.ContentDigest})
		}
	}
	for i := range p.Simulators {
		if m := &p.Simulators[i]; m.Provider == provider.Scripted {
			list = append(list, Script{fmt.Sprintf("the users of %q", p.Agents[m.Lane].Label), m.Script, &m.ContentDigest})
		}
	}
	return list
}
