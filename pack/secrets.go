package pack

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

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

// SecretUse is a tool of the pack that sends a secret of the user's somewhere.
type SecretUse struct {
	Secret, Tool string
	Host         string // "" when the tool's arguments decide it
}

// String says it in words. They are the pack's.
func (u SecretUse) String() string {
	to := u.Host
	if to == "" {
		to = "an address that is made up when it is called"
	}
	return fmt.Sprintf("the pack's tool %s sends the secret %s to %s", u.Tool, u.Secret, to)
}

// SecretUses are where the pack's own tools send secrets, in the order of the tools.
func (p *Pack) SecretUses() []SecretUse {
	var uses []SecretUse
	tools, _ := template.ReadTools(p.Tools) // its problems were said when the pack was checked
	for _, c := range tools.Custom {
		if c.Composed == nil {
			continue
		}
		for _, name := range c.Composed.Secrets {
			uses = append(uses, SecretUse{Secret: name, Tool: c.Name, Host: fixedHost(c.Composed.Args["url"])})
		}
	}
	return uses
}

// fixedHost is the host of an address in which none of it is filled in.
func fixedHost(address any) string {
	text, _ := address.(string)
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || strings.Contains(scheme, "${") {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil || strings.ContainsAny(rest, `${}@\`) {
		return ""
	}
	return u.Host
}
