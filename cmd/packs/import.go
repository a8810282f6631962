package packs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/convert"
	"github.com/agentclash/agentclash/scoring"
	"github.com/spf13/cobra"
)

type packImportOptions struct {
	out, name, slug, judge string
	strict, force, dryRun  bool
}

func newPackImport(a *cli.App) *cobra.Command {
	var o packImportOptions
	c := &cobra.Command{
		Use: "import CONFIG", Short: "Make a pack of a promptfoo config, and say what was not translated",
		Long: `Make a prompt_eval pack of a promptfoo config: prompts become challenges with an
input set each, tests become cases, assertions become validators, judges and limits
where they mean the same. What has no counterpart is left out and listed with its
place and the reason; a test that would be judged by nothing is left out, too.

Exit status: 0 a pack was written, also when parts were left out; 64 none could be
made, or, with --strict, parts would be left out; 66 there is no such file.`,
		Example: `  agentclash challenge-pack import promptfooconfig.yaml --out my-pack.yaml
  agentclash challenge-pack import promptfooconfig.yaml --dry-run --json
  agentclash challenge-pack import promptfooconfig.yaml --out my-pack.yaml --judge-model openai/gpt-4.1-mini --strict`,
		Args: cli.ExactArgs("CONFIG"),
		RunE: func(_ *cobra.Command, args []string) error { return runPackImport(a, o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "", "pack file to write; - for stdout")
	f.StringVar(&o.name, "name", "", "name of the pack (default: from the file's name)")
	f.StringVar(&o.slug, "slug", "", "slug of the pack (default: from the name)")
	f.StringVar(&o.judge, "judge-model", "", "provider/model that judges rubrics, where the config names none")
	f.BoolVar(&o.strict, "strict", false, "write nothing when a part is not translated")
	f.BoolVar(&o.dryRun, "dry-run", false, "list what would not be translated, and write nothing")
	f.BoolVar(&o.force, "force", false, "overwrite an existing file")
	return c
}

func (o *packImportOptions) check(a *cli.App) error {
	switch {
	case o.out == "" && !o.dryRun:
		return cli.Usage("challenge-pack import: --out FILE names the pack to write").Hint("--dry-run lists what would not be translated")
	case o.out == cli.StdoutPath && a.Output != "table":
		return cli.Usage("--out - and --json both write to stdout")
	}
	if _, ok := scoring.ModelProvider(o.judge); o.judge != "" && !ok {
		return cli.Usage("--judge-model %q: write provider/model, such as openai/gpt-4.1-mini", o.judge)
	}
	if o.dryRun || o.out == cli.StdoutPath {
		return nil
	}
	return a.CheckNew(o.out, o.force)
}

// packImportDocument is what `challenge-pack import --json` prints.
type packImportDocument struct {
	Path         string                     `json:"path"`
	Config       string                     `json:"config"`
	Slug         string                     `json:"slug"`
	Prompts      int                        `json:"prompts"`
	Cases        int                        `json:"cases"`
	Assertions   int                        `json:"assertions"`
	Translated   int                        `json:"translated"`
	Models       view.List[string]          `json:"models"`
	Untranslated view.List[convert.Finding] `json:"untranslated"`
}

func runPackImport(a *cli.App, o packImportOptions, file string) error {
	if err := o.check(a); err != nil {
		return err
	}
	src, err := a.ReadBounded(file, pack.MaxBytes)
	if err != nil {
		return err
	}
	if o.name == "" && file == cli.StdoutPath {
		o.name = "Imported"
	}
	if o.name == "" {
		o.name = pack.StarterName(file)
	}
	if o.slug == "" {
		o.slug = convert.Slug(o.name)
	}
	if o.slug == "" {
		return cli.Usage("no slug can be made of the name %q", o.name).Hint("--slug gives one")
	}
	made, err := convert.ReadPromptfoo(src, convert.PromptfooOptions{Slug: o.slug, Name: o.name, JudgeModel: o.judge, ReadFile: beside(a, file)})
	if err != nil {
		f := cli.Usage("%s: %w%s", file, err, findingLines(file, made.Findings))
		f.Code, f.Details = "not_translated", made.Findings
		return f
	}
	if _, problems := pack.Parse(file, made.Source, nil); problems.Err() != nil {
		return selector.Refusal("pack_invalid", "the pack that was made is not valid", problems.Errors())
	}
	if o.strict && len(made.Findings) > 0 {
		f := cli.Usage("%s: not everything can be translated, and nothing was written:%s", file, findingLines(file, made.Findings))
		f.Code, f.Details = "not_translated", made.Findings
		return f
	}
	if err := writeMade(a, o, made.Source); err != nil {
		return err
	}
	d := packImportDocument{Path: o.out, Config: file, Slug: o.slug, Prompts: made.Prompts, Cases: made.Cases,
		Assertions: made.Assertions, Translated: made.Translated, Models: made.Models, Untranslated: made.Findings}
	return a.Print(d, func(io.Writer, view.Options) error { sayMade(a, o, d); return nil })
}

func writeMade(a *cli.App, o packImportOptions, source []byte) error {
	switch {
	case o.dryRun:
		return nil
	case o.out == cli.StdoutPath:
		_, err := a.Process.Out.Write(source)
		return err
	}
	if err := a.WriteOutputBytes(o.out, source); err != nil {
		return fmt.Errorf("write %s: %w", o.out, err)
	}
	return nil
}

// sayMade lists what was left out, in the form editors can jump to, and says what
// to do next.
func sayMade(a *cli.App, o packImportOptions, d packImportDocument) {
	for _, f := range d.Untranslated {
		a.Say("%s", findingLine(d.Config, f))
	}
	did := "✓ wrote " + d.Path
	if o.dryRun {
		did = "would be written"
	}
	a.Say("%s: %d prompts, %d cases, %d of %d assertions translated, %d parts left out", did, d.Prompts, d.Cases, d.Translated, d.Assertions, len(d.Untranslated))
	model := "PROVIDER/MODEL"
	if len(d.Models) > 0 {
		model = d.Models[0]
	}
	set := ""
	if d.Prompts > 1 {
		set = " --input-set prompt-1"
	}
	if !o.dryRun {
		a.Say("next: agentclash eval start --pack %s%s --model %s", d.Path, set, model)
	}
}

func findingLine(file string, f convert.Finding) string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", file, f.Line, f.Column, f.Path, f.Message)
}

func findingLines(file string, findings []convert.Finding) string {
	const most = 100
	var b bytes.Buffer
	for i, f := range findings {
		if i == most {
			fmt.Fprintf(&b, "\nand %d more", len(findings)-most)
			break
		}
		b.WriteString("\n" + findingLine(file, f))
	}
	return b.String()
}

// beside reads files of a file's directory, and none out of it.
func beside(a *cli.App, file string) func(name string) ([]byte, error) {
	if file == cli.StdoutPath {
		return nil
	}
	return func(name string) ([]byte, error) {
		root, err := os.OpenRoot(filepath.Dir(a.Path(file)))
		if err != nil {
			return nil, err
		}
		defer func() { _ = root.Close() }()
		info, err := root.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, errors.New("it is no file")
		}
		f, err := root.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		raw, err := io.ReadAll(io.LimitReader(f, convert.MaxValueBytes+1))
		if len(raw) > convert.MaxValueBytes {
			return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it is too long")}
		}
		return raw, err
	}
}
