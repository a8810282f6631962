package artifacts

import (
	"context"
	"errors"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

func newArtifactDelete(a *cli.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "delete ARTIFACT", Short: "Take an artifact out of the store", Args: cli.ExactArgs("ARTIFACT"),
		Long: `Take an artifact out of the store. Nothing is asked. One that a stored pack names
as an asset is kept without --force; the stored pack has its own copy of the bytes
and goes on working, while the file it was made of no longer finds the artifact.
Bytes that another artifact, a pack or a run has as well stay; agentclash store gc
gives the room of the others back.`,
		Example: "  agentclash artifact delete latest\n  agentclash artifact delete 1a2b3c4d --force --json",
		RunE: func(c *cobra.Command, args []string) error {
			return runArtifactDelete(c.Context(), a, args[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "delete it though a stored pack names it")
	return c
}

func runArtifactDelete(ctx context.Context, a *cli.App, which string, force bool) error {
	found, _, err := selector.Artifact(ctx, a, which)
	if err != nil {
		return err
	}
	db, err := a.Store(ctx)
	if err != nil {
		return err
	}
	packs, err := db.RemoveArtifact(ctx, found, force)
	if errors.Is(err, store.ErrConflict) {
		return cli.Classify(err).Hint("agentclash artifact delete %s --force: the stored packs keep their copy", cli.Short(found.ID))
	}
	if err != nil {
		return err
	}
	doc := struct {
		ID     string            `json:"artifact_id"`
		Action string            `json:"action"`
		Packs  view.List[string] `json:"challenge_packs"` // that name it
	}{found.ID, "deleted", packs}
	return a.Print(doc, func(io.Writer, view.Options) error {
		a.Say("✓ artifact %s: deleted", cli.Short(found.ID))
		for _, p := range packs {
			a.Say("! %s names it, and keeps its own copy", p)
		}
		return nil
	})
}
