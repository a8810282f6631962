package view

import "io"

// StartDocument is what `eval start --json` prints, and its summary is made
// of.
type StartDocument struct {
	RunID   string `json:"run_id"`
	RunName string `json:"-"`
	Status  string `json:"status"`
	// Code is budget_exceeded or deadline_exceeded for a run that one of its own
	// limits ended, and replay_miss for one that asked for what is not recorded.
	Code     string      `json:"code,omitempty"`
	Reason   string      `json:"reason,omitempty"` // why a run that did not complete stopped
	Pack     Pack        `json:"pack"`
	InputSet string      `json:"input_set"`
	Shard    string      `json:"shard,omitempty"` // the part of the cases that the run has
	Agents   List[Agent] `json:"agents"`
}

// Start writes how a run ended: one row an agent, and what was invalid.
func Start(w io.Writer, d StartDocument, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("Run", runName(d.RunName, d.RunID, o))
	b.Status("Status", d.Status)
	if d.Reason != "" {
		b.Add("Reason", d.Reason)
	}
	b.Add("Pack", d.Pack.String())
	b.Add("Input set", d.InputSet)
	if d.Shard != "" {
		b.Add("Shard", d.Shard)
	}
	p.details(b)
	if len(d.Agents) > 0 {
		p.blank()
		p.agentsTable(d.Agents)
	}
	invalid := make([]labelled, len(d.Agents))
	for i, a := range d.Agents {
		invalid[i] = labelled{a.Label, a.InvalidCauses}
	}
	p.invalidTable(invalid)
	return p.flush()
}

// runName is a name with the id that distinguishes it.
func runName(name, id string, o Options) string {
	if name == "" {
		return o.ID(id)
	}
	return name + " (" + o.ID(id) + ")"
}
