package view

import (
	"io"
	"strconv"
	"strings"
)

// GCDocument is what sandboxes had left behind: what was removed, or with
// DryRun what would be.
type GCDocument struct {
	DryRun      bool            `json:"dry_run"`
	Engine      bool            `json:"engine_answers"` // else no containers, volumes and images were looked at
	Removed     int             `json:"removed"`        // machines, containers and directories; 0 with DryRun
	Machines    int             `json:"e2b_sandboxes"`  // of E2B's
	Containers  []LeftContainer `json:"containers"`
	Directories []string        `json:"directories"`
	Volumes     []string        `json:"volumes"`
	Images      []string        `json:"images"`
}

// LeftContainer is a container whose process is dead.
type LeftContainer struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Run   string `json:"run_id,omitempty"`
	Agent string `json:"agent,omitempty"`
	Case  string `json:"case_key,omitempty"`
}

// GC writes one line for each thing.
func GC(w io.Writer, d GCDocument, o Options) error {
	p := newPrinter(w, o)
	verb := "removed"
	if d.DryRun {
		verb = "would remove"
	}
	for _, c := range d.Containers {
		line := verb + " the container " + c.ID + " (" + c.State
		for _, part := range []string{c.Run, c.Agent, c.Case} {
			if part != "" {
				line += ", " + part
			}
		}
		p.line(SanitizeLine(line + ")"))
	}
	if d.Machines > 0 {
		p.line(verb + " " + strconv.Itoa(d.Machines) + " E2B sandbox(es)")
	}
	for _, group := range []struct {
		what  string
		names []string
	}{{"directory", d.Directories}, {"volume", d.Volumes}, {"image", d.Images}} {
		for _, name := range group.names {
			p.line(SanitizeLine(strings.Join([]string{verb, "the", group.what, name}, " ")))
		}
	}
	return p.flush()
}
