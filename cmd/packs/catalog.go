package packs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/spf13/cobra"
)

func newPackCatalog(a *cli.App) *cobra.Command {
	return cli.Group("catalog", "Packs to start from, built into the program", newCatalogList(a), newCatalogUse(a))
}

func newCatalogList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the packs of the catalogue", Args: cli.NoArgs,
		Example: "  agentclash challenge-pack catalog list",
		RunE: func(*cobra.Command, []string) error {
			page := view.Page[view.CatalogEntry]{}
			for _, e := range pack.Catalog() {
				page.Items = append(page.Items, view.CatalogEntry(e))
			}
			page.Total = len(page.Items)
			return a.Print(page, func(w io.Writer, o view.Options) error { return view.CatalogList(w, page, o) })
		},
	}
}

type catalogUseOptions struct{ force, publish bool }

func newCatalogUse(a *cli.App) *cobra.Command {
	var o catalogUseOptions
	c := &cobra.Command{
		Use: "use SLUG [DIR]", Short: "Write a pack of the catalogue into a directory",
		Long: `Write a pack of the catalogue into a directory (default: one called SLUG), with
its assets and its reference agent, a script that passes every case. To run it as
it is, name it builtin:SLUG instead.`,
		Example: "  agentclash challenge-pack catalog use code-fix\n  agentclash challenge-pack catalog use text-to-sql packs/sql --publish",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return cli.Usage("%s needs SLUG, and DIR if it is to be another", c.CommandPath()).Hint("agentclash challenge-pack catalog list")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			dir := args[0]
			if len(args) == 2 {
				dir = args[1]
			}
			return runCatalogUse(c.Context(), a, o, args[0], dir)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.force, "force", false, "overwrite existing files")
	f.BoolVar(&o.publish, "publish", false, "publish it as well")
	return c
}

func runCatalogUse(ctx context.Context, a *cli.App, o catalogUseOptions, slug, dir string) error {
	tree, err := pack.CatalogFiles(slug)
	if errors.Is(err, pack.ErrNotFound) {
		return (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: err}).Hint("agentclash challenge-pack catalog list")
	}
	if err != nil {
		return err
	}
	var files []textFile
	err = fs.WalkDir(tree, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		files = append(files, textFile{filepath.Join(dir, filepath.FromSlash(path)), string(text)})
		return err
	})
	if err != nil {
		return fmt.Errorf("read catalogue pack %q: %w", slug, err)
	}
	if err := writeNew(a, files, o.force); err != nil {
		return err
	}
	file := filepath.Join(dir, slug+".yaml")
	if o.publish {
		return runPackPublish(ctx, a, file)
	}
	doc := map[string]string{"slug": slug, "path": file, "reference": pack.ReferencePath(file)}
	return a.Print(doc, func(io.Writer, view.Options) error {
		a.Say("✓ wrote %d files to %s", len(files), dir)
		a.Say("next: agentclash eval start --pack %s --model scripted/%s --follow", file, pack.ReferencePath(file))
		return nil
	})
}
