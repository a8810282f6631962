package packs

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/spf13/cobra"
)

type packInitOptions struct {
	template, name, slug string
	force                bool
}

func newPackInit(a *cli.App) *cobra.Command {
	var o packInitOptions
	c := &cobra.Command{
		Use: "init FILE", Short: "Write a starter pack and a scripted agent that passes it",
		Long: `Write a starter pack: valid, with comments and several cases. Its reference
agent, a script that passes every case, goes beside it as NAME.reference.yaml.
With - for FILE the pack alone is written to stdout.`,
		Example: "  agentclash challenge-pack init my-pack.yaml\n  agentclash challenge-pack init my-pack.yaml --template native",
		Args:    cli.ExactArgs("FILE"),
		RunE:    func(_ *cobra.Command, args []string) error { return runPackInit(a, o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.template, "template", "prompt_eval", strings.Join(pack.StarterTemplates(), ", "))
	f.StringVar(&o.name, "name", "", "name of the pack (default: from the file's name)")
	f.StringVar(&o.slug, "slug", "", "slug of the pack (default: from the name)")
	f.BoolVar(&o.force, "force", false, "overwrite existing files")
	return c
}

func runPackInit(a *cli.App, o packInitOptions, file string) error {
	if o.name == "" {
		o.name = pack.StarterName(file)
	}
	source, err := pack.Starter(o.template, o.name, o.slug)
	if err != nil {
		return cli.Usage("challenge-pack init: %w", err)
	}
	p, problems := pack.Parse(file, []byte(source), nil)
	if err := problems.Err(); err != nil {
		return fmt.Errorf("the template %s makes no valid pack: %w", o.template, err)
	}
	if file == "-" {
		_, err := io.WriteString(a.Process.Out, source)
		return err
	}
	agent, err := pack.StarterReference(o.template)
	if err != nil {
		return err
	}
	script := pack.ReferencePath(file)
	if err := writeNew(a, []textFile{{file, source}, {script, agent}}, o.force); err != nil {
		return err
	}
	doc := map[string]string{"path": file, "name": p.Pack.Name, "slug": p.Pack.Slug, "template": o.template, "reference": script}
	return a.Print(doc, func(io.Writer, view.Options) error {
		a.Say("✓ wrote %s and %s", file, script)
		if len(p.Blockers()) > 0 {
			a.Say("! this version does not run %s packs yet; validate and publish do take them", o.template)
			return nil
		}
		a.Say("next: agentclash eval start --pack %s --model scripted/%s --follow", file, script)
		return nil
	})
}

type textFile struct{ path, text string }

// writeNew writes files, all or none: one that exists is only overwritten by
// force. Directories are made.
func writeNew(a *cli.App, files []textFile, force bool) error {
	for _, f := range files {
		if err := a.CheckNew(f.path, force); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := a.WriteOutputBytes(f.path, []byte(f.text)); err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	return nil
}
