package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/cmd/ci/git"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/spf13/cobra"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
)

// shouldRunOptions say what has changed.
type shouldRunOptions struct {
	manifest   manifestFlags
	base, head string
	files      []string
	labels     []string
	labelled   bool // --labels was given
	event      string
	outputs    bool
	reports    verdict.ReportFlags
}

func newCIShouldRun(a *cli.App) *cobra.Command {
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
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.labelled = c.Flags().Changed("labels")
			return ciShouldRun(c.Context(), a, o)
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
	o.reports.AddFlags(f)
	return c
}

func ciShouldRun(ctx context.Context, a *cli.App, o shouldRunOptions) error {
	if len(o.files) > 0 && o.base+o.head != "" {
		return cli.Usage("--changed-file and --base or --head both say what changed: choose one")
	}
	meta, err := ciMetadata(a, o.event)
	if err != nil {
		return err
	}
	m, err := findManifest(a, o.manifest)
	if err != nil {
		return err
	}
	parsed, err := m.parse()
	if err != nil {
		return err
	}
	if err := o.reports.Check(a, false); err != nil {
		return err
	}
	for _, f := range o.reports.Files {
		if !slices.Contains([]string{reports.Markdown, reports.Comment}, f.Kind) {
			return cli.Usage("--report %s: nothing has been run; there are md and comment", f.Kind)
		}
	}
	d, err := ciDecide(ctx, a, o, parsed, m, meta)
	if err != nil {
		return err
	}
	if o.outputs {
		reason := ""
		if !d.ShouldRun {
			reason = d.Reason
		}
		if err := githubOutput(a, "should-run", strconv.FormatBool(d.ShouldRun), "skip-reason", reason); err != nil {
			return err
		}
	}
	err = a.Print(d, func(w io.Writer, v view.Options) error { return ci.WriteDecision(w, d, v) })
	if d.ShouldRun { // what there is to say will be said when it has run
		return err
	}
	return verdict.WriteReports(a, o.reports, err, func() (reports.Run, error) {
		return reports.Run{Job: &reports.Job{Manifest: m.path, State: ci.Skipped, Reason: d.Reason, URL: meta.RunURL}}, nil
	})
}

func ciDecide(ctx context.Context, a *cli.App, o shouldRunOptions, parsed *ci.Manifest, m manifestFile, meta ci.Metadata) (ci.Decision, error) {
	change := ci.Change{Labels: meta.Labels}
	if o.labelled {
		change.Labels = o.labels
	}
	if len(o.files) > 0 {
		for _, f := range o.files {
			if !filepath.IsLocal(f) { // it would match nothing, and be taken for a no
				return ci.Decision{}, cli.Usage("--changed-file %q is no file of the repository: name it from the repository's root", f)
			}
			change.Files = append(change.Files, filepath.ToSlash(filepath.Clean(f)))
		}
		return parsed.ShouldRun(m.path, change), nil
	}
	base, head := o.base, o.head
	if base == "" && head == "" {
		base, head = a.Process.Getenv("AGENTCLASH_CI_BASE"), a.Process.Getenv("AGENTCLASH_CI_HEAD")
	}
	if base == "" && head == "" {
		base, head = meta.Base, meta.Head
	}
	if base == "" {
		if d := parsed.ShouldRun(m.path, change); d.ShouldRun {
			return d, nil // by a label
		}
		return ci.Decision{}, cli.Usage("nothing says what changed: there is no base to compare with").Hint("add --base REF, or --changed-file FILE")
	}
	if head == "" {
		head = "HEAD"
	}
	changes, err := git.Repository{Root: m.root, Getenv: a.Process.Getenv}.Changes(ctx, base, head)
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
	f := cli.Usage("find what changed: %w", err)
	const history = "fetch the history: fetch-depth: 0 of actions/checkout, GIT_DEPTH: 0 of GitLab, or git fetch --unshallow"
	switch {
	case errors.Is(err, git.ErrNoGit):
		f.Status, f.Code, f.Next = cli.StatusUnavailable, "git_unavailable", "install git, or name the files with --changed-file"
	case errors.Is(err, git.ErrUnknownRef):
		f.Status, f.Code, f.Next = cli.StatusNotFound, "ref_not_found", history
	case errors.Is(err, git.ErrNoMergeBase):
		f.Status, f.Code, f.Next = cli.StatusNotFound, "merge_base_not_found", history
	case errors.Is(err, git.ErrNoRepository):
		f.Code, f.Next = "no_repository", "name the files with --changed-file"
	case errors.Is(err, git.ErrBadRef), errors.Is(err, git.ErrNotRoot):
	default:
		return fmt.Errorf("find what changed: %w", err)
	}
	return f
}

// maxEvent bounds an event file, in bytes.
const maxEvent = 32 << 20

// ciMetadata is what the job's environment says.
func ciMetadata(a *cli.App, event string) (ci.Metadata, error) {
	named := event != ""
	if !named {
		event = a.Process.Getenv("GITHUB_EVENT_PATH")
	}
	var raw []byte
	if event != "" {
		var err error
		raw, err = a.ReadBounded(event, maxEvent)
		if err != nil && (named || !errors.Is(err, fs.ErrNotExist)) {
			return ci.Metadata{}, fmt.Errorf("read the event file: %w", err)
		}
	}
	meta, err := ci.Environment(a.Process.Getenv, raw)
	if err != nil {
		return meta, cli.Usage("%s: %w", event, err)
	}
	return meta, nil
}
