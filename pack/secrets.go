package pack

import (
	"slices"

	"github.com/agentclash/agentclash/pack/template"
)

// ToolSecrets are the names of the secrets that the pack's own tools use,
// sorted.
func (p *Pack) ToolSecrets() []string {
	var names []string
	tools, _ := template.ReadTools(p.Tools) // its problems were said when the pack was checked
	for _, c := range tools.Custom {
		if c.Composed != nil {
			names = append(names, c.Composed.Secrets...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
