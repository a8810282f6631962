package packs

import (
	"context"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

type packShowOptions struct{ manifest, source bool }

func newPackShow(a *cli.App) *cobra.Command {
	var o packShowOptions
	c := &cobra.Command{
		Use: "show PACK", Short: "Show what a pack holds",
		Long: `Show what a pack holds: a file, a stored pack (slug, slug@N, id) or builtin:NAME.

--manifest prints the document that is stored and scored, --source the file as
its author wrote it.`,
		Example: "  agentclash challenge-pack show my-pack\n  agentclash challenge-pack show my-pack@2 --source > my-pack.yaml",
		Args:    cli.ExactArgs("PACK"),
		RunE:    func(c *cobra.Command, args []string) error { return runPackShow(c.Context(), a, o, args[0]) },
	}
	f := c.Flags()
	f.BoolVar(&o.manifest, "manifest", false, "print the manifest, one JSON document")
	f.BoolVar(&o.source, "source", false, "print the file as it was written")
	return c
}

func runPackShow(ctx context.Context, a *cli.App, o packShowOptions, which string) error {
	if o.manifest && o.source {
		return cli.Usage("--manifest and --source are two documents; ask for one")
	}
	p, _, err := selector.LoadPack(ctx, a, which)
	if err != nil {
		return err
	}
	if o.source {
		source, err := packSource(ctx, a, p)
		if err == nil && source == nil {
			err = cli.Usage("the file that %s was written in is not kept: only publish keeps it", which).
				Hint("agentclash challenge-pack show %s --manifest", which)
		}
		if err == nil {
			_, err = a.Process.Out.Write(source)
		}
		return err
	}
	manifest, err := p.Manifest()
	if err != nil {
		return err
	}
	if o.manifest {
		_, err := a.Process.Out.Write(append(manifest, '\n'))
		return err
	}
	doc, err := packDocument(ctx, a, p)
	if err != nil {
		return err
	}
	return a.Print(doc, func(w io.Writer, o view.Options) error { return view.ShowPack(w, doc, o) })
}

func packDocument(ctx context.Context, a *cli.App, p *pack.Pack) (view.PackDocument, error) {
	digest, err := p.Digest()
	if err != nil {
		return view.PackDocument{}, err
	}
	spec := p.Version.EvaluationSpec.Normalize()
	doc := view.PackDocument{
		Slug: p.Pack.Slug, Name: p.Pack.Name, Family: p.Pack.Family, Version: p.Version.Number, Mode: p.Mode(), Digest: digest,
		EvaluationSpec: spec.Name, SpecDigest: p.SpecDigest(), Reference: p.Reference() != nil,
	}
	if p.Pack.Description != nil {
		doc.Description = *p.Pack.Description
	}
	for _, c := range p.Challenges {
		doc.Challenges = append(doc.Challenges, view.PackChallenge{Key: c.Key, Title: c.Title, Difficulty: c.Difficulty})
	}
	for _, s := range p.InputSets {
		set := view.PackInputSet{Key: s.Key, Name: s.Name}
		for _, c := range s.Cases {
			set.Cases = append(set.Cases, c.Key())
		}
		doc.InputSets = append(doc.InputSets, set)
	}
	for _, v := range spec.Validators {
		what := v.Type
		if v.Negate {
			what += ", negated"
		}
		doc.Validators = append(doc.Validators, v.Key+" ("+what+")")
	}
	for _, b := range p.Blockers() {
		doc.Blockers = append(doc.Blockers, view.Problem{Field: b.Field, Message: b.Message})
	}
	return doc, addIDs(ctx, a, p, &doc)
}

// packSource is the file that a pack was written in, nil when it is not kept.
func packSource(ctx context.Context, a *cli.App, p *pack.Pack) ([]byte, error) {
	if p.Source() != nil {
		return p.Source(), nil
	}
	db, stored, err := storedVersion(ctx, a, p)
	if err != nil || db == nil {
		return nil, err
	}
	s, err := db.Snapshot(ctx, stored.ID)
	return s.Bundle, err
}

// storedVersion is the stored pack with the same content; db is nil when there
// is none.
func storedVersion(ctx context.Context, a *cli.App, p *pack.Pack) (db *store.DB, stored store.Pack, err error) {
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok {
		return nil, stored, err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return nil, stored, err
	}
	digest, err := p.Digest()
	if err != nil {
		return nil, stored, err
	}
	stored, found, err := db.PackOfDigest(ctx, workspace, store.PackKey{Slug: p.Pack.Slug, Version: p.Version.Number, Digest: digest})
	if err != nil || !found {
		return nil, stored, err
	}
	return db, stored, nil
}

// addIDs adds the ids of a pack that is stored.
func addIDs(ctx context.Context, a *cli.App, p *pack.Pack, doc *view.PackDocument) error {
	db, stored, err := storedVersion(ctx, a, p)
	if err != nil || db == nil {
		return err
	}
	doc.ChallengePackID, doc.VersionID, doc.SpecID, doc.BundleID = stored.ChallengePackID, stored.ID, stored.SpecID, stored.BundleID
	doc.Published = stored.Published()
	sets, err := db.InputSets(ctx, stored.ID)
	for i, s := range sets {
		if i < len(doc.InputSets) {
			doc.InputSets[i].ID = s.ID
		}
	}
	return err
}
