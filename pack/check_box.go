package pack

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/agentclash/agentclash/pack/template"
)

// workspace is where everything of an agent lives in its sandbox.
const workspace = "/workspace"

var (
	envName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9.+\-]+$`)
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func checkToolPolicy(c *checker) {
	const field = "version.tool_policy"
	known := []string{"allowed_tool_kinds", "allow_shell", "allow_network"}
	for _, key := range sortedKeys(c.Version.ToolPolicy) {
		value, at := c.Version.ToolPolicy[key], join(field, key)
		switch key {
		case "allowed_tool_kinds":
			checkToolKinds(c, at, value)
		case "allow_shell", "allow_network":
		default:
			c.unknownFree(at, key, known)
		}
	}
}

func checkToolKinds(c *checker, field string, value any) {
	list, ok := value.([]any)
	if !ok {
		c.fail(field, "must be a list of tool kinds: %s", strings.Join(template.Kinds(), ", "))
		return
	}
	for i, item := range list {
		at := indexed(field, i)
		text, isText := item.(string)
		kind := strings.ToLower(strings.TrimSpace(text))
		switch {
		case !isText || kind == "":
			c.fail(at, "must be the name of a tool kind")
		case kind == "shell":
			c.fail(at, "is not a tool kind; allow_shell: true unlocks the shell")
		case !slices.Contains(template.Kinds(), kind):
			c.fail(at, "%s", c.oneOf(kind, template.Kinds()))
		case !c.hasTools(kind):
			c.warn(at, "this version has no tool of kind %s", kind)
		}
	}
}

// hasTools says whether this version has a tool that a kind unlocks.
func (c *checker) hasTools(kind string) bool {
	return slices.ContainsFunc(c.primitives, func(p template.Primitive) bool { return p.Kind == kind })
}

func checkSandbox(c *checker) {
	const field = "version.sandbox"
	box := c.Version.Sandbox
	if box == nil {
		return
	}
	if len(box.NetworkAllowlist) > 0 && !box.NetworkAccess && c.Version.ToolPolicy["allow_network"] != true {
		c.warn(field+".network_allowlist", "has no effect without network_access: true, or allow_network: true in the tool policy")
	}
	for i, cidr := range box.NetworkAllowlist {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			c.fail(indexed(field+".network_allowlist", i), "must be an address range such as 10.0.0.0/8")
		}
	}
	checkLimits(c, field, box)
	for _, name := range sortedKeys(box.EnvVars) {
		checkEnvVar(c, name, box.EnvVars[name])
	}
	for i, name := range box.AdditionalPackages {
		if !packageName.MatchString(name) {
			c.fail(indexed(field+".additional_packages", i), "is not the name of a Debian package")
		}
	}
}

func checkEnvVar(c *checker, name, value string) {
	const field = "version.sandbox.env_vars"
	at := field + "[" + name + "]"
	if strings.ContainsFunc(name, func(r rune) bool { return r == ']' || !unicode.IsPrint(r) }) || len(name) > maxQuoted {
		at = field + "[" + quote(name) + "]"
	}
	if !envName.MatchString(name) {
		c.fail(at, "is not the name of a variable: letters, digits and _, no digit first")
	}
	switch {
	case strings.Contains(value, "${secrets."):
		c.fail(at, "must be literal: secrets never enter a sandbox; pass them in the headers of an http_request tool")
	case strings.Contains(value, "${"):
		c.fail(at, "must be literal: ${...} is not filled in here")
	}
}
