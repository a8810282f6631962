package datasets

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/regressions"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/convert"
	"github.com/agentclash/agentclash/pack/regression"
)

// maxProposed is how many cases are put into a suite at once: people look at each.
const maxProposed = 1000

// suiteImportDocument is what `dataset import --into-suite --json` prints.
type suiteImportDocument struct {
	Suite     string            `json:"suite_id"`
	File      string            `json:"file"`
	Created   bool              `json:"created"` // the suite was not there
	Pack      string            `json:"pack"`
	Challenge string            `json:"challenge"`
	Format    string            `json:"format"`
	Rows      int               `json:"rows"`
	Added     int               `json:"added"`
	Unchanged int               `json:"unchanged"` // the suite or the file has them already
	Derived   int               `json:"derived_keys"`
	Unused    view.List[string] `json:"unused_columns"`
	Cases     view.List[string] `json:"cases"` // ids of those that are added
	DryRun    bool              `json:"dry_run"`
}

func (o *datasetOptions) checkSuite() error {
	switch {
	case o.create || o.mode == modeReplace || o.out != "":
		return cli.Usage("--into-suite adds cases to a suite: leave out --create, --mode replace and --out")
	case o.suite != "" && !cli.LooksLikePath(o.suite):
		if err := regression.CheckName(o.suite); err != nil {
			return cli.Usage("--into-suite: %w", err)
		}
	}
	return nil
}

// importIntoSuite makes proposed regression cases of a file.
func importIntoSuite(ctx context.Context, a *cli.App, o datasetOptions, file string) error {
	defer selector.SpareMemory()()
	p, _, err := selector.LoadPack(ctx, a, o.pack)
	if err != nil {
		return err
	}
	set, err := o.suiteTarget(p)
	if err != nil {
		return err
	}
	found, report, err := readCases(ctx, a, p, &o, file)
	if err != nil {
		return err
	}
	if len(found) > maxProposed {
		return cli.Usage("%s has %d cases, and %d at most are put into a suite at once", file, len(found), maxProposed).
			Hint("without --into-suite they become cases of the pack's input set")
	}
	d := suiteImportDocument{Pack: p.Pack.Slug, Challenge: o.challenge, Format: report.Format, Rows: report.Rows, Unchanged: report.Repeated,
		Derived: report.Derived, Unused: report.Unused, DryRun: o.dryRun}
	from := regression.Importing{Pack: p, InputSet: set.Key, File: file, Format: report.Format, Now: a.Process.Now()}
	if err := propose(ctx, a, o, from, foundOf(found), &d); err != nil {
		return err
	}
	return a.Print(d, func(io.Writer, view.Options) error { sayProposed(a, d); return nil })
}

// suiteTarget finds the input set that the cases are to run beside, and the
// challenge that they are of.
func (o *datasetOptions) suiteTarget(p *pack.Pack) (pack.InputSet, error) {
	var set pack.InputSet
	if o.inputSet != "" || len(p.InputSets) == 1 {
		var err error
		if set, err = p.InputSet(o.inputSet); err != nil {
			f := cli.Usage("%w", err)
			if errors.Is(err, pack.ErrNotFound) {
				f.Status, f.Code = cli.StatusNotFound, "not_found"
			}
			return set, f
		}
	} else if len(p.InputSets) > 0 {
		set = p.InputSets[0]
	}
	switch {
	case o.challenge != "":
	case len(p.Challenges) == 1:
		o.challenge = p.Challenges[0].Key
	case o.inputSet != "" && len(set.Cases) > 0:
		o.challenge = set.Cases[0].ChallengeKey
	}
	return set, o.checkChallenge(p)
}

func foundOf(cases []convert.Case) []regression.Found {
	list := make([]regression.Found, len(cases))
	for i, c := range cases {
		list[i] = regression.Found{Case: c.Case, Notes: c.Comment, Row: c.Row.N, Line: c.Row.Line}
	}
	return list
}

// propose puts cases into a suite, which is made when it is not there.
func propose(ctx context.Context, a *cli.App, o datasetOptions, from regression.Importing, list []regression.Found, d *suiteImportDocument) error {
	path, err := regressions.SuitePath(a, o.suite)
	if err != nil {
		return err
	}
	if !o.dryRun {
		release, err := regressions.HoldSuite(ctx, path)
		if err != nil {
			return err
		}
		defer release()
	}
	slug := from.Pack.Pack.Slug
	s := regressions.SuiteFile{Path: path}
	if d.Created = !cli.Exists(path); d.Created {
		s.Suite, err = regressions.NewSuite(a, path, o.suite, slug)
	} else if s, err = regressions.Suite(a, o.suite); err == nil {
		err = s.Takes(slug)
	}
	if err != nil {
		return err
	}
	d.Suite, d.File = s.Name, a.Shown(path)
	cases, known, err := s.Proposed(from, list)
	if err != nil {
		var problems pack.Problems
		if errors.As(err, &problems) {
			return selector.Refusal("regression_suite_mismatch", "nothing was changed: the suite or the pack cannot hold these cases", problems)
		}
		return err
	}
	d.Added, d.Unchanged = len(cases), d.Unchanged+len(known)
	for _, c := range cases {
		d.Cases = append(d.Cases, c.ID)
	}
	if o.dryRun || len(cases) == 0 {
		return nil
	}
	return writeProposed(a, s, cases)
}

func writeProposed(a *cli.App, s regressions.SuiteFile, cases []regression.Case) (err error) {
	src := s.Src
	if src == nil {
		s.Cases = cases
		src, err = s.Source()
	} else {
		src, err = regression.Append(s.Src, cases...)
	}
	if err != nil {
		return err
	}
	return regressions.WriteSuite(a, s.Path, s.Src, src)
}

func sayProposed(a *cli.App, d suiteImportDocument) {
	did := "✓ "
	if d.DryRun {
		did = "would change: "
	}
	a.Say("%s%s: %d of %d cases proposed to suite %s, %d known already (%s)", did, d.File, d.Added, d.Rows, d.Suite, d.Unchanged, d.Format)
	if len(d.Unused) > 0 {
		a.Say("! left out: the columns %s; --map gives them a place", strings.Join(d.Unused, ", "))
	}
	const shown = 20
	for _, id := range d.Cases[:min(len(d.Cases), shown)] {
		a.Say("  %s", id)
	}
	if more := len(d.Cases) - shown; more > 0 {
		a.Say("  … and %d more", more)
	}
	if !d.DryRun && d.Added > 0 {
		a.Say("next: look at what each expects, then agentclash regression-suite case activate %s %s", d.Suite, slices.Min(d.Cases))
	}
}
