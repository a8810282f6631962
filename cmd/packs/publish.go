package packs

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

func newPackPublish(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "publish FILE", Short: "Store a pack version that never changes",
		Long: `Store a pack version under its number: the pack, the bytes of its assets, and
the script of its reference agent if NAME.reference.yaml lies beside NAME.yaml.
Publishing the same content again changes nothing; other content under the same
number is refused: raise version.number.

A pack that this version cannot run yet can be published all the same. With - for
FILE the pack is read from stdin, and its assets from the working directory.

Exit status: 0 it is published, 64 the pack is not valid, misses a file, or its
number has other content, 66 the file does not exist.`,
		Example: "  agentclash challenge-pack publish my-pack.yaml\n  agentclash challenge-pack publish my-pack.yaml --json",
		Args:    cli.ExactArgs("FILE"),
		RunE:    func(c *cobra.Command, args []string) error { return runPackPublish(c.Context(), a, args[0]) },
	}
}

func runPackPublish(ctx context.Context, a *cli.App, file string) error {
	p, warnings, err := selector.LoadPack(ctx, a, file)
	if err != nil {
		return err
	}
	if missing := p.MissingAssets(); len(missing) > 0 {
		return selector.Refusal("asset_missing", "the pack cannot be published without all of its files", placed(warnings, selector.AsProblems(file, missing)))
	}
	if p, err = selector.WithArtifacts(ctx, a, p); err != nil {
		return err
	}
	if script := p.Reference(); script != nil {
		if _, err := agents.NewScriptClient(pack.ReferencePath(file), script); err != nil {
			return cli.Usage("read the pack's reference agent: %w", err)
		}
	}
	for _, w := range warnings {
		a.Say("%s", w)
	}
	db, err := a.Store(ctx)
	if err != nil {
		return err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	_, before, err := storedVersion(ctx, a, p)
	if err != nil {
		return err
	}
	stored, err := Snapshot(ctx, a, db, p, workspace, true)
	if err != nil {
		return err
	}
	doc, err := publishedDocument(ctx, db, stored)
	if err != nil {
		return err
	}
	return a.Print(doc, func(w io.Writer, o view.Options) error {
		if before.Published() {
			a.Say("✓ %s is published already, with the same content", stored.Ref())
		} else {
			a.Say("✓ published %s", stored.Ref())
		}
		return view.PublishedPack(w, doc, o)
	})
}

// placed are problems with the places that the warnings about the same fields
// have.
func placed(warnings, problems pack.Problems) pack.Problems {
	for i, p := range problems {
		if j := slices.IndexFunc(warnings, func(w pack.Problem) bool { return w.Blocks && w.Field == p.Field }); j >= 0 {
			problems[i] = warnings[j]
		}
	}
	return problems
}

func publishedDocument(ctx context.Context, db *store.DB, stored store.Pack) (view.PublishedDocument, error) {
	sets, err := db.InputSets(ctx, stored.ID)
	doc := view.PublishedDocument{
		ChallengePackID: stored.ChallengePackID, VersionID: stored.ID, SpecID: stored.SpecID, BundleID: stored.BundleID,
		InputSets: view.List[string]{}, Slug: stored.Slug, Version: stored.Version, Digest: stored.Digest,
	}
	for _, s := range sets {
		doc.InputSets = append(doc.InputSets, s.ID)
	}
	return doc, err
}

func newPackList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the stored packs", Args: cli.NoArgs,
		Example: "  agentclash challenge-pack list",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.CheckWorkspace(c.Context()); err != nil {
				return err
			}
			page := view.Page[view.PackEntry]{}
			db, ok, err := a.Reading(c.Context())
			if err != nil {
				return err
			}
			if ok {
				workspace, err := a.WorkspaceName()
				if err != nil {
					return err
				}
				packs, err := db.Packs(c.Context(), workspace)
				if err != nil {
					return err
				}
				for _, p := range packs {
					v := view.PackVersion{ID: p.ID, Version: p.Version, Mode: p.Mode, Digest: p.Digest, Published: p.Published(), CreatedAt: p.CreatedAt}
					if n := len(page.Items); n > 0 && page.Items[n-1].Slug == p.Slug {
						page.Items[n-1].Versions = append(page.Items[n-1].Versions, v)
						continue
					}
					page.Items = append(page.Items, view.PackEntry{ID: p.ChallengePackID, Slug: p.Slug, Name: p.Name, Versions: []view.PackVersion{v}})
				}
				page.Total = len(page.Items)
			}
			return a.Print(page, func(w io.Writer, o view.Options) error {
				if page.Total == 0 {
					a.Say("! no packs are stored yet: a run or challenge-pack publish stores one")
				}
				return view.PackList(w, page, o)
			})
		},
	}
}

// Snapshot stores a pack's manifest and assets.
func Snapshot(ctx context.Context, a *cli.App, db *store.DB, p *pack.Pack, workspace string, published bool) (store.Pack, error) {
	manifest, err := p.Manifest()
	if err != nil {
		return store.Pack{}, fmt.Errorf("write the manifest of %s: %w", p.Pack.Slug, err)
	}
	digest, err := p.Digest()
	if err != nil {
		return store.Pack{}, err
	}
	s := store.PackSnapshot{
		Workspace: workspace, Slug: p.Pack.Slug, Name: p.Pack.Name, Family: p.Pack.Family, Version: p.Version.Number, Mode: p.Mode(),
		Digest: digest, SpecDigest: p.SpecDigest(),
		Manifest: manifest, Assets: p.Assets(), Reference: p.Reference(), Bundle: p.Source(),
	}
	for _, set := range p.InputSets {
		s.InputSets = append(s.InputSets, set.Key)
	}
	if published {
		return db.Publish(ctx, s)
	}
	return db.SavePack(ctx, s)
}
