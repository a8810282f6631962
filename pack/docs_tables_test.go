package pack_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/scoring"
)

var (
	opening    = regexp.MustCompile(`^<!-- generated: ([A-Za-z ]+) -->$`)
	notInLinks = regexp.MustCompile(`[^a-z0-9_-]`)
	listIndex  = regexp.MustCompile(`\[[0-9]+\]`)
)

// pageWriter writes what stands between the markers of the page.
type pageWriter struct {
	t      *testing.T
	defs   map[string]*yaml.Node
	places map[string]string // the heading above the marker of a type
	told   map[string]bool

	headings []string // as links call them
}

func newPageWriter(t *testing.T, page string) *pageWriter {
	t.Helper()
	var doc yaml.Node // JSON is YAML, and nodes keep the order of keys
	if err := yaml.Unmarshal(schemaBytes(t), &doc); err != nil {
		t.Fatal(err)
	}
	root := doc.Content[0]
	w := &pageWriter{t: t, defs: map[string]*yaml.Node{"Pack": root}, places: map[string]string{}, told: map[string]bool{}}
	each(at(root, "$defs"), func(name string, def *yaml.Node) { w.defs[name] = def })
	heading := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "#"); ok {
			heading = strings.TrimSpace(strings.TrimLeft(text, "#"))
		}
		if slices.Contains(w.headings, anchor(heading)) && strings.HasPrefix(line, "#") {
			t.Errorf("%s has two headings that links would call %s", authorsPage, anchor(heading))
		}
		if strings.HasPrefix(line, "##") {
			w.headings = append(w.headings, anchor(heading))
		}
		if m := opening.FindStringSubmatch(line); m != nil {
			w.places[m[1]] = heading
		}
	}
	return w
}

// at follows keys into mappings; nil when there is nothing.
func at(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		var found *yaml.Node
		each(n, func(k string, v *yaml.Node) {
			if k == key {
				found = v
			}
		})
		n = found
	}
	return n
}

func each(n *yaml.Node, f func(key string, value *yaml.Node)) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f(n.Content[i].Value, n.Content[i+1])
	}
}

func (w *pageWriter) section(name string) string {
	switch name {
	case "tools":
		return toolRows()
	case "validators":
		return validatorTable()
	case "limits":
		return limitTable()
	case "not yet":
		return w.notYet()
	}
	def, ok := w.defs[name]
	if !ok {
		w.t.Errorf("%s has a marker of %s, which is not in the schema", authorsPage, name)
		return ""
	}
	w.told[name] = true
	if at(def, "properties") == nil {
		return quotedList(at(def, "examples")) + "\n"
	}
	var b strings.Builder
	b.WriteString("| key | value | |\n|---|---|---|\n")
	w.rows(&b, "", def)
	return b.String()
}

// rows writes a row for each key of a type. A type without a place of its own
// on the page is told below the key that has it.
func (w *pageWriter) rows(b *strings.Builder, prefix string, def *yaml.Node) {
	required := texts(at(def, "required"))
	each(at(def, "properties"), func(key string, p *yaml.Node) {
		value := w.value(p)
		if slices.Contains(required, key) {
			value += ", required"
		}
		text := at(p, "description").Value
		if at(p, "deprecated") != nil {
			text += " Out of use."
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, key, cell(value), cell(text))
		ref, list := refOf(p)
		if ref == "" || w.places[ref] != "" {
			return
		}
		w.told[ref] = true
		if list {
			key += "[]"
		}
		w.rows(b, prefix+key+".", w.defs[ref])
	})
}

// refOf is the type that a key holds, or holds a list of.
func refOf(p *yaml.Node) (name string, list bool) {
	ref := at(p, "$ref")
	for _, path := range [][]string{{"items", "$ref"}} {
		if ref == nil {
			ref, list = at(p, path...), true
		}
	}
	if ref == nil && at(p, "items", "anyOf") != nil {
		for _, one := range at(p, "items", "anyOf").Content {
			if at(one, "$ref") != nil {
				ref = at(one, "$ref")
			}
		}
	}
	if ref == nil {
		return "", false
	}
	return strings.TrimPrefix(ref.Value, "#/$defs/"), list
}

// value says what a key may hold.
func (w *pageWriter) value(p *yaml.Node) string {
	if ref, list := refOf(p); ref != "" {
		what := "mapping"
		if place := w.places[ref]; place != "" {
			what = fmt.Sprintf("[%s](#%s)", place, anchor(place))
		}
		if list {
			return "list of " + what
		}
		return what
	}
	kind := w.kind(p) + bounds(p)
	if d := at(p, "default"); d != nil {
		kind += ", default `" + flow(d) + "`"
	}
	return kind
}

func (w *pageWriter) kind(p *yaml.Node) string {
	names, free := enumerated(p)
	switch {
	case len(names) > 0 && free:
		return "text, such as `" + strings.Join(names[:min(5, len(names))], "` `") + "`"
	case free:
		return "text"
	case len(names) > 0:
		return "`" + strings.Join(names, "` `") + "`"
	case at(p, "const") != nil:
		return "`" + at(p, "const").Value + "`"
	case at(p, "items") != nil:
		return "list of " + w.kind(at(p, "items"))
	case at(p, "additionalProperties", "type") != nil:
		return "mapping of " + w.kind(at(p, "additionalProperties"))
	}
	types := texts(at(p, "type"))
	for _, k := range []struct{ name, word string }{
		{"array", "list"}, {"object", "mapping"}, {"integer", "whole number"},
	} {
		if slices.Contains(types, k.name) {
			return k.word
		}
	}
	switch {
	case slices.Contains(types, "boolean") && !slices.Contains(types, "number"):
		return "`true` `false`"
	case slices.Contains(types, "string"):
		return "text"
	case slices.Contains(types, "number"):
		return "number"
	}
	return "anything"
}

// enumerated are the few values there are; free says that they are examples.
func enumerated(p *yaml.Node) (names []string, free bool) {
	names = texts(at(p, "enum"))
	alternatives := at(p, "anyOf")
	if alternatives == nil {
		return names, false
	}
	for _, one := range alternatives.Content {
		inner, _ := enumerated(one)
		names = append(names, inner...)
		switch {
		case at(one, "const") != nil:
			names = append(names, at(one, "const").Value)
		case len(inner) == 0 && anyText(one):
			free = true
		}
	}
	return names, free
}

// anyText says that an alternative is text without a form.
func anyText(p *yaml.Node) bool {
	pattern, types := at(p, "pattern"), texts(at(p, "type"))
	return at(p, "maxLength") == nil && (pattern == nil || pattern.Value == `\S`) && (types == nil || slices.Contains(types, "string"))
}

func bounds(p *yaml.Node) string {
	const int32s = "-2147483648"
	low, high, above := at(p, "minimum"), at(p, "maximum"), at(p, "exclusiveMinimum")
	switch {
	case above != nil:
		return " above " + above.Value
	case low == nil || low.Value == int32s:
		return ""
	case high == nil || high.Value == "2147483647":
		return ", " + low.Value + " or more"
	}
	return ", " + low.Value + " to " + high.Value
}

func texts(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var out []string
	for _, item := range n.Content {
		if item.Tag != "!!null" && item.Value != "" {
			out = append(out, item.Value)
		}
	}
	return out
}

func quotedList(n *yaml.Node) string { return "`" + strings.Join(texts(n), "` `") + "`" }

func flow(n *yaml.Node) string {
	if n.Kind == yaml.SequenceNode {
		return "[" + strings.Join(texts(n), ", ") + "]"
	}
	return n.Value
}

// cell is text for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// anchor is what a heading is called in a link.
func anchor(heading string) string {
	heading = strings.ToLower(strings.ReplaceAll(heading, " ", "-"))
	return notInLinks.ReplaceAllString(heading, "")
}

func toolRows() string {
	var b strings.Builder
	b.WriteString("| tool | arguments | needs |\n|---|---|---|\n")
	here := map[string]template.Primitive{}
	for _, p := range template.Primitives() {
		here[p.Name] = p
	}
	for _, name := range template.Names() {
		p, ok := here[name]
		needs, arguments := "nothing, always there", ""
		switch {
		case !ok:
			needs = "a later version"
		case p.Shell:
			needs = "`tool_policy.allow_shell: true`"
		case p.Kind != "":
			needs = "kind `" + p.Kind + "` in `tool_policy.allowed_tool_kinds` (an empty list allows every kind)"
		}
		if ok {
			arguments = argumentList(p.Parameters)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, arguments, needs)
	}
	idle := slices.DeleteFunc(template.Kinds(), func(kind string) bool {
		return slices.ContainsFunc(template.Primitives(), func(p template.Primitive) bool { return p.Kind == kind })
	})
	if len(idle) > 0 {
		fmt.Fprintf(&b, "\nThe kinds `%s` are accepted with a warning: this version has no tool of theirs.\n", strings.Join(idle, "` `"))
	}
	return b.String()
}

// argumentList names the arguments of a tool in the order of its schema, those
// that are required in bold.
func argumentList(schema []byte) string {
	var doc yaml.Node // JSON is YAML, and nodes keep the order of keys
	if err := yaml.Unmarshal(schema, &doc); err != nil {
		return err.Error()
	}
	root := doc.Content[0]
	required := texts(at(root, "required"))
	var names []string
	each(at(root, "properties"), func(name string, _ *yaml.Node) {
		name = "`" + name + "`"
		if slices.Contains(required, strings.Trim(name, "`")) {
			name = "**" + name + "**"
		}
		names = append(names, name)
	})
	return strings.Join(names, " ")
}

func validatorTable() string {
	var b strings.Builder
	b.WriteString("| type | passes when | reads | `expected_from` |\n|---|---|---|---|\n")
	for _, v := range scoring.ValidatorTypes() {
		reads, expected := "a text", "not read"
		if v.FileTarget {
			reads = "`file:KEY`"
		}
		if v.NeedsExpected {
			expected = "required"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.Name, cell(v.Doc), reads, expected)
	}
	b.WriteString("\n| type | key of `config` | value | |\n|---|---|---|---|\n")
	for _, v := range scoring.ValidatorTypes() {
		for _, k := range v.Config {
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", v.Name, k.Name, cell(configValue(k)), cell(k.Doc))
		}
	}
	return b.String()
}

func configValue(k scoring.ConfigKey) string {
	value := k.Type
	if len(k.Enum) > 0 {
		value = "`" + strings.Join(k.Enum, "` `") + "`"
	}
	switch {
	case k.Above != nil:
		value += fmt.Sprintf(" above %v", *k.Above)
	case k.Min != nil && k.Max != nil:
		value += fmt.Sprintf(", %v to %v", *k.Min, *k.Max)
	case k.Min != nil:
		value += fmt.Sprintf(", %v or more", *k.Min)
	}
	if k.Required {
		value += ", required"
	}
	if k.Default != nil {
		value += fmt.Sprintf(", default `%v`", k.Default)
	}
	return value
}

func limitTable() string {
	var b strings.Builder
	b.WriteString("| of | at most |\n|---|---|\n")
	for _, row := range [][2]string{
		{"a pack file", fmt.Sprintf("%d MiB", pack.MaxBytes>>20)},
		{"nesting", fmt.Sprintf("%d levels", pack.MaxDepth)},
		{"text that aliases and merge keys add", fmt.Sprintf("%d MiB", pack.MaxAliasBytes>>20)},
		{"assets in a list", fmt.Sprint(pack.MaxAssets)},
		{"lines, commas and colons in it", fmt.Sprintf("%d", pack.MaxMarks)},
		{"the script of a reference agent", fmt.Sprintf("%d MiB", pack.MaxReferenceBytes>>20)},
		{"one asset", fmt.Sprintf("%d MiB", pack.MaxAssetBytes>>20)},
		{"all assets of a pack", fmt.Sprintf("%d MiB", pack.MaxAssetsBytes>>20)},
		{"errors listed for a file, and as many warnings", fmt.Sprint(pack.MaxProblems)},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	return b.String()
}

// notYet is all that keeps the examples of the page from being run.
func (w *pageWriter) notYet() string {
	found := map[string]string{}
	for _, e := range pageExamples(w.t) {
		p, problems := parsedExample(w.t, e)
		if p == nil {
			w.t.Fatal(problems)
		}
		for _, blocker := range p.Blockers() {
			line := fmt.Sprintf("| `%s` | %s |\n", listIndex.ReplaceAllString(blocker.Field, "[]"), cell(blocker.Message))
			found[line] = line
		}
	}
	if len(found) == 0 {
		w.t.Errorf("the examples show nothing that is not run, which cannot be all")
	}
	return "| field | |\n|---|---|\n" + strings.Join(slices.Sorted(maps.Keys(found)), "")
}
