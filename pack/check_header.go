package pack

import (
	"regexp"
	"slices"

	"github.com/agentclash/agentclash/pack/template"
)

var plainSlug = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

func checkHeader(c *checker) {
	if slug := c.Pack.Pack.Slug; c.require("pack.slug", slug) && (!plainSlug.MatchString(slug) || len(slug) > maxQuoted) {
		c.warn("pack.slug", "is hard to name in a command: use a-z, 0-9, -, _ and ., a letter or digit first")
	}
	c.require("pack.name", c.Pack.Pack.Name)
	c.require("pack.family", c.Pack.Pack.Family)
	c.positive("version.number", int64(c.Version.Number))
}

func checkMode(c *checker) {
	modes := []string{Native, PromptEval, Responses, MultiTurn}
	if mode := c.Version.ExecutionMode; mode != "" && !slices.Contains(modes, mode) {
		c.fail("version.execution_mode", "%s", c.oneOf(mode, modes))
	}
}

func checkGuards(c *checker) {
	mode := c.Version.ExecutionMode
	if (mode == PromptEval || mode == Responses) && len(c.Tools) > 0 {
		c.fail("tools", "must be empty when execution_mode is %s", mode)
	}
	if c.Asks() && len(c.Version.EvaluationSpec.PostExecutionChecks) > 0 {
		c.warn("version.evaluation_spec.post_execution_checks",
			"captures nothing: %s packs have no sandbox", mode)
	}
	if mode == Responses && c.Version.Sandbox != nil {
		c.warn("version.sandbox", "changes nothing: no agent of a %s pack reaches a sandbox, so none is opened", mode)
	}
	if mode != PromptEval {
		return
	}
	if c.Version.Sandbox != nil {
		c.fail("version.sandbox", "must be left out when execution_mode is %s", mode)
	}
	if len(c.Version.ToolPolicy) > 0 {
		c.fail("version.tool_policy", "must be empty when execution_mode is %s", mode)
	}
}

// checkTools hands on what pack/template finds, but for what checkBlockers
// says.
func checkTools(c *checker) {
	tools, problems := template.ReadTools(c.Tools)
	for _, p := range problems {
		if !p.Blocks {
			c.rep.check(Problem{Field: p.Field, Message: p.Message, Warning: p.Warning})
		}
	}
	own := map[string]bool{}
	for _, t := range tools.Custom {
		own[t.Name] = true
	}
	for i, t := range tools.Custom {
		if t.Composed == nil || own[t.Composed.Primitive] || c.unlocked(t.Composed.Primitive) {
			continue
		}
		if slices.ContainsFunc(c.primitives, func(p template.Primitive) bool { return p.Name == t.Composed.Primitive }) {
			c.warn(indexed("tools.custom", i)+".implementation.primitive",
				"the tool policy does not unlock %s, so that agents will not see this tool", t.Composed.Primitive)
		}
	}
}

// unknownFree warns of a key in a mapping that the format leaves open.
func (c *checker) unknownFree(field, key string, known []string) {
	c.warn(field, "is not known and is ignored%s", c.hint(key, known))
}
