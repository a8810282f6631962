package packs

import (
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/spf13/cobra"
)

// NewChallengePack is agentclash challenge-pack, cp for short.
func NewChallengePack(a *cli.App) *cobra.Command {
	c := cli.Group("challenge-pack", "Write, check and store challenge packs",
		newPackInit(a), newPackImport(a), newPackValidate(a), newPackDoctor(a), newPackSchema(a),
		newPackPublish(a), newPackList(a), newPackShow(a), newPackCatalog(a))
	c.Aliases = []string{"cp"}
	return c
}
