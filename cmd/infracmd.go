package cmd

import "github.com/spf13/cobra"

func newInfra(a *app) *cobra.Command {
	return group("infra", "Look after what runs are made with",
		group("provider-account", "Name how providers are reached, and where their keys are",
			newAccountList(a), newAccountCreate(a), newAccountGet(a), newAccountDelete(a), newAccountTest(a), newAccountModels(a)),
		newRuntimeProfile(a), newModelAlias(a), newModelCatalog(a), newSpendPolicy(a))
}
