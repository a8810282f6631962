package infra

import (
	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/spf13/cobra"
)

// NewInfra is agentclash infra: what runs are made with and may spend.
func NewInfra(a *cli.App) *cobra.Command {
	return cli.Group("infra", "Look after what runs are made with",
		cli.Group("provider-account", "Name how providers are reached, and where their keys are",
			agents.NewAccountList(a), agents.NewAccountCreate(a), agents.NewAccountGet(a), agents.NewAccountDelete(a), agents.NewAccountTest(a), agents.NewAccountModels(a)),
		agents.NewRuntimeProfile(a), agents.NewModelAlias(a), agents.NewModelCatalog(a), newSpendPolicy(a))
}
