package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// fitHelp breaks help between words where the terminal's lines end. Elsewhere it is
// as it was written.
func (a *app) fitHelp(root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if width := a.viewOptions().Width; width > 0 {
			c.Long = reflow(c.Long, width)
			c.SetUsageTemplate(strings.NewReplacer(
				".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", width),
				`Use "{{.CommandPath}} [command] --help" for more information about a command.`, `"{{.CommandPath}} [command] --help" says more of it.`,
			).Replace(c.UsageTemplate()))
		}
		show(c, args)
	})
}

// reflow fills the lines of each paragraph anew. One that is laid out, with lines
// that begin with a space, keeps its lines.
func reflow(text string, width int) string {
	var lines []string
	for _, p := range strings.Split(text, "\n\n") {
		if !strings.HasPrefix(p, " ") && !strings.Contains(p, "\n ") {
			p = strings.Join(strings.Fields(p), " ")
		}
		for _, line := range strings.Split(p, "\n") {
			lines = append(lines, broken(line, width)...)
		}
		lines = append(lines, "")
	}
	return strings.Join(lines, "\n")
}

// broken breaks a line between words, under its own indent. An option is one word,
// which rules out what breaks at hyphens.
func broken(line string, width int) []string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var lines []string
	for len(line) > width {
		at := strings.LastIndexByte(line[:width+1], ' ')
		if at <= len(indent) {
			break
		}
		lines, line = append(lines, line[:at]), indent+line[at+1:]
	}
	return append(lines, line)
}
