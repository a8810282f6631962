package contract

import (
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/manual"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/spf13/cobra"
)

// NewSchema is agentclash schema: the command tree for programs.
func NewSchema(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "schema [COMMAND ...]", Short: "Print all commands, flags and codes as JSON",
		Long: `Print the commands with their arguments, flags and examples, the exit statuses,
the codes of errors and the words that a status may be, as one JSON document
(schema_version 2). With the name of a command, that command alone is in it.`,
		Example: "  agentclash schema\n  agentclash schema eval start\n  agentclash schema --json --query '.exit_codes[].code'",
		RunE: func(c *cobra.Command, args []string) error {
			d, err := schemaOf(c.Root(), args)
			if err != nil {
				return err
			}
			return a.Print(d, func(w io.Writer, _ view.Options) error { return view.JSON(w, d) })
		},
	}
}

func schemaOf(root *cobra.Command, path []string) (manual.Document, error) {
	d := manual.Document{
		SchemaVersion: manual.SchemaVersion, CLIVersion: cli.ReadBuildInfo().Version,
		GlobalFlags: manual.Flags(root.PersistentFlags()), ExitCodes: ExitCodes(), ErrorCodes: errorCodes(), StatusEnums: statusEnums(),
	}
	at := root
	for _, name := range path {
		next := childNamed(at, name)
		if next == nil {
			return d, cli.Usage("%s has no command %q", at.CommandPath(), name).Hint("agentclash schema --json --query '.commands[].path'")
		}
		at = next
	}
	if at != root {
		d.Commands = []manual.Command{manual.Describe(at)}
		return d, nil
	}
	for _, c := range manual.Shown(root) {
		d.Commands = append(d.Commands, manual.Describe(c))
	}
	return d, nil
}

func childNamed(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range manual.Shown(c) {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}
