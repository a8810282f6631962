package setup

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

func newWorkspaceDelete(a *cli.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "delete NAME", Short: "Delete a workspace, with --force all that is in it", Args: cli.ExactArgs("NAME"),
		Long: `Delete a workspace. Nothing is asked: one that holds anything (runs, packs,
deployments, baselines, artifacts, secrets) is refused without --force, which
removes all of it for good. One in which a run goes on, one that the project file
here or the user's settings name, and the workspace default are refused in any
case. agentclash store gc then gives the room back.`,
		Example: "  agentclash workspace delete checkout\n  agentclash workspace delete checkout --force --json",
		RunE: func(c *cobra.Command, args []string) error {
			return runWorkspaceDelete(c.Context(), a, args[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "delete all that is in it, too")
	return c
}

func runWorkspaceDelete(ctx context.Context, a *cli.App, name string, force bool) error {
	if name == store.DefaultWorkspace {
		return cli.Usage("the workspace %s is always there", name).Hint("agentclash run prune removes its runs")
	}
	w, err := a.KnownWorkspace(ctx, name)
	if err != nil {
		return err
	}
	if err := notNamed(a, name); err != nil {
		return err
	}
	doc := struct {
		workspaceDocument
		Action string `json:"action"`
	}{Action: "deleted"}
	if doc.workspaceDocument, err = documentOf(a, w); err != nil {
		return err
	}
	err = a.DeleteWorkspace(ctx, name, force)
	if errors.Is(err, store.ErrConflict) && !force {
		return cli.Classify(err).Hint("agentclash workspace delete %s --force deletes what is in it, too", name)
	}
	if err != nil {
		return err
	}
	return a.Print(doc, func(io.Writer, view.Options) error {
		a.Say("✓ workspace %s: deleted, with runs: %d, challenge packs: %d, secrets: %d", name, doc.Runs, doc.Packs, doc.Secrets)
		return nil
	})
}

// notNamed refuses a workspace that a file of settings still names: whoever works there
// would make it anew.
func notNamed(a *cli.App, name string) error {
	in, err := a.Inputs()
	if err != nil {
		return err
	}
	s, _ := config.Find(config.Workspace)
	for _, f := range in.Files {
		alone := config.Inputs{Getenv: func(string) string { return "" }, Files: []*config.File{f}}
		v, err := alone.Resolve(s, nil)
		if err != nil {
			return cli.BadConfig("%w", err)
		}
		if !v.IsSet() || v.Value != name {
			continue
		}
		refused := &cli.Failure{Status: cli.StatusUsage, Code: "conflict", Err: fmt.Errorf("delete workspace %q: %s names it", name, v.At)}
		if v.Source == config.User {
			return refused.Hint("agentclash workspace use %s", store.DefaultWorkspace)
		}
		return refused.Hint("agentclash link %s", store.DefaultWorkspace)
	}
	return nil
}
