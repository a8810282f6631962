package verdict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// baselinePrefix stands before the name of a baseline where runs are named too.
const baselinePrefix = store.Baseline + ":"

// Comparand is a baseline that something is compared with: one that was set, or a
// file.
type Comparand struct {
	Side
	Mark view.Bookmark
}

// Bookmarked is a side that was named itself.
func Bookmarked(s Side) Comparand {
	return Comparand{Side: s, Mark: view.Bookmark{Participant: s.Participant()}}
}

// BaselineFor finds what a pack's runs are compared with: the baseline of a name,
// "" being the ordinary one, or a file. Slug "" is the only pack that has such a
// baseline. ok is false when there is none.
func BaselineFor(ctx context.Context, a *cli.App, db *store.DB, workspace, slug, selector string) (c Comparand, ok bool, err error) {
	if cli.LooksLikePath(selector) {
		c, err = FileBaseline(a, selector)
		return c, err == nil, err
	}
	mark, found, err := MarkFor(ctx, a, db, workspace, slug, selector)
	if err != nil || !found {
		return Comparand{}, false, err
	}
	c, err = markedBaseline(ctx, a, db, mark)
	return c, err == nil, err
}

// MarkFor finds the baseline of a name as [BaselineFor] does, without its results.
func MarkFor(ctx context.Context, a *cli.App, db *store.DB, workspace, slug, selector string) (store.BaselineMark, bool, error) {
	return pickBaseline(ctx, a, db, workspace, slug, strings.TrimPrefix(selector, baselinePrefix))
}

// baselineBeside is baselineFor, which takes the baseline of the only pack that has
// one where the pack of that slug has none.
func baselineBeside(ctx context.Context, a *cli.App, db *store.DB, workspace, slug, selector string) (Comparand, bool, error) {
	c, ok, err := BaselineFor(ctx, a, db, workspace, slug, selector)
	if err == nil && !ok && slug != "" {
		return BaselineFor(ctx, a, db, workspace, "", selector)
	}
	return c, ok, err
}

// markedBaseline reads a baseline that was set.
func markedBaseline(ctx context.Context, a *cli.App, db *store.DB, mark store.BaselineMark) (Comparand, error) {
	if !mark.Imported {
		s, err := AgentSide(ctx, a, db, mark.RunAgentID, Headlines)
		return Comparand{Side: s, Mark: bookmark(mark, s.Run.Status)}, err
	}
	document, err := db.BaselineDocument(ctx, mark)
	if err != nil {
		return Comparand{}, err
	}
	f, err := compare.ReadFile(bytes.NewReader(document))
	if err != nil {
		return Comparand{}, fmt.Errorf("read the imported baseline %q: %w", mark.Name, err)
	}
	return Comparand{Side: givenSide(mark.Workspace, f.Snapshot), Mark: bookmark(mark, f.Snapshot.RunStatus)}, nil
}

// FileBaseline reads a baseline from a file.
func FileBaseline(a *cli.App, path string) (Comparand, error) {
	f, err := ReadBaseline(a, path)
	if err != nil {
		return Comparand{}, err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return Comparand{}, err
	}
	s := givenSide(workspace, f.Snapshot)
	return Comparand{Side: s, Mark: view.Bookmark{Participant: s.Participant(), Name: f.Name, File: path, SetAt: f.SetAt}}, nil
}

// ReadBaseline reads a baseline file; another file is a usage error.
func ReadBaseline(a *cli.App, path string) (compare.File, error) {
	src, err := a.ReadBounded(path, compare.MaxFileBytes)
	if err != nil {
		return compare.File{}, err
	}
	f, err := compare.ReadFile(bytes.NewReader(src))
	switch {
	case errors.Is(err, compare.ErrNotBaseline): // which may be a file to be kept
		return compare.File{}, cli.Usage("%s: %w", path, err).Hint("agentclash baseline export FILE writes one")
	case err != nil:
		return compare.File{}, cli.Usage("%s: %w", path, err).Hint("write it again with agentclash baseline export %s", path)
	}
	return f, nil
}

// givenSide is a side of which only the snapshot is here.
func givenSide(workspace string, s compare.Snapshot) Side {
	return Side{
		Given: &s, Card: s.Scorecard,
		Run: store.Run{
			ID: s.RunID, Name: s.RunName, Status: s.RunStatus, Workspace: workspace, InputSet: s.InputSet,
			Pack: event.PackRef{Slug: s.Pack.Slug, Version: s.Pack.Version, Digest: s.Pack.Digest},
		},
		Agent: store.RunAgent{ID: s.RunAgentID, RunID: s.RunID, Label: s.RunAgentLabel, Status: s.RunAgentStatus},
	}
}

func newBaselineExport(a *cli.App) *cobra.Command {
	var o baselineOptions
	c := &cobra.Command{
		Use: "export FILE", Short: "Write a baseline to a file for a repository",
		Long: `Write a baseline to one small file: scores and counts by case, digests, the
agent's label and model. It has no prompt, no output and no error text.

compare latest, eval start --gate and eval scorecard take the file as --baseline,
on any machine, and baseline import makes it a baseline there. FILE may be - for
standard output.`,
		Example: "  agentclash baseline export .agentclash/baseline.json\n  agentclash baseline export - --name main --pack support-triage",
		Args:    cli.ExactArgs("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if args[0] != cli.StdoutPath {
				if err := a.CheckOutput(args[0]); err != nil {
					return cli.Usage("%w", err)
				}
			}
			workspace, err := a.WorkspaceName()
			if err != nil {
				return err
			}
			db, err := a.Stored(ctx)
			if err != nil {
				return err
			}
			found, ok, err := BaselineFor(ctx, a, db, workspace, o.slug, o.name)
			if err != nil {
				return err
			}
			if !ok {
				return NoSuchBaseline(o.name)
			}
			f := compare.File{Name: found.Mark.Name, SetAt: found.Mark.SetAt, Snapshot: found.Snapshot()}
			if args[0] == cli.StdoutPath {
				return compare.WriteFile(a.Process.Out, f)
			}
			if err := a.WriteOutput(args[0], 0o644, func(w io.Writer) error { return compare.WriteFile(w, f) }); err != nil {
				return fmt.Errorf("write %s: %w", args[0], err)
			}
			doc := view.BaselineEntry{PackSlug: f.Snapshot.Pack.Slug, Bookmark: found.Mark}
			doc.File = args[0]
			return a.Print(doc, func(io.Writer, view.Options) error {
				a.Say("✓ baseline %s of %s is in %s", doc.Name, doc.PackSlug, doc.File)
				return nil
			})
		},
	}
	o.addFlags(c)
	return c
}

func newBaselineImport(a *cli.App) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "import FILE", Short: "Make what a file says a baseline of its pack",
		Example: "  agentclash baseline import .agentclash/baseline.json\n  agentclash baseline import main.json --name main",
		Args:    cli.ExactArgs("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			f, err := ReadBaseline(a, args[0])
			if err != nil {
				return err
			}
			if err := fitBaseline(f.Snapshot); err != nil {
				return cli.Usage("%s: %w", args[0], err)
			}
			if name == "" {
				name = f.Name
			}
			if err := checkBaselineName(name); err != nil {
				return err
			}
			workspace, err := a.WorkspaceName()
			if err != nil {
				return err
			}
			var document bytes.Buffer
			if err := compare.WriteFile(&document, f); err != nil {
				return err
			}
			db, err := a.Store(ctx)
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
			return printBaseline(a, mark, s.RunStatus)
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
