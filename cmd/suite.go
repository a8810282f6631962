package cmd

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/agentclash/agentclash/scoring/review"
)

func newRegressionSuite(a *app) *cobra.Command {
	c := group("regression-suite", "Keep cases that an agent once failed in the repository",
		newSuiteList(a), newSuiteShow(a), newSuiteCreate(a), newSuiteStatus(a, "archive", regression.Archived), newSuiteStatus(a, "activate", regression.Active),
		newSuiteValidate(a), newSuiteCase(a))
	c.Aliases = []string{"regression-suites"}
	return c
}

func newSuiteList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the suites of the repository", Args: noArgs,
		Example: "  agentclash regression-suite list",
		RunE: func(*cobra.Command, []string) error {
			suites, broken, err := a.allSuites()
			if err != nil {
				return err
			}
			list := view.List[view.Suite]{}
			for _, s := range suites {
				list = append(list, a.viewSuite(s))
			}
			doc := struct {
				Items view.List[view.Suite] `json:"items"`
			}{list}
			err = a.print(doc, func(w io.Writer, v view.Options) error {
				if len(list)+len(broken) == 0 {
					a.say("! there are no suites in %s: agentclash run promote-failure makes one", a.shown(a.suiteDir()))
				}
				return view.Suites(w, list, v)
			})
			if err == nil && len(broken) > 0 {
				return refusal("suite_invalid", "some suites are not valid", broken)
			}
			return err
		},
	}
}

func newSuiteShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show SUITE", Aliases: []string{"get"}, Short: "Show a suite and its cases", Args: exactArgs("SUITE"),
		Example: "  agentclash regression-suite show checkout",
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.suite(args[0])
			if err != nil {
				return err
			}
			d := a.viewSuite(s)
			d.Cases = viewCases(s)
			return a.print(d, func(w io.Writer, v view.Options) error { return view.SuiteDetails(w, d, v) })
		},
	}
}

func (a *app) viewSuite(s suiteFile) view.Suite {
	v := view.Suite{
		ID: s.Name, File: a.shown(s.path), Description: s.Description, Status: s.Status, Pack: s.Pack, Severity: s.DefaultSeverity,
		CaseCount: len(s.Cases), CreatedAt: s.CreatedAt,
	}
	for _, c := range s.Cases {
		if c.Status == regression.Active {
			v.ActiveCount++
		}
	}
	return v
}

func viewCases(s suiteFile) []view.Regression {
	list := []view.Regression{}
	for _, c := range s.Cases {
		v := view.Regression{
			ID: c.ID, Title: c.Title, Status: c.Status, Severity: s.SeverityOf(c), Mode: c.Mode, Class: c.Class, Tier: c.Tier, Summary: c.Summary,
			Challenge: c.Document.ChallengeKey, CaseKey: c.Document.Key(),
		}
		if c.Source != nil {
			v.RunID, v.Fingerprint, v.ClusterKey, v.CreatedAt = c.Source.RunID, c.Source.Fingerprint, c.Source.ClusterKey, c.Source.PromotedAt
		}
		list = append(list, v)
	}
	return list
}

func newSuiteCreate(a *app) *cobra.Command {
	var packName, severity, description string
	c := &cobra.Command{
		Use: "create SUITE", Short: "Make a suite without cases", Args: exactArgs("SUITE"),
		Example: "  agentclash regression-suite create checkout --pack support-triage --default-gate-severity blocking",
		RunE: func(c *cobra.Command, args []string) error {
			return a.createSuite(c.Context(), regression.Suite{Name: args[0], Pack: packName, DefaultSeverity: severity, Description: description})
		},
	}
	c.Flags().StringVar(&packName, "pack", "", "pack of the cases: a slug, or a pack file")
	c.Flags().StringVar(&severity, "default-gate-severity", review.Warning, "severity of cases that say none: info, warning or blocking")
	c.Flags().StringVar(&description, "description", "", "what the suite is for")
	return c
}

func (a *app) createSuite(ctx context.Context, want regression.Suite) error {
	if want.Pack == "" {
		return usage("regression-suite create needs --pack: the slug or the file of the pack that its cases are of")
	}
	if !slices.Contains(review.Severities(), want.DefaultSeverity) {
		return usage("--default-gate-severity %q must be one of %s", want.DefaultSeverity, strings.Join(review.Severities(), ", "))
	}
	if err := regression.CheckName(want.Name); err != nil {
		return usage("%w", err)
	}
	if looksLikePath(want.Pack) || exists(a.path(want.Pack)) {
		p, _, err := a.loadPack(ctx, want.Pack)
		if err != nil {
			return err
		}
		want.Pack = p.Pack.Slug
	}
	path, err := a.suitePath(want.Name)
	if err != nil {
		return err
	}
	release, err := holdSuite(ctx, path)
	if err != nil {
		return err
	}
	defer release()
	if exists(path) {
		return &failure{status: statusUsage, code: "regression_suite_name_conflict", err: fs.ErrExist, next: "agentclash regression-suite show " + want.Name}
	}
	s := regression.New(want.Name, want.Pack, want.DefaultSeverity, want.Description, a.p.Now())
	src, err := s.Source()
	if err == nil {
		err = a.writeSuite(path, nil, src)
	}
	if err != nil {
		return err
	}
	d := a.viewSuite(suiteFile{s, path, src})
	return a.print(d, func(io.Writer, view.Options) error {
		a.say("✓ suite %s is in %s", d.ID, d.File)
		return nil
	})
}

func newSuiteStatus(a *app, verb, status string) *cobra.Command {
	short, long := "Keep a suite without running it any more", "archived"
	if status == regression.Active {
		short, long = "Let an archived suite run again", "active"
	}
	return &cobra.Command{
		Use: verb + " SUITE", Short: short, Args: exactArgs("SUITE"),
		Example: "  agentclash regression-suite " + verb + " checkout",
		RunE: func(c *cobra.Command, args []string) error {
			var d view.Suite
			err := a.editSuite(c.Context(), args[0], func(s suiteFile) ([]byte, error) {
				if s.Status == status {
					return nil, moveRefused("suite %s is %s already", s.Name, long)
				}
				src, err := regression.SetStatus(s.src, "", status)
				d = a.viewSuite(s)
				d.Status = status
				return src, err
			})
			if err != nil {
				return err
			}
			return a.print(d, func(io.Writer, view.Options) error {
				a.say("✓ suite %s is %s", d.ID, d.Status)
				return nil
			})
		},
	}
}

// moveRefused is a change of state that there is not.
func moveRefused(format string, args ...any) *failure {
	f := usage(format, args...)
	f.code = "invalid_transition"
	return f
}

func newSuiteValidate(a *app) *cobra.Command {
	var against string
	c := &cobra.Command{
		Use: "validate [SUITE ...]", Short: "Say everything that is wrong with suites, with line and column",
		Long: `Say everything that is wrong with suite files, with line and column; without
arguments, of all suites of the repository. With --pack also whether every case that
would run still fits the pack.

Exit status: 0 all are valid, 64 one is not, 66 there is no such file.`,
		Example: "  agentclash regression-suite validate\n  agentclash regression-suite validate checkout --pack my-pack.yaml",
		RunE:    func(c *cobra.Command, args []string) error { return a.validateSuites(c.Context(), args, against) },
	}
	c.Flags().StringVar(&against, "pack", "", "pack that the cases must fit: file, slug or builtin:NAME")
	return c
}

func (a *app) validateSuites(ctx context.Context, args []string, against string) error {
	var p *pack.Pack
	if against != "" {
		var err error
		if p, _, err = a.loadPack(ctx, against); err != nil {
			return err
		}
	}
	files, err := a.suiteFiles(args)
	if err != nil {
		return err
	}
	doc := view.ValidateDocument{Valid: true}
	for _, file := range files {
		found, err := a.validateSuite(file, p)
		if err != nil {
			return err
		}
		doc.Valid = doc.Valid && found.Valid
		doc.Files = append(doc.Files, found)
	}
	if len(files) == 0 {
		a.say("! there are no suites in %s", a.shown(a.suiteDir()))
	}
	if err := a.printValidated(doc, ""); err != nil {
		return err
	}
	if !doc.Valid {
		return verdict(statusUsage)
	}
	return nil
}

func (a *app) suiteFiles(args []string) ([]string, error) {
	if len(args) == 0 {
		return regression.Files(a.suiteDir())
	}
	var files []string
	for _, arg := range args {
		file, err := a.suitePath(arg)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func (a *app) validateSuite(file string, p *pack.Pack) (view.ValidatedFile, error) {
	s, _, problems, err := regression.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return view.ValidatedFile{}, &failure{status: statusNotFound, code: "file_not_found", err: err}
	}
	if err != nil {
		return view.ValidatedFile{}, err
	}
	if s != nil {
		if wrong := a.misnamed(file, s.Name); wrong != "" {
			problems = append(problems, pack.Problem{Field: "suite", Message: wrong})
		}
	}
	if s != nil && p != nil && s.Status == regression.Active {
		problems = append(problems, fits(p, regression.Placed{Suite: s, File: a.shown(file)})...)
	}
	return judged(a.shown(file), problems, false).ValidatedFile, nil
}

// fits holds a suite against every input set that its cases may be run with: the
// one they are from, or the pack's first.
func fits(p *pack.Pack, s regression.Placed) pack.Problems {
	if len(p.InputSets) == 0 {
		return nil
	}
	_, err := regression.Fit(p, regression.Selection{InputSet: p.InputSets[0].Key, Suites: []regression.Placed{s}, IncludeProposed: true})
	var problems pack.Problems
	if errors.As(err, &problems) || err == nil {
		return problems
	}
	return pack.Problems{{Field: "suite", Message: err.Error()}}
}
