package regressions

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/packs"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/agentclash/agentclash/scoring/review"
	"github.com/spf13/cobra"
)

// NewRegressionSuite is agentclash regression-suite: cases of failures that must not come
// back, in files of the repository.
func NewRegressionSuite(a *cli.App) *cobra.Command {
	c := cli.Group("regression-suite", "Keep cases that an agent once failed in the repository",
		newSuiteList(a), newSuiteShow(a), newSuiteCreate(a), newSuiteStatus(a, "archive", regression.Archived), newSuiteStatus(a, "activate", regression.Active),
		newSuiteValidate(a), newSuiteCase(a))
	c.Aliases = []string{"regression-suites"}
	return c
}

func newSuiteList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the suites of the repository", Args: cli.NoArgs,
		Example: "  agentclash regression-suite list",
		RunE: func(*cobra.Command, []string) error {
			suites, broken, err := allSuites(a)
			if err != nil {
				return err
			}
			list := view.List[view.Suite]{}
			for _, s := range suites {
				list = append(list, viewSuite(a, s))
			}
			doc := struct {
				Items view.List[view.Suite] `json:"items"`
			}{list}
			err = a.Print(doc, func(w io.Writer, v view.Options) error {
				if len(list)+len(broken) == 0 {
					a.Say("! there are no suites in %s: agentclash run promote-failure makes one", a.Shown(a.SuiteDir()))
				}
				return view.Suites(w, list, v)
			})
			if err == nil && len(broken) > 0 {
				return selector.Refusal("suite_invalid", "some suites are not valid", broken)
			}
			return err
		},
	}
}

func newSuiteShow(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "show SUITE", Aliases: []string{"get"}, Short: "Show a suite and its cases", Args: cli.ExactArgs("SUITE"),
		Example: "  agentclash regression-suite show checkout",
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := Suite(a, args[0])
			if err != nil {
				return err
			}
			d := viewSuite(a, s)
			d.Cases = viewCases(s)
			return a.Print(d, func(w io.Writer, v view.Options) error { return view.SuiteDetails(w, d, v) })
		},
	}
}

func viewSuite(a *cli.App, s SuiteFile) view.Suite {
	v := view.Suite{
		ID: s.Name, File: a.Shown(s.Path), Description: s.Description, Status: s.Status, Pack: s.Pack, Severity: s.DefaultSeverity,
		CaseCount: len(s.Cases), CreatedAt: s.CreatedAt,
	}
	for _, c := range s.Cases {
		if c.Status == regression.Active {
			v.ActiveCount++
		}
	}
	return v
}

func viewCases(s SuiteFile) []view.Regression {
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

func newSuiteCreate(a *cli.App) *cobra.Command {
	var packName, severity, description string
	c := &cobra.Command{
		Use: "create SUITE", Short: "Make a suite without cases", Args: cli.ExactArgs("SUITE"),
		Example: "  agentclash regression-suite create checkout --pack support-triage --default-gate-severity blocking",
		RunE: func(c *cobra.Command, args []string) error {
			return createSuite(c.Context(), a, regression.Suite{Name: args[0], Pack: packName, DefaultSeverity: severity, Description: description})
		},
	}
	c.Flags().StringVar(&packName, "pack", "", "pack of the cases: a slug, or a pack file")
	c.Flags().StringVar(&severity, "default-gate-severity", review.Warning, "severity of cases that say none: info, warning or blocking")
	c.Flags().StringVar(&description, "description", "", "what the suite is for")
	return c
}

func createSuite(ctx context.Context, a *cli.App, want regression.Suite) error {
	if want.Pack == "" {
		return cli.Usage("regression-suite create needs --pack: the slug or the file of the pack that its cases are of")
	}
	if !slices.Contains(review.Severities(), want.DefaultSeverity) {
		return cli.Usage("--default-gate-severity %q must be one of %s", want.DefaultSeverity, strings.Join(review.Severities(), ", "))
	}
	if err := regression.CheckName(want.Name); err != nil {
		return cli.Usage("%w", err)
	}
	if cli.LooksLikePath(want.Pack) || cli.Exists(a.Path(want.Pack)) {
		p, _, err := selector.LoadPack(ctx, a, want.Pack)
		if err != nil {
			return err
		}
		want.Pack = p.Pack.Slug
	}
	path, err := SuitePath(a, want.Name)
	if err != nil {
		return err
	}
	release, err := HoldSuite(ctx, path)
	if err != nil {
		return err
	}
	defer release()
	if cli.Exists(path) {
		return &cli.Failure{Status: cli.StatusUsage, Code: "regression_suite_name_conflict", Err: fs.ErrExist, Next: "agentclash regression-suite show " + want.Name}
	}
	s := regression.New(want.Name, want.Pack, want.DefaultSeverity, want.Description, a.Process.Now())
	src, err := s.Source()
	if err == nil {
		err = WriteSuite(a, path, nil, src)
	}
	if err != nil {
		return err
	}
	d := viewSuite(a, SuiteFile{s, path, src})
	return a.Print(d, func(io.Writer, view.Options) error {
		a.Say("✓ suite %s is in %s", d.ID, d.File)
		return nil
	})
}

func newSuiteStatus(a *cli.App, verb, status string) *cobra.Command {
	short, long := "Keep a suite without running it any more", "archived"
	if status == regression.Active {
		short, long = "Let an archived suite run again", "active"
	}
	return &cobra.Command{
		Use: verb + " SUITE", Short: short, Args: cli.ExactArgs("SUITE"),
		Example: "  agentclash regression-suite " + verb + " checkout",
		RunE: func(c *cobra.Command, args []string) error {
			var d view.Suite
			err := editSuite(c.Context(), a, args[0], func(s SuiteFile) ([]byte, error) {
				if s.Status == status {
					return nil, moveRefused("suite %s is %s already", s.Name, long)
				}
				src, err := regression.SetStatus(s.Src, "", status)
				d = viewSuite(a, s)
				d.Status = status
				return src, err
			})
			if err != nil {
				return err
			}
			return a.Print(d, func(io.Writer, view.Options) error {
				a.Say("✓ suite %s is %s", d.ID, d.Status)
				return nil
			})
		},
	}
}

// moveRefused is a change of state that there is not.
func moveRefused(format string, args ...any) *cli.Failure {
	f := cli.Usage(format, args...)
	f.Code = "invalid_transition"
	return f
}

func newSuiteValidate(a *cli.App) *cobra.Command {
	var against string
	c := &cobra.Command{
		Use: "validate [SUITE ...]", Short: "Say everything that is wrong with suites, with line and column",
		Long: `Say everything that is wrong with suite files, with line and column; without
arguments, of all suites of the repository. With --pack also whether every case that
would run still fits the pack.

Exit status: 0 all are valid, 64 one is not, 66 there is no such file.`,
		Example: "  agentclash regression-suite validate\n  agentclash regression-suite validate checkout --pack my-pack.yaml",
		RunE:    func(c *cobra.Command, args []string) error { return validateSuites(c.Context(), a, args, against) },
	}
	c.Flags().StringVar(&against, "pack", "", "pack that the cases must fit: file, slug or builtin:NAME")
	return c
}

func validateSuites(ctx context.Context, a *cli.App, args []string, against string) error {
	var p *pack.Pack
	if against != "" {
		var err error
		if p, _, err = selector.LoadPack(ctx, a, against); err != nil {
			return err
		}
	}
	files, err := suiteFiles(a, args)
	if err != nil {
		return err
	}
	doc := view.ValidateDocument{Valid: true}
	for _, file := range files {
		found, err := validateSuite(a, file, p)
		if err != nil {
			return err
		}
		doc.Valid = doc.Valid && found.Valid
		doc.Files = append(doc.Files, found)
	}
	if len(files) == 0 {
		a.Say("! there are no suites in %s", a.Shown(a.SuiteDir()))
	}
	if err := packs.PrintValidated(a, doc, ""); err != nil {
		return err
	}
	if !doc.Valid {
		return cli.Verdict(cli.StatusUsage)
	}
	return nil
}

func suiteFiles(a *cli.App, args []string) ([]string, error) {
	if len(args) == 0 {
		return regression.Files(a.SuiteDir())
	}
	var files []string
	for _, arg := range args {
		file, err := SuitePath(a, arg)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func validateSuite(a *cli.App, file string, p *pack.Pack) (view.ValidatedFile, error) {
	s, _, problems, err := regression.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return view.ValidatedFile{}, &cli.Failure{Status: cli.StatusNotFound, Code: "file_not_found", Err: err}
	}
	if err != nil {
		return view.ValidatedFile{}, err
	}
	if s != nil {
		if wrong := misnamed(a, file, s.Name); wrong != "" {
			problems = append(problems, pack.Problem{Field: "suite", Message: wrong})
		}
	}
	if s != nil && p != nil && s.Status == regression.Active {
		problems = append(problems, fits(p, regression.Placed{Suite: s, File: a.Shown(file)})...)
	}
	return packs.Judged(a.Shown(file), problems, false).ValidatedFile, nil
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
