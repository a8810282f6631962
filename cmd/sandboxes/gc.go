package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewSandbox is agentclash sandbox: what boxes have left behind.
func NewSandbox(a *cli.App) *cobra.Command {
	return cli.Group("sandbox", "Look after sandboxes", newSandboxGC(a))
}

func newSandboxGC(a *cli.App) *cobra.Command {
	dry := false
	c := &cobra.Command{
		Use: "gc", Short: "Remove what sandboxes have left behind", Args: cli.NoArgs,
		Long: `Remove the containers and scratch directories whose process is dead, the
volumes with our program for containers that no container has once they are an
hour old, and the images made by agentclash that no container has: built-in ones
of other versions, and those with packages a week after their last use. What belongs to a living process is left
alone, and so is agentclash/sandbox:local. Where there is a key for E2B
(E2B_API_KEY), its sandboxes of dead processes go too. Other commands remove dead
sandboxes in passing; this one waits for the engine to be done.`,
		Example: "  agentclash sandbox gc --dry-run\n  agentclash sandbox gc --json",
		RunE:    func(c *cobra.Command, _ []string) error { return runSandboxGC(c.Context(), a, dry) },
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be removed, and remove nothing")
	return c
}

func runSandboxGC(ctx context.Context, a *cli.App, dry bool) error {
	d := view.GCDocument{DryRun: dry, Containers: []view.LeftContainer{}, Volumes: []string{}, Images: []string{}}
	dirs, err := CollectScratch(ctx, a, dry)
	d.Directories = append([]string{}, dirs...)
	_, perr := ProbeDocker(ctx, a)
	if d.Engine = perr == nil; d.Engine {
		found, derr := CollectDocker(ctx, a, dry)
		err = errors.Join(err, derr)
		for _, b := range found.Containers {
			d.Containers = append(d.Containers, view.LeftContainer(b))
		}
		d.Volumes, d.Images = append(d.Volumes, found.Volumes...), append(d.Images, found.Images...)
	}
	machines, asked, eerr := collectE2B(ctx, a, dry)
	d.Machines, err = machines, errors.Join(err, eerr)
	d.Removed = machines + len(d.Containers) + len(d.Directories)
	if dry {
		d.Removed = 0
	}
	perr = a.Print(d, func(w io.Writer, o view.Options) error { return view.GC(w, d, o) })
	if err != nil {
		return fmt.Errorf("remove what sandboxes have left: %w", err)
	}
	switch {
	case a.Output != "table":
	case dry && machines+len(d.Containers)+len(d.Directories)+len(d.Volumes)+len(d.Images) == 0:
		a.Say("nothing to remove")
	case !dry:
		a.Say("✓ removed %d sandbox(es), %d volume(s), %d image(s)", d.Removed, len(d.Volumes), len(d.Images))
	}
	if !d.Engine {
		looked := "scratch directories"
		if asked {
			looked += " and E2B"
		}
		a.Say("note: no Docker engine answers, so only %s were looked at", looked)
	}
	return perr
}

// sweepTime is how long what is done in passing may hold a command up.
const sweepTime = 500 * time.Millisecond

// sweep removes what dead processes left, in passing.
func sweep(ctx context.Context, a *cli.App) (int, error) {
	n, err := reapScratch(ctx, a)
	ctx, stop := context.WithTimeout(ctx, sweepTime)
	defer stop()
	if _, perr := ProbeDocker(ctx, a); perr != nil {
		return n, err // no engine: nothing of ours can be in it, or the next command will see it
	}
	m, derr := reapDocker(ctx, a)
	return n + m, errors.Join(err, derr)
}

// Tidied opens the store, first for writing to mark what dead processes left,
// else as it is: a home that cannot be written, a full disk and a store that another
// process keeps locked can still be read.
func Tidied(ctx context.Context, a *cli.App) (db *store.DB, ok bool, err error) {
	db, ok, err = a.Reading(ctx)
	if err != nil || !ok {
		return db, ok, err
	}
	writable, werr := a.Store(ctx)
	if werr != nil {
		return a.Reading(ctx)
	}
	err = Tidy(ctx, a, writable)
	if errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrLocked) {
		a.Warn("! %v: what is over is shown as going on", err)
		err = nil
	}
	return writable, true, err
}

// Tidy marks the runs of dead processes and removes the sandboxes they left,
// with at most half a second for an engine to answer. What it cannot do now,
// the next command will.
func Tidy(ctx context.Context, a *cli.App, db *store.DB) error {
	runs, err := db.MarkInterrupted(ctx, a.OwnerLives)
	if err != nil {
		return fmt.Errorf("look for runs of dead processes: %w", err)
	}
	for _, r := range runs {
		a.Say("note: run %s (%s) was interrupted; agentclash run resume %s runs what is left", cli.Short(r.ID), r.Name, cli.Short(r.ID))
	}
	removed, err := sweep(ctx, a)
	if err == nil && removed > 0 {
		a.Say("note: removed %d sandbox(es) that a dead process left behind", removed)
	}
	return nil
}
