package manual

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Page is the Markdown page of a command of the first level and of all below it.
func Page(c *cobra.Command) string {
	var b strings.Builder
	b.WriteString("<!-- made of the program's own help: make update -->\n\n")
	section(&b, c, 1)
	b.WriteString("The flags that every command has stand in [the list of commands](README.md#flags-of-every-command).\n")
	return b.String()
}

func section(b *strings.Builder, c *cobra.Command, depth int) {
	d := Describe(c)
	fmt.Fprintf(b, "%s %s\n\n", strings.Repeat("#", min(depth, 4)), d.Path)
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	b.WriteString(prose(text))
	if d.Runnable {
		fmt.Fprintf(b, "    %s\n\n", c.UseLine())
	}
	if len(d.Aliases) > 0 {
		fmt.Fprintf(b, "Also: `%s`.\n\n", strings.Join(d.Aliases, "`, `"))
	}
	if d.Example != "" {
		b.WriteString("Examples:\n\n" + indented(d.Example) + "\n")
	}
	flagTable(b, d.Flags)
	for _, sub := range Shown(c) {
		section(b, sub, depth+1)
	}
}

// prose writes what help says as Markdown: paragraphs, and blocks of lines that help
// lays out itself, as they are.
func prose(text string) string {
	var b strings.Builder
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(p, " ") || strings.Contains(p, "\n ") {
			p = strings.TrimRight(indented(p), "\n")
		} else {
			p = escape(p)
		}
		b.WriteString(p + "\n\n")
	}
	return b.String()
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("    " + strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ") + "\n")
	}
	return b.String()
}

func flagTable(b *strings.Builder, flags []Flag) {
	if len(flags) == 0 {
		return
	}
	b.WriteString("| flag | value | default | |\n|---|---|---|---|\n")
	for _, f := range flags {
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value, def := f.Type, "`"+f.Default+"`"
		if f.Type == "bool" {
			value = ""
		}
		if len(f.AllowedValues) > 0 {
			value = "`" + strings.Join(f.AllowedValues, "`, `") + "`"
		}
		if f.Default == "" || f.Default == "false" || f.Default == "[]" || f.Default == "0" || f.Default == "0s" {
			def = ""
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, value, def, strings.ReplaceAll(escape(f.Usage), "|", `\|`))
	}
	b.WriteString("\n")
}

// escape keeps angle brackets, stars and underscores from being read as markup.
func escape(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`).Replace(text)
}

// Index is the page that leads to all others.
func Index(root *cobra.Command, statuses []ExitCode) string {
	var b strings.Builder
	b.WriteString("<!-- made of the program's own help: make update -->\n\n# Commands\n\n")
	b.WriteString("`agentclash schema` has all of this as one JSON document.\n\n")
	for _, g := range Groups(root) {
		fmt.Fprintf(&b, "## %s\n\n| command | |\n|---|---|\n", g.Title)
		for _, c := range g.Commands {
			fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", c.Name(), c.Name(), escape(c.Short))
		}
		b.WriteString("\n")
	}
	b.WriteString("## Flags of every command\n\n")
	flagTable(&b, Flags(root.PersistentFlags()))
	b.WriteString("## Exit statuses\n\n| status | meaning |\n|---|---|\n")
	for _, s := range statuses {
		fmt.Fprintf(&b, "| %d | %s |\n", s.Code, escape(s.Meaning))
	}
	return b.String()
}
