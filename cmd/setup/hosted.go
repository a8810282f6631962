package setup

import (
	"fmt"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/spf13/cobra"
)

// hostedOnly refuses what only the hosted service has. Scripts that were written
// for it must notice, so it is never a silent success.
func hostedOnly(what string) *cli.Failure {
	return (&cli.Failure{Status: cli.StatusUsage, Code: "hosted_only",
		Err: fmt.Errorf("%s is of the hosted service: this tool is local, and needs no account", what)}).
		Hint("leave it out; agentclash doctor says what this machine needs")
}

// NewHosted is a command that only the hosted service has, whatever comes after
// it. Help does not list it.
func NewHosted(name string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: "Of the hosted service only", Hidden: true,
		Args: cobra.ArbitraryArgs, DisableFlagParsing: true,
		RunE: func(c *cobra.Command, _ []string) error { return hostedOnly(c.CommandPath()) },
	}
}
