package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sessions"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/agentclash/agentclash/store/bundle"
	"github.com/spf13/cobra"
)

// exportBundle writes a run into a file beside its name first: a file of that
// name is whole, or what it was before.
func exportBundle(ctx context.Context, a *cli.App, db *store.DB, r store.Run, name string, force bool) error {
	path := a.Path(name)
	if err := a.CheckNew(name, force); err != nil {
		return err
	}
	if r.Active() {
		return cli.Usage("run %s is %s: a bundle is of a run that is over", r.Name, r.Status).Hint("agentclash run get %s", cli.Short(r.ID))
	}
	secrets, err := agents.SecretsOf(ctx, a, db, r)
	if err != nil {
		return err
	}
	var manifest bundle.Manifest
	var digest string
	err = a.WriteOutput(name, 0o600, func(w io.Writer) (err error) {
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
	return a.Print(d, func(w io.Writer, o view.Options) error {
		a.Say("✓ exported run %s to %s", r.Name, name)
		return view.Bundle(w, d, o)
	})
}

func writeBundle(ctx context.Context, db *store.DB, r store.Run, to io.Writer, secrets agents.KnownSecrets) (bundle.Manifest, string, error) {
	head := bundle.Head{Program: cli.ReadBuildInfo().Version, RunID: r.ID, RunName: r.Name}
	w, err := bundle.NewWriter(to, head, secrets.Inspect)
	if err != nil {
		return bundle.Manifest{}, "", err
	}
	if err := db.Export(ctx, r.ID, w); err != nil {
		return bundle.Manifest{}, "", err
	}
	return w.Close()
}

// OpenBundle opens a file that is whole. The caller closes it.
func OpenBundle(a *cli.App, name string, limit int64) (*bundle.File, io.Closer, error) {
	f, err := os.Open(a.Path(name))
	if err != nil {
		return nil, nil, fmt.Errorf("read bundle %s: %w", name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = cli.Usage("it is no regular file")
	}
	var b *bundle.File
	if err == nil {
		b, err = bundle.Open(f, info.Size(), limit)
	}
	if err != nil {
		return nil, nil, errors.Join(BundleFailure(name, err), f.Close())
	}
	return b, f, nil
}

// BundleFailure gives what is wrong with a bundle its code.
func BundleFailure(name string, err error) error {
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
			return (&cli.Failure{Status: cli.StatusUsage, Code: row.code, Err: fmt.Errorf("read bundle %s: %w", name, err)}).Hint("%s", row.next)
		}
	}
	return fmt.Errorf("bundle %s: %w", name, err)
}

// checkBundle reads all of a bundle without keeping anything.
func checkBundle(ctx context.Context, b *bundle.File) (*bundle.Check, bundle.Manifest, error) {
	c := NewCheck(b, Heeding(ctx))
	m, err := ReadBundle(b, c)
	return c, m, err
}

// Heeding is a sink that only ends with ctx.
func Heeding(ctx context.Context) bundle.Sink {
	return bundle.SinkFunc(func(bundle.Record) error { return context.Cause(ctx) })
}

// NewCheck holds a bundle's records against its head before next sees them.
func NewCheck(b *bundle.File, next bundle.Sink) *bundle.Check {
	return &bundle.Check{RunID: b.Head.RunID, Next: next, Pack: checkBundledPack}
}

// ReadBundle reads a bundle to its end and checks it: what c.Next was given counts only
// when the error is nil.
func ReadBundle(b *bundle.File, c *bundle.Check) (bundle.Manifest, error) {
	m, err := b.Read(c)
	if err != nil {
		return m, err
	}
	return m, c.Finish()
}

// checkBundledPack sees that a pack is what its digests say, and the run's own what its
// plan was made for.
func checkBundledPack(p bundle.Pack, own *plan.Plan) (scoring.Spec, error) {
	_, spec, err := BundledPack(p, own)
	return spec, err
}

// BundledPack opens a pack of a bundle; own is the plan that ran it, nil for another's.
func BundledPack(p bundle.Pack, own *plan.Plan) (src *pack.Pack, spec scoring.Spec, err error) {
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

// NewRunImport is agentclash run import, which believes nothing of a file that it has not
// checked.
func NewRunImport(a *cli.App) *cobra.Command {
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
		Args:    cli.ExactArgs("FILE.acb"),
		RunE: func(c *cobra.Command, args []string) error {
			if limit <= 0 {
				return cli.Usage("--max-bytes must be positive")
			}
			return runImport(c.Context(), a, args[0], limit)
		},
	}
	AddMaxBytes(c, &limit)
	return c
}

// AddMaxBytes adds --max-bytes, whose default is what limit holds.
func AddMaxBytes(c *cobra.Command, limit *int64) {
	c.Flags().Int64Var(limit, "max-bytes", *limit, "most that a bundle may unpack to")
}

func runImport(ctx context.Context, a *cli.App, name string, limit int64) error {
	b, file, err := OpenBundle(a, name, limit)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it has only been read
	if err := refuseKnown(ctx, a, b.Head); err != nil {
		return err
	}
	checked, manifest, err := checkBundle(ctx, b)
	if err != nil {
		return BundleFailure(name, err)
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	db, err := a.Store(ctx)
	if err != nil {
		return err
	}
	err = db.Import(ctx, workspace, cli.Self(), func(sink bundle.Sink) error {
		_, err := ReadBundle(b, NewCheck(b, sink))
		return err
	})
	if err != nil {
		return BundleFailure(name, err)
	}
	return printImport(ctx, a, db, b, checked.Run(), manifest, name)
}

// refuseKnown refuses a run that is in the store, before the rest of its bundle is
// looked at.
func refuseKnown(ctx context.Context, a *cli.App, head bundle.Head) error {
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok {
		return err
	}
	workspace, err := a.WorkspaceName()
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
	return (&cli.Failure{Status: cli.StatusUsage, Code: "conflict", Err: fmt.Errorf("run %s is here already, in workspace %q: nothing was changed", r.Name, r.Workspace)}).
		Hint("agentclash run get %s", r.ID)
}

func printImport(ctx context.Context, a *cli.App, db *store.DB, b *bundle.File, r bundle.Run, m bundle.Manifest, name string) error {
	d := view.BundleDocument{RunID: r.ID, RunName: r.Name, File: name, Bytes: b.Bytes, Digest: b.Digest,
		Trials: m.Trials, Events: m.Events, Blobs: m.Blobs, Rescorings: m.Rescorings, Gates: m.Gates}
	for _, o := range r.Others {
		_, err := db.Run(ctx, "", o.RunID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		d.OtherRuns = append(d.OtherRuns, view.OtherRun{As: o.As, RunID: o.RunID, Name: o.Name, Here: err == nil})
	}
	wanted, err := sessions.MissedSession(ctx, a, db, r.ID)
	if err != nil {
		return err
	}
	return a.Print(d, func(w io.Writer, v view.Options) error {
		a.Say("✓ imported run %s from %s", r.Name, name)
		if wanted != "" {
			a.Say("note: run %s was started into the session %q, which is another one here: it is not in it", r.Name, wanted)
		}
		for _, o := range d.OtherRuns {
			if !o.Here {
				a.Say("note: run %s, which this one names as %s, is not here", strings.TrimSpace(o.Name+" "+o.RunID), o.As)
			}
		}
		a.Say("next: agentclash eval scorecard %s", cli.Short(r.ID))
		return view.Bundle(w, d, v)
	})
}
