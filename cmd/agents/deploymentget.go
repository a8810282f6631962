package agents

import (
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/spf13/cobra"
)

func newDeploymentGet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get DEPLOYMENT", Short: "Show a deployment with all that it says", Args: cli.ExactArgs("DEPLOYMENT"),
		Example: "  agentclash deployment get prod\n  agentclash deployment get prod --json",
		RunE: func(c *cobra.Command, args []string) error {
			d, err := defined(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			doc := view.DeploymentDocument{Deployment: deploymentView(d), Definition: d.Deployment.Deployment}
			return a.Print(doc, func(w io.Writer, o view.Options) error { return view.DeploymentGet(w, doc, o) })
		},
	}
}
