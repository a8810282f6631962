package cmd

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
)

func newDeploymentGet(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "get DEPLOYMENT", Short: "Show a deployment with all that it says", Args: exactArgs("DEPLOYMENT"),
		Example: "  agentclash deployment get prod\n  agentclash deployment get prod --json",
		RunE: func(c *cobra.Command, args []string) error {
			d, err := a.defined(c.Context(), args[0])
			if err != nil {
				return err
			}
			doc := view.DeploymentDocument{Deployment: deploymentView(d), Definition: d.Deployment.Deployment}
			return a.print(doc, func(w io.Writer, o view.Options) error { return view.DeploymentGet(w, doc, o) })
		},
	}
}
