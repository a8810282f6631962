package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/agentclash/agentclash/store/bundle"
)

// exportBundle writes a run into a file beside its name first: a file of that
// name is whole, or what it was before.
func (a *app) exportBundle(ctx context.Context, db *store.DB, r store.Run, name string, force bool) error {
	path := a.path(name)
	if _, err := os.Lstat(path); err == nil && !force {
		return usage("%s exists already", name).hint("give another name, or --force to overwrite it")
	}
	if r.Active() {
		return usage("run %s is %s: a bundle is of a run that is over", r.Name, r.Status).hint("agentclash run get %s", short(r.ID))
	}
	secrets, err := a.secretsOf(ctx, db, r)
	if err != nil {
		return err
	}
	var manifest bundle.Manifest
	var digest string
	err = replace(path, 0o600, func(w io.Writer) (err error) {
		manifest, digest, err = writeBundle(ctx, db, r, w, secrets)
		return err
	})
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	d := view.BundleDocument{RunID: r.ID, RunName: r.Name, File: name, Bytes: info.Size(), Digest: digest,
		Trials: manifest.Trials, Events: manifest.Events, Blobs: manifest.Blobs, Rescorings: manifest.Rescorings, Gates: manifest.Gates}
	return a.print(d, func(w io.Writer, o view.Options) error {
		a.say("✓ exported run %s to %s", r.Name, name)
		return view.Bundle(w, d, o)
	})
}

func writeBundle(ctx context.Context, db *store.DB, r store.Run, to io.Writer, secrets knownSecrets) (bundle.Manifest, string, error) {
	head := bundle.Head{Program: readBuildInfo().Version, RunID: r.ID, RunName: r.Name}
	w, err := bundle.NewWriter(to, head, secrets.inspect)
	if err != nil {
		return bundle.Manifest{}, "", err
	}
	if err := db.Export(ctx, r.ID, w); err != nil {
		return bundle.Manifest{}, "", err
	}
	return w.Close()
}

// openBundle opens a file that is whole. The caller closes it.
func (a *app) openBundle(name string, limit int64) (*bundle.File, io.Closer, error) {
	f, err := os.Open(a.path(name))
	if err != nil {
		return nil, nil, fmt.Errorf("read bundle %s: %w", name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = usage("it is no regular file")
	}
	var b *bundle.File
	if err == nil {
		b, err = bundle.Open(f, info.Size(), limit)
	}
	if err != nil {
		return nil, nil, errors.Join(bundleFailure(name, err), f.Close())
	}
	return b, f, nil
}

// bundleFailure gives what is wrong with a bundle its code.
func bundleFailure(name string, err error) error {
	for _, row := range []struct {
		is         error
		code, next string
	}{
		{bundle.ErrForeign, "not_a_bundle", "agentclash run export RUN FILE.acb writes one"},
		{bundle.ErrNewer, "bundle_newer", "install a newer agentclash"},
		{bundle.ErrTooLarge, "bundle_too_large", "--max-bytes raises what may be unpacked"},
		{bundle.ErrDamaged, "bundle_damaged", "copy it again, or agentclash run export it again where the run is"},
		{bundle.ErrWrong, "bundle_invalid", "agentclash run export it again where the run is"},
	} {
		if errors.Is(err, row.is) {
			return (&failure{status: statusUsage, code: row.code, err: fmt.Errorf("read bundle %s: %w", name, err)}).hint("%s", row.next)
		}
	}
	return fmt.Errorf("bundle %s: %w", name, err)
}

// checkBundle reads all of a bundle without keeping anything.
func checkBundle(ctx context.Context, b *bundle.File) (*bundle.Check, bundle.Manifest, error) {
	c := newCheck(b, heeding(ctx))
	m, err := readBundle(b, c)
	return c, m, err
}

// heeding is a sink that only ends with ctx.
func heeding(ctx context.Context) bundle.Sink {
	return bundle.SinkFunc(func(bundle.Record) error { return context.Cause(ctx) })
}

func newCheck(b *bundle.File, next bundle.Sink) *bundle.Check {
	return &bundle.Check{RunID: b.Head.RunID, Next: next, Pack: checkBundledPack}
}

func readBundle(b *bundle.File, c *bundle.Check) (bundle.Manifest, error) {
	m, err := b.Read(c)
	if err != nil {
		return m, err
	}
	return m, c.Finish()
}

// checkBundledPack sees that a pack is what its digests say, and the run's own what its
// plan was made for.
func checkBundledPack(p bundle.Pack, own *plan.Plan) (scoring.Spec, error) {
	_, spec, err := bundledPack(p, own)
	return spec, err
}

func bundledPack(p bundle.Pack, own *plan.Plan) (src *pack.Pack, spec scoring.Spec, err error) {
	src, err = pack.FromManifest(p.Manifest, p.Assets, p.Reference)
	if err != nil {
		return nil, spec, err
	}
	digest, err := src.Digest()
	if err != nil {
		return nil, spec, err
	}
	if digest != p.Digest || src.SpecDigest() != p.SpecDigest || src.Pack.Slug != p.Slug || src.Version.Number != p.Version {
		return nil, spec, errors.New("its content is not what its digest says")
	}
	if own == nil {
		return src, spec, nil
	}
	bound := *own
	if err := bound.Reopen(src, plan.Progress{}); err != nil {
		return nil, spec, err
	}
	for _, ref := range own.Cases {
		digest, err := src.CaseDigest(own.InputSet, ref.Key)
		if err != nil {
			return nil, spec, err
		}
		if digest != ref.Digest {
			return nil, spec, fmt.Errorf("case %q is another than the plan's", ref.Key)
		}
	}
	return src, bound.Spec, nil
}

func newRunImport(a *app) *cobra.Command {
	limit := int64(bundle.DefaultLimit)
	c := &cobra.Command{
		Use: "import FILE.acb", Short: "Take in a run that was exported as a bundle",
		Long: `Take in a run that run export has written into a file, with its pack, events,
scorecards, rescorings and gates, in the workspace that is worked in (-w). Its
ids stay. The whole file is checked before anything is written, and all of it is
written at once or nothing.

Digests tell damage, and not who wrote a file: eval rescore RUN --exit-code says
whether the scores follow from the evidence.

Exit status: 0 the run is here; 64 the file is damaged, too large, of a newer
agentclash or no bundle, or the run is here already; 66 there is no such file;
75 another process kept the store to itself; 77 the store cannot be written.`,
		Example: "  agentclash run import run.acb\n  agentclash run import run.acb -w colleagues",
		Args:    exactArgs("FILE.acb"),
		RunE: func(c *cobra.Command, args []string) error {
			if limit <= 0 {
				return usage("--max-bytes must be positive")
			}
			return runImport(c.Context(), a, args[0], limit)
		},
	}
	addMaxBytes(c, &limit)
	return c
}

func addMaxBytes(c *cobra.Command, limit *int64) {
	c.Flags().Int64Var(limit, "max-bytes", *limit, "most that a bundle may unpack to")
}

func runImport(ctx context.Context, a *app, name string, limit int64) error {
	b, file, err := a.openBundle(name, limit)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it has only been read
	if err := a.refuseKnown(ctx, b.Head); err != nil {
		return err
	}
	checked, manifest, err := checkBundle(ctx, b)
	if err != nil {
		return bundleFailure(name, err)
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return err
	}
	db, err := a.store(ctx)
	if err != nil {
		return err
	}
	err = db.Import(ctx, workspace, self(), func(sink bundle.Sink) error {
		_, err := readBundle(b, newCheck(b, sink))
		return err
	})
	if err != nil {
		return bundleFailure(name, err)
	}
	return a.printImport(ctx, db, b, checked.Run(), manifest, name)
}

// refuseKnown refuses a run that is in the store, before the rest of its bundle is
// looked at.
func (a *app) refuseKnown(ctx context.Context, head bundle.Head) error {
	db, ok, err := a.reading(ctx)
	if err != nil || !ok {
		return err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return err
	}
	r, err := db.Run(ctx, workspace, head.RunID)
	if errors.Is(err, store.ErrNotFound) || err == nil && r.ID != head.RunID {
		return nil
	}
	if err != nil {
		return err
	}
	return (&failure{status: statusUsage, code: "conflict", err: fmt.Errorf("run %s is here already, in workspace %q: nothing was changed", r.Name, r.Workspace)}).
		hint("agentclash run get %s", r.ID)
}

func (a *app) printImport(ctx context.Context, db *store.DB, b *bundle.File, r bundle.Run, m bundle.Manifest, name string) error {
	d := view.BundleDocument{RunID: r.ID, RunName: r.Name, File: name, Bytes: b.Bytes, Digest: b.Digest,
		Trials: m.Trials, Events: m.Events, Blobs: m.Blobs, Rescorings: m.Rescorings, Gates: m.Gates}
	for _, o := range r.Others {
		_, err := db.Run(ctx, "", o.RunID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		d.OtherRuns = append(d.OtherRuns, view.OtherRun{As: o.As, RunID: o.RunID, Name: o.Name, Here: err == nil})
	}
	wanted, err := a.missedSession(ctx, db, r.ID)
	if err != nil {
		return err
	}
	return a.print(d, func(w io.Writer, v view.Options) error {
		a.say("✓ imported run %s from %s", r.Name, name)
		if wanted != "" {
			a.say("note: run %s was started into the session %q, which is another one here: it is not in it", r.Name, wanted)
		}
		for _, o := range d.OtherRuns {
			if !o.Here {
				a.say("note: run %s, which this one names as %s, is not here", strings.TrimSpace(o.Name+" "+o.RunID), o.As)
			}
		}
		a.say("next: agentclash eval scorecard %s", short(r.ID))
		return view.Bundle(w, d, v)
	})
}
