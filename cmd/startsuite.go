package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/agentclash/agentclash/scoring"
)

// The values of --scope.
const (
	scopeFull      = "full"
	scopeSuiteOnly = "suite_only"
)

// suiteOptions say which regression cases a run has.
type suiteOptions struct {
	suites   []string
	scope    string
	proposed bool
	only     map[string][]string // of a suite, by its selector: these of its cases alone
	// refs are the regression cases of the run, by key of the case.
	refs map[string][]scoring.Regression
}

func (o *suiteOptions) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.suites, "suite", nil, "regression suite whose active cases run too, by name or path; repeatable")
	f.StringVar(&o.scope, "scope", scopeFull, "full runs the pack's cases and those of the suites, suite_only those of the suites alone")
	f.BoolVar(&o.proposed, "include-proposed", false, "with --suite: run proposed cases as well")
}

func (o *suiteOptions) check() error {
	switch {
	case o.scope != scopeFull && o.scope != scopeSuiteOnly:
		return usage("--scope %q must be %s or %s", o.scope, scopeFull, scopeSuiteOnly)
	case len(o.suites) > 0:
		return nil
	case o.scope == scopeSuiteOnly:
		f := usage("--scope suite_only needs --suite NAME: it runs the cases of suites alone")
		f.code = "missing_regression_selection"
		return f
	case o.proposed:
		return usage("--include-proposed is for --suite")
	}
	return nil
}

// withSuites is the pack with the cases of the suites that were asked for, and
// narrows the run down to those that --scope and --case mean.
func (a *app) withSuites(ctx context.Context, o *startOptions, p *pack.Pack) (*pack.Pack, error) {
	if len(o.regressions.suites) == 0 {
		return p, nil
	}
	set, err := a.inputSetKey(ctx, o.inputSet)
	if err != nil {
		return nil, err
	}
	suites, err := a.placed(o.regressions)
	if err != nil {
		return nil, err
	}
	fitted, err := regression.Fit(p, regression.Selection{InputSet: set, Suites: suites, IncludeProposed: o.regressions.proposed})
	if err != nil {
		var problems pack.Problems
		if errors.As(err, &problems) {
			return nil, refusal("regression_suite_mismatch", "the suites do not fit the pack", problems)
		}
		return nil, planFailure(err)
	}
	for _, note := range fitted.Notes {
		a.say("note: %s", note)
	}
	o.inputSet, o.regressions.refs = fitted.InputSet, fitted.Refs
	return fitted.Pack, o.narrow(fitted)
}

// placed reads suites, each once.
func (a *app) placed(o suiteOptions) ([]regression.Placed, error) {
	var list []regression.Placed
	for _, selector := range o.suites {
		s, err := a.suite(selector)
		if err != nil {
			return nil, err
		}
		if ids := o.only[selector]; ids != nil {
			if s.Suite, err = s.only(ids); err != nil {
				return nil, err
			}
		}
		for _, other := range list {
			if other.Name == s.Name {
				return nil, usage("--suite names suite %q twice", s.Name)
			}
		}
		list = append(list, regression.Placed{Suite: s.Suite, File: a.shown(s.path)})
	}
	return list, nil
}

// narrow turns --case and --scope into the keys of cases. --case also takes the
// ids of regression cases, alone or as suite/id.
func (o *startOptions) narrow(f *regression.Fitted) error {
	if len(o.cases) == 0 {
		if o.regressions.scope == scopeFull {
			return nil
		}
		if len(f.Keys) == 0 {
			return usage("--scope suite_only: no case of %s would run", strings.Join(o.regressions.suites, ", ")).
				hint("agentclash regression-suite case list %s; --include-proposed runs proposed cases too", o.regressions.suites[0])
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
		if o.regressions.scope == scopeSuiteOnly && !inSuite {
			return usage("--case %s is not among the cases of the suites that would run", want)
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	o.cases = keys
	return nil
}
