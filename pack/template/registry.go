package template

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// httpRequest is the one tool that may be given secrets: what it is called with
// reaches neither a file, nor a command line, nor the agent.
const httpRequest = "http_request"

// toolName is what the interfaces of models take as the name of a tool.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// graph finds tools that would call each other for ever or too often. Its
// errors are the block's, since no one tool is at fault.
func (r *reader) graph(drafts []*draft) {
	next := map[string]string{}
	for _, d := range drafts {
		if d.Composed != nil && d.Name != "" && d.Composed.Primitive != "" {
			next[d.Name] = d.Composed.Primitive
		}
	}
	for _, start := range slices.Sorted(maps.Keys(next)) {
		seen := map[string]bool{}
		name, composed := start, true
		for composed && !seen[name] {
			seen[name] = true
			name = next[name]
			_, composed = next[name]
		}
		switch {
		case composed:
			r.fail(root(), "the delegation of %s is a cycle: it comes to %s again", quote(start), quote(name))
		case len(seen) > MaxDelegations:
			r.fail(root(), "the delegation of %s is too deep: it passes %d composed tools, and %d are the most",
				quote(start), len(seen), MaxDelegations)
		}
	}
}

// registry warns of what the format accepts and a run would trip over.
func (r *reader) registry(drafts []*draft) {
	names := make([]string, len(drafts))
	for i, d := range drafts {
		names[i] = d.Name
	}
	seen := map[string]bool{}
	for _, d := range drafts {
		r.name(d, seen)
		seen[d.Name] = true
		if d.Composed != nil {
			r.known(d, names)
			r.secretive(d, names)
		}
	}
}

func (r *reader) name(d *draft, seen map[string]bool) {
	switch at := d.at; {
	case d.Name == "":
		r.unusable(d, at, "is required")
	case d.Name == Submit:
		r.unusable(d, at, "is the tool that hands in the answer")
	case seen[d.Name]:
		r.unusable(d, at, "must be unique: %s is used above", quote(d.Name))
	case slices.Contains(Names(), d.Name):
		r.warn(at, "is the name of a built-in tool: a run that has both refuses this one")
	case !toolName.MatchString(d.Name):
		r.warn(at, "is a name that models may refuse: use letters, digits, _ and -, 64 of them at most")
	}
}

// known warns of a delegate that is not there: agents do not see such a tool.
func (r *reader) known(d *draft, custom []string) {
	at, name := d.impl.at("primitive"), d.Composed.Primitive
	switch {
	case name == "", slices.Contains(r.here, name), slices.Contains(custom, name):
	default:
		r.warn(at, "there is no tool %s, so that agents will not see this one%s", quote(name), r.hint(name, append(Names(), custom...)))
	}
}

// secretive warns of secrets that would reach where an agent can read them.
func (r *reader) secretive(d *draft, custom []string) {
	if len(d.secrets) == 0 {
		return
	}
	if d.Composed.Primitive != httpRequest || slices.Contains(custom, httpRequest) {
		for _, at := range d.secrets {
			r.unusable(d, at, "holds a secret, which only the built-in %s may be given", httpRequest)
		}
		return
	}
	if path, _ := d.Composed.Args["output_path"].(string); strings.TrimSpace(path) != "" {
		r.unusable(d, d.impl.at("args").child("output_path"), "cannot stand beside a secret: the agent could read the file")
	}
}

// toolNames reads `allowed` or `denied`. The format looks at neither, so that
// everything is a warning.
func (r *reader) toolNames(f fields, key string, custom map[string]bool) []string {
	at, value := f.at(key), f.value(key)
	list, isList := value.([]any)
	switch text, one := value.(string); {
	case value == nil:
		return nil
	case one:
		r.warn(at, "must be a list of tool names; it is read as one name")
		return r.builtIn(at, text, key, custom)
	case !isList:
		r.warn(at, "must be a list of tool names, not %s, and is ignored", what(value))
	}
	var names []string
	for i, item := range list {
		name, ok := item.(string)
		if !ok {
			r.warn(at.at(i), "must be the name of a tool, not %s, and is ignored", what(item))
			continue
		}
		names = append(names, r.builtIn(at.at(i), name, key, custom)...)
	}
	return names
}

// builtIn looks at one name in `allowed` or `denied`, which speak of built-in
// tools: the pack's own are always shown.
func (r *reader) builtIn(at *spot, name, key string, custom map[string]bool) []string {
	switch {
	case name == Submit && key == "denied":
		r.warn(at, "cannot be denied: it is how an agent hands in its answer")
	case slices.Contains(r.here, name):
	case !custom[name]:
		hint := r.hint(name, append(Names(), slices.Sorted(maps.Keys(custom))...))
		if hint == "" {
			hint = "; there are " + strings.Join(Names(), ", ")
		}
		r.warn(at, "there is no tool %s%s", quote(name), hint)
	case key == "denied":
		r.warn(at, "denies nothing: a tool of the pack's own is hidden by leaving it out of custom")
	}
	return []string{name}
}
