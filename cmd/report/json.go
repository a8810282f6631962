package report

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring/compare"
)

// SchemaVersion is that of the JSON and JSONL reports. Fields may be added to it.
const SchemaVersion = 1

type runDocument struct {
	SchemaVersion int        `json:"schema_version"`
	RunID         string     `json:"run_id"`
	RunName       string     `json:"run_name"`
	Status        string     `json:"status"`
	Reason        string     `json:"reason"`
	Pack          view.Pack  `json:"pack"`
	InputSet      string     `json:"input_set"`
	StartedAt     *time.Time `json:"started_at"`
}

func documentOf(r Run) runDocument {
	d := runDocument{SchemaVersion, r.ID, r.Name, r.Status, r.Reason, r.Pack, r.InputSet, nil}
	if !r.StartedAt.IsZero() {
		d.StartedAt = &r.StartedAt
	}
	return d
}

type agentDocument struct {
	Agent       view.Agent          `json:"agent"`
	Baseline    *view.Bookmark      `json:"baseline"`
	Comparison  *compare.Comparison `json:"comparison"`
	ReleaseGate *compare.GateResult `json:"release_gate"`
}

// writeJSON writes one document, trial by trial, a line each.
func writeJSON(w io.Writer, r Run) error {
	b := bufio.NewWriter(w)
	o := opened{b: b}
	o.open(documentOf(r), `,"agents":[`)
	for i, a := range r.Agents {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		o.open(agentDocument{a.Agent, a.Baseline, a.Comparison, a.Gate}, `,"trials":[`)
		first := true
		err := a.each(func(t view.Trial) error {
			if !first {
				b.WriteByte(',')
			}
			first = false
			b.WriteByte('\n')
			o.value(t)
			return o.err
		})
		if err != nil {
			return err
		}
		b.WriteString("\n]}")
	}
	b.WriteString("\n]}\n")
	if o.err != nil {
		return o.err
	}
	return b.Flush()
}

// opened writes JSON values one after the other and keeps the first error.
type opened struct {
	b   *bufio.Writer
	err error
}

// open writes an object that has fields, without its end, and what goes on.
func (o *opened) open(v any, more string) {
	if raw := o.marshal(v); len(raw) > 0 {
		_, _ = o.b.Write(raw[:len(raw)-1]) // a bufio.Writer keeps its error for Flush
		o.b.WriteString(more)
	}
}

func (o *opened) value(v any) { _, _ = o.b.Write(o.marshal(v)) }

func (o *opened) marshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	return raw
}

type trialLine struct {
	SchemaVersion int    `json:"schema_version"`
	RunID         string `json:"run_id"`
	RunAgentID    string `json:"run_agent_id"`
	Agent         string `json:"agent"`
	view.Trial
}

// writeJSONL writes a line for each trial.
func writeJSONL(w io.Writer, r Run) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	for _, a := range r.Agents {
		err := a.each(func(t view.Trial) error { return enc.Encode(trialLine{SchemaVersion, r.ID, a.RunAgentID, a.Label, t}) })
		if err != nil {
			return err
		}
	}
	return b.Flush()
}
