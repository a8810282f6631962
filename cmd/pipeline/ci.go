package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/cmd/ci/git"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NewCI is agentclash ci: runs that a job makes as a manifest says.
func NewCI(a *cli.App) *cobra.Command {
	return cli.Group("ci", "Evaluate changes in a CI job, as a manifest says", newCIInit(a), newCIValidate(a), newCIShouldRun(a), newCIBaseline(a), newCIRun(a))
}

func newCIInit(a *cli.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "init [FILE]", Short: "Write a manifest with comments, to be changed",
		Long: `Write a manifest with comments, to be changed: ` + ci.DefaultPath + ` when no file
is named. Directories are made; a file that is there is kept without --force.`,
		Example: "  agentclash ci init\n  agentclash ci init .agentclash/nightly.yaml",
		Args:    cli.UpTo(1),
		RunE: func(_ *cobra.Command, args []string) error {
			file := firstOr(args, ci.DefaultPath)
			if err := a.CheckNew(file, force); err != nil {
				return err
			}
			if err := a.WriteOutputBytes(file, ci.Sample); err != nil {
				return err
			}
			return a.Print(map[string]string{"path": file, "action": "created"}, func(io.Writer, view.Options) error {
				a.Say("✓ wrote %s", file)
				a.Say("next: name your files in it, then agentclash ci validate %s", file)
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
func findManifest(a *cli.App, o manifestFlags) (m manifestFile, err error) {
	full := a.Path(o.file)
	if o.file == ci.DefaultPath && !cli.Exists(full) { // below the root
		if root, rerr := manifestRoot(a, o, full); rerr == nil && cli.Exists(filepath.Join(root, o.file)) {
			full = filepath.Join(root, o.file)
		}
	}
	m = manifestFile{file: o.file, path: filepath.ToSlash(filepath.Clean(o.file))}
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, (&cli.Failure{Status: cli.StatusNotFound, Code: "file_not_found", Err: fmt.Errorf("read the manifest %s: no such file", o.file)}).
			Hint("agentclash ci init %s writes one", o.file)
	case err == nil && !info.Mode().IsRegular():
		return m, cli.Usage("read the manifest %s: %w", o.file, pack.ErrNotFile)
	}
	if err == nil {
		m.src, err = a.ReadBounded(full, pack.MaxBytes)
	}
	if err != nil {
		return m, fmt.Errorf("read the manifest %s: %w", o.file, err)
	}
	if m.root, err = manifestRoot(a, o, full); err != nil {
		return m, err
	}
	if rel, rerr := filepath.Rel(m.root, full); rerr == nil && filepath.IsLocal(rel) {
		m.path = filepath.ToSlash(rel)
	}
	return m, nil
}

func manifestRoot(a *cli.App, o manifestFlags, full string) (string, error) {
	if o.repo != "" {
		root := a.Path(o.repo)
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return "", cli.Usage("--repo %s is no directory", o.repo)
		}
		return root, nil
	}
	root, err := git.Root(filepath.Clean(filepath.Dir(full)))
	if err != nil {
		return "", cli.Usage("manifest %s: %w, and its paths begin at the root of one", o.file, err).Hint("add --repo DIR where there is none")
	}
	return root, nil
}

// enter makes the repository the working directory of what follows, so that all
// that a manifest names means what it would when it was typed there. What it
// returns undoes that.
func enter(a *cli.App, m manifestFile) (leave func()) {
	dir, getenv := a.Process.Dir, a.Process.Getenv
	a.Process.Getenv = func(name string) string {
		v := getenv(name)
		if name == "AGENTCLASH_HOME" && v != "" && !filepath.IsAbs(v) {
			return filepath.Join(dir, v) // it was meant from where the command was typed
		}
		return v
	}
	a.Process.Dir = m.root
	return func() { a.Process.Dir, a.Process.Getenv = dir, getenv }
}

// fromRoot is a path that was typed as one from the repository's root.
func fromRoot(a *cli.App, m manifestFile, path string) string {
	if path == "" || path == cli.StdoutPath || filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(m.root, a.Path(path)); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return a.Path(path)
}

// parse is the manifest, or a refusal that lists what is wrong with it.
func (m manifestFile) parse() (*ci.Manifest, error) {
	parsed, problems := ci.Parse(m.file, m.src)
	if parsed == nil {
		return nil, selector.Refusal("manifest_invalid", "the manifest is not valid", problems.Errors())
	}
	return parsed, nil
}

func newCIValidate(a *cli.App) *cobra.Command {
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
			return ciValidate(c.Context(), a, o, args)
		},
	}
	o.addRepo(c.Flags())
	return c
}

func ciValidate(ctx context.Context, a *cli.App, o manifestFlags, files []string) error {
	all := struct {
		Valid bool                     `json:"valid"`
		Files view.List[ci.Validation] `json:"files"`
	}{Valid: true}
	for _, o.file = range files {
		m, err := findManifest(a, o)
		if err != nil {
			return err
		}
		leave := enter(a, m)
		v, err := validateManifest(ctx, a, m)
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
	err := a.Print(doc, func(w io.Writer, v view.Options) error {
		for _, f := range all.Files {
			if f.Valid {
				a.Say("✓ %s is valid", f.Path)
			}
			if err := ci.WriteValidation(w, f, v); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !all.Valid {
		err = cli.Verdict(cli.StatusError)
	}
	return err
}

func newCIBaseline(a *cli.App) *cobra.Command {
	var o manifestFlags
	c := &cobra.Command{
		Use: "baseline [FILE]", Short: "Show the baseline of a manifest, and whether it fits",
		Long: `Show how a manifest's baseline is found, how old it is, and whether a run of the pack
as it is now could be compared with it. Nothing is run.

Exit status: 0 it can be compared with; 3 it cannot, or there is none; 64 the
manifest is not valid; 66 there is no such manifest.`,
		Example: "  agentclash ci baseline\n  agentclash ci baseline --json --query .compatible",
		Args:    cli.UpTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.file = firstOr(args, ci.DefaultPath)
			m, err := findManifest(a, o)
			if err != nil {
				return err
			}
			parsed, err := m.parse()
			if err != nil {
				return err
			}
			enter(a, m)
			if err := ciPaths(a, parsed); err != nil {
				return err
			}
			ctx := c.Context()
			p, _, err := selector.LoadPack(ctx, a, parsed.Evaluation.PackRef())
			if err != nil {
				return err
			}
			_, r, err := ciBaseline(ctx, a, parsed, p)
			if err != nil {
				return err
			}
			if err := a.Print(r, func(w io.Writer, v view.Options) error { return ci.WriteResolution(w, r, v) }); err != nil {
				return err
			}
			if !r.Compatible {
				return cli.Exit(3)
			}
			return nil
		},
	}
	o.addRepo(c.Flags())
	return c
}
