package cli

import (
	"cmp"
	"strings"

	"github.com/agentclash/agentclash/cmd/config"
	"github.com/spf13/cobra"
)

// ExactArgs wants the named arguments and no others, and says which is missing.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return Usage("%s needs %s", c.CommandPath(), strings.Join(names[len(args):], " ")).Hint("%s --help", c.CommandPath())
		}
		return tooMany(c, args, len(names))
	}
}

// UpTo takes at most n arguments.
func UpTo(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error { return tooMany(c, args, n) }
}

// NoArgs is for commands that take no argument.
func NoArgs(c *cobra.Command, args []string) error { return tooMany(c, args, 0) }

func tooMany(c *cobra.Command, args []string, n int) error {
	if len(args) > n {
		return Usage("%s takes no argument %q", c.CommandPath(), args[n]).Hint("%s --help", c.CommandPath())
	}
	return nil
}

// Strict makes a group without a verb, or with an unknown one, a usage error
// that names what there is.
func Strict(c *cobra.Command) {
	for _, sub := range c.Commands() {
		Strict(sub)
	}
	if !c.HasSubCommands() || c.RunE != nil {
		return
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		err := Usage("%s has no command %q", c.CommandPath(), args[0])
		c.SuggestionsMinimumDistance = 2
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			return err.Hint("%s %s", c.CommandPath(), cmp.Or(config.Nearest(args[0], near), near[0]))
		}
		return err.Hint("%s --help", c.CommandPath())
	}
}

// Group is a noun: a command that only holds verbs.
func Group(use, short string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.AddCommand(verbs...)
	return c
}
