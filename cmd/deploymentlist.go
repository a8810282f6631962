package cmd

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
)

// storedDeployments lists the workspace's deployments by name: those of the
// repository, which go before those of the store, and those of the store.
func (a *app) storedDeployments(ctx context.Context) ([]view.Deployment, error) {
	f, err := a.repoDeployments()
	if err != nil {
		return nil, err
	}
	var list []view.Deployment
	for _, s := range f.list {
		d, err := a.fromFile(ctx, f, s)
		if err != nil { // the others are there all the same
			a.warn("! %v", err)
			list = append(list, view.Deployment{Name: s.Name, Kind: cmp.Or(s.Kind, plan.KindModel), Target: s.Model, Account: s.Account, Build: s.Build,
				RuntimeProfile: s.RuntimeProfile, Origin: a.shown(f.path)})
			continue
		}
		list = append(list, deploymentView(d))
	}
	db, ok, err := a.reading(ctx)
	if err != nil || !ok {
		return list, err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return nil, err
	}
	rows, err := db.Deployments(ctx, workspace)
	for _, r := range rows {
		if _, hidden := f.find(r.Name); !hidden {
			list = append(list, deploymentView(definition{r, originStore}))
		}
	}
	slices.SortStableFunc(list, func(x, y view.Deployment) int {
		return strings.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name))
	})
	return list, err
}

func newDeploymentList(a *app) *cobra.Command {
	var page listOptions
	c := &cobra.Command{
		Use: "list", Short: "List the deployments of the repository and of the store", Args: noArgs,
		Long: `List the deployments: those of the repository's .agentclash/deployments.yaml and
those of the store. Where both have a name, the repository's is the one that is
used, and the one that is listed.`,
		Example: "  agentclash deployment list\n  agentclash deployment list --json --query '.items[].name'",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := page.check(); err != nil {
				return err
			}
			list, err := a.storedDeployments(c.Context())
			if err != nil {
				return err
			}
			shown := pageOf(list, page)
			return a.print(shown, func(w io.Writer, o view.Options) error {
				if shown.Total == 0 {
					a.say("! no deployments yet: agentclash deployment create --name NAME --model PROVIDER/MODEL")
				}
				sayMore(a, shown)
				return view.DeploymentList(w, shown, o)
			})
		},
	}
	page.addFlags(c.Flags())
	return c
}
