package contract

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FitHelp breaks help between words where the terminal's lines end. Elsewhere it is
// as it was written. A template of our own would do the same, and keep the linker from
// leaving out methods that nobody calls: a quarter of the program.
func FitHelp(a *cli.App, root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		width := a.ViewOptions().Width
		if width <= 0 {
			show(c, args)
			return
		}
		text := strings.Replace(c.UsageString(), `[command] --help" for more information about a command.`, `[command] --help" says more of it.`, 1)
		text = strings.Replace(text, "Use \""+c.CommandPath(), "\""+c.CommandPath(), 1)
		for _, flags := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
			if list := strings.TrimRight(flags.FlagUsages(), " \n"); list != "" {
				text = strings.Replace(text, list, strings.TrimRight(flags.FlagUsagesWrapped(width), " \n"), 1)
			}
		}
		about := strings.TrimRight(reflow(cmp.Or(c.Long, c.Short), width), " \n")
		_, _ = fmt.Fprintf(c.OutOrStdout(), "%s\n\n%s", about, text) // as cobra does, which has no error to give
	})
}

// HelpOf has help COMMAND refuse what is no command: help of another would read as its own.
func HelpOf(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"}) // the line above has made it
	help.Args = func(_ *cobra.Command, path []string) error {
		at, rest, err := root.Find(path)
		if err == nil && len(rest) > 0 {
			err = cli.Usage("%s has no command %q", at.CommandPath(), rest[0]).Hint("%s --help", at.CommandPath())
		}
		return err
	}
	root.RemoveCommand(help) // cobra adds it when it runs: it is none of ours
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
