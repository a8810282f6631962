package evaluation

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/regressions"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/agentclash/agentclash/scoring"
	"github.com/spf13/pflag"
)

// The values of --scope.
const (
	ScopeFull      = "full"
	ScopeSuiteOnly = "suite_only"
)

// suiteOptions say which regression cases a run has.
type suiteOptions struct {
	Suites   []string
	scope    string
	proposed bool
	Only     map[string][]string // of a suite, by its selector: these of its cases alone
	// refs are the regression cases of the run, by key of the case.
	refs map[string][]scoring.Regression
}

func (o *suiteOptions) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.Suites, "suite", nil, "regression suite whose active cases run too, by name or path; repeatable")
	f.StringVar(&o.scope, "scope", ScopeFull, "full runs the pack's cases and those of the suites, suite_only those of the suites alone")
	f.BoolVar(&o.proposed, "include-proposed", false, "with --suite: run proposed cases as well")
}

func (o *suiteOptions) check() error {
	switch {
	case o.scope != ScopeFull && o.scope != ScopeSuiteOnly:
		return cli.Usage("--scope %q must be %s or %s", o.scope, ScopeFull, ScopeSuiteOnly)
	case len(o.Suites) > 0:
		return nil
	case o.scope == ScopeSuiteOnly:
		f := cli.Usage("--scope suite_only needs --suite NAME: it runs the cases of suites alone")
		f.Code = "missing_regression_selection"
		return f
	case o.proposed:
		return cli.Usage("--include-proposed is for --suite")
	}
	return nil
}

// WithSuites is the pack with the cases of the suites that were asked for, and
// narrows the run down to those that --scope and --case mean.
func WithSuites(ctx context.Context, a *cli.App, o *StartOptions, p *pack.Pack) (*pack.Pack, error) {
	if len(o.Regressions.Suites) == 0 {
		return p, nil
	}
	set, err := selector.InputSetKey(ctx, a, o.inputSet)
	if err != nil {
		return nil, err
	}
	suites, err := placed(a, o.Regressions)
	if err != nil {
		return nil, err
	}
	fitted, err := regression.Fit(p, regression.Selection{InputSet: set, Suites: suites, IncludeProposed: o.Regressions.proposed})
	if err != nil {
		var problems pack.Problems
		if errors.As(err, &problems) {
			return nil, selector.Refusal("regression_suite_mismatch", "the suites do not fit the pack", problems)
		}
		return nil, selector.PlanFailure(err)
	}
	for _, note := range fitted.Notes {
		a.Say("note: %s", note)
	}
	o.inputSet, o.Regressions.refs = fitted.InputSet, fitted.Refs
	return fitted.Pack, o.narrow(fitted)
}

// placed reads suites, each once.
func placed(a *cli.App, o suiteOptions) ([]regression.Placed, error) {
	var list []regression.Placed
	for _, selector := range o.Suites {
		s, err := regressions.Suite(a, selector)
		if err != nil {
			return nil, err
		}
		if ids := o.Only[selector]; ids != nil {
			if s.Suite, err = s.Only(ids); err != nil {
				return nil, err
			}
		}
		for _, other := range list {
			if other.Name == s.Name {
				return nil, cli.Usage("--suite names suite %q twice", s.Name)
			}
		}
		list = append(list, regression.Placed{Suite: s.Suite, File: a.Shown(s.Path)})
	}
	return list, nil
}

// narrow turns --case and --scope into the keys of cases. --case also takes the
// ids of regression cases, alone or as suite/id.
func (o *StartOptions) narrow(f *regression.Fitted) error {
	if len(o.cases) == 0 {
		if o.Regressions.scope == ScopeFull {
			return nil
		}
		if len(f.Keys) == 0 {
			return cli.Usage("--scope suite_only: no case of %s would run", strings.Join(o.Regressions.Suites, ", ")).
				Hint("agentclash regression-suite case list %s; --include-proposed runs proposed cases too", o.Regressions.Suites[0])
		}
		o.cases = f.Keys
		return nil
	}
	var keys []string
	for _, want := range o.cases {
		key := strings.TrimSpace(want)
		for _, k := range f.Keys {
			for _, ref := range f.Refs[k] {
				if strings.EqualFold(key, ref.CaseID) || strings.EqualFold(key, ref.Suite+"/"+ref.CaseID) {
					key = k
				}
			}
		}
		inSuite := slices.ContainsFunc(f.Keys, func(k string) bool { return strings.EqualFold(k, key) })
		if o.Regressions.scope == ScopeSuiteOnly && !inSuite {
			return cli.Usage("--case %s is not among the cases of the suites that would run", want)
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	o.cases = keys
	return nil
}
