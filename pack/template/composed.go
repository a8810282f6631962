package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// custom reads `tools.custom`. What keeps it from being a list of tools with
// names is said at the block, and then nothing else is said about it.
func (r *reader) custom(tools fields) []*draft {
	value := tools.value("custom")
	list, ok := value.([]any)
	switch {
	case value == nil:
		return nil
	case !ok:
		r.fail(root(), "custom must be a list of tools, not %s", what(value))
		return nil
	case len(list) > maxTools:
		r.fail(root(), "custom has %d tools; at most %d are read", len(list), maxTools)
		return nil
	}
	read, misshapen := make([]fields, len(list)), false
	for i, item := range list {
		if m, ok := item.(map[string]any); ok || item == nil {
			read[i] = r.fields(tools.at("custom").at(i), m, "name", "description", "parameters", "implementation")
		} else {
			r.fail(root(), "custom[%d] must be a tool, not %s", i, what(item))
			misshapen = true
		}
		if name := read[i].value("name"); name != nil && !isText(name) {
			r.fail(root(), "custom[%d].name must be text, not %s", i, what(name))
			misshapen = true
		}
	}
	if misshapen {
		return nil
	}
	drafts := make([]*draft, len(read))
	for i, tool := range read {
		drafts[i] = r.tool(tool)
	}
	return drafts
}

func isText(v any) bool { _, ok := v.(string); return ok }

func (r *reader) tool(f fields) *draft {
	d := &draft{at: f.at("name"), CustomTool: CustomTool{Name: strings.TrimSpace(f.text("name")), Description: f.text("description")}}
	if v := f.value("description"); v != nil && !isText(v) {
		r.warn(f.at("description"), "must be text, not %s, and is ignored", what(v))
	}
	if !r.implementation(d, f) {
		return d
	}
	refuse := r.fail
	switch {
	case strings.EqualFold(strings.TrimSpace(d.impl.text("type")), "mock"):
		d.Mock = r.mock(d, d.impl)
		refuse = func(at *spot, format string, args ...any) { r.unusable(d, at, format, args...) }
	default:
		d.Composed = r.delegate(d)
	}
	p := r.parameters(f, refuse)
	d.Parameters, d.Schema = p.raw, p.schema
	if d.Composed != nil {
		d.Composed.declared = p.declared
		r.args(d)
	}
	return d
}

// implementation reads the mapping and says whether the tool can be checked
// any further.
func (r *reader) implementation(d *draft, f fields) bool {
	at, value := f.at("implementation"), f.value("implementation")
	m, isMap := value.(map[string]any)
	switch {
	case !f.has("implementation"):
		r.fail(at, "is required: a primitive with its args, or type: mock")
		return false
	case value != nil && !isMap:
		r.fail(at, "must be a mapping, not %s", what(value))
		return false
	}
	known := append(slices.Sorted(maps.Keys(mockKeys())), "type", "primitive", "args")
	d.impl = r.fields(at, m, known...)
	ok := true
	for _, key := range []string{"type", "primitive"} {
		if v := d.impl.value(key); v != nil && !isText(v) {
			r.fail(at, "%s must be text, not %s", key, what(v))
			ok = false
		}
	}
	return ok
}

// delegate reads whom a composed tool calls.
func (r *reader) delegate(d *draft) *Composed {
	if kind := strings.TrimSpace(d.impl.text("type")); kind != "" {
		r.warn(d.impl.at("type"), "is ignored: only mock means something here%s", r.hint(kind, []string{"mock"}))
	}
	for _, key := range slices.Sorted(maps.Keys(mockKeys())) {
		if d.impl.has(key) {
			r.warn(d.impl.at(key), "is ignored: only a mock (type: mock) has it")
		}
	}
	c := &Composed{Primitive: strings.TrimSpace(d.impl.text("primitive"))}
	switch at := d.impl.at("primitive"); c.Primitive {
	case "":
		r.fail(at, "is required: the tool that this one calls")
	case d.Name:
		r.fail(at, "must be another tool: this one would call itself")
	}
	return c
}

// args reads the arguments of the delegate and every placeholder in them.
func (r *reader) args(d *draft) {
	at, value := d.impl.at("args"), d.impl.value("args")
	args, isMap := value.(map[string]any)
	switch {
	case !d.impl.has("args"):
		r.fail(at, "is required: the arguments of %s, {} for none", orTool(d.Composed.Primitive))
		return
	case value != nil && !isMap:
		r.fail(at, "must be a mapping of arguments, not %s", what(value))
		return
	}
	d.Composed.Args = args
	names := map[string]bool{}
	declared := slices.Sorted(maps.Keys(d.Composed.declared))
	r.eachText(args, at, func(p Part, at *spot) {
		switch {
		case p.Kind == Malformed:
			r.fail(at, "%s", malformed(p))
		case p.Kind == Secret:
			names[p.Name] = true
			if n := len(d.secrets); n == 0 || d.secrets[n-1] != at { // once for a text
				d.secrets = append(d.secrets, at)
			}
		case p.Kind == Parameter && !d.Composed.declared[p.Path[0]]:
			r.fail(at, "%s", r.undeclared(p, declared))
		}
	})
	d.Composed.Secrets = slices.Sorted(maps.Keys(names))
}

func orTool(name string) string {
	if name == "" {
		return "the primitive"
	}
	return quote(name)
}

// malformed says what is wrong with the syntax of a placeholder.
func malformed(p Part) string {
	if !strings.HasSuffix(p.Text, "}") {
		return quote(p.Text) + " has no } at its end"
	}
	return quote(p.Text) + " names nothing; write ${name}"
}

// undeclared says that a placeholder names no parameter, and what would.
func (r *reader) undeclared(p Part, declared []string) string {
	name := p.Path[0]
	message := quote(p.Text) + " names no property of parameters"
	switch {
	case name == "secrets":
		return message + "; a secret is ${secrets.NAME}"
	case name == "parameters":
		return message + "; write ${name} for one of them, ${parameters} for all"
	case strings.Contains(name, ":"):
		return message + "; the encodings are json:, query: and path:"
	}
	if hint := r.hint(name, declared); hint != "" {
		return message + hint
	}
	if len(declared) == 0 {
		return message + ", which has none"
	}
	return message + fmt.Sprintf("; there %s", listed(declared))
}

// maxListed bounds how many names a message lists.
const maxListed = 12

func listed(names []string) string {
	quoted := make([]string, 0, maxListed)
	for _, name := range names[:min(len(names), maxListed)] {
		quoted = append(quoted, quote(name))
	}
	text := strings.Join(quoted, ", ")
	if len(names) > maxListed {
		text += ", ..."
	}
	if len(names) == 1 {
		return "is " + text
	}
	return "are " + text
}
