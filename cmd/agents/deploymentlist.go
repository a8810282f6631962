package agents

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/spf13/cobra"
)

// StoredDeployments lists the workspace's deployments by name: those of the
// repository, which go before those of the store, and those of the store.
func StoredDeployments(ctx context.Context, a *cli.App) ([]view.Deployment, error) {
	f, err := repoDeployments(a)
	if err != nil {
		return nil, err
	}
	var list []view.Deployment
	for _, s := range f.List {
		d, err := fromFile(ctx, a, f, s)
		if err != nil { // the others are there all the same
			a.Warn("! %v", err)
			list = append(list, view.Deployment{Name: s.Name, Kind: cmp.Or(s.Kind, plan.KindModel), Target: s.Model, Build: s.Build,
				RuntimeProfile: s.RuntimeProfile, Origin: a.Shown(f.Path)})
			continue
		}
		list = append(list, deploymentView(d))
	}
	db, workspace, err := a.ReadingIn(ctx)
	if err != nil || db == nil {
		return list, err
	}
	rows, err := db.Deployments(ctx, workspace)
	for _, r := range rows {
		if _, hidden := f.Find(r.Name); !hidden {
			list = append(list, deploymentView(definition{r, originStore}))
		}
	}
	slices.SortStableFunc(list, func(x, y view.Deployment) int {
		return strings.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name))
	})
	return list, err
}

func newDeploymentList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the deployments of the repository and of the store", Args: cli.NoArgs,
		Long: `List the deployments: those of the repository's .agentclash/deployments.yaml and
those of the store. Where both have a name, the repository's is the one that is
used, and the one that is listed.`,
		Example: "  agentclash deployment list\n  agentclash deployment list --json --query '.items[].name'",
	}
	return cli.List(a, c, "no deployments yet: agentclash deployment create --name NAME --model PROVIDER/MODEL",
		func(ctx context.Context, _ []string) ([]view.Deployment, error) { return StoredDeployments(ctx, a) }, view.DeploymentList)
}
