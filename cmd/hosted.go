package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
)

// hostedOnly refuses what only the hosted service has. Scripts that were written
// for it must notice, so it is never a silent success.
func hostedOnly(what string) *failure {
	return (&failure{status: statusUsage, code: "hosted_only",
		err: fmt.Errorf("%s is of the hosted service: this tool is local, and needs no account", what)}).
		hint("leave it out; agentclash doctor says what this machine needs")
}

// newHosted is a command that only the hosted service has, whatever comes after
// it. Help does not list it.
func newHosted(name string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: "Of the hosted service only", Hidden: true,
		Args: cobra.ArbitraryArgs, DisableFlagParsing: true,
		RunE: func(c *cobra.Command, _ []string) error { return hostedOnly(c.CommandPath()) },
	}
}
