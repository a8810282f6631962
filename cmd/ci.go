package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/cmd/ci/git"
	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
)

func newCI(a *app) *cobra.Command {
	return group("ci", "Evaluate changes in a CI job, as a manifest says", newCIInit(a), newCIValidate(a), newCIShouldRun(a), newCIBaseline(a), newCIRun(a))
}

func newCIInit(a *app) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "init [FILE]", Short: "Write a manifest with comments, to be changed",
		Long: `Write a manifest with comments, to be changed: ` + ci.DefaultPath + ` when no file
is named. Directories are made; a file that is there is kept without --force.`,
		Example: "  agentclash ci init\n  agentclash ci init .agentclash/nightly.yaml",
		Args:    upTo(1),
		RunE: func(_ *cobra.Command, args []string) error {
			file := firstOr(args, ci.DefaultPath)
			if _, err := os.Lstat(a.path(file)); err == nil && !force {
				return usage("%s is there already", file).hint("agentclash ci init %s --force replaces it", file)
			}
			write := func(w io.Writer) error { _, err := w.Write(ci.Sample); return err }
			if err := writeWhole(a.path(file), write); err != nil {
				return err
			}
			return a.print(map[string]string{"path": file, "action": "created"}, func(io.Writer, view.Options) error {
				a.say("✓ wrote %s", file)
				a.say("next: name your files in it, then agentclash ci validate %s", file)
				return nil
			})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace a file that is there")
	return c
}

func firstOr(args []string, otherwise string) string {
	if len(args) > 0 {
		return args[0]
	}
	return otherwise
}

// manifestFile is a manifest that was found, and the repository that its paths
// begin in.
type manifestFile struct {
	file string // as it was typed
	path string // from the root, with slashes
	root string
	src  []byte
}

// manifestFlags say which manifest is meant.
type manifestFlags struct{ file, repo string }

func (o *manifestFlags) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.file, "manifest", ci.DefaultPath, "manifest of the job")
	o.addRepo(f)
}

func (o *manifestFlags) addRepo(f *pflag.FlagSet) {
	f.StringVar(&o.repo, "repo", "", "root of the repository that the manifest's paths begin in (default: of the git repository that the manifest is in)")
}

// findManifest reads a manifest's file and finds its repository.
func (a *app) findManifest(o manifestFlags) (m manifestFile, err error) {
	full := a.path(o.file)
	m = manifestFile{file: o.file, path: filepath.ToSlash(filepath.Clean(o.file))}
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, (&failure{status: statusNotFound, code: "file_not_found", err: fmt.Errorf("read the manifest %s: no such file", o.file)}).
			hint("agentclash ci init %s writes one", o.file)
	case err == nil && !info.Mode().IsRegular():
		return m, usage("read the manifest %s: %w", o.file, pack.ErrNotFile)
	}
	if err == nil {
		m.src, err = a.readSmall(o.file)
	}
	if err != nil {
		return m, fmt.Errorf("read the manifest %s: %w", o.file, err)
	}
	if m.root, err = a.manifestRoot(o, full); err != nil {
		return m, err
	}
	if rel, rerr := filepath.Rel(m.root, full); rerr == nil && filepath.IsLocal(rel) {
		m.path = filepath.ToSlash(rel)
	}
	return m, nil
}

func (a *app) manifestRoot(o manifestFlags, full string) (string, error) {
	if o.repo != "" {
		root := a.path(o.repo)
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return "", usage("--repo %s is no directory", o.repo)
		}
		return root, nil
	}
	root, err := git.Root(filepath.Dir(full))
	if err != nil {
		return "", usage("manifest %s: %w, and its paths begin at the root of one", o.file, err).hint("add --repo DIR where there is none")
	}
	return root, nil
}

// enter makes the repository the working directory of what follows, so that all
// that a manifest names means what it would when it was typed there. What it
// returns undoes that.
func (a *app) enter(m manifestFile) (leave func()) {
	dir, getenv := a.p.Dir, a.p.Getenv
	a.p.Getenv = func(name string) string {
		v := getenv(name)
		if name == "AGENTCLASH_HOME" && v != "" && !filepath.IsAbs(v) {
			return filepath.Join(dir, v) // it was meant from where the command was typed
		}
		return v
	}
	a.p.Dir = m.root
	return func() { a.p.Dir, a.p.Getenv = dir, getenv }
}

// fromRoot is a path that was typed as one from the repository's root.
func (a *app) fromRoot(m manifestFile, path string) string {
	if path == "" || path == stdoutPath || filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(m.root, a.path(path)); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return a.path(path)
}

// parse is the manifest, or a refusal that lists what is wrong with it.
func (m manifestFile) parse() (*ci.Manifest, error) {
	parsed, problems := ci.Parse(m.file, m.src)
	if parsed == nil {
		return nil, refusal("manifest_invalid", "the manifest is not valid", problems.Errors())
	}
	return parsed, nil
}

func newCIValidate(a *app) *cobra.Command {
	var o manifestFlags
	c := &cobra.Command{
		Use: "validate [FILE...]", Short: "Check a manifest, and all that it names",
		Long: `Check a manifest (` + ci.DefaultPath + ` when none is named) and all that it names: the pack, the
agent, the policy, the suites, the recording and the baseline. Nothing is run, no
key is looked for and nothing is asked of the network.

Exit status: 0 it is valid; 1 it is not, or something that it names is missing; 64
it is in no git repository; 66 there is no such file.`,
		Example: "  agentclash ci validate\n  agentclash ci validate .agentclash/nightly.yaml --json",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{ci.DefaultPath}
			}
			return a.ciValidate(c.Context(), o, args)
		},
	}
	o.addRepo(c.Flags())
	return c
}

func (a *app) ciValidate(ctx context.Context, o manifestFlags, files []string) error {
	all := struct {
		Valid bool                     `json:"valid"`
		Files view.List[ci.Validation] `json:"files"`
	}{Valid: true}
	for _, o.file = range files {
		m, err := a.findManifest(o)
		if err != nil {
			return err
		}
		leave := a.enter(m)
		v, err := a.validateManifest(ctx, m)
		leave()
		if err != nil {
			return err
		}
		all.Files = append(all.Files, v)
		all.Valid = all.Valid && v.Valid
	}
	var doc any = all
	if len(files) == 1 {
		doc = all.Files[0]
	}
	err := a.print(doc, func(w io.Writer, v view.Options) error {
		for _, f := range all.Files {
			if f.Valid {
				a.say("✓ %s is valid", f.Path)
			}
			if err := ci.WriteValidation(w, f, v); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !all.Valid {
		err = verdict(statusError)
	}
	return err
}

func newCIBaseline(a *app) *cobra.Command {
	var o manifestFlags
	c := &cobra.Command{
		Use: "baseline [FILE]", Short: "Show what a manifest's baseline is, and whether the pack can be compared with it",
		Long: `Show how a manifest's baseline is found, how old it is, and whether a run of the pack
as it is now could be compared with it. Nothing is run.

Exit status: 0 it can be compared with; 3 it cannot, or there is none; 64 the
manifest is not valid; 66 there is no such manifest.`,
		Example: "  agentclash ci baseline\n  agentclash ci baseline --json --query .compatible",
		Args:    upTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.file = firstOr(args, ci.DefaultPath)
			m, err := a.findManifest(o)
			if err != nil {
				return err
			}
			parsed, err := m.parse()
			if err != nil {
				return err
			}
			a.enter(m)
			ctx := c.Context()
			p, _, err := a.loadPack(ctx, parsed.Evaluation.PackRef())
			if err != nil {
				return err
			}
			_, r, err := a.ciBaseline(ctx, parsed, p)
			if err != nil {
				return err
			}
			if err := a.print(r, func(w io.Writer, v view.Options) error { return ci.WriteResolution(w, r, v) }); err != nil {
				return err
			}
			if !r.Compatible {
				return exit(3)
			}
			return nil
		},
	}
	o.addRepo(c.Flags())
	return c
}

// shouldRunOptions say what has changed.
type shouldRunOptions struct {
	manifest   manifestFlags
	base, head string
	files      []string
	labels     []string
	labelled   bool // --labels was given
	event      string
	outputs    bool
	reports    reportFlags
}

func newCIShouldRun(a *app) *cobra.Command {
	var o shouldRunOptions
	c := &cobra.Command{
		Use: "should-run", Short: "Say whether a change wants an evaluation",
		Long: `Say whether a change wants an evaluation: whether a file that changed matches the
manifest's trigger.paths, or a label its trigger.labels. A change of the manifest
itself always does.

What changed is told by --changed-file; or by git, as what --head has changed since
it parted from --base (AGENTCLASH_CI_BASE, AGENTCLASH_CI_HEAD; else the job's own
environment; head is HEAD where only a base is known).

Exit status: 0 whether it does or not; 64 the manifest is not valid, it is in no git
repository, or nothing says what changed; 66 a ref, or where the two parted, is not
in the clone; 69 there is no git.`,
		Example: `  agentclash ci should-run --base origin/main --json --query .should_run
  agentclash ci should-run --changed-file prompts/prod.md`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.labelled = c.Flags().Changed("labels")
			return a.ciShouldRun(c.Context(), o)
		},
	}
	f := c.Flags()
	o.manifest.addFlags(f)
	f.StringVar(&o.base, "base", "", "ref that the change goes to")
	f.StringVar(&o.head, "head", "", "ref of the change")
	f.StringArrayVar(&o.files, "changed-file", nil, "file that changed, from the repository's root; repeatable")
	f.StringSliceVar(&o.labels, "labels", nil, "labels of the pull request (default: what the job's environment says)")
	f.StringVar(&o.event, "github-event", "", "GitHub's event file (default: GITHUB_EVENT_PATH)")
	f.BoolVar(&o.outputs, "github-output", false, githubOutputUsage)
	o.reports.addFlags(f)
	return c
}

func (a *app) ciShouldRun(ctx context.Context, o shouldRunOptions) error {
	if len(o.files) > 0 && o.base+o.head != "" {
		return usage("--changed-file and --base or --head both say what changed: choose one")
	}
	meta, err := a.ciMetadata(o.event)
	if err != nil {
		return err
	}
	m, err := a.findManifest(o.manifest)
	if err != nil {
		return err
	}
	parsed, err := m.parse()
	if err != nil {
		return err
	}
	if err := o.reports.check(a, false); err != nil {
		return err
	}
	for _, f := range o.reports.files {
		if !slices.Contains([]string{reports.Markdown, reports.Comment}, f.kind) {
			return usage("--report %s: nothing has been run; there are md and comment", f.kind)
		}
	}
	d, err := a.ciDecide(ctx, o, parsed, m, meta)
	if err != nil {
		return err
	}
	if o.outputs {
		reason := ""
		if !d.ShouldRun {
			reason = d.Reason
		}
		if err := a.githubOutput("should-run", strconv.FormatBool(d.ShouldRun), "skip-reason", reason); err != nil {
			return err
		}
	}
	err = a.print(d, func(w io.Writer, v view.Options) error { return ci.WriteDecision(w, d, v) })
	if d.ShouldRun { // what there is to say will be said when it has run
		return err
	}
	return a.writeReports(o.reports, err, func() (reports.Run, error) {
		return reports.Run{Job: &reports.Job{Manifest: m.path, State: ci.Skipped, Reason: d.Reason, URL: meta.RunURL}}, nil
	})
}

func (a *app) ciDecide(ctx context.Context, o shouldRunOptions, parsed *ci.Manifest, m manifestFile, meta ci.Metadata) (ci.Decision, error) {
	change := ci.Change{Labels: meta.Labels}
	if o.labelled {
		change.Labels = o.labels
	}
	if len(o.files) > 0 {
		for _, f := range o.files {
			change.Files = append(change.Files, filepath.ToSlash(filepath.Clean(f)))
		}
		return parsed.ShouldRun(m.path, change), nil
	}
	base, head := o.base, o.head
	if base == "" && head == "" {
		base, head = a.p.Getenv("AGENTCLASH_CI_BASE"), a.p.Getenv("AGENTCLASH_CI_HEAD")
	}
	if base == "" && head == "" {
		base, head = meta.Base, meta.Head
	}
	if base == "" {
		if d := parsed.ShouldRun(m.path, change); d.ShouldRun {
			return d, nil // by a label
		}
		return ci.Decision{}, usage("nothing says what changed: there is no base to compare with").hint("add --base REF, or --changed-file FILE")
	}
	if head == "" {
		head = "HEAD"
	}
	changes, err := git.Repository{Root: m.root, Getenv: a.p.Getenv}.Changes(ctx, base, head)
	if err != nil {
		return ci.Decision{}, gitFailure(err)
	}
	change.Files = changes.Files
	d := parsed.ShouldRun(m.path, change)
	d.Base, d.Head, d.MergeBase = changes.Base, changes.Head, changes.MergeBase
	return d, nil
}

// gitFailure is what keeps git from saying what changed.
func gitFailure(err error) error {
	f := usage("find what changed: %w", err)
	const history = "fetch the history: fetch-depth: 0 of actions/checkout, GIT_DEPTH: 0 of GitLab, or git fetch --unshallow"
	switch {
	case errors.Is(err, git.ErrNoGit):
		f.status, f.code, f.next = statusUnavailable, "git_unavailable", "install git, or name the files with --changed-file"
	case errors.Is(err, git.ErrUnknownRef):
		f.status, f.code, f.next = statusNotFound, "ref_not_found", history
	case errors.Is(err, git.ErrNoMergeBase):
		f.status, f.code, f.next = statusNotFound, "merge_base_not_found", history
	case errors.Is(err, git.ErrNoRepository):
		f.code, f.next = "no_repository", "name the files with --changed-file"
	case errors.Is(err, git.ErrBadRef), errors.Is(err, git.ErrNotRoot):
	default:
		return fmt.Errorf("find what changed: %w", err)
	}
	return f
}

// maxEvent bounds an event file, in bytes.
const maxEvent = 32 << 20

// ciMetadata is what the job's environment says.
func (a *app) ciMetadata(event string) (ci.Metadata, error) {
	named := event != ""
	if !named {
		event = a.p.Getenv("GITHUB_EVENT_PATH")
	}
	var raw []byte
	if event != "" {
		f, err := os.Open(a.path(event))
		if err != nil && (named || !errors.Is(err, fs.ErrNotExist)) {
			return ci.Metadata{}, fmt.Errorf("read the event file: %w", err)
		}
		if err == nil {
			defer f.Close()
			if raw, err = io.ReadAll(io.LimitReader(f, maxEvent)); err != nil {
				return ci.Metadata{}, fmt.Errorf("read the event file: %w", err)
			}
		}
	}
	meta, err := ci.Environment(a.p.Getenv, raw)
	if err != nil {
		return meta, usage("%s: %w", event, err)
	}
	return meta, nil
}
