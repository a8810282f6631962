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
