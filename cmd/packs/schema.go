package packs

import (
	"encoding/json"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/spf13/cobra"
)

func newPackSchema(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the pack format, for editors",
		Long: `Print the JSON Schema (2020-12) of the pack format. Editors that know it complete
keys and values, explain them and mark mistakes.

A pack made by init begins with a line that leads an editor to the published
schema. Without a network, name a file in that line:

  # yaml-language-server: $schema=./challenge-pack.schema.json

A schema cannot see everything: validate has the last word.`,
		Example: "  agentclash challenge-pack schema > challenge-pack.schema.json",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := pack.Schema()
			if err != nil {
				return err
			}
			return a.Print(json.RawMessage(schema), func(w io.Writer, _ view.Options) error {
				_, err := w.Write(schema)
				return err
			})
		},
	}
}
