package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
)

// baselinePrefix stands before the name of a baseline where runs are named too.
const baselinePrefix = store.Baseline + ":"

// comparand is a baseline that something is compared with: one that was set, or a
// file.
type comparand struct {
	side
	mark view.Bookmark
}

// bookmarked is a side that was named itself.
func bookmarked(s side) comparand {
	return comparand{side: s, mark: view.Bookmark{Participant: s.participant()}}
}

// baselineFor finds what a pack's runs are compared with: the baseline of a name,
// "" being the ordinary one, or a file. Slug "" is the only pack that has such a
// baseline. ok is false when there is none.
func baselineFor(ctx context.Context, a *app, db *store.DB, workspace, slug, selector string) (c comparand, ok bool, err error) {
	if looksLikePath(selector) {
		c, err = a.fileBaseline(selector)
		return c, err == nil, err
	}
	mark, found, err := a.pickBaseline(ctx, db, workspace, slug, strings.TrimPrefix(selector, baselinePrefix))
	if err != nil || !found {
		return comparand{}, false, err
	}
	c, err = a.markedBaseline(ctx, db, mark)
	return c, err == nil, err
}

// baselineBeside is baselineFor, which takes the baseline of the only pack that has
// one where the pack of that slug has none.
func baselineBeside(ctx context.Context, a *app, db *store.DB, workspace, slug, selector string) (comparand, bool, error) {
	c, ok, err := baselineFor(ctx, a, db, workspace, slug, selector)
	if err == nil && !ok && slug != "" {
		return baselineFor(ctx, a, db, workspace, "", selector)
	}
	return c, ok, err
}

// markedBaseline reads a baseline that was set.
func (a *app) markedBaseline(ctx context.Context, db *store.DB, mark store.BaselineMark) (comparand, error) {
	if !mark.Imported {
		s, err := a.agentSide(ctx, db, mark.RunAgentID, headlines)
		return comparand{side: s, mark: bookmark(mark, s.run.Status)}, err
	}
	document, err := db.BaselineDocument(ctx, mark)
	if err != nil {
		return comparand{}, err
	}
	f, err := compare.ReadFile(bytes.NewReader(document))
	if err != nil {
		return comparand{}, fmt.Errorf("read the imported baseline %q: %w", mark.Name, err)
	}
	return comparand{side: givenSide(mark.Workspace, f.Snapshot), mark: bookmark(mark, f.Snapshot.RunStatus)}, nil
}

// fileBaseline reads a baseline from a file.
func (a *app) fileBaseline(path string) (comparand, error) {
	f, err := a.readBaseline(path)
	if err != nil {
		return comparand{}, err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return comparand{}, err
	}
	s := givenSide(workspace, f.Snapshot)
	return comparand{side: s, mark: view.Bookmark{Participant: s.participant(), Name: f.Name, File: path, SetAt: f.SetAt}}, nil
}

func (a *app) readBaseline(path string) (compare.File, error) {
	src, err := a.readBounded(path, compare.MaxFileBytes)
	if err != nil {
		return compare.File{}, err
	}
	f, err := compare.ReadFile(bytes.NewReader(src))
	switch {
	case errors.Is(err, compare.ErrNotBaseline): // which may be a file to be kept
		return compare.File{}, usage("%s: %w", path, err).hint("agentclash baseline export FILE writes one")
	case err != nil:
		return compare.File{}, usage("%s: %w", path, err).hint("write it again with agentclash baseline export %s", path)
	}
	return f, nil
}

// givenSide is a side of which only the snapshot is here.
func givenSide(workspace string, s compare.Snapshot) side {
	return side{
		given: &s, card: s.Scorecard,
		run: store.Run{
			ID: s.RunID, Name: s.RunName, Status: s.RunStatus, Workspace: workspace, InputSet: s.InputSet,
			Pack: event.PackRef{Slug: s.Pack.Slug, Version: s.Pack.Version, Digest: s.Pack.Digest},
		},
		agent: store.RunAgent{ID: s.RunAgentID, RunID: s.RunID, Label: s.RunAgentLabel, Status: s.RunAgentStatus},
	}
}

func newBaselineExport(a *app) *cobra.Command {
	var o baselineOptions
	c := &cobra.Command{
		Use: "export FILE", Short: "Write a baseline to a file for a repository",
		Long: `Write a baseline to one small file: scores and counts by case, digests, the
agent's label and model. It has no prompt, no output and no error text.

compare latest, eval start --gate and eval scorecard take the file as --baseline,
on any machine, and baseline import makes it a baseline there. FILE may be - for
standard output.`,
		Example: "  agentclash baseline export .agentclash/baseline.json\n  agentclash baseline export - --name main --pack support-triage",
		Args:    exactArgs("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			workspace, err := a.workspaceName()
			if err != nil {
				return err
			}
			db, err := a.stored(ctx)
			if err != nil {
				return err
			}
			found, ok, err := baselineFor(ctx, a, db, workspace, o.slug, o.name)
			if err != nil {
				return err
			}
			if !ok {
				return noSuchBaseline(o.name)
			}
			f := compare.File{Name: found.mark.Name, SetAt: found.mark.SetAt, Snapshot: found.snapshot()}
			if args[0] == "-" {
				return compare.WriteFile(a.p.Out, f)
			}
			if err := writeWhole(a.path(args[0]), func(w io.Writer) error { return compare.WriteFile(w, f) }); err != nil {
				return err
			}
			a.say("✓ baseline %s of %s is in %s", found.mark.Name, f.Snapshot.Pack.Slug, args[0])
			return nil
		},
	}
	o.addFlags(c)
	return c
}

func newBaselineImport(a *app) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "import FILE", Short: "Make what a file says a baseline of its pack",
		Example: "  agentclash baseline import .agentclash/baseline.json\n  agentclash baseline import main.json --name main",
		Args:    exactArgs("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			f, err := a.readBaseline(args[0])
			if err != nil {
				return err
			}
			if err := fitBaseline(f.Snapshot); err != nil {
				return usage("%s: %w", args[0], err)
			}
			if name == "" {
				name = f.Name
			}
			if err := checkBaselineName(name); err != nil {
				return err
			}
			workspace, err := a.workspaceName()
			if err != nil {
				return err
			}
			var document bytes.Buffer
			if err := compare.WriteFile(&document, f); err != nil {
				return err
			}
			db, err := a.store(ctx)
			if err != nil {
				return err
			}
			s := f.Snapshot
			mark, err := db.ImportBaseline(ctx, store.BaselineMark{
				Workspace: workspace, PackSlug: s.Pack.Slug, Name: name, RunID: s.RunID, RunName: s.RunName, RunAgentID: s.RunAgentID,
				Label: s.RunAgentLabel, SetAt: f.SetAt,
			}, document.Bytes())
			if err != nil {
				return err
			}
			return a.printBaseline(mark, s.RunStatus)
		},
	}
	c.Flags().StringVar(&name, "name", "", "name of the baseline (default: the one it was exported by)")
	return c
}

// fitBaseline refuses what could never be compared with anything.
func fitBaseline(s compare.Snapshot) error {
	if s.Scorecard.PassedTrials+s.Scorecard.FailedTrials == 0 {
		return errors.New("none of its trials could be judged: it is no baseline")
	}
	return nil
}
