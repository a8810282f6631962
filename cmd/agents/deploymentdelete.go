package agents

import (
	"context"
	"io"

	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/spf13/cobra"
)

func newDeploymentDelete(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "delete DEPLOYMENT", Short: "Forget a stored deployment; its runs stay as they are", Args: cli.ExactArgs("DEPLOYMENT"),
		Long: `Forget a stored deployment. Nothing is asked. What still names it is said: runs,
which keep what they were planned with, and the repository's CI manifest. A
deployment of the repository is taken out of its file.`,
		Example: "  agentclash deployment delete prod\n  agentclash deployment delete prod --json",
		RunE:    func(c *cobra.Command, args []string) error { return runDeploymentDelete(c.Context(), a, args[0]) },
	}
}

func runDeploymentDelete(ctx context.Context, a *cli.App, selector string) error {
	d, db, err := changeable(ctx, a, "delete", selector)
	if err != nil {
		return err
	}
	runs, err := db.DeleteDeployment(ctx, d)
	if err != nil {
		return err
	}
	manifest := manifestNaming(a, d.Name)
	doc := struct {
		ID       string `json:"deployment_id"`
		Name     string `json:"name"`
		Action   string `json:"action"`
		Runs     int    `json:"runs"`               // that have an agent of its name
		Manifest string `json:"manifest,omitempty"` // that names it
	}{d.ID, d.Name, "deleted", runs, manifest}
	return a.Print(doc, func(io.Writer, view.Options) error {
		a.Say("✓ deployment %s: deleted", d.Name)
		if runs > 0 {
			a.Say("note: %d run(s) have an agent of that name; they keep what it was", runs)
		}
		if manifest != "" {
			a.Warn("! %s names it: give its candidate another deployment", manifest)
		}
		return nil
	})
}

// manifestNaming is the repository's CI manifest if its candidate or its baseline
// is a deployment, "" if not, or if it cannot be read.
func manifestNaming(a *cli.App, deployment string) string {
	if f, err := repoDeployments(a); err == nil {
		if _, ok := f.Find(deployment); ok {
			return "" // it means the file's
		}
	}
	path := a.RepoDir() + "/ci.yaml"
	src, err := cli.ResourceFile(path)
	if err != nil {
		return ""
	}
	m, problems := ci.Parse(path, src)
	if problems.Err() != nil || m.Candidate.Deployment.Model != "" || m.Candidate.Deployment.Name != deployment && m.Baseline.DeploymentID != deployment {
		return ""
	}
	return a.Shown(path)
}
