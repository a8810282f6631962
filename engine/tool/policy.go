package tool

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/pack/template"
)

// Policy is what a pack permits: the keys of `version.tool_policy` and `tools`
// that decide which tools an agent sees.
type Policy struct {
	Kinds      []string // allowed_tool_kinds; empty permits every kind
	AllowShell bool     // allow_shell unlocks exec
	Allowed    []string // tools.allowed; empty permits every tool
	Denied     []string // tools.denied; submit cannot be denied
	// Hidden are a deployment's: no agent of it sees these, the pack's own tools
	// included. Submit cannot be hidden.
	Hidden []string
	// Custom are the pack's own tools, which Allowed and Denied do not speak of.
	Custom []template.CustomTool
}

// ParsePolicy reads a pack's tool_policy and tools blocks, which the pack room
// has checked.
func ParsePolicy(toolPolicy, tools map[string]any) (Policy, error) {
	var p struct {
		Kinds      []string `json:"allowed_tool_kinds"`
		AllowShell bool     `json:"allow_shell"`
	}
	if err := convert(toolPolicy, &p); err != nil {
		return Policy{}, fmt.Errorf("read version.tool_policy: %w", err)
	}
	t, _ := template.ReadTools(tools) // its problems were said when the pack was checked
	return Policy{Kinds: p.Kinds, AllowShell: p.AllowShell, Allowed: t.Allowed, Denied: t.Denied, Custom: t.Custom}, nil
}

func convert(m map[string]any, to any) error {
	if m == nil {
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}

// shows says whether an agent sees a built-in tool that is unlocked.
func (p Policy) shows(name string) bool {
	if name == Submit {
		return true
	}
	if p.hides(name) {
		return false
	}
	if len(p.Allowed) > 0 && !slices.Contains(p.Allowed, name) {
		return false
	}
	return !slices.Contains(p.Denied, name)
}

func (p Policy) hides(name string) bool { return slices.Contains(p.Hidden, name) }
