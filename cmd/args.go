package cmd

import (
	"strings"

	"github.com/spf13/cobra"
)

// exactArgs wants the named arguments and no others, and says which is missing.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usage("%s needs %s", c.CommandPath(), strings.Join(names[len(args):], " ")).hint("%s --help", c.CommandPath())
		}
		return tooMany(c, args, len(names))
	}
}

// upTo takes at most n arguments.
func upTo(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error { return tooMany(c, args, n) }
}

func noArgs(c *cobra.Command, args []string) error { return tooMany(c, args, 0) }

func tooMany(c *cobra.Command, args []string, n int) error {
	if len(args) > n {
		return usage("%s takes no argument %q", c.CommandPath(), args[n]).hint("%s --help", c.CommandPath())
	}
	return nil
}

// strict makes a group without a verb, or with an unknown one, a usage error
// that names what there is.
func strict(c *cobra.Command) {
	for _, sub := range c.Commands() {
		strict(sub)
	}
	if !c.HasSubCommands() || c.RunE != nil {
		return
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		err := usage("%s has no command %q", c.CommandPath(), args[0])
		c.SuggestionsMinimumDistance = 2
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			return err.hint("%s %s", c.CommandPath(), near[0])
		}
		return err.hint("%s --help", c.CommandPath())
	}
}

// group is a noun: a command that only holds verbs.
func group(use, short string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.AddCommand(verbs...)
	return c
}
