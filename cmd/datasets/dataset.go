package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/redact"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/convert"
	"github.com/spf13/cobra"
)

// NewDataset is agentclash dataset: other tools' examples and traces as cases.
func NewDataset(a *cli.App) *cobra.Command {
	return cli.Group("dataset", "Take over cases from files that other tools wrote", newDatasetImport(a))
}

type datasetOptions struct {
	pack, inputSet, challenge string
	suite                     string
	create, dryRun            bool
	mode, format, out         string
	pairs                     []string
	mapping                   convert.Mapping
}

// The values of --mode.
const (
	modeAdd     = "add"
	modeReplace = "replace"
)

func newDatasetImport(a *cli.App) *cobra.Command {
	var o datasetOptions
	c := &cobra.Command{
		Use: "import FILE|-", Short: "Put examples or traces into a pack or a regression suite",
		Long: `Put the examples of a file into an input set of a pack's file, as cases. CSV, JSONL
and JSON are read, datasets of OpenAI, Braintrust, LangSmith and Phoenix, conversations
and OTLP/JSON traces; --format names the format where the file does not tell.

The rest of the pack's file stays as it is, comments included. A row that does not fit
is refused, all of them at once, and then nothing is changed; so is a result that is
not a valid pack. Secrets that agentclash knows are taken out.

With --into-suite the pack stays as it is, and the cases become regression cases of
a suite in .agentclash/regressions, which is made when it is not there. They are
proposed: they run when somebody has looked at them and activated them, or with
eval start --include-proposed. What the suite has already is left alone.

Exit status: 0 done, 64 something does not fit, 66 a file or input set does not exist.`,
		Example: `  agentclash dataset import reviews.csv --pack my-pack.yaml --map input.review=text,expected.label=mood,id=ref
  agentclash dataset import examples.jsonl --pack my-pack.yaml --input-set regressions --create --dry-run
  agentclash dataset import trace.json --format otlp --pack my-pack.yaml --map input.review=input,expected.label=expected
  agentclash dataset import traces.json --pack my-pack.yaml --into-suite production --map input.review=input,expected.label=expected`,
		Args: cli.ExactArgs("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(a, c.Flags().Changed("into-suite")); err != nil {
				return err
			}
			if o.suite != "" {
				return importIntoSuite(c.Context(), a, o, args[0])
			}
			return runDatasetImport(c.Context(), a, o, args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&o.pack, "pack", "", "pack file to change; with --into-suite: pack that the cases are of, also a slug or builtin:NAME")
	f.StringVar(&o.suite, "into-suite", "", "put the cases into this regression suite instead, by name or path, proposed")
	f.StringVar(&o.inputSet, "input-set", "", "input set, by key or name (default: the only one)")
	f.BoolVar(&o.create, "create", false, "make the input set")
	f.StringVar(&o.challenge, "challenge", "", "challenge of the cases (default: that of the input set, or the only one)")
	f.StringVar(&o.mode, "mode", modeAdd, "add: keep the cases there are; replace: put these in their place")
	f.StringVar(&o.format, "format", "", strings.Join(convert.Formats(), ", ")+" (default: by what the file holds)")
	f.StringSliceVar(&o.pairs, "map", nil, "what a column becomes: input=, input.NAME=, expected=, expected.NAME=, id=, metadata= or tags=COLUMN; repeatable")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would be done, and change nothing")
	f.StringVar(&o.out, "out", "", "write the changed pack to this file instead; - for stdout")
	return c
}

func (o *datasetOptions) check(a *cli.App, intoSuite bool) error {
	if intoSuite && o.suite == "" {
		return cli.Usage("--into-suite needs the name of a suite")
	}
	if o.pack == "" {
		return cli.Usage("dataset import: --pack FILE names the pack to change").Hint("agentclash dataset import --help")
	}
	if o.pack == cli.StdoutPath {
		return cli.Usage("--pack needs a file, which is changed")
	}
	if o.mode != modeAdd && o.mode != modeReplace {
		return cli.Usage("--mode must be %s or %s, not %q", modeAdd, modeReplace, o.mode)
	}
	if o.create && (o.inputSet == "" || o.mode == modeReplace) {
		return cli.Usage("--create makes the input set that --input-set names, and has nothing to replace")
	}
	if o.format != "" && !slices.Contains(convert.Formats(), o.format) {
		return cli.Usage("--format must be one of %s, not %q", strings.Join(convert.Formats(), ", "), o.format)
	}
	if o.out == cli.StdoutPath && o.dryRun {
		return cli.Usage("--dry-run writes nothing: leave out --out")
	}
	if o.out != "" && o.out != cli.StdoutPath {
		if err := a.CheckOutput(o.out); err != nil {
			return cli.Usage("--out %w", err)
		}
	}
	if o.suite != "" {
		if err := o.checkSuite(); err != nil {
			return err
		}
	}
	var err error
	if o.mapping, err = convert.ParseMapping(o.pairs); err != nil {
		return cli.Usage("--map %w", err)
	}
	return nil
}

// importDocument is what `dataset import --json` prints.
type importDocument struct {
	Path      string            `json:"path"`
	InputSet  string            `json:"input_set"`
	Challenge string            `json:"challenge"`
	Format    string            `json:"format"`
	Rows      int               `json:"rows"`
	Added     int               `json:"added"`
	Unchanged int               `json:"unchanged"`
	Removed   int               `json:"removed"`
	Derived   int               `json:"derived_keys"`
	Unused    view.List[string] `json:"unused_columns"`
	Cases     view.List[string] `json:"cases"`
	DryRun    bool              `json:"dry_run"`
}

func runDatasetImport(ctx context.Context, a *cli.App, o datasetOptions, file string) error {
	if o.out == cli.StdoutPath && a.Output != "table" {
		return cli.Usage("--out - and --json both write to stdout")
	}
	defer selector.SpareMemory()()
	p, _, err := selector.LoadPack(ctx, a, pathOf(o.pack))
	if err != nil {
		return err
	}
	d, cases, err := importedCases(ctx, a, p, &o, file)
	if err != nil {
		return err
	}
	edit := convert.Edit{InputSet: d.InputSet, Create: o.create, Replace: o.mode == modeReplace, Cases: cases}
	edited, err := edit.Apply(p.Source())
	if err != nil {
		return unfit(o.pack, err)
	}
	d.Added, d.Unchanged, d.Removed = edited.Added, edited.Unchanged, edited.Removed
	if o.out != "" {
		d.Path = o.out
	}
	if err := checkEdited(a, d.Path, edited.Source); err != nil {
		return err
	}
	if !o.dryRun {
		if err := replacePack(ctx, a, o, p.Source(), edited.Source); err != nil {
			return err
		}
	}
	return a.Print(d, func(io.Writer, view.Options) error { sayImported(a, d); return nil })
}

// pathOf makes sure that a selector is taken for a file.
func pathOf(file string) string {
	if cli.LooksLikePath(file) || filepath.IsAbs(file) {
		return file
	}
	return "." + string(filepath.Separator) + file
}

// importedCases reads the file and makes cases of it that fit the pack.
func importedCases(ctx context.Context, a *cli.App, p *pack.Pack, o *datasetOptions, file string) (importDocument, []convert.Case, error) {
	d := importDocument{Path: o.pack, InputSet: o.inputSet, DryRun: o.dryRun}
	set, err := o.target(p)
	if err != nil {
		return d, nil, err
	}
	d.InputSet, d.Challenge = set.Key, o.challenge
	cases, report, err := readCases(ctx, a, p, o, file)
	if err != nil {
		return d, nil, err
	}
	d.Format, d.Rows, d.Derived, d.Unused = report.Format, report.Rows, report.Derived, report.Unused
	for _, c := range cases {
		d.Cases = append(d.Cases, c.CaseKey)
	}
	return d, cases, nil
}

// readCases reads cases of a challenge, with everything that the pack's scoring
// reads of them, and without real secrets.
func readCases(ctx context.Context, a *cli.App, p *pack.Pack, o *datasetOptions, file string) ([]convert.Case, convert.Report, error) {
	src, err := a.ReadBounded(file, convert.MaxBytes)
	if err != nil {
		return nil, convert.Report{}, err
	}
	rows, format, err := convert.Read(src, o.format)
	if err != nil {
		return nil, convert.Report{}, unfit(file, err)
	}
	secrets, err := agents.MachineSecrets(a)
	if err != nil {
		return nil, convert.Report{}, err
	}
	hide := redact.New(agents.ValuesOf(secrets))
	convert.Map(rows, hide.String)
	expectations, payload := readByScoring(p)
	seen := format == convert.OTLP || format == convert.Transcript // what an agent did, which nobody has confirmed
	cases, report, err := convert.Cases(rows, convert.Options{
		Mapping: o.mapping, Challenge: o.challenge, Proposed: seen && o.suite == "", Once: o.suite != "", // a suite has a state for it
		Expectations: expectations, Payload: payload,
	})
	if err != nil {
		return nil, report, unfit(file, err)
	}
	report.Format = format
	sayUnfilled(a, p, o.challenge, cases)
	return cases, report, ctx.Err()
}

// sayUnfilled warns of what of the challenge's text the cases do not fill in: an
// agent would be asked it as it is.
func sayUnfilled(a *cli.App, p *pack.Pack, challenge string, cases []convert.Case) {
	ch, ok := p.Challenge(challenge)
	if !ok || !p.Asks() {
		return
	}
	lacking := map[string]int{}
	for _, c := range cases {
		_, missing := c.RenderStrict(ch.Prompt())
		for _, name := range missing {
			lacking[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lacking)) {
		a.Say("! %d of %d cases have no value for {{%s}}, which stays in the text of challenge %s as it is: --map input.%s=COLUMN", lacking[name], len(cases), name, challenge, name)
	}
}

// target is the input set that the flags mean; its challenge becomes that of the
// cases.
func (o *datasetOptions) target(p *pack.Pack) (pack.InputSet, error) {
	set := pack.InputSet{Key: o.inputSet}
	if !o.create {
		var err error
		if set, err = p.InputSet(o.inputSet); err != nil {
			f := cli.Usage("%w", err).Hint("--create makes a new input set")
			if errors.Is(err, pack.ErrNotFound) {
				f.Status, f.Code = cli.StatusNotFound, "not_found"
			}
			return set, f
		}
	}
	switch {
	case len(set.Cases) > 0 && o.mode == modeAdd:
		is := set.Cases[0].ChallengeKey
		if o.challenge != "" && o.challenge != is {
			return set, cli.Usage("--challenge %s: the cases of the input set %s are of the challenge %s", o.challenge, set.Key, is)
		}
		o.challenge = is
	case o.challenge == "" && len(set.Cases) > 0:
		o.challenge = set.Cases[0].ChallengeKey
	case o.challenge == "" && len(p.Challenges) == 1:
		o.challenge = p.Challenges[0].Key
	}
	return set, o.checkChallenge(p)
}

func (o *datasetOptions) checkChallenge(p *pack.Pack) error {
	if _, ok := p.Challenge(o.challenge); ok {
		return nil
	}
	var keys []string
	for _, c := range p.Challenges {
		keys = append(keys, c.Key)
	}
	return cli.Usage("--challenge %q: the pack has the challenges %s", o.challenge, strings.Join(keys, ", "))
}

// readByScoring are the expectations and payload keys that a pack's validators
// and judges read of every case.
func readByScoring(p *pack.Pack) (expectations, payload []string) {
	spec := p.Version.EvaluationSpec
	var references []string
	for _, v := range spec.Validators {
		references = append(references, v.Target, v.ExpectedFrom)
	}
	for _, j := range spec.LLMJudges {
		references = append(append(references, j.ReferenceFrom), j.ContextFrom...)
	}
	found := map[string]map[string]bool{"expectations": {}, "payload": {}}
	for _, r := range references {
		parts := strings.Split(r, ".")
		if len(parts) > 2 && parts[0] == "case" && found[parts[1]] != nil {
			found[parts[1]][parts[2]] = true
		}
	}
	return slices.Sorted(maps.Keys(found["expectations"])), slices.Sorted(maps.Keys(found["payload"]))
}

// unfit is a failure of a file's content, with all that is wrong with it.
func unfit(file string, err error) error {
	var problems convert.Problems
	if !errors.As(err, &problems) {
		return cli.Usage("%s: %w", file, err)
	}
	f := cli.Usage("%s does not fit, and nothing was changed:\n%w", file, err)
	f.Code, f.Details = "dataset_invalid", problems
	return f
}

// checkEdited sees that what is to be written is a valid pack.
func checkEdited(a *cli.App, file string, src []byte) error {
	var beside fs.FS // nil: a directory that is still to be made has no assets
	if dir, err := os.OpenRoot(filepath.Dir(a.Path(file))); err == nil {
		defer func() { _ = dir.Close() }()
		beside = dir.FS()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %w", file, err)
	}
	_, problems := pack.Parse(file, src, beside)
	if problems.Err() == nil {
		return nil
	}
	return selector.Refusal("pack_invalid", "nothing was changed: the pack would not be valid", problems.Errors())
}

// replacePack writes the changed pack, unless somebody has changed its file since
// it was read.
func replacePack(ctx context.Context, a *cli.App, o datasetOptions, before, after []byte) error {
	switch {
	case o.out == cli.StdoutPath:
		_, err := a.Process.Out.Write(after)
		return err
	case o.out != "":
		if err := a.WriteOutputBytes(o.out, after); err != nil {
			return fmt.Errorf("write %s: %w", o.out, err)
		}
		return nil
	case bytes.Equal(before, after):
		return nil
	}
	release, err := cli.Hold(ctx, a.Path(o.pack))
	if err != nil {
		return fmt.Errorf("write %s: %w", o.pack, err)
	}
	defer release()
	err = cli.Rewrite(a.Path(o.pack), before, after)
	if errors.Is(err, cli.ErrChanged) {
		return cli.Usage("%s has been changed while it was read: nothing was written", o.pack).Hint("run the command again")
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", o.pack, err)
	}
	return nil
}

func sayImported(a *cli.App, d importDocument) {
	did := "✓ "
	if d.DryRun {
		did = "would change: "
	}
	a.Say("%s%s: %d of %d cases added to the input set %s, %d unchanged, %d removed (%s)", did, d.Path, d.Added, d.Rows, d.InputSet, d.Unchanged, d.Removed, d.Format)
	if len(d.Unused) > 0 {
		a.Say("! left out: the columns %s; --map gives them a place", strings.Join(d.Unused, ", "))
	}
	if d.Derived > 0 {
		a.Say("note: %d keys were made of the cases' content; --map id=COLUMN takes them from a column", d.Derived)
	}
	if d.DryRun {
		const shown = 20
		for _, key := range d.Cases[:min(len(d.Cases), shown)] {
			a.Say("  %s", key)
		}
		if more := len(d.Cases) - shown; more > 0 {
			a.Say("  … and %d more", more)
		}
	}
}
