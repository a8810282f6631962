package cmd

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

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
		return usage("--into-suite adds cases to a suite: leave out --create, --mode replace and --out")
	case o.suite != "" && !looksLikePath(o.suite):
		if err := regression.CheckName(o.suite); err != nil {
			return usage("--into-suite: %w", err)
		}
	}
	return nil
}

// importIntoSuite makes proposed regression cases of a file.
func (a *app) importIntoSuite(ctx context.Context, o datasetOptions, file string) error {
	defer spareMemory()()
	p, _, err := a.loadPack(ctx, o.pack)
	if err != nil {
		return err
	}
	set, err := o.suiteTarget(p)
	if err != nil {
		return err
	}
	found, report, err := a.readCases(ctx, p, &o, file)
	if err != nil {
		return err
	}
	if len(found) > maxProposed {
		return usage("%s has %d cases, and %d at most are put into a suite at once", file, len(found), maxProposed).
			hint("without --into-suite they become cases of the pack's input set")
	}
	d := suiteImportDocument{Pack: p.Pack.Slug, Challenge: o.challenge, Format: report.Format, Rows: report.Rows, Unchanged: report.Repeated,
		Derived: report.Derived, Unused: report.Unused, DryRun: o.dryRun}
	from := regression.Importing{Pack: p, InputSet: set.Key, File: file, Format: report.Format, Now: a.p.Now()}
	if err := a.propose(ctx, o, from, foundOf(found), &d); err != nil {
		return err
	}
	return a.print(d, func(io.Writer, view.Options) error { a.sayProposed(d); return nil })
}

// suiteTarget finds the input set that the cases are to run beside, and the
// challenge that they are of.
func (o *datasetOptions) suiteTarget(p *pack.Pack) (pack.InputSet, error) {
	var set pack.InputSet
	if o.inputSet != "" || len(p.InputSets) == 1 {
		var err error
		if set, err = p.InputSet(o.inputSet); err != nil {
			f := usage("%w", err)
			if errors.Is(err, pack.ErrNotFound) {
				f.status, f.code = statusNotFound, "not_found"
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
func (a *app) propose(ctx context.Context, o datasetOptions, from regression.Importing, list []regression.Found, d *suiteImportDocument) error {
	path, err := a.suitePath(o.suite)
	if err != nil {
		return err
	}
	if !o.dryRun {
		release, err := holdSuite(ctx, path)
		if err != nil {
			return err
		}
		defer release()
	}
	slug := from.Pack.Pack.Slug
	s := suiteFile{path: path}
	if d.Created = !exists(path); d.Created {
		s.Suite, err = a.newSuite(path, o.suite, slug)
	} else if s, err = a.suite(o.suite); err == nil {
		err = s.takes(slug)
	}
	if err != nil {
		return err
	}
	d.Suite, d.File = s.Name, a.shown(path)
	cases, known, err := s.Proposed(from, list)
	if err != nil {
		var problems pack.Problems
		if errors.As(err, &problems) {
			return refusal("regression_suite_mismatch", "nothing was changed: the suite or the pack cannot hold these cases", problems)
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
	return a.writeProposed(s, cases)
}

func (a *app) writeProposed(s suiteFile, cases []regression.Case) (err error) {
	src := s.src
	if src == nil {
		s.Cases = cases
		src, err = s.Source()
	} else {
		src, err = regression.Append(s.src, cases...)
	}
	if err != nil {
		return err
	}
	return a.writeSuite(s.path, s.src, src)
}

func (a *app) sayProposed(d suiteImportDocument) {
	did := "✓ "
	if d.DryRun {
		did = "would change: "
	}
	a.say("%s%s: %d of %d cases proposed to suite %s, %d known already (%s)", did, d.File, d.Added, d.Rows, d.Suite, d.Unchanged, d.Format)
	if len(d.Unused) > 0 {
		a.say("! left out: the columns %s; --map gives them a place", strings.Join(d.Unused, ", "))
	}
	const shown = 20
	for _, id := range d.Cases[:min(len(d.Cases), shown)] {
		a.say("  %s", id)
	}
	if more := len(d.Cases) - shown; more > 0 {
		a.say("  … and %d more", more)
	}
	if !d.DryRun && d.Added > 0 {
		a.say("next: look at what each expects, then agentclash regression-suite case activate %s %s", d.Suite, slices.Min(d.Cases))
	}
}
