package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
)

func newChallengePack(a *app) *cobra.Command {
	c := group("challenge-pack", "Write, check and store challenge packs",
		newPackInit(a), newPackValidate(a), newPackPublish(a), newPackList(a))
	c.Aliases = []string{"cp"}
	return c
}

func newPackValidate(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "validate FILE...", Short: "Check pack files, offline: no store, no network, no Docker",
		Long: `Check pack files and say everything that is wrong with them, with file, line,
column and field. A directory stands for the .yaml and .yml files in it, "-"
for stdin. Nothing is opened but the files: this is what a pre-commit hook
calls.

Exit status: 0 all are valid, 64 one is not, 66 a file does not exist.`,
		Example: "  agentclash challenge-pack validate my-pack.yaml\n  agentclash challenge-pack validate packs/ --json",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("challenge-pack validate needs FILE").hint("%s --help", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runPackValidate(a, args) },
	}
}

func runPackValidate(a *app, args []string) error {
	doc := view.ValidateDocument{Valid: true}
	status := statusOK
	for _, arg := range args {
		files, err := a.packFiles(arg)
		if errors.Is(err, fs.ErrNotExist) {
			missing := view.Problem{Field: "bundle", Message: "no such file"}
			doc.Files = append(doc.Files, view.ValidatedFile{File: arg, Errors: view.List[view.Problem]{missing}})
			doc.Valid, status = false, max(status, statusNotFound)
			continue
		}
		if err != nil {
			return err
		}
		for _, file := range files {
			problems, err := a.validateFile(file)
			if err != nil {
				return err
			}
			valid := problems.Err() == nil
			if !valid {
				doc.Valid, status = false, max(status, statusUsage)
			}
			doc.Files = append(doc.Files, view.ValidatedFile{
				File: file, Valid: valid, Errors: viewProblems(problems.Errors()), Warnings: viewProblems(problems.Warnings()),
			})
		}
	}
	err := a.print(doc, func(w io.Writer, o view.Options) error {
		for _, f := range doc.Files {
			if f.Valid {
				a.say("✓ %s is valid", f.File)
			}
		}
		return view.Problems(w, doc, o)
	})
	if err != nil {
		return err
	}
	return verdict(status)
}

// packFiles is what an argument stands for.
func (a *app) packFiles(arg string) ([]string, error) {
	if arg == "-" {
		return []string{arg}, nil
	}
	info, err := os.Stat(a.path(arg))
	if err != nil {
		return nil, fmt.Errorf("read pack: %w", err)
	}
	if !info.IsDir() {
		return []string{arg}, nil
	}
	entries, err := os.ReadDir(a.path(arg))
	if err != nil {
		return nil, fmt.Errorf("read the directory of packs: %w", err)
	}
	var files []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			files = append(files, filepath.Join(arg, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, usage("%s holds no .yaml file", arg)
	}
	return files, nil
}

func (a *app) validateFile(file string) (pack.Problems, error) {
	if file == "-" {
		src, err := io.ReadAll(io.LimitReader(a.p.In, pack.MaxBytes+1))
		if err != nil {
			return nil, fmt.Errorf("read stdin: %w", err)
		}
		_, problems := pack.Parse("stdin", src)
		return problems, nil
	}
	_, problems, err := loadFile(a.path(file))
	return problems, err
}

type packInitOptions struct {
	template, name, slug string
	force                bool
}

func newPackInit(a *app) *cobra.Command {
	var o packInitOptions
	c := &cobra.Command{
		Use: "init FILE", Short: "Write a starter pack and a scripted agent that passes it",
		Example: "  agentclash challenge-pack init my-pack.yaml\n  agentclash challenge-pack init my-pack.yaml --template native",
		Args:    exactArgs("FILE"),
		RunE:    func(_ *cobra.Command, args []string) error { return runPackInit(a, o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.template, "template", "prompt_eval", "prompt_eval or native")
	f.StringVar(&o.name, "name", "", "name of the pack (default: from the file's name)")
	f.StringVar(&o.slug, "slug", "", "slug of the pack (default: from the name)")
	f.BoolVar(&o.force, "force", false, "overwrite existing files")
	return c
}

func runPackInit(a *app, o packInitOptions, file string) error {
	if o.name == "" {
		o.name = pack.StarterName(file)
	}
	source, err := pack.Starter(o.template, o.name, o.slug)
	if err != nil {
		return usage("challenge-pack init: %w", err)
	}
	if file == "-" {
		_, err := io.WriteString(a.p.Out, source)
		return err
	}
	agent, err := pack.StarterScript(o.template)
	if err != nil {
		return err
	}
	script := scriptPath(file)
	for _, f := range []string{file, script} {
		if _, err := os.Lstat(a.path(f)); err == nil && !o.force {
			return usage("%s already exists", f).hint("choose another name, or --force to overwrite it")
		}
	}
	if err := os.MkdirAll(filepath.Dir(a.path(file)), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	for name, text := range map[string]string{file: source, script: agent} {
		if err := os.WriteFile(a.path(name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	slug := o.slug
	if slug == "" {
		slug = pack.Slug(o.name)
	}
	doc := map[string]string{"path": file, "name": o.name, "slug": slug, "template": o.template, "script": script}
	return a.print(doc, func(io.Writer, view.Options) error {
		a.say("✓ wrote %s and %s", file, script)
		a.say("next: agentclash eval start --pack %s --model scripted/%s --follow", file, script)
		return nil
	})
}

// scriptPath is where the starter's scripted agent goes: beside the pack.
func scriptPath(file string) string {
	return file[:len(file)-len(filepath.Ext(file))] + ".agent.yaml"
}

func newPackPublish(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "publish FILE", Short: "Store a pack version that never changes",
		Long: `Store a pack version under its number. Publishing the same content again
changes nothing; other content under the same number is refused: raise
version.number.`,
		Example: "  agentclash challenge-pack publish my-pack.yaml",
		Args:    exactArgs("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			p, err := a.loadPack(ctx, args[0])
			if err != nil {
				return err
			}
			workspace, err := a.workspaceName()
			if err != nil {
				return err
			}
			db, err := a.store(ctx)
			if err != nil {
				return err
			}
			stored, err := a.snapshot(ctx, db, p, workspace, true)
			if err != nil {
				return err
			}
			var sets []string
			for _, s := range p.InputSets {
				sets = append(sets, s.Key)
			}
			doc := map[string]any{
				"challenge_pack_id": stored.Slug, "challenge_pack_version_id": stored.ID,
				"evaluation_spec_id": stored.SpecDigest, "input_set_ids": sets, "version": stored.Version, "digest": stored.Digest,
			}
			return a.print(doc, func(io.Writer, view.Options) error {
				a.say("✓ published %s", stored.Ref())
				return nil
			})
		},
	}
}

func newPackList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the stored packs", Args: noArgs,
		Example: "  agentclash challenge-pack list",
		RunE: func(c *cobra.Command, _ []string) error {
			page := view.Page[view.PackEntry]{}
			db, ok, err := a.reading(c.Context())
			if err != nil {
				return err
			}
			if ok {
				workspace, err := a.workspaceName()
				if err != nil {
					return err
				}
				packs, err := db.Packs(c.Context(), workspace)
				if err != nil {
					return err
				}
				for _, p := range packs {
					v := view.PackVersion{ID: p.ID, Version: p.Version, Digest: p.Digest, Published: p.Published(), CreatedAt: p.CreatedAt}
					if n := len(page.Items); n > 0 && page.Items[n-1].Slug == p.Slug {
						page.Items[n-1].Versions = append(page.Items[n-1].Versions, v)
						continue
					}
					page.Items = append(page.Items, view.PackEntry{ID: p.Slug, Slug: p.Slug, Name: p.Name, Versions: []view.PackVersion{v}})
				}
				page.Total = len(page.Items)
			}
			return a.print(page, func(w io.Writer, o view.Options) error {
				if page.Total == 0 {
					a.say("! no packs are stored yet: a run or challenge-pack publish stores one")
				}
				return view.PackList(w, page, o)
			})
		},
	}
}
