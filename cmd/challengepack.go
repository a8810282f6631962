package cmd

import "github.com/spf13/cobra"

func newChallengePack(a *app) *cobra.Command {
	c := group("challenge-pack", "Write, check and store challenge packs",
		newPackInit(a), newPackImport(a), newPackValidate(a), newPackDoctor(a), newPackSchema(a),
		newPackPublish(a), newPackList(a), newPackShow(a), newPackCatalog(a))
	c.Aliases = []string{"cp"}
	return c
}
